"""Who else could make way for a gang: what the search of one domain was made of, for whoever looks for less.

Where no pod minds its neighbours, whether the gang fits is arithmetic (`gang_places`), and where its members are alike,
the cheapest pods to leave are worked out at once (`cheapest_places`). Else the gang is placed each time somebody asks.
Either way every plan that comes of it was placed in full.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.nodes.cheapest_places import Cheapest, cheapest_places
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.gang_places import OneShape, Packing, Room, SeveralShapes
from reprieve.engine.nodes.leavers import Leavers
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.lost_work import LostWork
from reprieve.engine.nodes.trial import Trial
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.price import UnitCost, price
from reprieve.engine.steps import Steps
from reprieve.model.names import UnitName

_EXACT_TRIES = 4
_STEPS_OF_PACKING, _STEPS_OF_PLACING = 3, 60
_MANY = 500


class GangAlternatives:
    """One domain, the units that may leave it, and how many of the gang have to be placed."""

    def __init__(
        self,
        ledger: NodeLedger,
        placer: GangPlacer,
        leavers: Leavers,
        chosen: Sequence[Unit] | None,
        wanted: int,
        now: int,
    ) -> None:
        self.chosen = chosen
        self.wanted = wanted
        self._ledger = ledger
        self._table = ledger.table
        self._placer = placer
        self._leavers = leavers
        self._now = now
        self._costs: dict[Hashable, UnitCost] = {}
        self._work = LostWork(ledger, now)

    @property
    def candidates(self) -> list[Unit]:
        return self._leavers.units

    # What it costs

    def cost(self, unit: Unit) -> UnitCost:
        known = self._costs.get(unit.key)
        if known is None:
            work = self._work
            known = self._costs[unit.key] = UnitCost(
                self._leavers.breaks.get(unit.key, 0),
                (unit.priority,),
                len(unit.pods),
                sum([facts.priority for facts in unit.pods]),
                work.of(unit.pods),
                sum([work.size(facts) for facts in unit.pods]),
            )
        return known

    def lawful(self, gone: Collection[Unit]) -> bool:
        """Where budgets are respected, none is broken."""
        if self._ledger.settings.pdb != "Respect" or not self._ledger.budgets.budgets:
            return True
        return not self._ledger.budgets.broken_by([facts for unit in gone for facts in unit.pods])

    # Does it fit?

    @cached_property
    def views(self) -> list[NodeView]:
        return [self._placer.view(shape[0]) for shape in self._placer.shapes]

    @property
    def plain(self) -> bool:
        """Whether room is all that matters: no neighbours, no volumes, no tree of groups."""
        shapes = self._placer.shapes
        return not self._placer.gang.groups and not any(
            view.inter_pod is not None or shape[0].host_ports or shape[0].claims
            for view, shape in zip(self.views, shapes, strict=True)
        )

    @property
    def step(self) -> int:
        """Packing several shapes, and all the more placing pods that mind their neighbours, is more than counting."""
        if not self.plain:
            return _STEPS_OF_PLACING
        return 1 if len(self._placer.shapes) == 1 else _STEPS_OF_PACKING

    def ledger(self) -> Steps[Unit]:
        if not self.plain:
            return _Placing(self._placer, self.wanted)
        if len(self._placer.shapes) == 1:
            return OneShape(self.room, self.gives)
        return SeveralShapes(self.room, self.gives, _EXACT_TRIES)

    @cached_property
    def room(self) -> Room:
        shapes = self._placer.shapes
        rows = self._table.resources
        free = np.full((self._table.requests.shape[1], self._table.size), 0, dtype=np.int64)
        nobody = np.zeros((0, self._table.size), dtype=np.bool_)
        needs = np.zeros((len(shapes), len(free)), dtype=np.int64)
        for number, view in enumerate(self.views):
            for name, units in view.asked:
                needs[number, rows[name]] = units
            for name, amounts in view.left(nobody).items():
                free[rows[name]] = amounts
        reach = np.stack([view.within_reach for view in self.views])
        return Room(free, needs, reach, [len(shape) for shape in shapes], self.wanted, self._table.by_age())

    def gives(self, unit: Unit) -> Iterator[tuple[int, Ints]]:
        for name, share in unit.shares.items():
            node = self._table.index[name]
            rank = self._rank(node, unit)
            if rank is not None:
                yield node, self._amounts(node, rank)
            else:
                yield node, self._asked(share.requests)

    def _rank(self, node: int, unit: Unit) -> int | None:
        return self._ranks[node].get(unit.key)

    @cached_property
    def _ranks(self) -> list[dict[Hashable, int]]:
        return [{share.unit.key: rank for rank, share in enumerate(shares)} for shares in self._table.residents]

    def _amounts(self, node: int, rank: int) -> Ints:
        return self._table.requests[rank, :, node]

    def _asked(self, requests: Mapping[str, int]) -> Ints:
        amounts = np.zeros(self._table.requests.shape[1], dtype=np.int64)
        for name, units in requests.items():
            amounts[self._table.row(name)] = units
        return amounts

    # Where to begin

    def starts(self) -> Iterator[Sequence[Unit]]:
        if self.plain and self._leavers.number:
            if self._cheapest_units:
                yield self._cheapest_units
            if len(self._placer.shapes) > 1:
                yield self.candidates

    def bundles(self) -> list[list[Unit]]:
        """Those on one node, the nodes first from which fewest would leave; none, where all are found anyway."""
        if not self._worth_clearing:
            return []
        by_node: dict[str, list[Unit]] = {}
        for unit in self.candidates:
            for name in unit.shares:
                by_node.setdefault(name, []).append(unit)
        return sorted(by_node.values(), key=len)

    # The least of all, at once

    @cached_property
    def settled(self) -> bool:
        """Also in a large cluster, where swaps one by one would take longer than they are worth."""
        return self.plain and not self._worth_clearing and self._leavers.number > _MANY

    @property
    def _worth_clearing(self) -> bool:
        """Where all members and victims are alike to the dynamic program, it has found the least."""
        return len(self._placer.shapes) > 1 or self._leavers.together

    def least(self) -> list[Unit] | None:
        """Whoever leaves by the dynamic program or by the design, where nobody else could be less: of single pods all
        sets were looked at, or as many as is worth it; of units of several, none could do with fewer."""
        if not self.plain or len(self._placer.shapes) > 1 or not self._leavers.number:
            return None
        found = self._cheapest_units
        if not found or not self.lawful(found) or not self._is_least(found):
            return None
        known = [units for units in (self.chosen, found) if units is not None]
        return list(min(known, key=lambda units: price(map(self.cost, units))))

    def _is_least(self, found: Sequence[Unit]) -> bool:
        if self.settled:
            return True
        if self.chosen is None or any(unit.key in self._leavers.breaks for unit in found):
            return False
        return len(found) <= self._fewest() if self._leavers.together else self._exact

    def _fewest(self) -> int:
        """As few pods at least leave: units of several are asked as if each share could go alone."""
        leave = self._cheapest_for_shape(0, self.room.free, self._leavers.pods).leave
        return sum(int(self._leavers.pods[rank, place]) for place, ranks in leave.items() for rank in ranks)

    @cached_property
    def _cheapest_units(self) -> list[Unit]:
        """Shape by shape, the largest first: the cheapest pods to leave, and the places that are then taken."""
        room, leavers = self.room, self._leavers
        free, gone = room.free.copy(), {}
        ran = leavers.of_singles(self._work.seconds) if self._work.asks else leavers.seconds(self._now)
        cost = leavers.costs(sum(room.counts), ran)
        order = np.argsort(-(room.needs / np.maximum(free.max(axis=1, initial=1), 1)).max(axis=1), kind="stable")
        self._exact = True
        for shape in order.tolist():
            if not room.needs[shape].any():
                continue
            made = self._cheapest_for_shape(shape, free, cost)
            self._exact = self._exact and made.exact
            for place, ranks in made.leave.items():
                for rank in ranks:
                    unit = leavers.unit_at(rank, place)
                    gone[unit.key] = unit
                    free[:, leavers.nodes[place]] += leavers.gives[rank, :, place]
                    cost[rank, place] = -1
            if len(room.counts) > 1 and not room.take(shape, free):
                return []
        return list(gone.values())

    def _cheapest_for_shape(self, shape: int, free: Ints, cost: Ints) -> Cheapest:
        room, nodes = self.room, self._leavers.nodes
        rows = np.flatnonzero(room.needs[shape])
        count = room.wanted if len(room.counts) == 1 else room.counts[shape]
        gives = self._leavers.gives if len(rows) == len(free) else self._leavers.gives[:, rows]
        needs = room.needs[shape][rows]
        return cheapest_places(free[np.ix_(rows, nodes)], needs, room.reach[shape][nodes], gives, cost, count)

    # What it comes to

    def placed_without(self, victims: Sequence[Unit]) -> dict[UnitName, str] | None:
        """Where the pods go once some units have left; None: too few of them have a place."""
        # Worked out while they are still where the columns say.
        packing = self._packing(victims) if self.plain else None
        with Trial(self._table) as without:
            for unit in victims:
                without.evict(unit)
            with Trial(self._table) as trial:
                if self._placer.place(trial, None) >= self.wanted:
                    return trial.placement()
            with Trial(self._table) as trial:
                packed = packing is not None and self._place_as_packed(trial, packing)
                return trial.placement() if packed else None

    def _place_as_packed(self, trial: Trial, packing: Packing) -> bool:
        """Each pod where the packing has it, if all filters let it in."""
        placed = 0
        for number, shape in enumerate(self._placer.shapes):
            waiting = iter(shape)
            for node, counts in packing.items():
                for _ in range(counts[number]):
                    facts = next(waiting)
                    if not self._placer.view(facts).fits[node]:
                        return False
                    trial.place(facts, self._table.names[node], self._placer.gang.priority)
                    placed += 1
        return placed >= self.wanted

    def _packing(self, victims: Sequence[Unit]) -> Packing | None:
        room = self.room
        if len(room.counts) == 1:
            return None
        shapes = SeveralShapes(room, self.gives, 1)
        for unit in victims:
            shapes.remove(unit)
        return shapes.packing()

    # In inequalities

    def model(self) -> LinearModel | None:
        """None: neighbours, volumes or trees of groups are not said in inequalities."""
        if not self.plain:
            return None
        room, model = self.room, LinearModel()
        given: dict[int, dict[int, Ints]] = {}
        units = [model.unit((facts.unit for facts in unit.pods), self.cost(unit)) for unit in self.candidates]
        for number, unit in zip(units, self.candidates, strict=True):
            for node, amounts in self.gives(unit):
                given.setdefault(node, {})[number] = amounts
        places = self._place_variables(model, given)
        for node, by_shape in places.items():
            for row in np.flatnonzero(room.needs.any(axis=0)).tolist():
                needs = {number: int(room.needs[shape, row]) for shape, number in by_shape.items()}
                if any(needs.values()):
                    gains = {number: -int(amounts[row]) for number, amounts in given.get(node, {}).items()}
                    free = int(room.free[row, node])
                    if free < 0:  # it counts only where somebody comes
                        empty = model.number(1)
                        most = sum(room.counts)
                        model.at_most({**dict.fromkeys(by_shape.values(), 1), empty: most}, most)
                        gains[empty] = free
                    model.at_most({**needs, **gains}, free)
        for shape, count in enumerate(room.counts):
            model.at_most({by[shape]: 1 for by in places.values() if shape in by}, count)
        model.at_least({number: 1 for by in places.values() for number in by.values()}, room.wanted)
        self._respect_budgets(model, units)
        return model

    def _place_variables(
        self, model: LinearModel, given: Mapping[int, Mapping[int, Ints]]
    ) -> dict[int, dict[int, int]]:
        room = self.room
        free = room.free.copy()
        for node, gains in given.items():
            free[:, node] += np.sum(list(gains.values()), axis=0)
        found: dict[int, dict[int, int]] = {}
        for shape in range(len(room.counts)):
            most = room.capacity(shape, free)
            for node in np.flatnonzero(most).tolist():
                found.setdefault(node, {})[shape] = model.number(int(most[node]))
        return found

    def _respect_budgets(self, model: LinearModel, units: Sequence[int]) -> None:
        if self._ledger.settings.pdb != "Respect":
            return
        budgets = self._ledger.budgets
        used: dict[int, dict[int, int]] = {}
        for number, unit in zip(units, self.candidates, strict=True):
            for facts in unit.pods:
                for budget in budgets.covering(facts):
                    terms = used.setdefault(budget, {})
                    terms[number] = terms.get(number, 0) + 1
        for budget, terms in used.items():
            model.at_most(terms, max(budgets.budgets[budget].status.disruptions_allowed, 0))


class _Placing:
    """The gang is placed whenever somebody asks, in the room that is free by then. The table is as it was once all who
    left it are back."""

    def __init__(self, placer: GangPlacer, wanted: int) -> None:
        self._placer = placer
        self._gone = Trial(placer.table)
        self._wanted = wanted

    def fits(self) -> bool:
        with Trial(self._placer.table) as trial:
            return self._placer.place(trial, None) >= self._wanted

    def remove(self, unit: Unit) -> None:
        self._gone.evict(unit)

    def give_back(self, unit: Unit) -> None:
        self._gone.give_back(unit)
