"""How often those who wait are looked through: before every turn, unless that takes more than a moment."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from reprieve.scheduler.lanes import Helps, Lane
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.reactions import Reactions
from reprieve.scheduler.scheduling_queue import SchedulingQueue


class _Slow(Lane):
    """Looking through those who wait takes so many seconds; something has always happened."""

    kinds = frozenset({"Slow"})

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.looked = 0

    async def react(self, seen: Seen) -> None: ...

    async def turn(self, unit: str) -> None: ...

    def stirred(self) -> bool:
        return True

    def whom_it_helps(self) -> Helps:
        self.looked += 1
        self.now += self.seconds
        return lambda _: True


def _looks(seconds: float, turns: int = 10) -> tuple[int, float]:
    """How often it is looked in so many turns, each of which takes a hundredth; and when it is due again."""
    lane = _Slow(seconds)
    reactions = Reactions([lane], SchedulingQueue(lambda: lane.now), lambda: lane.now)

    async def work() -> None:
        for _ in range(turns):
            await reactions.take([])
            lane.now += 0.01

    asyncio.run(work())
    return lane.looked, reactions.due_in()


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.02])
def test_before_every_turn_where_that_takes_a_moment_at_most(seconds: float) -> None:
    assert _looks(seconds)[0] == 10


def test_for_a_fifth_of_the_time_at_most_where_it_takes_long() -> None:
    looked, due = _looks(1.0, turns=500)
    assert looked == 2
    assert 0 < due < inf
