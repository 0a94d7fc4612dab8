"""Who may do what, tried by people who want more: against the real server, with tokens that the command line made."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.command import environment
from tests.cli.running import Running
from tests.hostile.people import ADMIN_OBJECTS, Person, job, join, pod, refused

APPS, BATCH, GROUPS = "/apis/apps/v1", "/apis/batch/v1", "/apis/scheduling.k8s.io/v1beta1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture(scope="module")
def world(plane: Running) -> Running:
    plane.ok("apply", "-f", "-", stdin=ADMIN_OBJECTS)
    return plane


@pytest.fixture(scope="module")
def alice(world: Running) -> Iterator[Person]:
    options = ("--role", "submit", "--namespace", "alice", "--max-priority", "1000")
    with join(world, *options) as person:
        yield person


@pytest.fixture(scope="module")
def viewer(world: Running) -> Iterator[Person]:
    with join(world, "--role", "view") as person:
        yield person


def test_who_submits_works_in_its_own_namespace(alice: Person) -> None:
    mine = pod("mine", schedulerName="nobody")  # that it is placed meanwhile would be a conflict
    assert alice.create("alice", mine).status_code == 201
    path = "/api/v1/namespaces/alice/pods/mine"
    assert alice.get(path).status_code == 200
    found = alice.get(path).json()
    assert alice.put(path, json={**found, "metadata": {**found["metadata"], "labels": {"a": "b"}}}).status_code == 200
    patched = alice.patch(
        path, json={"metadata": {"labels": {"c": "d"}}}, headers={"content-type": "application/merge-patch+json"}
    )
    assert patched.json()["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert alice.create("alice", job("work", priorityClassName="usual"), "jobs", BATCH).status_code == 201
    assert alice.get("/api/v1/nodes").status_code == 200
    assert alice.get(CLASSES).status_code == 200
    assert alice.delete(path).status_code == 200
    assert alice.delete(f"{BATCH}/namespaces/alice/jobs/work").status_code == 200


@pytest.mark.parametrize("verb", ["get", "put", "patch", "delete"])
def test_other_peoples_objects_are_not_touched(world: Running, alice: Person, verb: str) -> None:
    with world.http() as owner:
        owner.post("/api/v1/namespaces/bob/pods", json=pod("theirs"))
    answer = alice.request(verb, "/api/v1/namespaces/bob/pods/theirs", json={} if verb in ("put", "patch") else None)
    word = {"put": "update"}.get(verb, verb)
    assert refused(
        answer, f'pods "theirs" is forbidden: User "alice" cannot {word} resource "pods" in API group "" in '
    )
    assert 'in the namespace "bob"' in answer.json()["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/bob/pods",
        "/api/v1/pods",
        "/api/v1/pods?watch=true",
        "/api/v1/namespaces",
        "/api/v1/namespaces/bob",
        "/api/v1/namespaces/bob/pods/theirs/log",
        "/api/v1/events",
        "/apis/batch/v1/jobs",
        "/metrics",
        "/shadow",
        "/ws/v1/partitions",
        "/explain/Pod/bob/theirs",
        "/story/Pod/bob/theirs",
        "/attempts/Pod/bob/theirs",
        "/decisions?unit=Pod/bob/theirs",
        "/plan?for=Pod/bob/theirs",
        "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/any/pendingworkloads",
    ],
)
def test_other_peoples_namespaces_are_not_read(alice: Person, path: str) -> None:
    assert refused(alice.get(path), "alice")


def test_what_has_no_namespace_is_the_admins(alice: Person) -> None:
    assert refused(alice.post("/api/v1/namespaces", json={"metadata": {"name": "mine"}}), "at the cluster scope")
    assert refused(alice.post("/api/v1/nodes", json={"metadata": {"name": "n"}}))
    assert refused(alice.delete("/api/v1/nodes/hollow-1"))
    assert refused(alice.patch("/api/v1/nodes/hollow-1", json={"spec": {"unschedulable": True}}))
    assert refused(alice.delete(f"{CLASSES}/usual"))
    assert refused(alice.put(f"{CLASSES}/usual", json={"value": 7}))
    assert refused(alice.delete("/api/v1/namespaces/bob/pods"), "deletecollection")


@pytest.mark.parametrize(
    ("api", "plural"),
    [
        ("/apis/kueue.x-k8s.io/v1beta2", "localqueues"),
        ("/apis/kueue.x-k8s.io/v1beta2", "workloads"),
        ("/apis/work.karmada.io/v1alpha2", "resourcebindings"),
        ("/api/v1", "events"),
        ("/api/v1", "limitranges"),
        ("/api/v1", "resourcequotas"),
    ],
)
def test_what_admins_keep_in_a_namespace_is_not_its_users(alice: Person, api: str, plural: str) -> None:
    assert refused(alice.create("alice", {"metadata": {"name": "x"}}, plural, api), "its token is for submit in alice")


def test_nobody_binds_or_says_how_a_pod_is_but_the_control_plane(alice: Person) -> None:
    alice.create("alice", pod("bound", schedulerName="nobody"))
    path = "/api/v1/namespaces/alice/pods/bound"
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound"}, "target": {"name": "hollow-1"}}
    assert refused(alice.post(f"{path}/binding", json=binding), "pods/binding")
    assert refused(alice.post("/api/v1/namespaces/alice/bindings", json=binding), "pods/binding")
    assert refused(alice.put(f"{path}/status", json={"status": {"phase": "Succeeded"}}), "pods/status")
    assert refused(alice.patch(f"{path}/status", json={"status": {"phase": "Succeeded"}}), "pods/status")
    assert refused(alice.create("alice", pod("placed", nodeName="hollow-1")), "spec.nodeName")
    assert refused(alice.create("alice", job("placed", nodeName="hollow-1"), "jobs", BATCH), "spec.nodeName")


HOLD = json.dumps({"preemptor": "Pod/alice/forged", "victims": [{"unit": "Pod/bob/theirs", "uid": "1"}]})


@pytest.mark.parametrize("key", ["hold", "evicted", "preempted", "decision", "above-maximum-since", "anything"])
def test_nobody_writes_decisions_but_the_control_plane(alice: Person, key: str) -> None:
    """A hold says who has to go, and the scheduler does what it says: whoever could write one could evict anybody."""
    name = f"reprieve.scheduling/{key}"
    forged = {"metadata": {"annotations": {name: HOLD}}}
    assert refused(alice.create("alice", pod("forged", **forged)), f"{name} is written by the control plane alone")
    assert refused(alice.create("alice", job("forged", **forged), "jobs", BATCH), name)
    assert refused(alice.create("alice", job("forged", forged["metadata"]), "jobs", BATCH), name)
    alice.create("alice", pod("plain", schedulerName="nobody"))
    path, merge = "/api/v1/namespaces/alice/pods/plain", {"content-type": "application/merge-patch+json"}
    assert refused(alice.patch(path, json=forged, headers=merge), name)
    there = alice.get(path).json()
    assert refused(alice.put(path, json={**there, "metadata": {**there["metadata"], **forged["metadata"]}}), name)


@pytest.mark.parametrize(
    "asked",
    [
        pod("high", priorityClassName="urgent"),
        pod("high", priorityClassName="system-node-critical"),
        pod("high", priorityClassName="urgent", priority=5000),
    ],
)
def test_a_priority_above_the_bound_is_refused(alice: Person, asked: dict[str, Any]) -> None:
    assert refused(alice.create("alice", asked), "is above 1000, the highest that User")


def test_a_priority_is_not_smuggled_in(alice: Person) -> None:
    above = "priority 5000 is above 1000"
    for plural in ("replicasets", "deployments", "statefulsets", "daemonsets"):
        kind = {"replicasets": "ReplicaSet", "deployments": "Deployment", "statefulsets": "StatefulSet"}
        made = {
            **job("high", priorityClassName="urgent"),
            "apiVersion": "apps/v1",
            "kind": kind.get(plural, "DaemonSet"),
        }
        made["spec"] = {"selector": {"matchLabels": {"a": "b"}}, **made["spec"]}
        made["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
        assert refused(alice.create("alice", made, plural, APPS), above)
    assert refused(alice.create("alice", job("high", priorityClassName="urgent"), "jobs", BATCH), above)
    assert refused(alice.create("alice", job("later", priorityClassName="not-yet"), "jobs", BATCH), "there is no Prio")
    labels = {"labels": {"kueue.x-k8s.io/priority-class": "urgent"}}
    assert refused(alice.create("alice", job("high", labels), "jobs", BATCH), above)
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "high"},
        "spec": {"schedulingPolicy": {"basic": {}}, "priorityClassName": "urgent"},
    }
    assert refused(alice.create("alice", group, "podgroups", GROUPS), above)


def test_a_default_above_the_bound_is_not_smuggled_in(world: Running, alice: Person) -> None:
    """Who names no class gets the default when its pods are made, by whomever."""
    above = "the default is 5000; priority 5000 is above 1000"
    templates = {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": templates,
    }
    assert alice.create("alice", job("before"), "jobs", BATCH).status_code == 201
    with world.http() as owner:
        found = owner.post(CLASSES, json={"metadata": {"name": "all"}, "value": 5000, "globalDefault": True})
        assert found.status_code == 201
        try:
            assert refused(alice.create("alice", job("after"), "jobs", BATCH), above)
            assert refused(alice.create("alice", group, "workloads", GROUPS), above)
            assert alice.create("alice", job("usual", priorityClassName="usual"), "jobs", BATCH).status_code == 201
            templates["podGroupTemplates"][0]["priorityClassName"] = "usual"
            assert alice.create("alice", group, "workloads", GROUPS).status_code == 201
            merge = {"content-type": "application/merge-patch+json"}
            changed = {"metadata": {"labels": {"a": "b"}}}
            path = f"{BATCH}/namespaces/alice/jobs"
            assert alice.patch(f"{path}/before", json=changed, headers=merge).status_code == 200  # it was so already
        finally:
            owner.delete(f"{CLASSES}/all")
    for made in (f"{path}/before", f"{path}/usual", f"{GROUPS}/namespaces/alice/workloads/w"):
        assert alice.delete(made).status_code == 200


def test_who_it_takes_to_preempt_a_group_is_bounded_too(alice: Person) -> None:
    api = "scheduling.k8s.io/v1alpha1"
    spec = {"podGroups": [{"name": "a", "policy": {"basic": {}}}], "preemptionPriorityClassName": "urgent"}
    workload = {"apiVersion": api, "kind": "Workload", "metadata": {"name": "fenced"}, "spec": spec}
    answer = alice.create("alice", workload, "workloads", f"/apis/{api}")
    assert refused(answer, "priority 5000 is above 1000")


def test_whose_a_volume_is_remains_a_secret(world: Running, alice: Person, viewer: Person) -> None:
    claim = {"namespace": "bob", "name": "merger"}
    volume = {"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"}, "claimRef": claim}}
    path = "/api/v1/persistentvolumes"
    with world.http() as owner:
        assert owner.post(path, json=volume).status_code == 201
        for one in (path, f"{path}/v", f"{path}?watch=true&timeoutSeconds=1"):
            assert refused(alice.get(one), "cannot")
            assert "merger" in viewer.get(one).text
        assert owner.delete(f"{path}/v").status_code == 200


def test_a_class_is_no_more_than_the_name_of_a_number(alice: Person) -> None:
    def made(value: int, name: str = "", **more: Any) -> httpx.Response:
        metadata = {"name": name or f"priority-{value}", **more.pop("metadata", {})}
        return alice.post(CLASSES, json={"metadata": metadata, "value": value, **more})

    assert made(700).status_code == 201
    assert refused(made(1001), "priority 1001 is above 1000")
    assert refused(made(5, name="mine"), "may only create classes that name a number")
    assert refused(made(5, globalDefault=True), "may only create classes that name a number")
    tolerates = {"preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "10000"}
    assert refused(made(5, metadata={"annotations": tolerates}), "may only create classes")


def test_nobody_is_somebody_else_in_queues(alice: Person) -> None:
    info = {"annotations": {"yunikorn.apache.org/user.info": '{"user": "bob", "groups": []}'}}
    assert refused(alice.create("alice", pod("as-bob", metadata=info)), 'cannot be "bob" in queues')
    label = {"labels": {"yunikorn.apache.org/username": "bob"}}
    assert refused(alice.create("alice", job("as-bob", metadata=label), "jobs", BATCH), 'cannot be "bob" in queues')


def test_the_command_line_works_with_such_a_token(world: Running, alice: Person) -> None:
    given: dict[str, Any] = {"REPRIEVE_TOKEN": alice.token, "REPRIEVE_SERVER": world.wait_for_address()}
    world.ok("submit", "-n", "alice", "--name", "cheap", "--priority", "300", "--", "true", **given)
    assert [row[0] for row in world.ok("get", "jobs", "-n", "alice", **given).rows[1:]] == ["cheap"]
    above = world.run("submit", "-n", "alice", "--name", "dear", "--priority", "3000", "--", "true", **given)
    assert (above.code, "priority 3000 is above 1000" in above.stderr) == (1, True)
    other = world.run("submit", "-n", "bob", "--name", "cheap", "--", "true", **given)
    assert (other.code, 'User "alice" cannot create resource "jobs"' in other.stderr) == (1, True)


def test_who_views_changes_nothing(viewer: Person) -> None:
    assert viewer.get("/api/v1/pods").status_code == 200
    assert viewer.get("/metrics").status_code == 200
    assert viewer.post("/plan", json={}).status_code == 200
    assert refused(viewer.create("default", pod("x")), 'User "view" cannot create resource "pods"')
    assert refused(viewer.delete("/api/v1/namespaces/bob/pods/theirs"), "its token is for view")
    assert refused(viewer.post(CLASSES, json={"metadata": {"name": "priority-1"}, "value": 1}))


def test_a_token_that_was_revoked_is_none_from_the_next_request_on(world: Running) -> None:
    with join(world, "--role", "view", "--name", "guest") as guest:
        assert guest.get("/api/v1/nodes").status_code == 200
        names = [row[0] for row in world.ok("token", "list", "--data", str(world.directory)).rows]
        assert "guest" in names
        world.ok("token", "revoke", "guest", "--data", str(world.directory))
        assert guest.get("/api/v1/nodes").status_code == 401
    gone = world.run("token", "revoke", "guest", "--data", str(world.directory))
    assert (gone.code, "there is no token named 'guest'" in gone.stderr) == (2, True)


def test_tokens_are_not_kept(world: Running, alice: Person) -> None:
    for file in world.directory.iterdir():
        if file.is_file() and not file.name.startswith("store.db"):
            assert alice.token.encode() not in file.read_bytes(), file
    assert (world.directory / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_the_audit_log_says_who_did_what(world: Running, alice: Person) -> None:
    time.sleep(1.1)  # of refusals only some a second are told
    alice.create("alice", pod("noted", schedulerName="nobody"))
    alice.get("/api/v1/namespaces/bob/pods")
    httpx.get(f"{world.wait_for_address()}/bearer/{alice.token}x/api/v1/pods")
    lines = [json.loads(line) for line in (world.directory / "audit.log").read_text().splitlines()]
    told = [(each["user"], each["verb"], each["path"], each["code"]) for each in lines]
    assert ("alice", "POST", "/api/v1/namespaces/alice/pods", 201) in told
    assert ("owner", "POST", "/api/v1/namespaces", 201) in told
    assert told[-2:] == [("alice", "GET", "/api/v1/namespaces/bob/pods", 403), ("?", "GET", "/bearer/...", 401)]
    assert alice.token not in (world.directory / "audit.log").read_text()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_can_ask_what_is_allowed(world: Running, alice: Person, tmp_path: Path) -> None:
    server = f"{world.wait_for_address()}/bearer/{alice.token}"
    given = {**environment(), "HOME": str(tmp_path), "KUBECONFIG": "/dev/null"}

    def kubectl(*words: str) -> str:
        done = subprocess.run(
            ["kubectl", "--server", server, *words], env=given, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() or done.stderr

    assert kubectl("auth", "can-i", "create", "pods", "-n", "alice") == "yes"
    assert kubectl("auth", "can-i", "create", "pods", "-n", "bob").startswith("no")
    assert kubectl("auth", "can-i", "*", "*").startswith("no")
    assert kubectl("auth", "can-i", "create", "pods", "--subresource", "binding", "-n", "alice").startswith("no")
    assert kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == "alice"
