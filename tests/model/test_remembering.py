"""What is remembered, and what is too large for that."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from reprieve.model.remembering import looked_up, remembered


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("short", 1),
        (("a", ("b", 1)), 1),
        ("k" * 1_001, 2),
        ((("a" * 600, 1), ("b" * 600, 2)), 2),
        (tuple(str(number) for number in range(600)), 2),
        (Decimal("1" * 2_000), 2),
        (1 << 5_000, 2),
        (1 << 62, 1),
    ],
)
def test_what_is_large_is_asked_again(given: Any, asked: int) -> None:
    calls = []

    @remembered(10)
    def answer(value: Any) -> Any:
        calls.append(value)
        return value

    assert (answer(given), answer(given)) == (given, given)
    assert len(calls) == asked


def test_more_may_be_kept_of_what_is_asked_often() -> None:
    calls = []

    @remembered(10, largest=5_000)
    def answer(text: str, other: str = "") -> int:
        calls.append(text)
        return len(text + other)

    assert [answer("a" * 2_000), answer("a" * 2_000), answer("a" * 2_000, other="b" * 4_000)] == [2_000, 2_000, 6_000]
    assert len(calls) == 2


def test_of_what_is_looked_up_only_so_much_is_kept() -> None:
    calls = []

    @looked_up(2, largest=5)
    def answer(text: str) -> int:
        calls.append(text)
        return len(text)

    assert [answer(text) for text in ("a", "b", "a", "too large", "too large")] == [1, 1, 1, 9, 9]
    assert calls == ["a", "b", "too large", "too large"]
    assert [answer(text) for text in ("c", "c", "a")] == [1, 1, 1]
    assert calls[4:] == ["c", "a"], "there was no more room, so it began anew"
