"""Placing a tree of groups as one: enough groups of it with enough pods each, or nobody.

Groups are placed one after the other, each as a gang of its own, in a trial inside the trial: a group that does not get
its pods leaves nothing behind. First each group gets what it needs, and only then anybody more: a pod too many in one
group must not be what another group lacks. A group that asks for one topology domain gets the best of those in its
parent's. Where too few groups find a place in one order, other orders are tried: the largest first, the smallest first;
at last, all that it needs as one gang.

Who is asked for what the tree needs, and no more, gets just as many groups as it needs, each with as many pods as it
needs; whoever else can come is placed beside these afterwards (`place_more`).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.gang_placement import GangPlacer, Rules
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.pool import NodeRule
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.world import PodFacts

_ORDERS = 3
_MOST_WAYS = 20
_MOST_TOGETHER = 64
"""So many choices of groups are tried as one gang, of so many pods at most."""


class GroupPlacer(GangPlacer):
    """Places one group of a tree: places that are held for others of the tree are no obstacle."""

    def __init__(self, whole: GangPlacer, ledger: NodeLedger, gang: Gang, domain: Mask) -> None:
        super().__init__(ledger, gang, domain, foes=whole.foes)
        self._keys = frozenset(facts.key for facts in whole.gang.members)


class CompositePlacer(GangPlacer):
    """Places a composite group. To whoever asks it is a gang like any other, of which enough are placed or none."""

    _only_needed = False

    def place(self, trial: Trial, rules: Rules, wanted: int | None = None) -> int:
        """Place as many members as can be, or, where a number of them is wanted, what the tree needs: groups go by no
        number. Tells how many were placed, or how far it got where nobody is placed after all."""
        self._only_needed = wanted is not None
        best = furthest = chosen = 0
        for number in range(_ORDERS):
            enough, placed = self._try(trial, rules, number)
            if enough and (self._only_needed or placed == len(self.gang.members)):
                return placed
            furthest = max(furthest, placed)
            if enough and placed > best:
                best, chosen = placed, number
        if best:
            return self._try(trial, rules, chosen)[1]
        trial.undo()
        together = self._together(trial, rules)
        return together or min(furthest, self.gang.required - 1)

    def most(self, rules: Sequence[NodeRule], wanted: int | None = None) -> int:
        with Trial(self.table) as trial:
            return self.place(trial, rules, wanted)

    def place_more(self, trial: Trial, rules: Rules) -> None:
        """Beside what the tree needs: more groups, each with what it needs or not at all, then more pods of all."""
        self._add_groups(trial, self.gang, self.domain, rules)
        self._fill(trial, self.gang, self.domain, rules)

    def _together(self, trial: Trial, rules: Rules) -> int:
        """What the tree needs as one gang, whichever groups that is: where one group after the other leads nowhere,
        some pods may have to make room for those of another group."""
        if _asks_for_domains(self.gang) or self.gang.required > _MOST_TOGETHER:
            return 0
        for pods in islice(_ways(self.gang), _MOST_WAYS):
            whole = self.gang._replace(members=list(pods), required=len(pods), groups=())
            if pods and self._place_pods(trial, whole, self.domain, rules) == len(pods):
                if not self._only_needed:
                    self.place_more(trial, rules)
                return len(trial.placed)
            trial.undo()
        return 0

    def _try(self, trial: Trial, rules: Rules, order: int) -> tuple[bool, int]:
        trial.undo()
        enough = self._place_below(trial, self.gang, self.domain, rules, order)
        if enough and not self._only_needed:
            self.place_more(trial, rules)
        return enough, len(trial.placed)

    # One group after the other

    def _rank(self, group: Gang, order: int) -> tuple[float, float, str]:
        """0: the oldest first, as they stand in a queue. 1: the one with the largest pod. 2: the smallest group."""
        weights = [self._weight(facts) for facts in group.members]
        largest, total = max(weights, default=0), sum(weights)
        oldest = float(min((facts.created for facts in group.members), default=0))
        first, second = ((oldest, 0.0), (-largest, -total), (total, -largest))[order]
        return first, second, group.name

    def _weight(self, facts: PodFacts) -> float:
        """What of all nodes together a pod takes, of the resource of which it takes most."""
        rows = ((units, self.table.resources.get(name)) for name, units in facts.requests.items())
        return max(units / max(int(self.table.allocatable[row].sum()), 1) for units, row in rows if row is not None)

    def _place_below(self, trial: Trial, gang: Gang, domain: Mask, rules: Rules, order: int) -> bool:
        """Place as many of the groups below a composite group as it needs; whether they have what they need."""
        groups = sorted(gang.groups, key=lambda group: self._rank(group, order))
        there = sum(not group.required for group in groups)
        for group in groups:
            if there >= gang.required_groups:
                break
            there += group.required > 0 and self._place_group(trial, group, domain, rules, order)
        return there >= gang.required_groups

    def _place_group(self, trial: Trial, group: Gang, domain: Mask, rules: Rules, order: int) -> bool:
        """Place a group in the best of its domains; whether it has what it needs, which it may have had before."""
        if not group.members:
            return not group.required
        best: tuple[int, int] | None = None
        where: Mask | None = None
        domains = list(self._domains(group, domain))
        for nodes in domains if len(domains) > 1 else ():
            with Trial(self.table) as attempt:
                if self._place_in(attempt, group, nodes, rules, order):
                    value = len(attempt.placed), -sum(len(unit.pods) for unit in attempt.evicted.values())
                    best, where = (value, nodes) if best is None or value > best else (best, where)
        if len(domains) == 1:
            where = domains[0]
        return (where is not None and self._place_and_keep(trial, group, where, rules, order)) or not group.required

    def _place_and_keep(self, trial: Trial, group: Gang, nodes: Mask, rules: Rules, order: int) -> bool:
        attempt = Trial(self.table)
        if not self._place_in(attempt, group, nodes, rules, order):
            attempt.undo()
            return False
        trial.take_over(attempt)
        return True

    def _place_in(self, attempt: Trial, group: Gang, nodes: Mask, rules: Rules, order: int) -> bool:
        if group.groups:
            return self._place_below(attempt, group, nodes, rules, order)
        needed = group._replace(members=group.members[: group.required])
        if self._place_pods(attempt, needed, nodes, rules) >= group.required:
            return True
        return self._place_pods(attempt, group, nodes, rules, group.required) >= group.required

    def _place_pods(self, attempt: Trial, group: Gang, nodes: Mask, rules: Rules, wanted: int | None = None) -> int:
        if not group.members:
            return 0
        return GroupPlacer(self, self._ledger, group, nodes).place(attempt, rules, wanted)

    # Then all the others

    def _add_groups(self, trial: Trial, gang: Gang, domain: Mask, rules: Rules) -> None:
        """Groups that are not there yet and that the tree can do without, the oldest first."""
        for group in sorted(gang.groups, key=lambda group: self._rank(group, 0)):
            absent = group.required and not any(facts.key in trial.placed for facts in group.members)
            if absent and not self._place_group(trial, group, domain, rules, 0):
                continue
            for nodes in self._domains(group, domain, trial) if group.groups else ():
                self._add_groups(trial, group, nodes, rules)

    def _fill(self, trial: Trial, gang: Gang, domain: Mask, rules: Rules) -> None:
        """Those that groups can do without, beside the others of their group."""
        for group in gang.groups:
            rest = [facts for facts in group.members if facts.key not in trial.placed]
            if not rest or (group.required and len(rest) == len(group.members)):
                continue
            for nodes in self._domains(group, domain, trial):
                if group.groups:
                    self._fill(trial, group, nodes, rules)
                    break
                attempt = Trial(self.table)
                placed = self._place_pods(attempt, group._replace(members=rest, required=0), nodes, rules)
                trial.take_over(attempt)
                if placed:
                    break

    def _domains(self, group: Gang, domain: Mask, trial: Trial | None = None) -> Iterator[Mask]:
        """Where a group may go: the domain of those above it, or each topology domain in it that it asks for. Pods that
        have their place, or are placed in a trial, have chosen for the rest."""
        if not group.topology_key:
            yield domain
            return
        codes, values = self.labels.column(group.topology_key)
        placed = [trial.placed[facts.key].pods[0] for facts in group.members if trial and facts.key in trial.placed]
        there = [self.table.where(facts.node) for facts in (*group.bound, *placed)]
        chosen = {int(codes[node]) for node in there if node is not None}
        for _, code in sorted(values.items()):
            nodes = domain & (codes == code)
            if chosen <= {code} and bool(np.any(nodes)):
                yield nodes


def _asks_for_domains(gang: Gang) -> bool:
    return any(group.topology_key or _asks_for_domains(group) for group in gang.groups)


def _ways(gang: Gang) -> Iterator[tuple[PodFacts, ...]]:
    """Every choice of groups that would be enough, as the pods that these need."""
    if not gang.groups:
        if len(gang.members) >= gang.required:
            yield tuple(gang.members[: gang.required])
        return
    absent = [group for group in gang.groups if group.required]
    lacking = max(gang.required_groups - (len(gang.groups) - len(absent)), 0)
    for some in combinations(absent, lacking):
        for chosen in product(*(list(islice(_ways(group), _MOST_WAYS)) for group in some)):
            yield tuple(facts for pods in chosen for facts in pods)


def placer_for(ledger: NodeLedger, gang: Gang, domain: Mask) -> GangPlacer:
    return (CompositePlacer if gang.groups else GangPlacer)(ledger, gang, domain)
