"""So many requests a second, so many at once, in the order of asking."""

from __future__ import annotations

import asyncio

import pytest

from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.kubernetes.rate_limit import RateLimit


class Moments:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_as_many_at_once_as_the_burst_and_then_one_after_the_other() -> None:
    limit = RateLimit(10, 3, Moments())
    assert [limit.reserve() for _ in range(6)] == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_what_was_not_used_comes_back_up_to_the_burst_and_no_further() -> None:
    moments = Moments()
    limit = RateLimit(10, 3, moments)
    for _ in range(3):
        limit.reserve()
    moments.now += 0.2
    assert [limit.reserve() for _ in range(3)] == pytest.approx([0, 0, 0.1])
    moments.now += 3600
    assert [limit.reserve() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


@pytest.mark.parametrize(("qps", "burst"), [(1, 1), (5, 1), (7.5, 4), (200, 400)])
def test_in_the_long_run_it_is_the_rate(qps: float, burst: int) -> None:
    moments = Moments()
    limit = RateLimit(qps, burst, moments)
    began, number = moments.now, burst + int(qps * 60)
    for _ in range(number):
        moments.now += limit.reserve()
    assert (number - burst) / (moments.now - began) == pytest.approx(qps, rel=0.02)


@pytest.mark.parametrize("qps", [0, -1])
def test_no_limit(qps: float) -> None:
    limit = RateLimit(qps, 1, Moments())
    assert [limit.reserve() for _ in range(1000)] == [0.0] * 1000


def test_a_burst_of_nothing_is_one() -> None:
    assert RateLimit(1, 0, Moments()).reserve() == 0.0


def test_whoever_waits_is_served_in_the_order_of_asking() -> None:
    served: list[tuple[int, float]] = []

    async def main(_: Clock) -> None:
        limit, loop = RateLimit(10, 2), asyncio.get_running_loop()
        began = loop.time()

        async def ask(number: int) -> None:
            await limit.wait()
            served.append((number, round(loop.time() - began, 3)))

        await asyncio.gather(*(ask(number) for number in range(6)))

    run_virtually(main)
    assert served == [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.2), (4, 0.3), (5, 0.4)]
