"""Writes over HTTP beyond what the clients' tests do: dry runs, apply, deletions of many, ends of namespaces."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reprieve.manifests.kinds import PODS as POD_RESOURCE
from tests.server.planes import Running, node_of, pod, running

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
BINDING = {"target": {"kind": "Node", "name": "n1"}}
DRY_RUNS: tuple[tuple[str, str, Any, dict[str, str]], ...] = (
    ("POST", PODS, pod("new"), {}),
    ("PUT", f"{PODS}/low", {"metadata": {"labels": {"a": "b"}}, "spec": pod("low", node="n1")["spec"]}, {}),
    ("PATCH", f"{PODS}/low", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    ("PATCH", f"{PODS}/low/status", {"status": {"phase": "Running"}}, MERGE),
    ("PATCH", f"{PODS}/made", {"spec": pod("made")["spec"]}, APPLY),
    ("DELETE", f"{PODS}/low", None, {}),
    ("DELETE", PODS, None, {}),
    ("POST", f"{PODS}/high/binding", BINDING, {}),
    ("POST", f"{PODS}/low/eviction", {}, {}),
)


@pytest.mark.parametrize(("method", "path", "body", "headers"), DRY_RUNS)
def test_a_dry_run_answers_and_changes_nothing(
    server: Running, http: httpx.Client, method: str, path: str, body: Any, headers: dict[str, str]
) -> None:
    server.fill()
    before = server.do(server.plane.store.list(POD_RESOURCE))
    answer = http.request(method, f"{path}?dryRun=All&fieldManager=me", json=body, headers=headers)
    assert answer.status_code in (200, 201), answer.text
    after = server.do(server.plane.store.list(POD_RESOURCE))
    assert [record.raw for record in after.records] == [record.raw for record in before.records]
    assert after.version == before.version
    real = http.request(method, f"{path}?fieldManager=me", json=body, headers=headers)
    assert real.status_code == answer.status_code
    assert server.do(server.plane.store.list(POD_RESOURCE)).version > before.version


def test_a_dry_run_that_the_body_asks_for(server: Running, http: httpx.Client) -> None:
    server.fill()
    http.request("DELETE", f"{PODS}/high", json={"dryRun": ["All"]}).raise_for_status()
    assert http.get(f"{PODS}/high").status_code == 200


@pytest.mark.parametrize(("path", "body"), [(f"{PODS}/high?dryRun=All", None), (f"{PODS}/high", {"dryRun": ["All"]})])
def test_a_store_that_cannot_rehearse_refuses_a_dry_run_and_does_the_rest(path: str, body: Any) -> None:
    with running(only_protocol=True) as server, httpx.Client(base_url=server.url) as http:
        server.fill()
        answer = http.request("DELETE", path, json=body)
        assert answer.status_code == 422
        assert "leave out 'dryRun'" in answer.json()["message"]
        assert http.delete(f"{PODS}/high").status_code == 200


def test_apply_makes_and_then_changes(http: httpx.Client) -> None:
    path = f"{MAPS}/c?fieldManager=me"
    assert http.patch(path, content="data: {a: '1'}", headers=APPLY).status_code == 201
    assert http.patch(path, content="data: {b: '2'}", headers=APPLY).status_code == 200
    assert http.get(f"{MAPS}/c").json()["data"] == {"a": "1", "b": "2"}


def test_many_are_deleted_by_selector(http: httpx.Client) -> None:
    for name, tier in (("a", "x"), ("b", "x"), ("c", "y")):
        http.post(PODS, json=pod(name, labels={"tier": tier})).raise_for_status()
    answer = http.delete(f"{PODS}?labelSelector=tier%3Dx").json()
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b"]
    assert [item["metadata"]["name"] for item in http.get(PODS).json()["items"]] == ["c"]


def test_what_goes_at_once_is_answered_with_a_status_and_what_stays_with_itself(http: httpx.Client) -> None:
    for name, finalizers in (("goes", []), ("stays", ["example.com/hold"])):
        http.post(MAPS, json={"metadata": {"name": name, "finalizers": finalizers}}).raise_for_status()
    gone = http.delete(f"{MAPS}/goes").json()
    assert (gone["kind"], gone["status"], gone["details"]["name"]) == ("Status", "Success", "goes")
    left = http.delete(f"{MAPS}/stays").json()
    assert (left["kind"], "deletionTimestamp" in left["metadata"]) == ("ConfigMap", True)
    http.patch(f"{MAPS}/stays", json={"metadata": {"finalizers": None}}, headers=MERGE).raise_for_status()
    assert http.get(f"{MAPS}/stays").status_code == 404


def test_grace_is_taken_from_the_body_or_the_query(server: Running, http: httpx.Client) -> None:
    server.fill()
    first = http.request("DELETE", f"{PODS}/low", json={"gracePeriodSeconds": 20}).json()
    assert first["metadata"]["deletionGracePeriodSeconds"] == 20
    second = http.delete(f"{PODS}/low?gracePeriodSeconds=5").json()
    assert second["metadata"]["deletionGracePeriodSeconds"] == 5
    http.delete(f"{PODS}/low?gracePeriodSeconds=0").raise_for_status()
    assert http.get(f"{PODS}/low").status_code == 404


def test_orphans_are_asked_for(http: httpx.Client) -> None:
    http.post(MAPS, json={"metadata": {"name": "owner"}}).raise_for_status()
    left = http.delete(f"{MAPS}/owner?propagationPolicy=Orphan").json()
    assert left["metadata"]["finalizers"] == ["orphan"]


def test_a_namespace_ends_when_it_is_finalized(http: httpx.Client) -> None:
    made = http.post("/api/v1/namespaces", json={"metadata": {"name": "team"}}).json()
    assert made["spec"]["finalizers"] == ["kubernetes"]
    ending = http.delete("/api/v1/namespaces/team").json()
    assert ending["status"]["phase"] == "Terminating"
    assert http.post("/api/v1/namespaces/team/pods", json={"metadata": {"name": "a"}, "spec": {}}).status_code == 403
    done = http.put("/api/v1/namespaces/team/finalize", json={"metadata": {"name": "team"}, "spec": {"finalizers": []}})
    assert done.status_code == 200
    assert http.get("/api/v1/namespaces/team").status_code == 404


def test_status_is_replaced_apart(http: httpx.Client) -> None:
    http.post("/api/v1/nodes", json=node_of("n1")).raise_for_status()
    changed = {**node_of("n1", cpu="8"), "spec": {"unschedulable": True}}
    http.put("/api/v1/nodes/n1/status", json=changed).raise_for_status()
    found = http.get("/api/v1/nodes/n1/status").json()
    assert found["status"]["allocatable"]["cpu"] == "8"
    assert "unschedulable" not in found.get("spec", {})


def test_a_list_that_was_left_too_long_can_be_gone_on_with(http: httpx.Client) -> None:
    for name in ("a", "b", "c"):
        http.post(PODS, json=pod(name)).raise_for_status()
    token = http.get(f"{PODS}?limit=1").json()["metadata"]["continue"]
    for _ in range(40):
        http.get(f"{PODS}?limit=1")
    late = http.get(PODS, params={"limit": 1, "continue": token})
    assert (late.status_code, late.json()["reason"]) == (410, "Expired")
    again = http.get(PODS, params={"limit": 5, "continue": late.json()["metadata"]["continue"]}).json()
    assert [item["metadata"]["name"] for item in again["items"]] == ["b", "c"]
