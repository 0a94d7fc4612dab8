"""What is done to pods: they get a node, they are evicted as far as budgets allow, and little else may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.manifests.kinds import BUDGETS, NODES, PODS
from reprieve.model.clock import timestamp
from reprieve.stores.errors import Conflict, Invalid, NotFound, StoreError, TooManyRequests
from tests.stores.embedded.scene import Scene, node, pod


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        made.create(NODES, node())
        yield made


# Binding


def test_binding_gives_a_pod_its_node(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    scene.status(PODS, "a", {"nominatedNodeName": "n", "conditions": [waiting]})
    scene.later(5)
    bound = scene.bind("a").data
    assert bound["spec"]["nodeName"] == "n"
    assert "nominatedNodeName" not in bound["status"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp(scene.now)}
    assert bound["status"]["conditions"] == [scheduled]


@pytest.mark.parametrize(
    ("spec", "why"),
    [({"schedulingGates": [{"name": "example.com/gate"}]}, "example.com/gate"), ({"nodeName": "m"}, "on node m")],
)
def test_a_pod_that_is_gated_or_bound_is_not_bound(scene: Scene, spec: dict[str, Any], why: str) -> None:
    scene.create(PODS, pod("a", **spec))
    with pytest.raises(Conflict, match=why):
        scene.bind("a")


def test_only_the_pod_that_is_meant_is_bound(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    with pytest.raises(Conflict, match="another object"):
        scene.bind("a", uid="of-another")
    with pytest.raises(Conflict, match="has changed since version 1"):
        scene.bind("a", version=1)
    with pytest.raises(NotFound, match='nodes "nowhere" not found'):
        scene.bind("a", "nowhere")
    with pytest.raises(NotFound, match='pods "b" not found'):
        scene.bind("b")
    assert "nodeName" not in scene.pod()["spec"]


def test_a_pod_that_is_being_deleted_or_has_finished_is_not_bound(scene: Scene) -> None:
    data = pod("a")
    data["metadata"]["finalizers"] = ["example.com/one"]
    scene.create(PODS, data)
    scene.delete(PODS, "a")
    with pytest.raises(Conflict, match="being deleted"):
        scene.bind("a")
    scene.create(PODS, pod("b"))
    scene.status(PODS, "b", {"phase": "Failed"})
    with pytest.raises(Conflict, match="finished"):
        scene.bind("b")


# Eviction


def _budget(scene: Scene, name: str = "b", **status: int) -> None:
    spec = {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}
    scene.create(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    scene.status(BUDGETS, name, {"currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, **status})


def test_a_budget_pays_for_an_eviction(scene: Scene) -> None:
    scene.running("a", labels={"app": "x"})
    scene.running("c", labels={"app": "x"})
    _budget(scene, disruptionsAllowed=1, observedGeneration=1)
    evicted = scene.evict("a", grace=7)
    assert evicted.metadata["deletionGracePeriodSeconds"] == 7
    status = scene.get(BUDGETS, "b", "default")["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (0, {"a": timestamp(scene.now)})
    with pytest.raises(TooManyRequests, match='violate the PodDisruptionBudget "b"') as refused:
        scene.evict("c")
    assert refused.value.retry_after > 0
    assert "deletionTimestamp" not in scene.pod("c")["metadata"]
    # It has been paid for already.
    assert scene.evict("a").version == evicted.version


def test_pods_remembered_for_long_are_forgotten(scene: Scene) -> None:
    scene.running("a", labels={"app": "x"})
    scene.running("c", labels={"app": "x"})
    _budget(scene, disruptionsAllowed=2)
    scene.evict("a")
    scene.later(121)
    scene.evict("c")
    assert list(scene.get(BUDGETS, "b", "default")["status"]["disruptedPods"]) == ["c"]


def test_no_budget_no_limit(scene: Scene) -> None:
    scene.running("a", labels={"app": "y"})
    _budget(scene, disruptionsAllowed=0)
    assert scene.evict("a").manifest.terminating


def test_a_new_or_changed_budget_is_counted_first(scene: Scene) -> None:
    scene.running("a", labels={"app": "x"})
    _budget(scene, disruptionsAllowed=1, observedGeneration=1)
    scene.patch(BUDGETS, "b", {"spec": {"minAvailable": 2}})
    with pytest.raises(TooManyRequests, match="not yet counted"):
        scene.evict("a")


def test_what_does_not_run_disrupts_nothing(scene: Scene) -> None:
    scene.create(PODS, pod("waiting", labels={"app": "x"}))
    scene.running("done", labels={"app": "x"})
    scene.status(PODS, "done", {"phase": "Succeeded"})
    _budget(scene, disruptionsAllowed=0)
    scene.evict("waiting")
    scene.evict("done")
    assert scene.names(PODS) == []


def test_a_pod_that_is_not_ready_goes_while_enough_are_healthy(scene: Scene) -> None:
    for name in ("a", "c"):
        scene.running(name, labels={"app": "x"})
        scene.status(PODS, name, {"conditions": [{"type": "Ready", "status": "False"}]})
    _budget(scene, currentHealthy=1, disruptionsAllowed=0)
    assert scene.evict("a").manifest.terminating
    scene.status(BUDGETS, "b", {"currentHealthy": 0})
    with pytest.raises(TooManyRequests):
        scene.evict("c")
    scene.patch(BUDGETS, "b", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})
    assert scene.evict("c").manifest.terminating


def test_two_budgets_for_one_pod_are_a_mistake(scene: Scene) -> None:
    scene.running("a", labels={"app": "x"})
    _budget(scene, "b", disruptionsAllowed=1)
    _budget(scene, "c", disruptionsAllowed=1)
    with pytest.raises(StoreError, match="more than one PodDisruptionBudget selects it: b, c") as refused:
        scene.evict("a")
    assert refused.value.code == 500
    with pytest.raises(Conflict):
        scene.evict("a", uid="of-another")


# What may change

_GATED: dict[str, Any] = {"schedulingGates": [{"name": "example.com/gate"}], "nodeSelector": {"zone": "a"}}


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({}, {"activeDeadlineSeconds": 60}),
        ({"activeDeadlineSeconds": 60}, {"activeDeadlineSeconds": 30}),
        ({}, {"tolerations": [{"key": "k", "operator": "Exists"}]}),
        ({}, {"containers": [{"name": "c", "image": "other"}]}),
        (_GATED, {"schedulingGates": None, "nodeSelector": {"disk": "ssd"}}),
        (_GATED, {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}),
    ],
)
def test_what_may_change_in_a_pod(scene: Scene, before: dict[str, Any], change: dict[str, Any]) -> None:
    record = scene.create(PODS, pod("a", **before))
    assert scene.patch(PODS, "a", {"spec": change}).version > record.version


@pytest.mark.parametrize(
    ("before", "change", "field"),
    [
        ({}, {"nodeName": "n"}, "spec.nodeName"),
        ({}, {"schedulerName": "other"}, "spec.schedulerName"),
        ({}, {"priority": 5}, "spec.priority"),
        ({}, {"nodeSelector": {"zone": "a"}}, "spec.nodeSelector"),
        ({}, {"schedulingGates": [{"name": "example.com/gate"}]}, "spec.schedulingGates"),
        ({}, {"containers": [{"name": "c"}, {"name": "d"}]}, "spec.containers"),
        (
            {},
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "spec.containers[0].resources",
        ),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, {"tolerations": []}, "spec.tolerations"),
        ({"activeDeadlineSeconds": 60}, {"activeDeadlineSeconds": 90}, "spec.activeDeadlineSeconds"),
        ({"activeDeadlineSeconds": 60}, {"activeDeadlineSeconds": None}, "spec.activeDeadlineSeconds"),
        ({}, {"terminationGracePeriodSeconds": 1}, "spec.terminationGracePeriodSeconds"),
        (_GATED, {"nodeSelector": {"zone": "b"}}, "spec.nodeSelector"),
        (_GATED, {"schedulingGates": [{"name": "example.com/new"}]}, "spec.schedulingGates[0].name"),
    ],
)
def test_what_may_not(scene: Scene, before: dict[str, Any], change: dict[str, Any], field: str) -> None:
    record = scene.create(PODS, pod("a", **before))
    with pytest.raises(Invalid) as refused:
        scene.patch(PODS, "a", {"spec": change})
    assert [cause[2] for cause in refused.value.causes] == [field]
    assert scene.pod() == record.data


def test_required_affinity_only_becomes_narrower_behind_a_gate(scene: Scene) -> None:
    def affinity(*keys: str) -> dict[str, Any]:
        expressions = [{"key": key, "operator": "Exists"} for key in keys]
        required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    scene.create(PODS, pod("a", **_GATED, affinity=affinity("zone")))
    scene.patch(PODS, "a", {"spec": {"affinity": affinity("zone", "disk")}})
    with pytest.raises(Invalid, match="only be added behind a gate"):
        scene.patch(PODS, "a", {"spec": {"affinity": affinity("disk")}})
    with pytest.raises(Invalid):
        scene.patch(PODS, "a", {"spec": {"affinity": {"podAffinity": {}}}})
