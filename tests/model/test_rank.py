"""Whose turn it is: priorities are compared level by level, from where two paths meet."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.rank import Rank

ranks = st.lists(st.integers(-2, 2), min_size=1, max_size=4).map(lambda levels: Rank(*levels))


def test_the_higher_priority_goes_first() -> None:
    assert sorted([Rank(1), Rank(3), Rank(2)]) == [Rank(3), Rank(2), Rank(1)]


def test_what_a_fence_hides_counts_only_among_those_behind_it() -> None:
    behind = [Rank(5, 1), Rank(5, 9)]
    assert sorted([*behind, Rank(6), Rank(4)]) == [Rank(6), Rank(5, 9), Rank(5, 1), Rank(4)]


def test_levels_that_change_nothing_do_not_count() -> None:
    assert Rank(5, 5, 5) == Rank(5)
    assert not Rank(5) < Rank(5, 5)
    assert sorted([Rank(5, 7), Rank(5), Rank(5, 3)]) == [Rank(5, 7), Rank(5), Rank(5, 3)]


@given(st.lists(ranks, min_size=3, max_size=3))
def test_it_is_an_order(some: list[Rank]) -> None:
    first, second, third = some
    assert (first < second) + (second < first) + (first == second) == 1
    assert not (first < second < third) or first < third
    assert len({tuple(sorted(order)) for order in permutations(some)}) == 1
