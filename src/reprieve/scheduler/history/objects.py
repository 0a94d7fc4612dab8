"""Which objects there were: a name is not an object. A pod that comes later by the name of another is another one.

1. An object is kept by its uid, from when it was first seen, with what it belongs to: its owners, and its group.
2. What is decided about a name, and what happens to it, counts for the one that has the name at that moment.
3. Those that are gone are forgotten, the oldest first, when there are too many.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reprieve.model.clock import Clock, precise_timestamp
from reprieve.model.names import kind_of, parts_of, unit_name
from reprieve.scheduler.history.file import BATCH, HistoryFile

_MOST_GONE = 100_000
_MOST_REMEMBERED = 20_000
WORKLOAD = "Workload"


class KnownObject(NamedTuple):
    """An object that is or was there; `gone` is empty while it is."""

    unit: str
    uid: str
    first: str
    gone: str = ""


_COLUMNS = "objects.unit, objects.uid, objects.first, objects.gone"


class Objects:
    """The objects that a history knows."""

    def __init__(self, file: HistoryFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._holders: dict[str, str] = {}
        """Who has a name, as far as it was asked lately; the file knows the rest."""
        self._workloads: dict[str, list[KnownObject]] = {}

    # Writing

    def met(self, unit: str, uid: str, above: Iterable[str] = ()) -> bool:
        """There is such an object, and what it belongs to, by uid or by name; whether it was not known before."""
        now = precise_timestamp(self._clock())
        number = self._file.insert("objects", unit, uid, parts_of(unit).name, now)
        if number:
            self._remember(unit, uid)
        above = list(above)
        if kind_of(unit) == WORKLOAD:
            self._forget_workloads(above)
        for each in above:
            self._file.insert("belongs", self.uid_of(each) or each if "/" in each else each, uid)
        if number and number % (BATCH * 16) == 0:
            self._forget()
        return bool(number)

    def left(self, unit: str, uid: str) -> None:
        """It is there no more."""
        now = precise_timestamp(self._clock())
        self._file.execute("UPDATE objects SET gone = ? WHERE unit = ? AND uid = ?", (now, unit, uid))

    def _forget_workloads(self, above: Iterable[str]) -> None:
        """One more is about to belong to these, and to what they belong to."""
        for each in above:
            for place in (each, *self.above(each)):
                self._workloads.pop(place, None)

    def _forget(self) -> None:
        self._workloads.clear()
        gone = "SELECT id FROM objects WHERE gone != '' ORDER BY id DESC LIMIT 1 OFFSET ?"
        self._file.execute(f"DELETE FROM objects WHERE gone != '' AND id <= ({gone})", (_MOST_GONE,))  # noqa: S608
        self._file.execute("DELETE FROM belongs WHERE uid NOT IN (SELECT uid FROM objects)")

    # Asking

    def knows(self, unit: str, uid: str) -> bool:
        if not uid or self._holders.get(unit) == uid:
            return bool(uid)
        return self._file.row("SELECT 1 FROM objects WHERE unit = ? AND uid = ?", unit, uid) is not None

    def uid_of(self, unit: str) -> str:
        """Who has this name now, or had it last; a part of a Workload is known by the Workload. Empty: nobody."""
        kind, namespace, name = parts_of(unit)
        whole = unit_name(kind, namespace, name.partition("/")[0])
        if whole not in self._holders:
            self._remember(whole, self._look_up(whole))
        return self._holders[whole]

    def _remember(self, unit: str, uid: str) -> None:
        if len(self._holders) >= _MOST_REMEMBERED:
            self._holders.clear()
        self._holders[unit] = uid

    def _look_up(self, unit: str) -> str:
        found = self._file.row("SELECT uid FROM objects WHERE unit = ? ORDER BY id DESC LIMIT 1", unit)
        return "" if found is None else str(found[0])

    def by_name(self, unit: str) -> list[KnownObject]:
        """All that had this name, the oldest first."""
        return self._known("WHERE unit = ? ORDER BY id", unit)

    def called(self, name: str) -> list[KnownObject]:
        """All of any kind and namespace that are called so, the oldest first."""
        return self._known("WHERE name = ? ORDER BY id", name)

    def present(self) -> list[KnownObject]:
        """All that are there, as far as is known."""
        return self._known("WHERE gone = ''")

    def below(self, unit: str, uid: str) -> list[KnownObject]:
        """What belongs to an object, at whatever distance, the oldest first."""
        members = (
            "WITH RECURSIVE below(uid) AS (SELECT uid FROM belongs WHERE above IN (?, ?)"
            " UNION SELECT belongs.uid FROM belongs JOIN below ON belongs.above = below.uid)"
        )
        return self._known("JOIN below ON objects.uid = below.uid ORDER BY id", uid or unit, unit, before=members)

    def workloads_below(self, uid: str) -> list[KnownObject]:
        """The Workloads that belong to an object, at whatever distance. Every pod of a Job asks it when it leaves, so
        that the answer is remembered."""
        if uid not in self._workloads:
            if len(self._workloads) >= _MOST_REMEMBERED:
                self._workloads.clear()
            self._workloads[uid] = [each for each in self.below("", uid) if kind_of(each.unit) == WORKLOAD]
        return self._workloads[uid]

    def above(self, uid: str) -> list[str]:
        """What an object belongs to directly: uids, and names of what has none."""
        return [above for (above,) in self._file.rows("SELECT above FROM belongs WHERE uid = ? ORDER BY above", uid)]

    def by_uid(self, uid: str) -> list[KnownObject]:
        return self._known("WHERE uid = ?", uid)

    def _known(self, where: str, *values: object, before: str = "") -> list[KnownObject]:
        query = f"{before} SELECT {_COLUMNS} FROM objects {where}"  # noqa: S608 - constants only
        return [KnownObject(*row) for row in self._file.rows(query, *values)]
