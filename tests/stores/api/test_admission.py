"""Admission on every write: what is refused, in which words, and what is not held against anybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from reprieve.manifests.admission import Neighbours
from reprieve.manifests.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    JOBS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    REPLICA_SETS,
    RESOURCE_FLAVORS,
)
from reprieve.manifests.kueue import Cohort, CohortSpec
from reprieve.manifests.meta import ObjectMeta
from reprieve.stores.errors import Forbidden, Invalid
from tests.stores.embedded.scene import Scene, job, node, pod


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


def _class(scene: Scene, name: str, value: int, **fields: Any) -> None:
    scene.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, **fields})


def _fields(error: Invalid) -> list[str]:
    return [field for _, _, field in error.causes]


# Everything that is wrong, at once


def test_every_mistake_is_named_with_its_field(scene: Scene) -> None:
    container = {"name": "c", "command": "sleep 5", "resources": {"requests": {"cpu": "-1"}}}
    data = pod("a", containers=[container], restartPolicy="Sometimes", priority="high")
    with pytest.raises(Invalid) as refused:
        scene.create(PODS, data)
    assert sorted(_fields(refused.value)) == [
        "spec.containers[0].command",
        "spec.containers[0].resources.requests.cpu",
        "spec.priority",
        "spec.restartPolicy",
    ]
    status = refused.value.status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"]["kind"] == "Pod"
    assert status["message"].startswith('Pod "a" is invalid: [spec.')


def test_one_mistake_is_one_sentence(scene: Scene) -> None:
    with pytest.raises(Invalid) as refused:
        scene.create(PODS, {"metadata": {"name": "a"}, "spec": {}})
    assert str(refused.value) == 'Pod "a" is invalid: spec.containers: missing; it must be a list'
    assert refused.value.causes[0][0] == "FieldValueRequired"


def test_rules_of_the_designs_are_kept(scene: Scene) -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    with pytest.raises(Invalid) as refused:
        scene.create(NODES, {**node(), "spec": {"taints": [taint, taint]}})
    assert _fields(refused.value) == ["spec.taints[1]"]
    with pytest.raises(Invalid):
        scene.create(PRIORITY_CLASSES, {"metadata": {"name": "system-mine"}, "value": 1})


def test_warnings_refuse_nothing(scene: Scene) -> None:
    quota = {"name": "cpu", "nominalQuota": 1}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "unknown", "resources": [quota]}]}
    scene.create(RESOURCE_FLAVORS, {"metadata": {"name": "known"}})
    scene.create(CLUSTER_QUEUES, {"metadata": {"name": "q"}, "spec": {"resourceGroups": [group]}})


def test_a_second_global_default_is_refused_with_the_name_of_the_first(scene: Scene) -> None:
    _class(scene, "one", 1, globalDefault=True)
    with pytest.raises(Invalid, match="the PriorityClass one is the global default already"):
        _class(scene, "two", 2, globalDefault=True)


def test_cohorts_do_not_go_in_circles(scene: Scene) -> None:
    scene.create(COHORTS, {"metadata": {"name": "a"}, "spec": {"parentName": "b"}})
    with pytest.raises(Invalid, match="circle"):
        scene.create(COHORTS, {"metadata": {"name": "b"}, "spec": {"parentName": "a"}})
    scene.create(COHORTS, {"metadata": {"name": "b"}})
    with pytest.raises(Invalid, match="circle"):
        scene.patch(COHORTS, "b", {"spec": {"parentName": "a"}})
    scene.delete(COHORTS, "a")
    scene.patch(COHORTS, "b", {"spec": {"parentName": "a"}})


@pytest.mark.parametrize("order", [range(100), range(99, -1, -1), [*range(0, 100, 2), *range(1, 100, 2)]])
def test_cohorts_do_not_stand_above_each_other_without_end(scene: Scene, order: Sequence[int]) -> None:
    """Whatever comes last, the leaf, the root or what joins them; the one that is only named counts, too."""
    made = [{"metadata": {"name": f"c{each}"}, "spec": {"parentName": f"c{each + 1}"}} for each in order]
    for cohort in made[:-1]:
        scene.create(COHORTS, cohort)
    with pytest.raises(Invalid, match=r"spec.parentName: 101 cohorts above each other; allowed: at most 100"):
        scene.create(COHORTS, made[-1])


def test_what_was_wrong_before_is_not_held_against_a_change(scene: Scene) -> None:
    _class(scene, "high", 100)
    scene.create(PODS, pod("a", priorityClassName="high"))
    scene.delete(PRIORITY_CLASSES, "high")
    scene.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}})
    with pytest.raises(Invalid) as refused:
        scene.patch(PODS, "a", {"metadata": {"labels": {"x": "not a label"}}})
    assert _fields(refused.value) == ["metadata.labels.x"]


def test_neighbours_are_remembered_over_a_restart(tmp_path: Any) -> None:
    with Scene(tmp_path / "data.db") as scene:
        _class(scene, "high", 100)
        scene.restart()
        assert scene.create(PODS, pod("a", priorityClassName="high")).data["spec"]["priority"] == 100


def test_neighbours_beside_one_more_are_others() -> None:
    first = Cohort(metadata=ObjectMeta(name="a"), spec=CohortSpec(parent_name="b"))
    second = Cohort(metadata=ObjectMeta(name="b"), spec=CohortSpec(parent_name="a"))
    neighbours = Neighbours([first])
    assert neighbours.beside(second).cohort_circle("a") == ["a", "b", "a"]
    assert neighbours.cohort_circle("a") == []
    neighbours.put(second)
    assert neighbours.names("Cohort") == ["a", "b"]
    neighbours.remove(second)
    neighbours.remove(second)
    assert neighbours.names("Cohort") == ["a"]


# Priorities


def test_a_pod_gets_the_priority_of_its_class(scene: Scene) -> None:
    _class(scene, "high", 100, preemptionPolicy="Never")
    spec = scene.create(PODS, pod("a", priorityClassName="high")).data["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")
    system = scene.create(PODS, pod("b", priorityClassName="system-node-critical")).data["spec"]
    assert system["priority"] == 2_000_001_000


def test_without_a_class_it_is_the_default_one_or_zero(scene: Scene) -> None:
    spec = scene.create(PODS, pod("a")).data["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec
    _class(scene, "usual", 5, globalDefault=True)
    spec = scene.create(PODS, pod("b")).data["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")
    assert scene.pod("a")["spec"]["priority"] == 0


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "hihg"}, 'there is no PriorityClass "hihg"; did you mean "high"?'),
        ({"priority": 7}, "spec.priority: found 7; allowed: 0, the value without a PriorityClass, or nothing"),
        (
            {"priority": 7, "priorityClassName": "high"},
            "found 7; allowed: 100, the value of high, or nothing",
        ),
        (
            {"preemptionPolicy": "Never", "priorityClassName": "high"},
            "PreemptLowerPriority, the policy of high",
        ),
    ],
)
def test_nobody_gives_himself_a_priority(scene: Scene, spec: dict[str, Any], why: str) -> None:
    _class(scene, "high", 100)
    with pytest.raises(Forbidden) as refused:
        scene.create(PODS, pod("a", **spec))
    assert why in str(refused.value)
    assert scene.names(PODS) == []


def test_the_number_of_the_class_may_be_said(scene: Scene) -> None:
    _class(scene, "high", 100)
    scene.create(PODS, pod("a", priorityClassName="high", priority=100))
    # Who replaces the pod need not say what he did not say before.
    scene.replace(PODS, pod("a", labels={"a": "b"}))
    assert scene.pod()["spec"]["priority"] == 100


def test_of_a_priority_class_only_the_description_changes(scene: Scene) -> None:
    _class(scene, "high", 100)
    scene.patch(PRIORITY_CLASSES, "high", {"description": "For what matters."})
    with pytest.raises(Invalid) as refused:
        scene.patch(PRIORITY_CLASSES, "high", {"value": 101, "preemptionPolicy": "Never"})
    assert _fields(refused.value) == ["value", "preemptionPolicy"]


# Jobs, controllers, workloads


def _directed(selector: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"nodeSelector": selector}}}}


def test_a_suspended_job_can_be_directed_to_other_nodes(scene: Scene) -> None:
    scene.create(JOBS, job("j", suspend=True))
    scene.patch(JOBS, "j", _directed({"gpu": "a"}))
    both = _directed({"gpu": "b"})
    both["spec"]["suspend"] = False
    started = scene.patch(JOBS, "j", both)
    assert started.data["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "b"}
    with pytest.raises(Invalid, match="only while the Job is suspended"):
        scene.patch(JOBS, "j", _directed({"gpu": "c"}))


def test_a_job_that_has_started_must_be_stopped_first(scene: Scene) -> None:
    scene.create(JOBS, job("j"))
    scene.status(JOBS, "j", {"startTime": "2026-01-01T00:00:00Z"})
    scene.patch(JOBS, "j", {"spec": {"suspend": True}})
    with pytest.raises(Invalid):
        scene.patch(JOBS, "j", _directed({"gpu": "a"}))
    scene.patch(JOBS, "j", {"status": {"startTime": None}}, subresource="status")
    scene.patch(JOBS, "j", _directed({"gpu": "a"}))


@pytest.mark.parametrize(
    "change",
    [
        {"completions": 9},
        {"selector": {"matchLabels": {"a": "b"}}},
        {"template": {"spec": {"containers": [{"name": "other"}]}}},
    ],
)
def test_what_a_job_runs_cannot_be_changed(scene: Scene, change: dict[str, Any]) -> None:
    scene.create(JOBS, job("j", suspend=True))
    with pytest.raises(Invalid):
        scene.patch(JOBS, "j", {"spec": change})
    scene.patch(JOBS, "j", {"spec": {"parallelism": 4, "backoffLimit": 1}})


def test_a_job_whose_pods_never_end_is_refused(scene: Scene) -> None:
    data = job("j")
    data["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    with pytest.raises(Invalid, match="allowed: Never, OnFailure"):
        scene.create(JOBS, data)


def test_a_controller_must_find_its_own_pods(scene: Scene) -> None:
    def replica_set(labels: dict[str, str], **spec: Any) -> dict[str, Any]:
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}}
        return {"metadata": {"name": "r"}, "spec": {"template": template, **spec}}

    with pytest.raises(Invalid, match=r"spec\.selector: missing"):
        scene.create(REPLICA_SETS, replica_set({}))
    with pytest.raises(Invalid, match="not selected"):
        scene.create(REPLICA_SETS, replica_set({"a": "b"}, selector={"matchLabels": {"a": "c"}}))
    scene.create(REPLICA_SETS, replica_set({"a": "b"}))
    with pytest.raises(Invalid, match="cannot be changed"):
        scene.patch(REPLICA_SETS, "r", {"spec": {"selector": {"matchExpressions": []}}})


def test_a_workload_that_holds_quota_stays_what_it_is(scene: Scene) -> None:
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}
    scene.create(QUOTA_WORKLOADS, {"metadata": {"name": "w"}, "spec": {"queueName": "q", "podSets": [pod_set]}})
    scene.patch(QUOTA_WORKLOADS, "w", {"spec": {"queueName": "r"}})
    scene.status(QUOTA_WORKLOADS, "w", {"conditions": [{"type": "QuotaReserved", "status": "True"}]})
    with pytest.raises(Invalid) as refused:
        scene.patch(QUOTA_WORKLOADS, "w", {"spec": {"queueName": "s", "podSets": [{**pod_set, "count": 2}]}})
    assert _fields(refused.value) == ["spec.podSets", "spec.queueName"]
    scene.patch(QUOTA_WORKLOADS, "w", {"spec": {"active": False}})
