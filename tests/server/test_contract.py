"""Whatever fits OpenAPI's description of a request, and much that does not: never a 5xx, and always as described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from reprieve.server import openapi
from reprieve.server.requests import target_of
from tests.server.planes import Running, running

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# One kind of each shape, in its newest version: the others have the same operations.
KINDS = (
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/events",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/batch/v1/jobs",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/scheduling.k8s.io/v1beta1/podgroups",
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "/apis/kueue.x-k8s.io/v1beta2/workloads",
    "/apis/work.karmada.io/v1alpha2/resourcebindings",
)
ANSWERED: Counter[tuple[str, int]] = Counter()


def _kind_of(path: str) -> str:
    """`/api/v1/pods` of all that is about pods."""
    return path.replace("/namespaces/{namespace}", "").partition("/{name}")[0]


def _document() -> dict[str, Any]:
    document = openapi.whole()
    kept = {
        path: verbs
        for path, verbs in document["paths"].items()
        if not path.startswith("/api") or _kind_of(path) in KINDS
    }
    return {**document, "paths": kept}


CONTAINERS = {"containers": [{"name": "main", "image": "work"}]}
TEMPLATE = {"metadata": {"labels": {"app": "low"}}, "spec": {**CONTAINERS, "restartPolicy": "Never"}}
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "low"}
PARTS: dict[str, dict[str, Any]] = {
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "low"}}}},
    "Job": {"spec": {"template": TEMPLATE}},
    "PriorityClass": {"value": 7},
    "PodGroup": {"spec": {"schedulingPolicy": {"basic": {}}}},
    "Workload": {"spec": {"podSets": [{"name": "main", "count": 1, "template": TEMPLATE}]}},
    "ResourceBinding": {"spec": {"resource": REFERENCE}},
    "Event": {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "low"}},
}


def _one_of_each(server: Running) -> None:
    """An object called `low` of every kind that is asked about."""
    for path in KINDS:
        resource = target_of(path.strip("/").split("/")).resource
        metadata = {"name": "low", **({"namespace": "default"} if resource.namespaced else {})}
        if resource.kind != "Pod":
            server.do(server.plane.store.create(resource, {"metadata": metadata, **PARTS.get(resource.kind, {})}))


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    with running() as server:
        server.fill()
        _one_of_each(server)
        yield server


schema = schemathesis.openapi.from_dict(_document())


def _aimed(case: Any) -> None:
    """Nearly all names and selectors that can be thought of select nothing: every other request is led to what is."""
    query, parameters = dict(case.query or {}), case.path_parameters or {}
    for endless in ("watch", "follow"):  # these end when the client has heard enough
        query.pop(endless, None)
    if "resourceVersion" in query:
        query["resourceVersion"] = "0"  # one that is yet to come is answered with 504, as Kubernetes does
    if "namespace" in parameters:
        parameters["namespace"] = "default"
    if sum(ANSWERED.values()) % 2:
        for word in ("continue", "labelSelector", "fieldSelector", "resourceVersion", "container"):
            query.pop(word, None)
        if "name" in parameters:
            parameters["name"] = "low"
    if case.method == "DELETE":
        query["dryRun"] = "All"
    case.query = query
    if isinstance(case.body, dict) and isinstance(case.body.get("metadata", {}), dict):
        own = {"name": parameters.get("name", f"made-{sum(ANSWERED.values())}")}
        case.body["metadata"] = {**case.body.get("metadata", {}), **own, "namespace": parameters.get("namespace", "")}


@schema.parametrize()
@settings(
    max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None, derandomize=True
)
def test_every_operation(case: Any, served: Running) -> None:
    _aimed(case)
    answer = case.call(base_url=served.url)
    ANSWERED[case.method, answer.status_code] += 1
    case.validate_response(answer, checks=CHECKS)


def test_the_requests_above_meant_something() -> None:
    """Enough of them were understood and carried out, and enough were refused."""
    if not ANSWERED:
        pytest.skip("nothing was asked")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        good = sum(count for (asked, code), count in ANSWERED.items() if asked == method and code < 300)
        assert good > 0, f"no {method} succeeded: {ANSWERED}"
        refused = sum(count for (asked, code), count in ANSWERED.items() if asked == method and 400 <= code < 500)
        assert refused > 0, f"no {method} was refused: {ANSWERED}"
