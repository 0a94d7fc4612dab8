"""Looking for less than the design's own order found: fewer victims by the same rules, laws and criteria.

It begins with the design's answer, where there is one, and only ever goes on to what costs less (`Price`): no more
budgets broken, nobody more important, fewer victims, those who matter less, less work lost. Where the design found
nothing, it tries other orders. All of it is the same for every policy:

1. **Give back** whoever need not go, the most important first and of equals the smallest.
2. **Every one, every two ...** of the candidates, as long as these are few enough to try all: then it is the least.
3. **Swap**: one more leaves, and as many come back as can; then all who stand in one place.
4. **Other orders**: the largest first, the smallest first, each candidate before all others.

How far it goes is counted in steps, each one question to a ledger, and never in time: the same world gives the same
plan on every machine.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Generic, NamedTuple, TypeVar

from reprieve.engine.alternatives import Alternatives
from reprieve.engine.price import Price, UnitCost, price
from reprieve.engine.steps import Steps
from reprieve.model.patience import go_on

Unit = TypeVar("Unit")
_LARGEST_SET = 4
"""So many of the candidates at most are tried in all combinations."""


class Improved(NamedTuple):
    """What costs less than the design's own answer."""

    offer: Any
    """An offer, or what a policy makes one of."""
    before: Price | None
    """What the design's answer cost; None: it had none."""
    after: Price


class _Found(NamedTuple):
    price: Price
    domain: int
    victims: Sequence[Any]
    alternatives: Alternatives[Any]


def improve(alternatives: Iterable[Alternatives[Any]], steps: int) -> Improved | None:
    """The least that can be found in some domains; None: the design's answer is as good."""
    before: Price | None = None
    found: list[_Found] = []
    for number, each in enumerate(alternatives):
        cost = _remembered(each.cost)
        mine = price(map(cost, each.chosen)) if each.chosen is not None else None
        if each.taken and mine is not None:
            before = mine
        victims = each.least()
        if victims is None and mine is not None and _is_known_least(each, mine, cost):
            victims = each.chosen
        if victims is None and (before is None or each.fewest <= before.victims):
            victims = _Search(each, cost, steps).least()
        if victims is not None:
            its = mine if mine is not None and victims is each.chosen else price(map(cost, victims))
            found.append(_Found(its, number, victims, each))
    for one in sorted(found, key=lambda one: (one.price, one.domain)):
        if before is not None and not is_better(one.price, before):
            continue
        offer = one.alternatives.offer(one.victims)
        if offer is not None:
            return Improved(offer, before, one.price)
    return None


def _remembered(cost: Callable[[Unit], UnitCost]) -> Callable[[Unit], UnitCost]:
    """What each unit costs, worked out once: it stays the same for as long as it is looked for less."""
    known: dict[int, tuple[Unit, UnitCost]] = {}  # with the unit, so that no other gets its number

    def ask(unit: Unit) -> UnitCost:
        found = known.get(id(unit))
        if found is None:
            found = known[id(unit)] = unit, cost(unit)
        return found[1]

    return ask


def is_better(after: Price, before: Price) -> bool:
    """Less at the first difference, and in none of what weighs most more than before."""
    never_more = after.violations <= before.violations and after.grade <= before.grade
    return after < before and never_more and after.victims <= before.victims


def _is_known_least(of: Alternatives[Unit], mine: Price, cost: Callable[[Unit], UnitCost]) -> bool:
    """Whether no other set could cost less than the design's own: it takes so many, and none of them is cheaper."""
    if not of.chosen or len(of.chosen) > of.fewest or mine.violations:
        return False
    everybody = list(map(cost, of.candidates))
    if any(one.victims != 1 for one in everybody):
        return False
    grade = min((one.grade for one in everybody), default=mine.grade)
    cheapest = [
        sum(sorted(values)[: mine.victims])
        for values in zip(*((one.importance, one.lost, one.size) for one in everybody), strict=True)
    ]
    return mine == Price(0, grade, mine.victims, *cheapest)


