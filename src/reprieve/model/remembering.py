"""Answers that are remembered by what was asked, as `lru_cache` does; but not of what is large.

How many answers are kept is bounded, and what others write to be asked about is not: a thousand names of a megabyte
each would stay in memory for good, also those that were refused.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

_Given = ParamSpec("_Given")
_One = TypeVar("_One")
_Answer = TypeVar("_Answer")


class _TooLarge(Exception):
    """What raises is not kept."""


def remembered(
    most: int, *, largest: int = 1_000, typed: bool = False
) -> Callable[[Callable[_Given, _Answer]], Callable[_Given, _Answer]]:
    """Keep the last answers, so many at most; not where there are more letters and items than `largest` in all that is
    asked about."""

    def remembering(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
        def checked(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
            if _size(given) + (_size(named) if named else 0) > largest:  # looked at only where no answer is kept yet
                raise _TooLarge
            return function(*given, **named)

        kept = cast("Callable[_Given, _Answer]", lru_cache(most, typed)(checked))

        @wraps(function)
        def ask(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
            try:
                return kept(*given, **named)
            except _TooLarge:
                return function(*given, **named)

        return ask

    return remembering


class _Answers(dict[Any, Any]):
    """What was answered so far, by the one thing that was asked about. When there is no more room it starts anew."""

    def __init__(self, function: Callable[[Any], Any], most: int, largest: int) -> None:
        self._function = function
        self._most = most
        self._largest = largest

    def __missing__(self, asked: Any) -> Any:
        answer = self._function(asked)
        if _size(asked) <= self._largest:
            if len(self) >= self._most:
                self.clear()
            self[asked] = answer
        return answer


def looked_up(most: int, *, largest: int = 1_000) -> Callable[[Callable[[_One], _Answer]], Callable[[_One], _Answer]]:
    """The same for what is asked about one thing, and of each of a hundred thousand objects: what is known is looked
    up, and nothing is called."""

    def looking_up(function: Callable[[_One], _Answer]) -> Callable[[_One], _Answer]:
        return _Answers(function, most, largest).__getitem__

    return looking_up


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, tuple):
        return len(value) + sum([len(each) if isinstance(each, str) else _size(each) for each in value])
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits)
    return sum(_size(key) + 1 for key in value) if isinstance(value, Mapping) else 1
