"""Work that is lost, as pods, groups, workloads and bindings say it themselves: for every kind, and every policy."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.quality.worlds import GATES
from reprieve import plan
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load_objects
from tests.builders.pods import Dict, in_workload, manifest, metadata, node, pod, pod_group, workload
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.builders.quota import flavor
from tests.builders.quota import queue as cluster_queue
from tests.builders.quota import workload as quota_workload

CHECKPOINT = "reprieve.scheduling/last-checkpoint"
COST = "reprieve.scheduling/disruption-cost-milestones"
SAVED = {CHECKPOINT: "2026-01-01T11:59:50Z"}
"""Ten seconds ago; all work here began at ten o'clock."""
CHEAP, DEAR = {COST: "0:5"}, {COST: "0:100000"}
BEGAN = "2026-01-01T10:00:00Z"


def going(objects: list[Any], preemptor: str, lost_work: str = "Annotations") -> set[str]:
    """Who makes way, by name."""
    config = {"search": "Best", "lostWork": lost_work, "validate": True}
    decision = plan(objects, preemptor=preemptor, now=NOW, config=config, feature_gates=GATES).decision
    assert decision.outcome == "Preempt", decision.message
    return {victim["unit"].rsplit("/", 1)[-1] for victim in decision.victims}


def two_nodes(*, on: str = "b", said: dict[str, str], **more: Any) -> list[Dict]:
    """A pod on each, alike but for what one of them says."""
    objects: list[Dict] = []
    for name in ("a", "b"):
        words = said if name == on else None
        objects.append(node(f"n-{name}", cpu="4"))
        objects.append(pod(name, cpu="4", node=f"n-{name}", started=BEGAN, created=BEGAN, annotations=words, **more))
    return objects


def gang() -> list[Dict]:
    return [
        pod_group("gang", gang=2, whole=True, priority=100),
        *(pod(f"g{number}", cpu="2", priority=100, group="gang") for number in (1, 2)),
    ]


@pytest.mark.parametrize(("said", "leaves"), [(SAVED, "b"), (CHEAP, "b"), (DEAR, "a")])
def test_what_pods_say_decides_between_the_victims_of_a_gang(said: dict[str, str], leaves: str) -> None:
    assert going([*two_nodes(said=said), *gang()], "PodGroup/default/gang") == {leaves}


@pytest.mark.parametrize("on", ["a", "b"])
def test_what_pods_say_decides_between_nodes_before_these_grow_old(on: str) -> None:
    ask = pod("ask", cpu="4", priority=100)
    assert going([*two_nodes(said=SAVED, on=on), ask], "Pod/default/ask") == {on}


@pytest.mark.parametrize("search", [{}, {"search": "Best"}])
@pytest.mark.parametrize("alone", [True, False])
def test_it_is_asked_unless_the_design_alone_is_wanted(search: dict[str, str], alone: bool) -> None:
    """Best is what nobody has to ask for: between nodes, and between domains of a topology."""
    objects = [
        {**each, "metadata": {**each["metadata"], "labels": {"rack": each["metadata"]["name"]}}}
        if each["kind"] == "Node"
        else each
        for each in two_nodes(said=SAVED)
    ]
    constraints = {"topology": [{"key": "rack"}]}
    ask = [pod("ask", cpu="4", priority=100)]
    if not alone:
        members = (pod(f"g{number}", cpu="2", priority=100, group="gang") for number in (1, 2))
        ask = [pod_group("gang", gang=2, priority=100, schedulingConstraints=constraints), *members]
    gates = {**GATES, "TopologyAwareWorkloadScheduling": True}
    unit = "Pod/default/ask" if alone else "PodGroup/default/gang"
    for config, leaves in ((search, "b"), ({"search": "Design"}, "a")):
        asked = {**config, "lostWork": "Annotations"}
        made = plan([*objects, *ask], preemptor=unit, now=NOW, config=asked, feature_gates=gates).decision
        assert [victim["unit"] for victim in made.victims] == [f"Pod/default/{leaves}"]


def test_nobody_is_asked_what_it_says_where_the_settings_do_not_want_it() -> None:
    objects = two_nodes(said=SAVED)
    assert going([*objects, *gang()], "PodGroup/default/gang", "Runtime") == {"a"}
    assert going([*objects, pod("ask", cpu="4", priority=100)], "Pod/default/ask", "Runtime") == {"a"}


def test_a_group_speaks_for_its_pods_that_say_nothing() -> None:
    group = pod_group("saves")
    group["metadata"]["annotations"] = SAVED
    objects: list[Dict] = [group]
    for name, saves in (("a", None), ("b", "saves")):
        objects += [node(f"n-{name}", cpu="4"), pod(name, cpu="4", node=f"n-{name}", started=BEGAN, group=saves)]
    assert going([*objects, *gang()], "PodGroup/default/gang") == {"b"}
    objects[-1]["metadata"]["annotations"] = DEAR
    assert going([*objects, *gang()], "PodGroup/default/gang") == {"a"}


