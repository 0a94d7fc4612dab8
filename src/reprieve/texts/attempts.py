"""What earlier attempts wrote, and what is left of it."""

from collections.abc import Sequence

from reprieve.texts.history import clock_time
from reprieve.texts.parts import and_more, count

Listed = Sequence[tuple[int, str, str]]
_MOST = 10


def stands(state: str, since: str) -> str:
    return f"{state} at {clock_time(since)}" if state != "pending" else state


def exited(code: int | None) -> str:
    return "started again" if code is None else f"exited with {code}"


def this_is(number: int, of: int, unit: str, how: str) -> str:
    return f"This is attempt {number} of {of}: {unit} ({how})."


def heading(number: int, unit: str, how: str) -> str:
    return f"==> attempt {number}: {unit} ({how}) <=="


def _all(found: Listed) -> str:
    shown = ", ".join(f"{number}: {unit} ({how})" for number, unit, how in found[-_MOST:])
    return shown if len(found) <= _MOST else f"{shown} {and_more(len(found) - _MOST)} before"


def no_such_attempt(number: int, whose: str, found: Listed) -> str:
    return f"--attempt: {whose} has {count(len(found), 'attempt')}, no {number}: {_all(found)}"


def no_previous(whose: str, found: Listed) -> str:
    return f"{whose} has no attempt before the last: {_all(found)}"


def nothing_kept(whose: str, found: Listed) -> str:
    return f"{whose} has no pod now, and no log of it is kept; attempts: {_all(found) or 'none'}"


def has_no_pod(whose: str) -> str:
    return f"{whose} has no pod now."


def cut(number: int) -> str:
    return f"{count(number, 'byte')} at the beginning were dropped: only the end of each attempt is kept."


def dropped(number: int) -> str:
    return f"the log of attempt {number} was dropped: the oldest go first when there is too much of them"


def has_not_run(unit: str) -> str:
    return f"{unit} has written nothing that is kept: it has not started, or its node keeps no logs"


def which_container(unit: str, known: Sequence[str]) -> str:
    return f"{unit} has several containers; say which with -c: {', '.join(known)}"
