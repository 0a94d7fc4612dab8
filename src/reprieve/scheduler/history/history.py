"""What was decided, and what became of each unit: kept in a file of its own, bounded, and asked long afterwards.

1. A decision is kept with its whole plan, in the words of the search that made it: later nothing of it is worked out
   anew. The same decision for the same unit, again and again, is one that is counted; when it has been forgotten
   meanwhile, because so many came after it, it is kept anew.
2. A decision to preempt is on disk before anybody is told to go; the others follow within moments.
3. The story of a unit is what happened to it, one line after the other, each with what caused it.
4. Decisions and stories are those of an object, not of its name: whoever comes later by that name has its own.
"""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from reprieve.engine.plan import Plan
from reprieve.model.clock import Clock, precise_timestamp
from reprieve.scheduler.history.comparisons import Comparisons, ShadowComparison
from reprieve.scheduler.history.families import Families
from reprieve.scheduler.history.file import BATCH, HistoryFile
from reprieve.scheduler.history.objects import Objects
from reprieve.scheduler.history.plans import kept_plan
from reprieve.scheduler.history.stories import Step, Stories

_MOST_DECISIONS = 20_000
_MOST_BYTES = 128 << 20
"""The oldest decisions and stories go when all together are larger, however few they are."""


class History:
    """Decisions, stories and the objects they are about; `:memory:` for tests and virtual time."""

    def __init__(
        self, path: Path | str, clock: Clock, *, most: int = _MOST_DECISIONS, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._clock = clock
        self._most = most
        self._most_bytes = most_bytes
        self._file = HistoryFile(path)
        self._objects = Objects(self._file, clock)
        self._stories = Stories(self._file)
        self._families = Families(self._objects, self._stories)
        self._comparisons = Comparisons(self._file, clock)
        self._latest: dict[tuple[str, str], tuple[int, tuple[object, ...]]] = {}

    def close(self) -> None:
        self._file.close()

    def flush(self) -> None:
        """Put on disk what has been written so far."""
        self._file.flush()

    # Writing

    def met(self, unit: str, uid: str, above: Iterable[str] = ()) -> bool:
        """An object is there, with what it belongs to, by uid or by name; whether it was not known before."""
        return self._objects.met(unit, uid, above)

    def left(self, unit: str, uid: str, cause: str) -> None:
        """An object is there no more."""
        self._objects.left(unit, uid)
        if self._stories.state(unit, uid) is not None:
            self.note(unit, "gone", cause, uid=uid)

    def present(self) -> list[tuple[str, str]]:
        """Unit and uid of all that are there, as far as is known."""
        return [(each.unit, each.uid) for each in self._objects.present()]

    def record(self, plan: Plan, *, units: int = 0, kind: str = "pods", waiting: int = 0) -> int:
        """Keep a decision; its number. `units` is the size of the world, in pods, workloads or bindings, `waiting` how
        many others wait for a decision: of a large one, or while many wait, the main points are kept."""
        told = (plan.outcome, plan.message, tuple(victim.unit for victim in plan.victims))
        now = precise_timestamp(self._clock())
        whose = plan.preemptor, self._objects.uid_of(plan.preemptor)
        again = self._count_again(whose, plan, told, now)
        if again:
            self._remember(whose, again, told)
            return again
        number = self._insert(whose, plan, now, kept_plan(plan, units, waiting, kind))
        self._remember(whose, number, told)
        if plan.outcome == "Preempt":
            self.flush()
        if number % BATCH == 0:
            self._forget(number)
        return number

    def _count_again(self, whose: tuple[str, str], plan: Plan, told: tuple[object, ...], now: str) -> int:
        """The number of the same decision, counted once more; 0 when this is another one, or that one is forgotten."""
        if plan.outcome not in ("Wait", "Unschedulable"):
            return 0
        known = self._latest.get(whose) or self._last_of(whose)
        if known is None or known[1] != told:
            return 0
        statement = "UPDATE decisions SET last = ?, times = times + 1 WHERE id = ?"
        return known[0] if self._file.execute(statement, (now, known[0])).rowcount else 0

    def _last_of(self, whose: tuple[str, str]) -> tuple[int, tuple[object, ...]] | None:
        """What was last decided, by a scheduler before this one; who waits has no victims."""
        query = "SELECT id, outcome, message FROM decisions WHERE unit = ? AND uid = ? ORDER BY id DESC LIMIT 1"
        found = self._file.row(query, *whose)
        return None if found is None else (found[0], (*found[1:], ()))

    def _insert(self, whose: tuple[str, str], plan: Plan, now: str, body: bytes) -> int:
        number = self._file.insert("decisions", now, now, 1, *whose, plan.policy, plan.outcome, plan.message, body)
        for victim in plan.victims:
            for unit in (victim.unit, *((victim.group,) if victim.group else ())):
                self._file.insert("preempted", unit, self._objects.uid_of(unit), number)
        return number

    def _remember(self, whose: tuple[str, str], number: int, told: tuple[object, ...]) -> None:
        if len(self._latest) > self._most:
            self._latest.clear()
        self._latest[whose] = (number, told)

    def note(
        self, unit: str, step: Step, cause: str, decision: int = 0, *, at: datetime | None = None, uid: str = ""
    ) -> None:
        """One more line of a unit's story: of the one with this uid, if it is known, else of who has the name now."""
        moment = precise_timestamp(at or self._clock())
        known = uid if self._objects.knows(unit, uid) else self._objects.uid_of(unit)
        self._stories.note(moment, unit, known, step, cause, decision)

    def compared(self, made: ShadowComparison) -> None:
        """What another scheduler decided, beside what this one would have."""
        self._comparisons.add(made)

    def _forget(self, number: int) -> None:
        oldest = (number - self._most,)
        self._file.execute("DELETE FROM decisions WHERE id <= ?", oldest)
        self._file.execute("DELETE FROM preempted WHERE decision <= ?", oldest)
        if self._file.size > self._most_bytes:
            self._file.drop_oldest("story")
            self._file.drop_oldest("comparisons")
            until = self._file.drop_oldest("decisions")
            self._file.execute("DELETE FROM preempted WHERE decision <= ?", (until,))

    # Asking

    def decision(self, number: int) -> dict[str, Any] | None:
        """One decision, with all that is kept of it."""
        query = f"SELECT {_COLUMNS}, body FROM decisions WHERE id = ?"  # noqa: S608 - constants only
        row = self._file.row(query, number)
        return None if row is None else {**_summary(row), "plan": msgspec.json.decode(row[-1])}

    def decisions(self, unit: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """The last decisions, newest first: all, or those that were about a unit or cost it its place."""
        if unit:
            where = " WHERE unit = ? OR id IN (SELECT decision FROM preempted WHERE unit = ?)"
            values: tuple[object, ...] = (unit, unit, limit)
        else:
            where, values = "", (limit,)
        query = f"SELECT {_COLUMNS} FROM decisions{where} ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants only
        return [_summary(row) for row in self._file.rows(query, *values)]

    def agreement(self, limit: int = 50) -> dict[str, Any]:
        """How often another scheduler decided alike, and the last so many times that it did not."""
        return self._comparisons.report(limit)

    def story(self, unit: str, limit: int = 100, *, uid: str = "") -> list[dict[str, Any]]:
        """What happened to a unit, the oldest first, and not more than the last so many lines."""
        return self._stories.lines(unit, uid or self._objects.uid_of(unit), limit)

    def called(self, name: str) -> list[str]:
        """The units of any kind and namespace that are called so."""
        return list(dict.fromkeys(each.unit for each in self._objects.called(name)))

    def evicted_with(self, uid: str) -> str:
        """The quota workload that a pod has to leave with, if it was evicted; else empty."""
        return self._families.evicted_with(uid)

    def attempts(self, unit: str) -> list[dict[str, Any]]:
        """What all that had this name, one after the other, were tried as, in the order of time."""
        known = self._objects.by_name(unit)
        return [found for each in known for found in self._families.attempts(unit, each.uid, silent=True)]

    def explain(self, unit: str, uid: str = "") -> dict[str, Any]:
        """All there is to tell about a unit: of the one with this uid, else of the one that has, or last had, the name.

        `attempts` are what it was tried as, `others` what else is told: the attempts themselves, the group or the
        quota workload that was decided about in its place. `earlier` had the name before.
        """
        uid = uid or self._objects.uid_of(unit)
        return {
            **self._told(unit, uid),
            "attempts": self._families.attempts(unit, uid),
            "others": [self._told(*each) for each in self._families.others(unit, uid)],
            "earlier": self._families.earlier(unit, uid),
        }

    def _told(self, unit: str, uid: str) -> dict[str, Any]:
        """The story of one, the last decision about it, the last in which it preempted, and the last against it."""
        last = "SELECT max(id) FROM decisions WHERE unit = ? AND uid = ?"
        preempting = self._number(f"{last} AND outcome = 'Preempt'", unit, uid)
        refused = self._number(f"{last} AND outcome = 'Unschedulable'", unit, uid)
        preempted_by = self._number("SELECT max(decision) FROM preempted WHERE unit = ? AND uid = ?", unit, uid)
        return {
            "unit": unit,
            "uid": uid,
            "story": self._stories.lines(unit, uid, limit=100),
            "decision": self.decision(self._number(last, unit, uid)),
            "preemption": self.decision(preempting) if preempting > refused else None,
            "preempted": self.decision(preempted_by),
        }

    def _number(self, query: str, *values: str) -> int:
        row = self._file.row(query, *values)
        return int(row[0] or 0) if row else 0


_COLUMNS = "id, first, last, times, unit, uid, policy, outcome, message"


def _summary(row: tuple[Any, ...]) -> dict[str, Any]:
    keys = ("id", "at", "last", "times", "preemptor", "uid", "policy", "outcome", "message")
    return dict(zip(keys, row[: len(keys)], strict=True))