def test_a_workload_of_pods_speaks_for_them() -> None:
    item = workload("job")
    item["metadata"]["annotations"] = SAVED
    objects: list[Dict] = [item]
    for name, spec in (("a", None), ("b", in_workload("job"))):
        objects += [node(f"n-{name}", cpu="4"), pod(name, cpu="4", node=f"n-{name}", started=BEGAN, spec=spec)]
    assert going([*objects, *gang()], "PodGroup/default/gang") == {"b"}


@pytest.mark.parametrize(("said", "leaves"), [(SAVED, "b"), (CHEAP, "b"), (DEAR, "a")])
def test_what_quota_workloads_say_decides_between_them(said: dict[str, str], leaves: str) -> None:
    objects = [
        flavor(),
        *cluster_queue("team", {"default": {"cpu": 4}}, within="LowerPriority"),
        quota_workload("a", "team", on="default", cpu=2, reserved=BEGAN),
        quota_workload("b", "team", on="default", cpu=2, reserved=BEGAN, annotations=said),
        quota_workload("ask", "team", cpu=2, priority=5),
    ]
    assert going(objects, "Workload/default/ask") == {leaves}


@pytest.mark.parametrize(("said", "leaves"), [(SAVED, "b"), (CHEAP, "b"), (DEAR, "a")])
def test_what_pods_in_queues_say_decides_between_them(said: dict[str, str], leaves: str) -> None:
    objects = [
        queues(tree("asking", cpu=4), tree("others", cpu=1)),
        node("n1", cpu="5"),
        in_queue("leads", "root.others", cpu="1", node="n1", minutes=240),
        in_queue("a", "root.others", cpu="2", node="n1", minutes=120),
        in_queue("b", "root.others", cpu="2", node="n1", minutes=120),
        in_queue("ask", "root.asking", cpu="2", minutes=60),
    ]
    objects[4]["metadata"]["annotations"] = said
    assert going(objects, "Pod/default/ask") == {leaves}


@pytest.mark.parametrize(("said", "leaves"), [(SAVED, "b"), (CHEAP, "b"), (DEAR, "a")])
def test_what_bindings_say_decides_between_them(said: dict[str, str], leaves: str) -> None:
    summary = {"allocatable": {"cpu": "4"}, "allocated": {"cpu": "4"}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "resourceSummary": summary}
    member = manifest("cluster.karmada.io/v1alpha1", "Cluster", metadata("m1"), spec={}, status=ready)
    bindings = [binding("a", 1, {}), binding("b", 1, said), binding("ask", 100, {}, waits=True)]
    assert going([member, *bindings], "ResourceBinding/default/ask") == {leaves}


def binding(name: str, priority: int, said: dict[str, str], *, waits: bool = False) -> Dict:
    scheduling = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
        "replicas": 1,
        "replicaRequirements": {"resourceRequest": {"cpu": "2"}},
        "schedulePriority": {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"},
        "placement": {"replicaScheduling": scheduling},
        "clusters": [] if waits else [{"name": "m1", "replicas": 1}],
    }
    meta = metadata(name, "default", created=BEGAN, annotations=said)
    return manifest("work.karmada.io/v1alpha2", "ResourceBinding", meta, spec=spec)


WRONG = {CHECKPOINT: "yesterday", COST: "soon"}


@pytest.mark.parametrize(
    "item",
    [
        pod("p", annotations=WRONG),
        {**pod_group("g"), "metadata": metadata("g", "default", annotations=WRONG)},
        {**workload("w"), "metadata": metadata("w", "default", annotations=WRONG)},
        quota_workload("q", "team", cpu=1, annotations=WRONG),
        binding("b", 1, WRONG),
    ],
    ids=lambda item: item["kind"] + item["apiVersion"],
)
def test_what_cannot_be_read_is_told_with_its_field(item: Dict) -> None:
    told = {problem.field: problem for problem in admit_all(load_objects([item]).entries)}
    checkpoint, cost = (told[f'$.metadata.annotations["{name}"]'] for name in (CHECKPOINT, COST))
    assert (checkpoint.severity, cost.severity) == ("error", "error")
    assert "yesterday" in checkpoint.message
    assert checkpoint.allowed == "it must be a time such as 2026-01-01T12:00:00Z"
    assert cost.allowed == "it must be seconds and costs, such as 60:100,600:0"


def test_what_cannot_be_read_counts_as_not_said() -> None:
    ask = pod("ask", cpu="4", priority=100)
    assert going([*two_nodes(said={CHECKPOINT: "yesterday", COST: "soon"}), ask], "Pod/default/ask") == {"a"}


def test_a_time_to_come_is_now() -> None:
    objects = two_nodes(said={CHECKPOINT: "2027-01-01T00:00:00Z"})
    assert going([*objects, *gang()], "PodGroup/default/gang") == {"b"}