class _Search(Generic[Unit]):
    """The least in one domain."""

    def __init__(self, alternatives: Alternatives[Unit], cost: Callable[[Unit], UnitCost], steps: int) -> None:
        self._of = alternatives
        self._cost = cost
        self._left = steps
        self._books = _Books(alternatives, alternatives.ledger())
        self._best: list[Unit] | None = None
        self._price: Price | None = None

    @cached_property
    def _candidates(self) -> Sequence[Unit]:
        """Thousands, perhaps, and not everybody asks. They are read where they stand: so while nobody is gone."""
        gone = self._books.gone
        self._books.go_to([])
        candidates = list(self._of.candidates)
        self._books.go_to(gone)
        return candidates

    def least(self) -> list[Unit] | None:
        try:
            for start in self._starts():
                self._consider(start)
            if self._best is not None and not self._of.settled and not self._try_all():
                self._swap()
                self._clear_places()
        finally:
            self._books.go_to([])
        return self._best

    # Where to begin

    def _starts(self) -> Iterator[Sequence[Unit]]:
        chosen = self._of.chosen
        if chosen is not None:
            yield chosen
        yield from self._of.starts()
        if self._best is not None:
            return
        self._books.go_to(self._candidates)
        if not self._books.fits():
            return
        for order in self._orders():
            grown = self._grow(order)
            if grown is not None:
                yield grown
            if self._best is not None or self._left <= 0:
                return

    def _orders(self) -> Iterator[Sequence[Unit]]:
        """Where nothing was found yet: those that are not the design's own."""
        yield self._candidates
        by_size = sorted(self._candidates, key=lambda unit: -self._cost(unit).size)
        yield by_size
        yield by_size[::-1]
        for first in self._candidates:
            yield [first, *(unit for unit in self._candidates if unit is not first)]

    def _grow(self, order: Iterable[Unit]) -> list[Unit] | None:
        """Those who leave in an order, each if the laws let it go, until it fits."""
        books = self._books
        books.go_to([])
        for unit in order:
            go_on()
            if self._left <= 0:
                return None
            self._left -= self._of.step
            books.remove(unit)
            if not books.lawful():
                books.give_back(unit)
            elif books.fits():
                return list(books.gone)
        return None

    def _consider(self, start: Sequence[Unit]) -> None:
        """A set that may be enough, without those of it who need not go."""
        self._books.go_to(start)
        if not self._books.enough():
            return
        self._give_back(self._books.gone)
        self._note()

    def _give_back(self, units: Iterable[Unit]) -> int:
        """Whoever can stay does; tells how many."""
        spared = 0
        for unit in self._most_important_first(units):
            go_on()
            self._left -= self._of.step
            self._books.give_back(unit)
            if self._books.enough():
                spared += 1
            else:
                self._books.remove(unit)
        return spared

    def _most_important_first(self, units: Iterable[Unit]) -> list[Unit]:
        def key(unit: Unit) -> tuple[Any, ...]:
            cost = self._cost(unit)
            return -cost.violations, tuple(-part for part in cost.grade), cost.size, -cost.lost

        return sorted(units, key=key)

    def _note(self) -> None:
        gone = list(self._books.gone)
        found = price(map(self._cost, gone))
        if self._price is None or found < self._price:
            self._best, self._price = gone, found

    # Fewer than that

    def _pool(self) -> list[Unit]:
        """Those who weigh no more than who goes already."""
        worst = self._price
        if worst is None:
            return []
        costs = zip(self._candidates, map(self._cost, self._candidates), strict=True)
        return [unit for unit, cost in costs if cost.grade <= worst.grade and cost.violations <= worst.violations]

    def _try_all(self) -> bool:
        """Whether all sets that could be less were tried, one by one: then the best is the least."""
        pool = [unit for unit in self._pool() if self._cost(unit).victims]
        free = [unit for unit in self._candidates if not self._cost(unit).victims]
        for size in range(max(1, self._of.fewest), _LARGEST_SET + 1):
            if self._price is None or self._price.victims < size:
                return True
            if comb(len(pool), size) * self._of.step > self._left:
                return False
            for some in combinations(pool, size):
                self._try([*free, *some])
        return self._price is not None and self._price.victims <= _LARGEST_SET

    def _try(self, units: Sequence[Unit]) -> None:
        self._left -= self._of.step
        if self._price is not None and price(map(self._cost, units)) >= self._price:
            return
        self._books.go_to(units)
        if self._books.enough():
            self._note()

    def _swap(self) -> None:
        """One more goes, and more come back than that; again as long as it helps."""
        better = True
        while better and self._left > 0:
            better = any(self._swap_for(unit) for unit in self._largest_first())

    def _largest_first(self) -> list[Unit]:
        gone = {id(unit) for unit in self._best or ()}
        others = [unit for unit in self._pool() if id(unit) not in gone]
        return sorted(others, key=lambda unit: (-self._cost(unit).size, self._cost(unit).victims))

    def _clear_places(self) -> None:
        """All who may leave one place go, and as many come back as can: those elsewhere first."""
        better = True
        while better and self._left > 0:
            better = any(self._clear(bundle) for bundle in self._of.bundles())

    def _clear(self, bundle: Sequence[Unit]) -> bool:
        if self._left <= 0 or self._best is None or self._price is None:
            return False
        before, gone = self._price, {id(unit) for unit in self._best}
        allowed = {id(unit) for unit in self._pool()}
        more = [unit for unit in bundle if id(unit) in allowed and id(unit) not in gone]
        if not more:
            return False
        here = {id(unit) for unit in bundle}
        self._books.go_to([*self._best, *more])
        if self._books.enough():
            self._give_back([unit for unit in self._best if id(unit) not in here])
            self._give_back([unit for unit in self._books.gone if id(unit) in here])
            self._note()
        return self._price != before

    def _swap_for(self, unit: Unit) -> bool:
        if self._left <= 0 or self._best is None:
            return False
        before = self._price
        self._books.go_to([*self._best, unit])
        self._left -= self._of.step
        if self._books.enough():
            self._give_back(self._best)
            self._note()
        return self._price != before


class _Books(Generic[Unit]):
    """A ledger, and who is gone from it."""

    def __init__(self, alternatives: Alternatives[Unit], ledger: Steps[Unit]) -> None:
        self._ledger = ledger
        self._lawful: Callable[[Collection[Unit]], bool] = alternatives.lawful
        self._gone: dict[int, Unit] = {}

    @property
    def gone(self) -> list[Unit]:
        return list(self._gone.values())

    def go_to(self, units: Iterable[Unit]) -> None:
        """Just these are gone."""
        wanted = {id(unit): unit for unit in units}
        for number in [number for number in self._gone if number not in wanted]:
            self._ledger.give_back(self._gone.pop(number))
        for number, unit in wanted.items():
            if number not in self._gone:
                self.remove(unit)

    def remove(self, unit: Unit) -> None:
        self._ledger.remove(unit)
        self._gone[id(unit)] = unit

    def give_back(self, unit: Unit) -> None:
        self._ledger.give_back(self._gone.pop(id(unit)))

    def fits(self) -> bool:
        return self._ledger.fits()

    def lawful(self) -> bool:
        return self._lawful(self._gone.values())

    def enough(self) -> bool:
        return self.fits() and self.lawful()
