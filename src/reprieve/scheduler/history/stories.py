"""What happened to a unit, one line after the other, each with what caused it; and how it stands after the last."""

from collections.abc import Iterable
from typing import Any, Literal

from reprieve.scheduler.history.file import BATCH, HistoryFile

Step = Literal[
    "queued",
    "tried",
    "nominated",
    "bound",
    "admitted",
    "scheduled",
    "evicted",
    "succeeded",
    "failed",
    "gone",
    "held",
]
State = Literal["pending", "bound", "admitted", "scheduled", "preempted", "succeeded", "failed", "deleted"]

_MOST_LINES = 200_000
_WAITING = ("queued", "tried", "nominated", "held")
_STATES: dict[str, State] = {
    **dict.fromkeys(_WAITING, "pending"),
    "bound": "bound",
    "admitted": "admitted",
    "scheduled": "scheduled",
    "evicted": "preempted",
    "succeeded": "succeeded",
    "failed": "failed",
}


class Stories:
    """The lines of all stories."""

    def __init__(self, file: HistoryFile) -> None:
        self._file = file

    def note(self, at: str, unit: str, uid: str, step: Step, cause: str, decision: int) -> None:
        """One more line. Who waits already is not queued again, and the same decision is not tried again: that a
        scheduler was started anew is nothing that happened to it."""
        if step in ("queued", "tried") and self._goes_on(unit, uid, step, decision):
            return
        number = self._file.insert("story", at, unit, uid, step, cause, decision)
        if number % (BATCH * 16) == 0:
            self._file.execute("DELETE FROM story WHERE id <= ?", (number - _MOST_LINES,))

    def _goes_on(self, unit: str, uid: str, step: Step, decision: int) -> bool:
        query = "SELECT step, decision FROM story WHERE unit = ? AND uid = ? ORDER BY id DESC LIMIT 1"
        last = self._file.row(query, unit, uid)
        if last is None or step == "tried":
            return last == (step, decision) and decision > 0
        return last[0] in _WAITING

    def is_evicted(self, unit: str, uid: str) -> bool:
        """Whether it was told to go, and has got no place since."""
        query = "SELECT step FROM story WHERE unit = ? AND uid = ? AND step IN ('evicted', 'admitted') ORDER BY id DESC"
        return self._file.row(f"{query} LIMIT 1", unit, uid) == ("evicted",)

    def lines(self, unit: str, uid: str, limit: int) -> list[dict[str, Any]]:
        """The oldest first, and not more than the last so many."""
        query = "SELECT at, step, cause, decision FROM story WHERE unit = ? AND uid = ? ORDER BY id DESC LIMIT ?"
        keys = ("at", "step", "cause", "decision")
        return [dict(zip(keys, row, strict=True)) for row in reversed(self._file.rows(query, unit, uid, limit))]

    def state(self, unit: str, uid: str) -> tuple[State, str] | None:
        """How it stands, and since when; None: nothing happened to it that is still known.

        That it is gone tells nothing more of one that was preempted, or had ended before.
        """
        rows = self._file.rows("SELECT step, at FROM story WHERE unit = ? AND uid = ? ORDER BY id", unit, uid)
        return _state(rows)


def _state(rows: Iterable[tuple[str, str]]) -> tuple[State, str] | None:
    state: tuple[State, str] | None = None
    for step, at in rows:
        if step in _STATES:
            state = (_STATES[step], at) if state is None or _STATES[step] != state[0] else state
        elif state is None or state[0] not in ("preempted", "succeeded", "failed"):
            state = ("deleted", at)
    return state
