"""A day of a thousand pods in virtual time: it takes seconds, and it is the same day each time."""

from __future__ import annotations

from math import inf
from random import Random
from typing import NamedTuple

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.scheduler import refresh
from tests.planes.laws import Eye
from tests.planes.rest import what_is_wrong
from tests.planes.running import Plane, job, live, pod, replica_set

DAY = 86_400.0
PODS = 1000


class Day(NamedTuple):
    """Everything that a day leaves behind."""

    objects: dict[str, bytes]
    events: dict[str, bytes]
    decisions: list[bytes]
    stories: list[tuple[str, ...]]
    bound: int
    evicted: int
    wrong: list[str]


def _a_day(seed: int) -> Day:
    """Jobs all day long, more than fit at noon, on top of services that are always there."""

    async def story(plane: Plane) -> Day:
        random = Random(seed)  # noqa: S311 - not a secret
        eye = Eye(plane.plane.store)
        for number in range(12):
            await plane.node(f"n{number}", cpu="16")
        for name, value in (("idle", -10), ("batch", 1), ("work", 10), ("urgent", 100)):
            await plane.priority(name, value)
        await plane.apply(replica_set("service", replicas=20, cpu="2", priority="work"))
        await plane.apply(replica_set("filler", replicas=12, cpu="8", priority="idle", leaves=10))
        arrivals = sorted(random.triangular(0, 0.8 * DAY, DAY / 2) for _ in range(PODS))
        passed = 0.0
        for number, moment in enumerate(arrivals):
            await plane.passes(moment - passed)
            passed = moment
            cpu, runs = str(random.choice([1, 2, 4])), random.uniform(60, 3000)
            priority = random.choices(["batch", "work", "urgent"], [6, 3, 1])[0]
            if number % 10:
                await plane.pod(f"pod-{number}", cpu=cpu, priority=priority, run=runs, leaves=random.randint(0, 20))
            else:
                await plane.apply(job(f"job-{number}", replicas=3, cpu=cpu, priority=priority, run=runs))
        await plane.passes(DAY - passed)
        return await _left_behind(plane, eye)

    made: Day = live(story, Settings(), seed=seed)
    return made


async def _left_behind(plane: Plane, eye: Eye) -> Day:
    records = [record for resource in RESOURCES.values() for record in (await plane.store.list(resource)).records]
    file = plane.plane.history._file
    return Day(
        objects={record.unit: record.raw for record in records if record.resource != EVENTS},
        events={record.unit: record.raw for record in records if record.resource == EVENTS},
        decisions=[row[0] for row in file.rows("SELECT body FROM decisions ORDER BY id")],
        stories=[tuple(map(str, row)) for row in file.rows("SELECT * FROM story ORDER BY id")],
        bound=len(eye.homes),
        evicted=eye.evictions.total(),
        wrong=await what_is_wrong(plane, eye),
    )


def test_a_day_of_a_thousand_pods_is_lived_through_and_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # To tell hundreds who wait the last numbers after every change takes a small part of the time; here, all of it.
    monkeypatch.setattr(refresh, "QUIET_SECONDS", inf)
    day = _a_day(3)
    assert day.wrong == []
    assert day.bound > PODS
    assert day.evicted > 50, "the middle of the day is crowded"
    ended = [unit for unit, raw in day.objects.items() if unit.startswith("Pod/") and b'"Succeeded"' in raw]
    assert len(ended) > 0.9 * PODS
    again = _a_day(3)
    for name, first, second in zip(Day._fields, day, again, strict=True):
        assert first == second, name


def test_another_seed_is_another_day() -> None:
    async def story(plane: Plane) -> str:
        return (await plane.store.create(_PODS, pod("a"))).uid

    assert live(story, seed=1) == live(story, seed=1)
    assert live(story, seed=1) != live(story, seed=2)


_PODS = next(resource for resource in RESOURCES.values() if resource.kind == "Pod")
