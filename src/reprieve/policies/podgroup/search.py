"""The search of KEP-5710 in one domain: who has to leave it so that a gang can come, and where each pod goes.

Steps 4 to 8 of the podgroup policy. Whatever is tried, the table is what it was before when the answer is there.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.columns import Mark
from reprieve.engine.nodes.composite_placement import CompositePlacer, placer_for
from reprieve.engine.nodes.gang_alternatives import GangAlternatives
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.gang_reprieve import GangReprieve
from reprieve.engine.nodes.leavers import Leavers
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.pool import NodeRule
from reprieve.engine.nodes.rules import KeptByBudget, NobodyAbove
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.engine.nodes.units import Unit
from reprieve.model.names import UnitName


class FoundInDomain(NamedTuple):
    """What one domain would cost, and where each pod of the gang would go."""

    victims: list[Unit]
    placement: dict[UnitName, str]
    violations: dict[Hashable, int]
    """How many pods of each victim go against a budget."""
    limit: int | None
    """The lowest priority that is enough: nobody above it makes way; None: there was no such limit."""
    kept: frozenset[Hashable] = frozenset()
    """Units that were reprieved because a budget would have broken."""

    @property
    def highest(self) -> int:
        """The highest priority that makes way, or could have."""
        return max((unit.priority for unit in self.victims), default=0) if self.limit is None else self.limit


class DomainSearch:
    """Searches one domain after another for a gang."""

    def __init__(self, ledger: NodeLedger, gang: Gang) -> None:
        self.table = ledger.table
        self._ledger = ledger
        self._gang = gang

    def placer(self, domain: Mask) -> GangPlacer:
        return placer_for(self._ledger, self._gang, domain)

    def victims(self, domain: Mask, rules: Sequence[NodeRule]) -> FoundInDomain | None:
        """The victims in a domain and the places of the gang; None where no allowed set of victims is enough."""
        placer = self.placer(domain)
        potential = self._potential(placer, domain, rules)
        marked = self._mark_budgets(potential)
        try:
            if not self._gang.entitled:
                return self._for_optional_pods(placer, rules, marked)
            found = self._search(placer, potential, rules, marked)
            if found is not None and self._forbidden(found):
                self._keep(marked)
                found = self._minimal(placer, potential, rules, marked)
            return None if found is None or self._forbidden(found) else found
        finally:
            self.table.mark({}, marked)

    def alternatives(
        self, domain: Mask, rules: Sequence[NodeRule], found: FoundInDomain | None, now: int, *, everybody: bool = False
    ) -> GangAlternatives | None:
        """Who else could leave a domain: whom the rules and the search allowed, with nobody above the limit, and no
        budget broken that need not be; or `everybody` whom the rules allow. None: nothing could be less."""
        if found is None and not self._gang.entitled:
            return None
        placer = self.placer(domain)
        wanted = self._gang.required if found is None else len(found.placement)
        leavers = self._leavers(placer, domain, rules, None if everybody else found)
        ours = None if found is None else found.victims[::-1]
        return GangAlternatives(self._ledger, placer, leavers, ours, wanted, now)

    def _leavers(
        self, placer: GangPlacer, domain: Mask, rules: Sequence[NodeRule], found: FoundInDomain | None
    ) -> Leavers:
        order = self.table.by_age()
        nodes = order[domain[order]]  # in the order in which ties end, wherever they stand in the table
        may = placer.allowed(rules, nodes)
        if found is not None and found.limit is not None:
            may &= self.table.ranks["priority"][: len(may), nodes] <= found.limit
        if not self._ledger.budgets.budgets:
            return Leavers(self.table, nodes, may, {}, np.zeros(may.shape, dtype=np.int64))
        broken = self._ledger.budgets.everywhere(self._potential(placer, domain, rules))
        goes = None if found is None else {unit.key for unit in found.victims}
        breaks: dict[Hashable, int] = {}
        for rank, node in np.argwhere(broken > 0).tolist():
            key = self.table.residents[node][rank].unit.key
            breaks[key] = int(broken[rank, node])
        broken = broken[:, nodes]
        for rank, place in np.argwhere(may & (broken > 0)).tolist():
            # No budget is broken that need not be.
            may[rank, place] = goes is None or self.table.residents[nodes[place]][rank].unit.key in goes
        return Leavers(self.table, nodes, may, breaks, broken)

    def _forbidden(self, found: FoundInDomain) -> bool:
        """Whether budgets are respected and one would really break."""
        pods = [facts for unit in found.victims for facts in unit.pods]
        return self._ledger.settings.pdb == "Respect" and bool(self._ledger.budgets.broken_by(pods))

    def _potential(self, placer: GangPlacer, domain: Mask, rules: Sequence[NodeRule]) -> Mask:
        """4. All shares of units that may be asked to leave and stand in the domain, also their shares outside it."""
        allowed = placer.allowed(rules, np.arange(self.table.size))
        inside = allowed & domain
        numbers = self.table.ranks["group"][: len(allowed), : self.table.size]
        reaching = np.unique(numbers[inside & (numbers > 0)])
        return inside | (allowed & np.isin(numbers, reaching)) if len(reaching) else inside

    def _search(
        self, placer: GangPlacer, potential: Mask, rules: Sequence[NodeRule], marked: list[Unit]
    ) -> FoundInDomain | None:
        if not marked:
            return self._minimal(placer, potential, rules, marked)
        with Trial(self.table) as trial:
            if not self._placed(placer, trial, rules, marked):
                return None
            sparing = self._found(trial)
        gone = {unit.key for unit in sparing.victims}
        self._keep([unit for unit in marked if unit.key not in gone])
        found = self._minimal(placer, potential, rules, marked)
        # Another order of looking may lose a pod: then the places that were found first are the better ones. A tree has
        # enough with whichever groups.
        enough = 0 if self._gang.groups else len(sparing.placement)
        return found if found is not None and len(found.placement) >= enough else sparing

    # 5. Budgets

    def _mark_budgets(self, potential: Mask) -> list[Unit]:
        """Whose budget would break, walking over all potential victims in order of importance."""
        breaks = self._ledger.budgets.everywhere(potential)
        units = {}
        marks: dict[Hashable, Mark] = {}
        for rank, node in np.argwhere(breaks > 0):
            unit = self.table.residents[node][rank].unit
            units[unit.key] = unit
            marks[unit.key] = Mark(breaks=int(breaks[rank, node]))
        self.table.mark(marks, units.values())
        return list(units.values())

    def _keep(self, units: Iterable[Unit]) -> None:
        """Units that are reprieved for good, before priorities are looked at."""
        marks, units = dict(self.table.marks), list(units)
        for unit in units:
            marks[unit.key] = marks[unit.key]._replace(kept=1)
        self.table.mark(marks, units)

    # 6. to 8. The lowest priority that is enough, the places, and who need not go

    def _minimal(
        self, placer: GangPlacer, potential: Mask, rules: Sequence[NodeRule], marked: list[Unit]
    ) -> FoundInDomain | None:
        rules = [*rules, KeptByBudget()]
        limit = self._lowest_enough(placer, potential, rules)
        if limit is None:
            return None
        with Trial(self.table) as trial:
            rules = [*rules, NobodyAbove(limit)]
            if not self._placed(placer, trial, rules, marked):
                return None
            self._place_optional_pods(placer, trial, rules, marked)
            return self._found(trial, limit)

    def _lowest_enough(self, placer: GangPlacer, potential: Mask, rules: Sequence[NodeRule]) -> int | None:
        """6. The lowest priority N: with nobody above it touched, as many of the entitled have a place as ever."""
        ranks = {name: self.table.ranks[name][: len(potential), : self.table.size] for name in ("priority", "kept")}
        priorities = np.unique(ranks["priority"][potential & (ranks["kept"] == 0)]).tolist()
        low, high, entitled = 0, len(priorities) - 1, self._gang.entitled
        most = placer.most(rules, entitled) if priorities else 0
        if most < self._gang.required or not priorities:
            return None
        if self._gang.groups:  # other groups with fewer pods are enough, too
            most = self._gang.required
        while low < high:
            middle = (low + high) // 2
            if placer.most([*rules, NobodyAbove(priorities[middle])], entitled) >= most:
                high = middle
            else:
                low = middle + 1
        return int(priorities[low])

    def _placed(self, placer: GangPlacer, trial: Trial, rules: Sequence[NodeRule], marked: list[Unit]) -> bool:
        """7. Place as many as are entitled, and 8. give back what need not go, first those whose budget would break."""
        if placer.place(trial, rules, self._gang.entitled or None) < self._gang.required:
            return False
        GangReprieve(placer, trial, rules, marked).reprieve()
        return True

    def found_instead(
        self, others: GangAlternatives, victims: Sequence[Unit], found: FoundInDomain | None
    ) -> FoundInDomain | None:
        """What it comes to with other victims; None: the gang has no place without them after all."""
        placement = others.placed_without(victims)
        if placement is None:
            return None
        violations = {unit.key: breaks for unit in victims if (breaks := others.cost(unit).violations)}
        leave = sorted(victims, key=lambda unit: unit.importance)
        if found is None:
            return FoundInDomain(leave, placement, violations, max(unit.priority for unit in leave))
        return found._replace(victims=leave, placement=placement, violations=violations)

    def _found(self, trial: Trial, limit: int | None = None) -> FoundInDomain:
        victims = sorted(trial.evicted.values(), key=lambda unit: unit.importance)
        marks = self.table.marks
        violations = {unit.key: marks[unit.key].breaks for unit in victims if unit.key in marks}
        kept = frozenset(key for key, mark in marks.items() if mark.kept)
        return FoundInDomain(victims, trial.placement(), violations, limit, kept)

    # Pods that the gang can do without

    def _place_optional_pods(
        self, placer: GangPlacer, trial: Trial, rules: Sequence[NodeRule], marked: list[Unit]
    ) -> None:
        """More of them, with nobody above the limit touched, and no budget broken that is not broken already."""
        rest = [facts for facts in self._gang.members if facts.key not in trial.placed]
        if not rest:
            return
        self._keep(unit for unit in marked if unit.key not in trial.evicted)
        if isinstance(placer, CompositePlacer):
            placer.place_more(trial, rules)
        else:
            with Trial(self.table) as more:
                if GangPlacer(self._ledger, self._gang, placer.domain, rest, placer.foes).place(more, rules):
                    trial.take_over(more)
        GangReprieve(placer, trial, rules, marked).reprieve()

    def _for_optional_pods(
        self, placer: GangPlacer, rules: Sequence[NodeRule], marked: list[Unit]
    ) -> FoundInDomain | None:
        """Nobody who waits is needed: no budget is broken for them, and the rules say who else is too important."""
        self._keep(marked)
        with Trial(self.table) as trial:
            if not self._placed(placer, trial, [*rules, KeptByBudget()], marked):
                return None
            return self._found(trial)
