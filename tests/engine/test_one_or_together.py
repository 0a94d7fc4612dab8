"""One that is enough goes alone, else they go together."""

from __future__ import annotations

import numpy as np
import pytest

from reprieve.engine.steps import LARGEST, one_or_together

TABLE = [
    ("the first that is enough alone", [5], [[1], [2], [5], [2]], [2]),
    ("together before one that is enough alone", [3], [[1], [2], [5]], [0, 1]),
    ("at the same place, alone", [3], [[1], [3]], [1]),
    ("together", [6], [[2], [2], [2], [9]], [0, 1, 2]),
    ("whoever a later one made superfluous is given back", [5], [[1], [2], [4]], [0, 2]),
    ("the most important of them first", [6], [[1], [1], [5]], [0, 2]),
    ("several are given back", [9], [[1], [1], [4], [6]], [2, 3]),
    ("needed for one resource though not for the other", [4, 1], [[1, 1], [2, 0], [3, 0]], [0, 2]),
    ("all are too little", [9], [[2], [2]], None),
    ("nobody is there", [1], np.zeros((0, 1), dtype=np.int64), None),
    ("nothing is missing", [], np.zeros((2, 0), dtype=np.int64), None),
    ("one for all that is missing", [4, 1], [[6, 0], [4, 1]], [1]),
    ("one for each that is missing", [4, 1], [[4, 0], [0, 1]], [0, 1]),
    ("who holds nothing of it is passed over", [2], [[0], [1], [1]], [1, 2]),
    ("more than can be counted adds up all the same", [LARGEST], [[LARGEST - 1], [LARGEST - 1]], [0, 1]),
    ("more than anybody could hold", [LARGEST + 1], [[LARGEST], [LARGEST]], None),
]


@pytest.mark.parametrize(("gap", "shares", "want"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_who_covers_the_gap(gap: list[int], shares: list[list[int]], want: list[int] | None) -> None:
    amounts = np.array(shares, dtype=np.int64)
    assert one_or_together(gap, amounts, np.ones(len(amounts), dtype=np.bool_)) == want


def test_whoever_is_no_candidate_is_not_asked() -> None:
    shares = np.array([[5], [5]], dtype=np.int64)
    assert one_or_together([5], shares, np.array([False, True])) == [1]
