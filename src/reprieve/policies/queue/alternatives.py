"""Who else could make way for a pod in a queue: on one node, from one side of the queue that it claims."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from reprieve.engine.alternatives import BaseAlternatives
from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.lost_work import NOTHING_SAID, Totals
from reprieve.engine.nodes.lost_work import all_there_is
from reprieve.engine.offers import Offer
from reprieve.engine.price import Price, UnitCost, price
from reprieve.model.resources import NOTHING
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import QueueCandidates
from reprieve.policies.queue.columns import QueueCandidate, QueueColumns
from reprieve.policies.queue.ledger import QueueLedger
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.tree import QueueNode
from reprieve.policies.queue.view import QueueView

_MOST_NODES = 60
"""So many nodes are looked at once more, those first that could be the cheapest."""
_MILLION, _SECOND = 10**6, 10**6
_COUNTABLE, _EVER = 2**43, 2**53
"""So much can be counted in millionths, and so much lost work be added up."""


class Side(BaseAlternatives):
    """Candidates on a node, or below a maximum that is in the way: all in the queue that is claimed, or all outside."""

    def __init__(
        self,
        columns: QueueColumns,
        view: QueueView,
        among: QueueCandidates,
        search: QueueSearch,
        node: int,
        totals: Totals,
    ) -> None:
        self.node = node
        self.known = False
        """Whether nobody else could be less than whom the design chose."""
        self.chosen: Sequence[QueueCandidate] | None = None
        self.candidates: Sequence[QueueCandidate] = ()
        self._columns = columns
        self._queues = columns.tree.queues
        self._view = view
        self._among = among
        self._search = search
        self._books = QueueLedger(columns, view, node)
        self._totals = totals

    def choose_from(self, candidates: Iterable[QueueCandidate], allowed: Mask) -> None:
        self.candidates = [one for one in candidates if allowed[one.queue]]

    def keep_to(self, victims: Sequence[QueueCandidate]) -> None:
        """The design's own answer: nobody who opted out, or leads, goes in place of those who do not."""
        keys = {one.facts.key for one in victims}
        opted, leads = (any(getattr(one, name) for one in victims) for name in ("opted_out", "leads"))
        self.candidates = [one for one in self.candidates if (opted or not one.opted_out) and (leads or not one.leads)]
        self.chosen = [one for one in self.candidates if one.facts.key in keys]

    def cost(self, unit: QueueCandidate) -> UnitCost:
        facts = unit.facts
        importance = int(self._among.importance[unit.rank, unit.node])
        size = self._totals.size(facts.requests)
        grade = (2 * unit.opted_out + unit.leads, importance)
        said = self._view.nodes.table.units.said_of_work(facts) if self._totals.asks else NOTHING_SAID
        return UnitCost(0, grade, 1, importance, self._totals.lost(size, facts.created, said), size)

    def least(self) -> Sequence[QueueCandidate] | None:  # type: ignore[override]
        return self.chosen if self.known else None

    # Does it fit, and are the laws kept?

    def ledger(self) -> QueueLedger:
        return self._books

    def lawful(self, gone: Collection[QueueCandidate]) -> bool:
        """Laws 2 and 4, with all of them gone: whoever would be the last to leave may leave."""
        books = self._books
        for one in gone:
            books.give_back(one)
            below = laws.falls_below(one.facts, self._queues[one.queue], self._view, books.gone)
            books.remove(one)
            if below is not None:
                return False
        return books.under_guarantee()

    def offer(self, victims: Sequence[QueueCandidate]) -> Offer:
        # Whom law 2 protected because of others who had gone then: they stay.
        self._search.refused.pop(self.node, None)
        return self._search.offer(self.node, sorted(victims, key=self._among.order))

    # In inequalities

    def model(self) -> LinearModel | None:
        """None: neighbours are not said in inequalities."""
        view, nodes = self._view, self._view.nodes
        if nodes.inter_pod is not None:
            return None
        model = LinearModel()
        units = {model.unit([one.facts.unit], self.cost(one)): one for one in self.candidates}
        weights = nodes.weights_on(self.node)
        for row, slack in enumerate(view.slack[:, self.node].tolist()):
            here = {number: int(weights[one.rank, row]) for number, one in units.items() if one.node == self.node}
            model.at_least(here, -slack)
        for queue in view.capped:
            promised = view.promised.get(queue.number, NOTHING)
            for name, most in (queue.maximum or NOTHING).items():
                if view.request.of(name):
                    used = queue.kept.get(name, 0) + promised.of(name) + view.request[name]
                    model.at_least(self._leaving(units, queue, name), used - most)
        self._keep_law_2(model, units)
        self._keep_law_4(model, units)
        return model

    def _leaving(self, units: Mapping[int, QueueCandidate], queue: QueueNode, name: str) -> dict[int, int]:
        """What each takes of a type from a queue."""
        held = self._columns.tree.held
        below = {number: one for number, one in units.items() if queue in self._queues[one.queue].path}
        return {number: held(one.facts).of(name) for number, one in below.items()}

    def _keep_law_2(self, model: LinearModel, units: Mapping[int, QueueCandidate]) -> None:
        own = self._view.queue.path
        for queue in {node for one in units.values() for node in self._queues[one.queue].path}:
            for name in queue.guaranteed or NOTHING:
                comes = self._view.comes(name) if queue in own else None
                spare = laws.spare_of(queue, name, comes)
                model.at_most(self._leaving(units, queue, name), max(spare, 0))

    def _keep_law_4(self, model: LinearModel, units: Mapping[int, QueueCandidate]) -> None:
        view = self._view
        left = laws.left_of_guarantee(view, laws.NOBODY_GONE)
        for name in view.request:
            if name in left:
                queue = next(node for node in view.queue.path if name in (node.guaranteed or NOTHING))
                whole = view.queue.tree.settings.request_within_guarantee
                needed = view.request[name] if whole else 1
                model.at_least(self._leaving(units, queue, name), needed - left[name])


