"""The small parts that sentences share."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

_MOST_NAMES = 3


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def every(number: int, one: str, several: str) -> str:
    """`the one pod there`, `both pods there`, `all 3 pods there`."""
    return f"the one {one}" if number == 1 else f"both {several}" if number == 2 else f"all {number} {several}"


def moment(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return "the end of time"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def listed(names: Sequence[str]) -> str:
    """A few names in full, many by number."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def and_more(number: int) -> str:
    return f"and {number} more"
