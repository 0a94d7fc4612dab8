"""Whoever waits while others get quota one after the other is told why when that is over, once, and what is true."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.manifests.loading import load_objects
from reprieve.stores.embedded.store import EmbeddedStore
from tests.builders.quota import flavor, queue, workload
from tests.planes.rest import everything
from tests.planes.running import Plane, condition, live
from tests.scheduler.quota.companies import admitted_by

_TEAMS = 6


async def teams(plane: Plane, **queues: Any) -> None:
    """Queues of one cohort, each with a quota of 2: one uses all there is, in each waits somebody who asks for 7."""
    await plane.apply(flavor())
    for number in range(_TEAMS):
        await plane.apply(*queue(f"q{number}", {"default": {"cpu": 2}}, cohort="all", **queues))
    await plane.apply(workload("r", "q0", cpu=2 * _TEAMS, priority=9))
    await plane.passes(3)
    await plane.apply(*(workload(f"w{number}", f"q{number}", cpu=7) for number in range(_TEAMS)))
    await plane.passes(3)
    assert set(await waiting(plane)) == {f"w{number}" for number in range(_TEAMS)}


class Watched:
    """What is written about why workloads wait, and what is decided about them."""

    def __init__(self, plane: Plane, patched: pytest.MonkeyPatch) -> None:
        self.written: Counter[str] = Counter()
        self.decided: Counter[str] = Counter()
        history, patch, record = plane.plane.history, EmbeddedStore.patch, plane.plane.history.record

        async def patching(store: Any, resource: Any, name: str, *arguments: Any, **options: Any) -> Any:
            changed = await patch(store, resource, name, *arguments, **options)
            if resource == QUOTA_WORKLOADS and condition(changed, "QuotaReserved").get("status") == "False":
                self.written[name] += 1
            return changed

        def recording(plan: Any, **options: Any) -> int:
            if plan.outcome in ("Wait", "Unschedulable"):
                self.decided[plan.preemptor.rpartition("/")[2]] += 1
            number: int = record(plan, **options)
            return number

        patched.setattr(EmbeddedStore, "patch", patching)
        patched.setattr(history, "record", recording)

    def forget(self) -> None:
        self.written.clear()
        self.decided.clear()


async def waiting(plane: Plane) -> dict[str, str]:
    """Who waits, and what it was told."""
    records = (await plane.store.list(QUOTA_WORKLOADS)).records
    return {one.name: condition(one, "QuotaReserved").get("message", "") for one in records if not admitted_by(one)}


async def assert_true(plane: Plane) -> None:
    """What everybody was told is what a plan over the store says."""
    planner = plane.plane.planner(load_objects(await everything(plane)), plane.clock())
    for name, told in (await waiting(plane)).items():
        assert told == planner.single(f"Workload/default/{name}").decisions[0].message


def test_when_quota_comes_free_each_who_waits_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await teams(plane)
        watched = Watched(plane, monkeypatch)
        await plane.store.delete(QUOTA_WORKLOADS, "r", "default")
        await plane.passes(3)
        others = set(await waiting(plane))
        assert len(others) == _TEAMS - 1
        assert watched.written == watched.decided == dict.fromkeys(others, 1)
        await assert_true(plane)

    live(story, longest=60)


def test_while_some_are_made_to_leave_nobody_is_told_what_is_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preemption is three cycles: who has to leave, who waits for that, who gets what they left. It is told of twice:
    between them, because it may take long, and at the end."""

    async def story(plane: Plane) -> None:
        await teams(plane, reclaim="LowerPriority")
        watched = Watched(plane, monkeypatch)
        await plane.apply(workload("urgent", "q5", cpu=2, priority=10))
        await plane.passes(3)
        assert admitted_by(await plane.store.get(QUOTA_WORKLOADS, "urgent", "default"))
        told = await waiting(plane)
        assert max(watched.decided[name] for name in told if name.startswith("w")) <= 2
        await assert_true(plane)

    live(story, longest=60)


def test_whoever_waits_in_another_tree_is_not_decided_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        watched = Watched(plane, monkeypatch)
        await plane.apply(*queue("free", {"default": {"cpu": 1}}))
        await teams(plane)
        assert watched.written == dict.fromkeys(await waiting(plane), 1)
        await assert_true(plane)
        watched.forget()
        await plane.apply(workload("small", "free", cpu=1))
        await plane.passes(3)
        assert admitted_by(await plane.store.get(QUOTA_WORKLOADS, "small", "default"))
        assert not watched.written
        assert not watched.decided

    live(story, longest=60)


def test_whoever_has_no_reason_yet_is_given_one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside somebody who is admitted: it is told of once more when that is done."""

    async def story(plane: Plane) -> None:
        await plane.apply(flavor())
        for name in ("one", "two"):
            await plane.apply(*queue(name, {"default": {"cpu": 1}}, cohort="pair"))
        watched = Watched(plane, monkeypatch)
        await plane.apply(workload("small", "one", cpu=1), workload("large", "two", cpu=3))
        await plane.passes(3)
        assert set(await waiting(plane)) == {"large"}
        assert watched.decided == {"large": 2}
        await assert_true(plane)

    live(story, longest=60)


def test_new_reasons_are_told_to_many_now_and_then_and_to_the_last_one_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten leave within two seconds; sixty who wait are told other numbers once or twice, and the last ones are true."""

    async def story(plane: Plane) -> None:
        watched = Watched(plane, monkeypatch)
        await crowd(plane, many=60)
        watched.forget()
        for number in range(10):
            await plane.store.delete(QUOTA_WORKLOADS, f"small{number}", "default")
            await plane.passes(0.2)
        await plane.passes(10)
        assert max(watched.written[name] for name in await waiting(plane)) <= 3
        await assert_true(plane)

    live(story, longest=60)


def test_whose_moment_to_preempt_comes_does_so_though_reasons_are_told_later() -> None:
    async def story(plane: Plane) -> None:
        await crowd(plane, many=60)
        wait = {"reprieve.scheduling/wait-before-preemption-seconds": "20"}
        began = plane.clock()
        await plane.apply(workload("urgent", "q0", cpu=14, priority=10, annotations=wait))
        await plane.passes(18)
        for name in ("small0", "small1"):  # all are told of the first one, and of the second one only seconds later
            await plane.store.delete(QUOTA_WORKLOADS, name, "default")
            await plane.passes(0.2)
        while "urgent" in await waiting(plane):
            await plane.passes(0.1)
        assert 20 <= (plane.clock() - began).total_seconds() < 21

    live(story, longest=60)


async def crowd(plane: Plane, many: int) -> None:
    """A queue of 24 that ten small ones and a large one fill, and many others that wait for more than there is."""
    await plane.apply(flavor())
    await plane.apply(*queue("q0", {"default": {"cpu": 24}}, within="LowerPriority"))
    await plane.apply(*(workload(f"small{number}", "q0", cpu=1, priority=9) for number in range(10)))
    await plane.apply(workload("large", "q0", cpu=14, priority=5))
    await plane.passes(3)
    await plane.apply(*(workload(f"w{number}", "q0", cpu=25, priority=1) for number in range(many)))
    await plane.passes(5)