def sides(
    columns: QueueColumns,
    view: QueueView,
    among: QueueCandidates,
    search: QueueSearch,
    chosen: Offer | None,
    *,
    asks: bool,
) -> Iterator[Side]:
    """What was chosen and the nodes that could be cheaper, or all where nothing was; from outside first."""
    totals = _totals(view, asks=asks)
    if chosen is None:
        for node, _ in islice(search.by_lowest_price(), _MOST_NODES):
            yield _of_node(columns, view, among, search, node, None, totals)
        return
    mine = _of_node(columns, view, among, search, view.nodes.table.index[chosen.domain], chosen, totals)
    less = _could_be_less(view, among, search, price(map(mine.cost, mine.chosen or ())), totals)
    mine.known = mine.node not in less
    yield mine
    others = less - {mine.node}
    could = (node for node, _ in search.by_lowest_price() if node in others) if others else ()
    for node in islice(could, _MOST_NODES):
        yield _of_node(columns, view, among, search, node, None, totals)


def _totals(view: QueueView, *, asks: bool) -> Totals:
    return Totals(all_there_is(view.nodes.table), view.now, asks)


def _of_node(
    columns: QueueColumns,
    view: QueueView,
    among: QueueCandidates,
    search: QueueSearch,
    node: int,
    chosen: Offer | None,
    totals: Totals,
) -> Side:
    here = list(search.asked_for(node))
    names = {victim.unit for victim in chosen.victims} if chosen is not None else set()
    victims = [one for one in here if one.facts.unit in names]
    side = _side_of(columns, view, among, search, node, here, victims, totals)
    side.taken = chosen is not None
    if chosen is not None:
        side.keep_to(victims)
    return side


def _side_of(
    columns: QueueColumns,
    view: QueueView,
    among: QueueCandidates,
    search: QueueSearch,
    node: int,
    here: Iterable[QueueCandidate],
    victims: Iterable[QueueCandidate],
    totals: Totals,
) -> Side:
    """The side that the design's own victims stand on; outside where it has none."""
    claimed = among.standing.claimed
    within = any(claimed[one.queue] for one in victims)
    side = Side(columns, view, among, search, node, totals)
    side.choose_from(here, np.asarray(claimed if within else ~claimed))
    return side


def every_side(
    columns: QueueColumns, view: QueueView, among: QueueCandidates, search: QueueSearch, *, asks: bool
) -> Iterator[Side]:
    """For a proof: all nodes where it could be enough, and not those only that are worth a search."""
    totals = _totals(view, asks=asks)
    some_room = False
    for node, _ in search.by_lowest_price():
        if view.roomy[node] and some_room:
            continue  # nodes with room are all alike
        some_room = some_room or bool(view.roomy[node])
        victims = search.on_node(node) or ()
        yield _side_of(columns, view, among, search, node, search.asked_for(node), victims, totals)


def _could_be_less(
    view: QueueView, among: QueueCandidates, search: QueueSearch, before: Price, totals: Totals
) -> set[int]:
    """The nodes whose victims could cost less, and of those that have room the first: they are all alike."""
    nodes, bounds = search.bounds
    roomy = view.roomy[nodes]
    less = np.zeros(len(nodes), dtype=np.bool_)
    equal = ~roomy
    if before.grade[0]:  # how reluctant several are together is not what one of them is
        less = equal.copy()
    else:
        for row, most in zip(bounds, (*before.grade, before.victims, before.importance), strict=False):
            less |= equal & (row < most)
            equal &= row == most
        less &= bounds[2] <= before.victims
        same = np.flatnonzero(equal)
        # What everybody says of it is not in columns: so any work could be less.
        lost = 0 if totals.asks else _least_lost(view, among, nodes[same], bounds[2][same], totals)
        less[same[lost < np.full(len(same), before.lost)]] = True
    return {*nodes[less].tolist(), *nodes[roomy][:1].tolist()}


def _least_lost(view: QueueView, among: QueueCandidates, nodes: Ints, fewest: Ints, totals: Totals) -> Ints:
    """The work that is lost at least where so few leave each node."""
    table = view.nodes.table
    depth = len(among.mask)
    size = np.zeros((depth, len(nodes)), dtype=np.int64)
    for name, row in table.resources.items():
        total = totals.amounts[name]
        if total > 0:
            held = np.minimum(table.requests[:depth, row][:, nodes], _COUNTABLE)
            size = np.maximum(size, held * _MILLION // total)
    ran = np.clip((view.now - among.column("created")[:, nodes]) // _SECOND, 0, None)
    lost = np.where(among.mask[:, nodes], size * ran, _EVER)
    sums = np.minimum(np.sort(lost, axis=0), _EVER).cumsum(axis=0)
    return np.asarray(np.take_along_axis(sums, fewest[None] - 1, axis=0)[0])
