"""What clients find out by themselves: groups, resources and OpenAPI, all telling the same."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reprieve.manifests.kinds import READERS, RESOURCES
from reprieve.server import openapi, schemas
from reprieve.server.schemas import name_of

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_every_kind_in_every_version_is_found(http: httpx.Client) -> None:
    def kinds(listed: dict[str, Any]) -> set[tuple[str, str]]:
        """Without those of which only something else is read."""
        items = (item for item in listed["resources"] if "/" not in item["name"] and item["verbs"])
        return {(listed["groupVersion"], item["kind"]) for item in items}

    found = kinds(http.get("/api/v1").json())
    for group in http.get("/apis").json()["groups"]:
        assert http.get(f"/apis/{group['name']}").json() == group
        for version in group["versions"]:
            listed = http.get(f"/apis/{version['groupVersion']}").json()
            found |= kinds(listed)
    assert found == set(READERS)


def test_what_is_found_can_be_listed(http: httpx.Client) -> None:
    for resource in RESOURCES.values():
        for version in resource.versions:
            root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
            answer = http.get(f"{root}/{resource.plural}")
            assert answer.status_code == 200
            assert answer.json()["kind"] == f"{resource.kind}List"


def test_aggregated_discovery_tells_the_same(http: httpx.Client) -> None:
    found: set[tuple[str, str]] = set()
    for path in ("/api", "/apis"):
        answer = http.get(path, headers={"accept": f"{AGGREGATED},application/json"})
        assert answer.headers["content-type"] == AGGREGATED
        for group in answer.json()["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                api_version = f"{name}/{version['version']}" if name else version["version"]
                read = (each for each in version["resources"] if each["verbs"])
                found |= {(api_version, each["responseKind"]["kind"]) for each in read}
    assert found == set(READERS)


@pytest.mark.parametrize("path", ["/api/v2", "/apis/none", "/apis/batch/v7", "/openapi/v3/apis/none/v1"])
def test_what_is_not_there(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 404


def test_all_that_openapi_refers_to_is_in_it(http: httpx.Client) -> None:
    index = http.get("/openapi/v3").json()["paths"]
    documents = [http.get(each["serverRelativeURL"]).json() for each in index.values()]
    for document in [*documents, http.get("/openapi.json").json()]:
        known = set(document["components"]["schemas"])
        assert set(openapi._references(document)) <= known
        identities = [verb["operationId"] for path in document["paths"].values() for verb in path.values()]
        assert len(identities) == len(set(identities))


def test_openapi_names_the_types_that_are_read(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    pod: dict[str, Any] = document["components"]["schemas"]["core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    parameters = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]["parameters"]
    assert {"dryRun", "fieldManager", "fieldValidation", "name", "namespace"} <= {each["name"] for each in parameters}
    assert document["components"]["schemas"]["JobSpec"]["required"] == ["template"]


@pytest.mark.parametrize(("api_version", "kind"), READERS, ids="/".join)
def test_every_field_that_is_read_is_described(api_version: str, kind: str) -> None:
    read = set(READERS[api_version, kind].written.__struct_encode_fields__)
    for kept in (False, True):
        schema = schemas.components(kept=kept)[name_of(api_version, kind)]
        assert read <= set(schema["properties"])
        assert schema["properties"]["kind"] == {"type": "string", "enum": [kind]}


def test_what_is_kept_and_not_read_is_known_to_people_who_look_it_up() -> None:
    read, whole = (schemas.components(kept=kept)["PodSpec"]["properties"] for kept in (False, True))
    assert "hostAliases" not in read
    assert whole["hostAliases"]["x-kubernetes-preserve-unknown-fields"] is True
    assert read["restartPolicy"] == whole["restartPolicy"] != whole["hostAliases"]
    assert read["overhead"]["nullable"] is True


def test_the_root_lists_the_entrances(http: httpx.Client) -> None:
    for path in http.get("/").json()["paths"]:
        assert http.get(path).status_code == 200, path
