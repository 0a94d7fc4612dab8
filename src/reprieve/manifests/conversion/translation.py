"""How one version of a kind is spelled, seen from the preferred one."""

from collections.abc import Callable
from typing import Any, NamedTuple

Data = dict[str, Any]


class Translation(NamedTuple):
    """Both change plain data in place. What the other side cannot say is left out: whoever converts keeps it."""

    to_preferred: Callable[[Data], None]
    from_preferred: Callable[[Data], None]


def rename(data: Data, old: str, new: str) -> None:
    if old in data:
        data[new] = data.pop(old)


def leave_out(data: Data, *names: str) -> None:
    for name in names:
        data.pop(name, None)


def without_empty(data: Data) -> Data:
    """Only fields that are set."""
    return {name: value for name, value in data.items() if value is not None}
