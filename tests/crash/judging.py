"""What the history of a control plane that was killed again and again has to say of its preemptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprieve.model.clock import system_clock
from reprieve.scheduler.history import History
from tests.crash.load import PRIORITIES

_MOST = 100_000


def preempting(directory: Path) -> set[str]:
    """The policies by which somebody had to make way."""
    history = History(directory / "history.db", system_clock)
    try:
        return {made["policy"] for made in history.decisions(limit=_MOST) if made["outcome"] == "Preempt"}
    finally:
        history.close()


def wasted(directory: Path) -> list[str]:
    """Preemptors of the highest priority, whom nobody can take a place from, that had somebody leave twice.

    Where the process died before anybody was told, the decision is made again, and that is right: what counts is that
    the victims of the first one were told.
    """
    history = History(directory / "history.db", system_clock)
    try:
        asked: dict[str, int] = {}
        twice = []
        for made in reversed(history.decisions(limit=_MOST)):
            unit, number = made["preemptor"], made["id"]
            if made["policy"] != "pod" or made["outcome"] not in ("Fits", "Preempt"):
                continue
            before = asked.pop(unit, 0)
            if made["outcome"] == "Preempt":
                asked[unit] = number
            if made["outcome"] == "Preempt" and before and _is_highest(history, number) and _told(history, before):
                twice.append(f"{unit} had somebody leave by decisions {before} and {number}")
        return twice
    finally:
        history.close()


def _victims(history: History, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (history.decision(number) or {"plan": {"victims": []}})["plan"]["victims"]
    return found


def _is_highest(history: History, number: int) -> bool:
    highest = max(PRIORITIES.values())
    return any(f"is below {highest}," in victim["message"] for victim in _victims(history, number))


def _told(history: History, number: int) -> bool:
    lines = (line for victim in _victims(history, number) for line in history.story(victim["unit"]))
    return any(line["step"] == "evicted" and line["decision"] == number for line in lines)
