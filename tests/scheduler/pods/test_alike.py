"""Pods that are alike: one is tried for all, and none of them is forgotten or overtaken."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import PODS
from tests.builders.pods import pod_group
from tests.builders.queues import queues, tree
from tests.generators.lives import TOLERATION
from tests.planes.agreement import now
from tests.planes.running import Plane, live

MANY = 60


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _count(plane: Plane) -> Counter[str]:
    """Decisions from now on, by their outcome."""
    counted: Counter[str] = Counter()
    history = plane.plane.history
    record = history.record

    def told(plan: Plan, **options: Any) -> int:
        counted[plan.outcome] += 1
        number: int = record(plan, **options)
        return number

    history.record = told
    return counted


async def _full(plane: Plane, nodes: int = 4, **terms: Any) -> None:
    """Nodes that are taken by high pods, and many middle ones that wait."""
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)
    for number in range(nodes):
        await plane.node(f"n{number}", cpu="2")
        await plane.pod(f"keeps-{number}", cpu="2", priority="high")
    await plane.passes(2)
    for number in range(MANY):
        await plane.pod(f"waits-{number:02}", cpu="2", priority="middle", **terms)
    await plane.passes(5)


async def _placed(plane: Plane) -> list[str]:
    return [name for name, record in sorted((await plane.pods()).items()) if record.data["spec"].get("nodeName")]


def test_room_for_one_costs_two_decisions_however_many_wait() -> None:
    async def story(plane: Plane) -> None:
        await _full(plane)
        counted = _count(plane)
        await plane.store.delete(PODS, "keeps-1", "default", grace=0)
        await plane.passes(1)
        assert counted == {"Fits": 1, "Unschedulable": 1}
        assert "waits-00" in await _placed(plane)

    live(story)


def test_room_for_several_goes_to_the_oldest_of_them() -> None:
    async def story(plane: Plane) -> None:
        await _full(plane)
        for number in range(3):
            await plane.store.delete(PODS, f"keeps-{number}", "default", grace=0)
        await plane.pod("late", cpu="2", priority="low")
        await plane.passes(1)
        assert await _placed(plane) == ["keeps-3", "waits-00", "waits-01", "waits-02"]

    live(story)


def test_the_one_that_is_tried_for_all_is_deleted_before_its_turn() -> None:
    """It is woken together with a group that is more important, and gone when that has been decided for."""

    async def story(plane: Plane) -> None:
        await _full(plane)
        await plane.apply(pod_group("g", gang=2, priorityClassName="high"))
        for name, cpu in (("g-0", "2"), ("g-1", "1")):  # each would fit, and both together do not
            await plane.pod(name, cpu=cpu, priority="high", schedulingGroup={"podGroupName": "g"})
        await plane.passes(1)
        history = plane.plane.history
        record = history.record

        def told(plan: Plan, **options: Any) -> int:
            if plan.preemptor == "PodGroup/default/g" and not gone:
                gone.append(now(plane.store.delete(PODS, "waits-00", "default", grace=0)))
            number: int = record(plan, **options)
            return number

        gone: list[Any] = []
        history.record = told
        await plane.store.delete(PODS, "keeps-0", "default", grace=0)
        await plane.passes(1)
        assert gone
        assert "waits-01" in await _placed(plane)

    live(story)


def test_one_that_may_not_preempt_is_not_tried_for_one_that_may() -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("low", 1)
        await plane.priority("meek", 10, preemptionPolicy="Never")
        await plane.priority("bold", 10)
        await plane.node("n1", cpu="2")
        await plane.pod("keeps", cpu="2", priority="bold")
        await plane.passes(1)
        await plane.pod("a", cpu="2", priority="meek")
        await plane.pod("b", cpu="2", priority="bold")
        await plane.passes(1)
        await plane.node("n2", cpu="2")
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.pod("small", cpu="1", priority="low", nodeName="n2")
        await plane.pod("other", cpu="2", priority="bold", nodeName="n1")
        await plane.passes(2)
        assert await plane.where("b") == "n2"
        assert await plane.where("a") == ""

    live(story)


def test_all_of_them_are_there_when_a_toleration_ends_and_the_first_has_gone() -> None:
    async def story(plane: Plane) -> None:
        said = {f"{TOLERATION}/minimum-preemptable-priority": "50", f"{TOLERATION}/toleration-seconds": "30"}
        await plane.priority("tolerant", 1, annotations=said)
        await plane.priority("middle", 10)
        await plane.node("n1", cpu="2")
        await plane.pod("keeps", cpu="2", priority="tolerant")
        await plane.passes(1)
        for number in range(3):
            await plane.pod(f"waits-{number}", cpu="2", priority="middle")
        await plane.passes(1)
        await plane.store.delete(PODS, "waits-0", "default", grace=0)
        await plane.passes(40)
        assert await plane.where("waits-1") == "n1"

    live(story)


def test_pods_in_queues_are_alike_by_queue_and_application() -> None:
    async def story(plane: Plane) -> None:
        made = queues(tree("a", cpu=2, preemption_delay="1s"), tree("b", cpu=2, preemption_delay="1s"))
        await plane.apply({**made, "metadata": {**made["metadata"], "namespace": "default"}})
        await _full(plane, labels={"queue": "root.a", "applicationId": "one"})
        counted = _count(plane)
        await plane.store.delete(PODS, "keeps-1", "default", grace=0)
        await plane.passes(1)
        assert counted["Fits"] == 1
        assert counted["Unschedulable"] <= 3

    live(story, Settings(validate=True))
