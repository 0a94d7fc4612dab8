"""The steps that searches are made of, over many domains at once or unit by unit.

A domain is a place the preemptor could go: a node, a flavor, a member cluster, the whole cluster. In each stand
candidates, rank by rank in the policy's order. The steps are the same everywhere:

    remove      take candidates away, all of them or until the preemptor fits
    reprieve    give them back, the most important first, as long as the preemptor still fits
    choose      the domain that costs least, by criteria tried in order

A ledger answers whether the preemptor fits while units leave and come back. It works on its own copy of the numbers:
whatever a search does, the table it came from is untouched.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import gt, sub
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from reprieve.engine.arrays import Ints, Mask
from reprieve.model.patience import go_on

Unit = TypeVar("Unit")
UnitIn = TypeVar("UnitIn", contravariant=True)


class Ledger(Protocol):
    """Does it fit? In every domain at once."""

    def fits(self) -> Mask: ...

    def remove(self, candidates: Mask) -> None:
        """Units leave: ranks by domains."""

    def give_back(self, rank: int, where: Mask) -> Mask:
        """The unit at this rank returns where the preemptor still fits beside it; tells where it stayed."""


NO_WEIGHTS: Ints = np.zeros((0, 0, 0), dtype=np.int64)


class SlackLedger:
    """Integer slack in rows over domains: it fits where none is negative.

    `weights` are what each candidate gives to each row when it leaves, rank by rank. The last `near` rows may be
    negative together where the row `alone` is not: a pod that wants neighbours may be the first of its kind.
    """

    def __init__(self, slack: Ints, weights: Ints | None, near: int = 0, alone: int | None = None) -> None:
        self._slack = slack
        self._weights = NO_WEIGHTS if weights is None else weights
        self._near = near
        self._alone = alone

    def fits(self) -> Mask:
        return self._enough(self._slack)

    def remove(self, candidates: Mask) -> None:
        self._slack += np.einsum("krd,kd->rd", self._weights, candidates.astype(np.int64))

    def give_back(self, rank: int, where: Mask) -> Mask:
        trial = self._slack - self._weights[rank]
        stays: Mask = where & self._enough(trial)
        np.copyto(self._slack, trial, where=stays)
        return stays

    def _enough(self, slack: Ints) -> Mask:
        if not self._near:
            return _none_short(slack)
        hard = slack[: self._alone if self._alone is not None else len(slack) - self._near]
        near = _none_short(slack[len(slack) - self._near :])
        if self._alone is not None:
            near |= slack[self._alone] >= 0
        return _none_short(hard) & near


def _none_short(rows: Ints) -> Mask:
    """Row after row: there are few, and each is long."""
    enough: Mask = rows[0] >= 0
    for row in rows[1:]:
        enough &= row >= 0
    return enough


def remove_all(ledger: Ledger, candidates: Mask) -> Mask:
    """Take all candidates away; tells where the preemptor fits then."""
    ledger.remove(candidates)
    return ledger.fits()


def reprieve(ledger: Ledger, victims: Mask, classes: Sequence[Mask]) -> Mask:
    """Give victims back, class after class and in each from the top; tells who cannot be spared."""
    victims = victims.copy()
    for members in classes:
        asked = members & victims
        for rank in _taken(asked):
            go_on()
            victims[rank] &= ~ledger.give_back(rank, asked[rank])
    return victims


def _taken(ranks: Mask) -> list[int]:
    """The ranks at which anybody stands."""
    found: list[int] = np.flatnonzero(ranks.any(axis=1)).tolist()
    return found


class Criterion(NamedTuple):
    """One way to tell domains apart: less is better."""

    name: str
    values: Ints


class Choice(NamedTuple):
    """The domain that was chosen, and the criterion that decided."""

    domain: int
    criterion: str


NO_CHOICE = ""
"""The policy has no criteria: there is never more than one offer."""
ONLY_CANDIDATE = "OnlyCandidate"
TIE_BREAK = "TieBreak"


def choose(possible: Mask, criteria: Sequence[Criterion]) -> Choice | None:
    """The best of the possible domains: criteria in order, each among those the ones before could not tell apart."""
    left = possible.nonzero()[0]
    if not len(left):
        return None
    decided = ONLY_CANDIDATE if criteria else NO_CHOICE
    for criterion in criteria:
        if len(left) == 1:
            break
        values = criterion.values.take(left)
        best: Mask = values == values.min()
        if np.count_nonzero(best) < len(left):
            left, decided = left[best], criterion.name
    return Choice(int(left[0]), decided)


def equals(possible: Mask, criteria: Sequence[Criterion], chosen: int) -> list[int]:
    """The possible domains that nothing but the tie-break tells from the chosen one, itself among them."""
    left = possible.nonzero()[0]
    for criterion in criteria:
        if criterion.name != TIE_BREAK:
            left = left[criterion.values[left] == criterion.values[chosen]]
    found: list[int] = left.tolist()
    return found


class Steps(Protocol[UnitIn]):
    """A ledger over one domain, unit by unit."""

    def fits(self) -> bool: ...

    def remove(self, unit: UnitIn) -> None: ...

    def give_back(self, unit: UnitIn) -> None: ...


def remove_until_fits(ledger: Steps[Unit], order: Iterable[Unit], may_go: Callable[[Unit], bool]) -> list[Unit] | None:
    """Take units away in order, each if it may go at that moment, until the preemptor fits; None: it never does.

    Those who were taken away stay away; whoever asked gives them back.
    """
    removed: list[Unit] = []
    for unit in order:
        go_on()
        if may_go(unit):
            ledger.remove(unit)
            removed.append(unit)
            if ledger.fits():
                return removed
    for unit in reversed(removed):
        ledger.give_back(unit)
    return None


def fill_back(ledger: Steps[Unit], removed: list[Unit]) -> list[Unit]:
    """From the last but one back to the first, give back whoever the preemptor fits beside."""
    victims = list(removed)
    for place in range(len(victims) - 2, -1, -1):
        go_on()
        unit = victims[place]
        ledger.give_back(unit)
        if ledger.fits():
            # The last one takes the place of the one that was spared, as in the system this follows.
            victims[place] = victims[-1]
            victims.pop()
        else:
            ledger.remove(unit)
    return victims


def reprieve_each(ledger: Steps[Unit], removed: Sequence[Unit]) -> list[Unit]:
    """Give back, the most important first, whoever the preemptor fits beside; the least important stands first.

    What is left is minimal where more room never hurts: nobody of them could stay, alone or with others.
    """
    victims = list(removed)
    for unit in reversed(removed):
        go_on()
        ledger.give_back(unit)
        if ledger.fits():
            victims.remove(unit)
        else:
            ledger.remove(unit)
    return victims


# For domains that know a gap: one that is enough goes alone, else they go together


Amounts = NDArray[Any]
_COUNTABLE = 2**62
LARGEST = 2**63 - 1


def one_or_together(gap: list[int], shares: Ints, candidates: Mask) -> list[int] | None:
    """The ranks that make way; None: not even all of them cover the gap. `shares`: a row a rank, a column a resource.

    From the lowest rank up, whichever comes first: one that covers the gap alone, or as many as cover it together; at
    the same rank, the one alone. Of those together, the ones that turn out not to be needed are given back. Who holds
    nothing of what is missing is passed over: its leaving would not help.
    """
    if not gap or max(gap) > LARGEST:
        return None
    ranks = (candidates & (shares > 0).any(axis=1)).nonzero()[0]
    if not len(ranks):
        return None
    # More than the gap is as good as the gap: what is added up stays small enough to count.
    wanted = np.array(gap, dtype=np.int64)
    useful: Amounts = np.minimum(shares[ranks], wanted)
    if max(gap) * len(ranks) >= _COUNTABLE:
        useful = useful.astype(object)
    together = _first((useful.cumsum(axis=0) >= wanted).all(axis=1))
    alone = _first((useful >= wanted).all(axis=1))
    if alone is not None and (together is None or alone <= together):
        return [int(ranks[alone])]
    return None if together is None else ranks[: together + 1][_needed(useful[: together + 1], wanted)].tolist()


def _needed(useful: Amounts, wanted: Ints) -> list[int]:
    """The places of those who cannot be spared, after the others were given back, the most important first."""
    surplus: list[int] = (useful.sum(axis=0) - wanted).tolist()
    rows: list[list[int]] = useful.tolist()  # short ones, for which NumPy would take longer
    needed: list[int] = []
    for place in range(len(rows) - 1, -1, -1):
        given = rows[place]
        if any(map(gt, given, surplus)):
            needed.append(place)
        else:
            surplus = list(map(sub, surplus, given))
    return needed[::-1]


def _first(holds: Any) -> int | None:
    """Where something holds first."""
    place = int(holds.argmax())
    return place if holds[place] else None
