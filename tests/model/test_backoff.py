"""Waits after failures: where they begin, how they grow, and that they do not grow for ever."""

from __future__ import annotations

import sys
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.backoff import Backoff


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(first=1, longest=10)
    assert [backoff.wait(failures) for failures in range(7)] == [0, 1, 2, 4, 8, 10, 10]


def test_another_factor() -> None:
    assert [Backoff(2, 100, factor=1.5).wait(failures) for failures in (1, 2, 3)] == [2, 3, 4.5]


@given(st.integers(0, 500), st.floats(0.001, 100), st.floats(1, 4))
def test_a_wait_is_never_shorter_than_the_one_before_nor_longer_than_the_longest(
    failures: int, first: float, factor: float
) -> None:
    backoff = Backoff(first, longest=300, factor=factor)
    assert 0 <= backoff.wait(failures) <= backoff.wait(failures + 1) <= 300


def test_any_number_of_failures_has_a_wait() -> None:
    assert Backoff(0.005, 60).wait(sys.maxsize) == 60


def test_jitter_is_the_same_for_the_same_seed() -> None:
    def waits(seed: int) -> list[float]:
        backoff = Backoff(1, 10, jitter=lambda: chance.uniform(0, 0.1))
        chance = Random(seed)  # noqa: S311
        return [backoff.wait(failures) for failures in range(1, 6)]

    assert waits(1) == waits(1) != waits(2)
    assert all(even <= wait <= even * 1.1 for even, wait in zip((1, 2, 4, 8, 10), waits(1), strict=True))
