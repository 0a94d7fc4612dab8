"""Two tables of who may be preempted by whom, one for each world, and where they differ."""

from collections.abc import Container, Iterator

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.exposure import ALLOWED, Exposure, Numbers
from reprieve.engine.reasons import NoSuchPreemptor, Reason
from reprieve.model.names import UnitName
from reprieve.planning.comparison import Exposed
from reprieve.texts import reasons as texts

Exposures = dict[str, Exposure]
"""By policy."""
_NOBODY = NoSuchPreemptor()
_ABSENT = np.int16(-2)
"""In place of a rule: nobody of that kind asks in this world."""


def exposed_only_in(open_: Exposures, safe: Exposures) -> Iterator[Exposed]:
    """Those who may be preempted in one world and not in the other, and what protects them there."""
    there = {unit for exposure in safe.values() for unit in exposure.units}
    for policy, exposure in open_.items():
        yield from _Aligned(safe[policy], exposure, there).exposed(policy)


def against_budget_only_in(after: Exposures, before: Exposures) -> list[str]:
    """Who may be preempted in both worlds, and goes against its budget only in one."""
    found: list[str] = []
    for policy, exposure in after.items():
        if exposure.breaking is None:
            continue
        other = before[policy]
        aligned = _Aligned(other, exposure, set(other.units))
        breaks = exposure.breaking[aligned.open_units] & _open(exposure, aligned.open_units)
        broke = False if other.breaking is None else other.breaking[aligned.safe_units]
        places = np.flatnonzero(breaks & ~np.asarray(broke) & _open(other, aligned.safe_units)).tolist()
        found += [str(exposure.units[int(aligned.open_units[place])]) for place in places]
    return found


def _open(exposure: Exposure, units: Ints) -> Mask:
    """Which of some units anybody may preempt."""
    return np.asarray((exposure.protected[:, units] == ALLOWED).any(axis=0))


class _Aligned:
    """Two tables of answers, brought to the same askers and to the units that are in both worlds.

    `there` are those of the safe world; one of whom its table does not speak is asked for by nobody.
    """

    def __init__(self, safe: Exposure, open_: Exposure, there: Container[UnitName]) -> None:
        self._safe = safe
        self._open = open_
        places = {unit: place for place, unit in enumerate(safe.units)}
        pairs = [(places.get(unit, -1), place) for place, unit in enumerate(open_.units) if unit in there]
        self.safe_units, self.open_units = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        known = {(asker.name, asker.where): number for number, asker in enumerate(safe.askers)}
        self._rows = [known.get((asker.name, asker.where), -1) for asker in open_.askers]
        self._labels: dict[bytes, tuple[list[str], int]] = {}
        self._told_before: dict[Reason, str] = {}

    def exposed(self, policy: str) -> Iterator[Exposed]:
        if not self._open.askers or not len(self.open_units):
            return
        protects = self._protects()
        differs = (protects != ALLOWED) & (self._open.protected[:, self.open_units] == ALLOWED)
        units, askers = np.nonzero(differs.T)
        rules = protects[askers, units]
        order = np.lexsort((askers, rules, units))
        units, askers, rules = units[order], askers[order], rules[order]
        ends = [*(np.flatnonzero((np.diff(units) != 0) | (np.diff(rules) != 0)) + 1).tolist(), len(units)]
        start = 0
        for end in ends if len(units) else ():
            yield self._told(policy, int(units[start]), askers[start:end])
            start = end

    def _protects(self) -> Numbers:
        """What protects each unit in the safe world, by the askers of the open one."""
        found = np.full((len(self._rows), len(self.safe_units)), _ABSENT, dtype=np.int16)
        for place, row in enumerate(self._rows):
            if row >= 0 and self._safe.units:
                found[place] = np.where(self.safe_units < 0, _ABSENT, self._safe.protected[row, self.safe_units])
        return found

    def _told(self, policy: str, unit: int, askers: Ints) -> Exposed:
        """One unit, with those from whom the same rule protects it in the safe world; the highest of them is quoted."""
        labels, highest = self._by(askers)
        row, place = self._rows[highest], int(self.safe_units[unit])
        reason = self._safe.reason(row, place) if row >= 0 and place >= 0 else _NOBODY
        if reason not in self._told_before:
            self._told_before[reason] = texts.describe(reason)
        name = self._open.units[int(self.open_units[unit])]
        return Exposed(str(name), policy, labels, reason.rule, self._told_before[reason])

    def _by(self, askers: Ints) -> tuple[list[str], int]:
        """The same list for all whom the same may preempt: there may be many. A class stands for what waits at it."""
        key = askers.tobytes()
        if key not in self._labels:
            numbers = askers.tolist()
            found = [self._open.askers[number] for number in numbers]
            classes = {(asker.priority, asker.where) for asker in found if asker.named}
            shown = [asker for asker in found if asker.named or (asker.priority, asker.where) not in classes]
            highest = max(numbers, key=lambda number: self._open.askers[number].priority)
            self._labels[key] = [asker.label for asker in shown], highest
        return self._labels[key]
