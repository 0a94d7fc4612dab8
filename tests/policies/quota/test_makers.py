"""Objects in queues that are only thought of: what they would ask for, as their controllers would have it."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from reprieve.live_planning import hypothetical
from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.planning.planner import Planner
from reprieve.stores.records import Record
from tests.builders.pods import node
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import SETTINGS, Dict, Plane, job, job_set, live, pod, replica_set, stateful_set
from tests.scheduler.quota.companies import QUEUE

LABELS = {QUEUE: "team"}
WORLD = [flavor(), *queue("team", {"default": {"cpu": 3}}, within="LowerPriority")]


def deployment(name: str, **parts: Any) -> Dict:
    made = replica_set(name, **parts)
    return {**made, "kind": "Deployment", "metadata": {**made["metadata"], "labels": LABELS}}


MADE: dict[str, tuple[Dict, list[str]]] = {
    "Job": (job("a", labels=LABELS, replicas=2), ["job-a-"]),
    "JobSet": (job_set("a", labels=LABELS, driver={}, worker={"pods": 2}), ["jobset-a-"]),
    "StatefulSet": (stateful_set("a", labels=LABELS, replicas=3), ["statefulset-a-"]),
    "Deployment": (deployment("a", replicas=2), ["pod-a-0-", "pod-a-1-"]),
    "Pod": (pod("a", labels=LABELS), ["pod-a-"]),
}


def _begins(units: list[str]) -> list[str]:
    return sorted(unit.split("/")[-1].rpartition("-")[0] + "-" for unit in units)


@pytest.mark.parametrize("kind", MADE)
def test_plan_tells_what_would_be_admitted(kind: str) -> None:
    manifest, names = MADE[kind]
    result = reprieve.plan([*WORLD, manifest])
    first, later = result.admitted, result.left
    assert _begins([*first, *later]) == names
    assert first, "one head for each queue: the first of several"


@pytest.mark.parametrize("kind", MADE)
def test_plan_tells_who_would_make_way(kind: str) -> None:
    manifest, names = MADE[kind]
    low = workload("low", "team", on="default", priority=-5, count=3, cpu=1)
    result = reprieve.plan([*WORLD, low, manifest])
    assert (_begins([result.decisions[0].preemptor]), result.decisions[0].outcome) == (names[:1], "Preempt")
    assert [victim["unit"] for victim in result.decisions[0].victims] == ["Workload/default/low"]


@pytest.mark.parametrize("kind", MADE)
def test_controllers_would_make_the_same(kind: str) -> None:
    """The same is asked for in a plan over files, in one over a control plane, and in the control plane itself."""
    manifest, names = MADE[kind]

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(*WORLD)
        await plane.passes(2)
        planned = hypothetical(await _records(plane), [manifest], SETTINGS)
        result = Planner(planned.loaded, SETTINGS, plane.clock()).cycle(planned.units)
        assert _begins([*result.admitted, *result.left]) == names
        await plane.apply(manifest)
        await plane.passes(5)
        made = [each for each in await _records(plane) if each.resource.kind == "Workload"]
        over_files = reprieve.plan([*WORLD, manifest])
        assert len(made) == len([*over_files.admitted, *over_files.left]) == len(names)
        assert {sum(item.values()) for item in over_files.counts.values()} == {
            sum(pods["count"] for pods in each.data["spec"]["podSets"]) for each in made
        }

    live(story)


async def _records(plane: Plane) -> list[Record]:
    kinds = (each for each in RESOURCES.values() if each != EVENTS)
    return [record for each in kinds for record in (await plane.store.list(each)).records]


def test_what_a_server_has_made_is_left_to_its_controllers() -> None:
    manifest, _ = MADE["Job"]
    there = {**manifest, "metadata": {**manifest["metadata"], "uid": "u-1"}}
    assert reprieve.plan([*WORLD, there]).decisions == []
    unknown = job("a", labels={**LABELS, "kueue.x-k8s.io/priority-class": "missing"})
    assert reprieve.plan([*WORLD, unknown]).decisions == []


def grouped(name: str, cpu: str = "1", total: str = "2") -> Dict:
    labels = {**LABELS, "kueue.x-k8s.io/pod-group-name": "together"}
    return pod(name, cpu=cpu, labels=labels, annotations={"kueue.x-k8s.io/pod-group-total-count": total})


def test_pods_of_a_group_ask_together_once_all_are_there_and_are_placed_by_nobody_before() -> None:
    machine = node("n1", cpu="8")
    alone = reprieve.plan([*WORLD, machine, grouped("a")])
    assert (alone.decisions, alone.admitted) == ([], [])
    made = reprieve.plan([*WORLD, machine, grouped("a"), grouped("b", cpu="2")])
    assert made.admitted == ["Workload/default/together"]
    (counts,) = made.counts.values()
    assert sorted(counts.values()) == [1, 1], "two shapes"
    low = workload("low", "team", on="default", priority=-5, count=3, cpu=1)
    made = reprieve.plan([*WORLD, machine, low, grouped("a"), grouped("b")])
    assert [(one.preemptor, one.outcome) for one in made.decisions] == [("Workload/default/together", "Preempt")]


WAITS = "Workload/default/together stays pending: "
INCOMPLETE = f"{WAITS}its group has 2 of its 3 pods, and asks for quota when all of them are there."


@pytest.mark.parametrize("made", ["by nobody", "by a server"])
def test_a_group_that_is_not_complete_says_how_many_of_its_pods_are_there(made: str) -> None:
    pods = [grouped("a", total="3"), grouped("b", total="3")]
    if made == "by a server":
        for one in pods:
            one["metadata"]["uid"] = one["metadata"]["name"]
            one["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    result = reprieve.plan([*WORLD, node("n1", cpu="8"), *pods])
    assert (result.decisions, result.left) == ([], ["Workload/default/together"])
    assert result.pending == {"Workload/default/together": INCOMPLETE}
    decided = reprieve.plan([*WORLD, *pods], preemptor="Workload/default/together").decision
    assert (decided.outcome, decided.message) == ("Unschedulable", INCOMPLETE)
    assert decided.claims == [{"kind": "GroupIncomplete", "there": 2, "total": 3}]


def test_over_a_control_plane_a_group_that_is_not_complete_says_the_same() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(*WORLD)
        await plane.passes(2)
        pods = [grouped("a", total="3"), grouped("b", total="3")]
        planned = hypothetical(await _records(plane), pods, SETTINGS)
        result = Planner(planned.loaded, SETTINGS, plane.clock()).cycle(planned.units)
        assert result.pending == {"Workload/default/together": INCOMPLETE}

    live(story)


def test_pods_that_do_not_agree_on_their_group_ask_for_nothing() -> None:
    result = reprieve.plan([*WORLD, grouped("a", total="1"), grouped("b", total="2")])
    assert result.decisions == []
    said = result.pending["Workload/default/together"]
    assert said == f"{WAITS}its pods do not name the same queue and the same number of pods."


def test_a_group_of_too_many_shapes_asks_for_nothing() -> None:
    result = reprieve.plan([*WORLD, *(grouped(f"p{number}", cpu=f"{number}", total="9") for number in range(1, 10))])
    assert result.decisions == []
    said = result.pending["Workload/default/together"]
    assert said == f"{WAITS}its pods have 9 different shapes, and at most 8 can be queued together."


def test_pods_without_queues_or_of_a_server_are_placed_as_they_are() -> None:
    machine = node("n1", cpu="8")
    assert reprieve.plan([machine, pod("a", labels=LABELS)]).admitted == ["Pod/default/a"]
    there = pod("a", labels=LABELS)
    there["metadata"]["uid"] = "u-1"
    assert reprieve.plan([*WORLD, machine, there]).admitted == ["Pod/default/a"]
