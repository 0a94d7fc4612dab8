"""When quota appears, the most important of those it could help gets it, at once, however often it was refused."""

from __future__ import annotations

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, JOBS, QUOTA_WORKLOADS, WORKLOAD_PRIORITY_CLASSES
from tests.builders.pods import manifest, metadata
from tests.builders.quota import KUEUE, flavor, queue, workload
from tests.planes.running import Plane, live
from tests.scheduler.quota.companies import admitted_by, company, running, work

A_MOMENT = 0.5


async def _refusals(plane: Plane, times: int) -> None:
    """Things happen that make everybody be tried, and help nobody."""
    for number in range(times):
        await plane.apply(work(f"passing-{number}", "spare", run=0.2))
        await plane.passes(1)


@pytest.mark.parametrize("times", [0, 1, 10])
@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_quota_that_is_freed_goes_to_the_most_important_of_the_cohort(strategy: str, times: int) -> None:
    async def story(plane: Plane) -> None:
        parts = {"cohort": "all", "queueingStrategy": strategy}
        await company(plane, owner={"cpu": 4, **parts}, a={"cpu": 0, **parts}, b={"cpu": 0, **parts}, spare={"cpu": 1})
        await plane.apply(work("keeps", "owner", cpu=4))
        await plane.passes(2)
        await plane.apply(work("important", "a", cpu=4, priority="middle"))
        await _refusals(plane, times)
        await plane.apply(work("small", "b", cpu=1, priority="low"))
        await plane.passes(2)
        await plane.store.delete(JOBS, "keeps", "default")
        await plane.apply(work("late", "b", cpu=1, priority="low"))
        await plane.passes(A_MOMENT)
        assert [await running(plane, name) for name in ("important", "small", "late")] == [1, 0, 0]
        assert await plane.events("Preempted") == []

    live(story)


def test_it_goes_past_one_that_it_does_not_help_to_the_next_of_its_queue() -> None:
    """`huge` is in front of `second`; it must not cost `second` its turn before the lower ones of other queues."""

    async def story(plane: Plane) -> None:
        await company(plane, owner=_lends(4), a=_lends(0), b=_lends(0))
        await plane.apply(work("keeps", "owner", cpu=2), work("stays", "owner", cpu=2))
        await plane.passes(2)
        await plane.apply(work("huge", "a", cpu=4, priority="high"), work("second", "a", cpu=2, priority="middle"))
        await plane.apply(work("low", "b", cpu=2, priority="low"))
        await plane.passes(2)
        await plane.store.delete(JOBS, "keeps", "default")
        await plane.passes(A_MOMENT)
        assert [await running(plane, name) for name in ("huge", "second", "low")] == [0, 1, 0]

    live(story)


def _lends(cpu: int) -> dict[str, object]:
    return {"cpu": cpu, "cohort": "all"}


@pytest.mark.parametrize("event", ["raised", "resumed"])
def test_quota_that_is_raised_or_resumed_goes_to_the_most_important(event: str) -> None:
    async def story(plane: Plane) -> None:
        stopped = {"stopPolicy": "Hold"} if event == "resumed" else {}
        await company(plane, team={"cpu": 1 if stopped else 0, **stopped}, spare={"cpu": 1})
        await plane.apply(work("low", "team", priority="low"))
        await plane.passes(1)
        await plane.apply(work("high", "team", priority="high"))
        await _refusals(plane, 5)
        groups = queue("team", {"default": {"cpu": 1}})[0]["spec"]["resourceGroups"]
        patch = {"stopPolicy": "None"} if stopped else {"resourceGroups": groups}
        await plane.change(CLUSTER_QUEUES, "team", {"spec": patch})
        await plane.passes(A_MOMENT)
        assert [await running(plane, name) for name in ("high", "low")] == [1, 0]

    live(story)


def test_a_class_that_is_raised_counts_at_once() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(flavor(), *queue("team", {"default": {"cpu": 1}}, within="LowerPriority"))
        await plane.apply(manifest(KUEUE, "WorkloadPriorityClass", metadata("batch"), value=0))
        runs, waits = workload("runs", "team", cpu=1, priority=5), workload("waits", "team", cpu=1)
        del waits["spec"]["priority"]
        kind = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass"}
        waits["spec"]["priorityClassRef"] = {**kind, "name": "batch"}
        await plane.apply(runs)
        await plane.passes(1)
        await plane.apply(waits)
        await plane.passes(60)
        await plane.change(WORKLOAD_PRIORITY_CLASSES, "batch", {"value": 9})
        await plane.passes(A_MOMENT)
        found = [await plane.store.get(QUOTA_WORKLOADS, name, "default") for name in ("waits", "runs")]
        assert [admitted_by(record) for record in found] == ["team", ""]

    live(story)


def test_an_older_one_that_comes_back_need_not_preempt_whoever_has_made_room_meanwhile() -> None:
    """`newer` has made `guest` leave, and `older`, of the same priority, is there again before that has gone."""

    async def story(plane: Plane) -> None:
        parts = {"cpu": 2, "cohort": "all", "within": "LowerOrNewerEqualPriority"}
        await company(plane, owner={"reclaim": "Any", **parts}, lender={"cpu": 2, "cohort": "all"}, b=_lends(0))
        await plane.apply(work("stays", "lender", cpu=2, priority="high"))
        await plane.apply(work("guest", "b", cpu=2, priority="low", leaves=30))
        await plane.passes(5)
        await plane.apply(workload("older", "owner", cpu=2))
        await plane.change(QUOTA_WORKLOADS, "older", {"spec": {"active": False}})
        await plane.passes(5)
        await plane.apply(workload("newer", "owner", cpu=2))
        await plane.passes(5)
        await plane.change(QUOTA_WORKLOADS, "older", {"spec": {"active": True}})
        await plane.rests(within=600)
        found = [await plane.store.get(QUOTA_WORKLOADS, name, "default") for name in ("older", "newer")]
        assert [admitted_by(record) for record in found] == ["owner", ""]
        assert len(await plane.events("Preempted")) == 1, "newer was not admitted first, only to leave at once"

    live(story)
