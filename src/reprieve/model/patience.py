"""Work that somebody waits for, and only for so long: it asks between its steps, and stops where nobody waits any more.

Whoever has the work done says how that is found out. So nothing that decides reads a clock, and what nobody is
impatient about goes on to its end.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("is_over", default=None)


class OutOfPatience(Exception):
    """Nobody waits any more for what was being worked out."""


@contextmanager
def patient_until(is_over: Callable[[], bool]) -> Iterator[None]:
    """Work inside of this stops once it is over."""
    token = _is_over.set(is_over)
    try:
        yield
    finally:
        _is_over.reset(token)


def go_on() -> None:
    """One more step, unless nobody waits for it."""
    is_over = _is_over.get()
    if is_over is not None and is_over():
        raise OutOfPatience
