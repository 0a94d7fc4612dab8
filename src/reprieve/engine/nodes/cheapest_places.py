"""The cheapest way to make room for many pods that are alike, where single pods may leave: exact, over all nodes.

1. For each node, what each number of further places costs there (`node_curves`). Nodes that are no cheaper for any
   number of places than enough others are left out.
2. At one price for each place, every node by itself says how many it would sell. The price is the highest at which they
   do not sell more than are lacking. No plan can cost less than what they sell is worth by it: that is a lower bound.
3. A dynamic program over the nodes that were closest to selling another number; the others keep to theirs. Once no
   other number on one of those can make up for what the plan is above the bound, the plan is the least of all; else the
   program is run over more nodes.
"""

from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.node_curves import NEVER, NodeCurves, reachable

_HIGHEST_PRICE = 2**60
_FIRST_NODES, _MORE = 64, 4


class Cheapest(NamedTuple):
    """For each node, the ranks that leave it; nothing where there are not enough places, or none are lacking."""

    leave: dict[int, list[int]]
    exact: bool = True
    """Whether every set that could be less was looked at."""


def cheapest_places(free: Ints, needs: Ints, reach: Mask, gives: Ints, cost: Ints, wanted: int) -> Cheapest:
    """`free`: resources by nodes; `gives`: ranks by resources by nodes, what each frees; `cost`: ranks by nodes, what
    it costs, negative where nobody stands who may leave. All of them together cost less than 2**60. Resources are
    those that are needed."""
    now = reachable(free, needs, reach, wanted)
    lacking = wanted - int(now.sum())
    if lacking <= 0:
        return Cheapest({})
    curves = NodeCurves(free, needs, gives, np.where(reach, cost, -1), now, lacking)
    columns = _worth_looking_at(curves.costs, lacking)
    chosen = fewest(curves.costs[:, columns], lacking)
    if chosen is None:
        return Cheapest({}, curves.exact)
    pairs = zip(columns.tolist(), chosen.tolist(), strict=True)
    leave = {int(curves.nodes[column]): curves.leave(column, places) for column, places in pairs if places}
    return Cheapest(leave, curves.exact)


def _worth_looking_at(costs: Ints, lacking: int) -> Ints:
    """For each number of places, no more nodes are of use than there are places lacking: those where it costs least."""
    nodes = costs.shape[1]
    if nodes <= lacking:
        return np.arange(nodes)
    kept = np.zeros(nodes, dtype=np.bool_)
    for row in costs[1:]:
        kept[np.argsort(row, kind="stable")[:lacking]] = True
    return np.flatnonzero(kept)


def fewest(costs: Ints, lacking: int) -> Ints | None:
    """How many places each node makes, so that all of them cost least; None: there are not enough."""
    if int((costs < NEVER).sum()) - costs.shape[1] < lacking:
        return None
    price = _price(costs, lacking)
    worth = price * np.arange(len(costs))[:, None] - costs
    chosen: Ints = worth.argmax(axis=0)
    best = worth.max(axis=0)
    bound = price * lacking - sum(best.tolist())
    regret = best - worth
    regret[chosen, np.arange(len(chosen))] = NEVER
    close = regret.min(axis=0)
    order = np.argsort(close, kind="stable")
    size = _FIRST_NODES
    while True:
        core, others = order[:size], order[size:]
        rest = lacking - int(chosen[others].sum())
        made = _program(costs[:, core], rest)
        if made is not None:
            total = sum(costs[made, core].tolist()) + sum(costs[chosen[others], others].tolist())
            if not len(others) or int(close[others[0]]) >= total - bound:
                chosen[core] = made
                return chosen
        elif not len(others):
            return None
        size *= _MORE


def _price(costs: Ints, lacking: int) -> int:
    """The highest price at which nodes sell no more places than are lacking."""
    places = np.arange(len(costs))[:, None]
    low, high = 0, _HIGHEST_PRICE // max(1, len(costs) - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if int((middle * places - costs).argmax(axis=0).sum()) <= lacking:
            low = middle
        else:
            high = middle - 1
    return low


def _program(costs: Ints, lacking: int) -> Ints | None:
    """Node after node, the least that so many places cost with it and without it."""
    made = np.zeros(costs.shape[1], dtype=np.int64)
    if lacking <= 0:
        return made
    best = np.full(lacking + 1, NEVER, dtype=np.int64)
    best[0] = 0
    choices = np.zeros((costs.shape[1], lacking + 1), dtype=np.int32)
    for column, curve in enumerate(costs.T.tolist()):
        before = best
        best = before.copy()
        for places, cost in enumerate(curve[1 : lacking + 1], 1):
            if cost >= NEVER:
                break
            # So many places are reached from so many fewer; from fewer than that, by what is too much.
            with_it = np.empty_like(before)
            with_it[places:] = before[: lacking + 1 - places] + cost
            with_it[:places] = cost
            better = with_it < best
            best[better] = with_it[better]
            choices[column, better] = places
    if best[lacking] >= NEVER:
        return None
    left = lacking
    for column in range(costs.shape[1] - 1, -1, -1):
        made[column] = choices[column, left]
        left = max(0, left - int(made[column]))
    return made
