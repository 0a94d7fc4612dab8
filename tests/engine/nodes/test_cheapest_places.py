"""The cheapest pods to leave for many that are alike: against every set there is, and every set of its kind."""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reprieve.engine.nodes.cheapest_places import cheapest_places

Ints = NDArray[np.int64]


class World(NamedTuple):
    free: Ints
    needs: Ints
    reach: NDArray[np.bool_]
    gives: Ints
    cost: Ints
    wanted: int


def places_of(world: World, node: int, leave: tuple[int, ...]) -> int:
    """By one node at a time, in plain numbers."""
    if not world.reach[node]:
        return 0
    rows = range(len(world.needs))
    free = [int(world.free[row, node]) + sum(int(world.gives[rank, row, node]) for rank in leave) for row in rows]
    return min(max(0, min(free[row] // int(world.needs[row]) for row in rows)), world.wanted)


def least_of(world: World, sets: list[list[tuple[int, ...]]]) -> int | None:
    """The least that some sets on each node cost together; None: they are not enough."""
    states = {0: 0}
    for node, here in enumerate(sets):
        found: dict[int, int] = {}
        for leave in here:
            places = places_of(world, node, leave)
            cost = sum(int(world.cost[rank, node]) for rank in leave)
            for before, spent in states.items():
                total = min(world.wanted, before + places)
                found[total] = min(found.get(total, 2**62), spent + cost)
        states = found
    return states.get(world.wanted)


def everybody(world: World, node: int) -> list[int]:
    return [rank for rank in range(len(world.cost)) if world.cost[rank, node] >= 0]


def every_set(world: World, node: int) -> list[tuple[int, ...]]:
    here = everybody(world, node)
    return [some for size in range(len(here) + 1) for some in combinations(here, size)]


def sets_in_order(world: World, node: int) -> list[tuple[int, ...]]:
    """The first one, two, three ... of those who free most: of one resource, of all together, of what is least."""
    here, rows = everybody(world, node), range(len(world.needs))
    shares = {rank: [world.gives[rank, row, node] / world.needs[row] for row in rows] for rank in here}
    keys = [*({rank: share[row] for rank, share in shares.items()} for row in rows)]
    keys += [{rank: sum(share) for rank, share in shares.items()}, {rank: min(share) for rank, share in shares.items()}]
    orders = [sorted(here, key=lambda rank: (-key[rank], int(world.cost[rank, node]))) for key in keys]
    return [tuple(order[:size]) for order, size in product(orders, range(len(here) + 1))]


@st.composite
def worlds(draw: st.DrawFn, deepest: int = 5, rows: int | None = None) -> World:
    nodes, depth = draw(st.integers(1, 7)), draw(st.integers(1, deepest))
    number = draw(st.integers(1, 3)) if rows is None else rows
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    alike = draw(st.booleans())
    gives = random.integers(1, 7, (1, number, nodes)).repeat(depth, axis=0)
    if not alike:
        gives = random.integers(0, 7, (depth, number, nodes))
    cost = random.integers(0, draw(st.sampled_from([2, 40])), (depth, nodes)) + 1
    cost[random.random((depth, nodes)) < draw(st.sampled_from([0.0, 0.3]))] = -1
    return World(
        random.integers(-2, 5, (number, nodes)),
        random.integers(1, 6, number),
        random.random(nodes) < 0.9,
        gives,
        cost << draw(st.sampled_from([0, 40])),
        draw(st.integers(1, 14)),
    )


def found_in(world: World) -> int | None:
    """What it costs, where it is enough."""
    before = sum(places_of(world, node, ()) for node in range(len(world.reach)))
    leave = cheapest_places(*world).leave
    if not leave:
        return 0 if before >= world.wanted else None
    assert all(len(set(ranks)) == len(ranks) for ranks in leave.values())
    cost = sum(int(world.cost[rank, node]) for node, ranks in leave.items() for rank in ranks)
    assert all(world.cost[rank, node] >= 0 for node, ranks in leave.items() for rank in ranks)
    nodes = range(len(world.reach))
    assert sum(places_of(world, node, tuple(leave.get(node, ()))) for node in nodes) >= world.wanted
    return cost


@settings(max_examples=300)
@given(worlds())
def test_it_costs_as_little_as_the_best_of_all_sets(world: World) -> None:
    assert found_in(world) == least_of(world, [every_set(world, node) for node in range(len(world.reach))])


@settings(max_examples=40)
@given(worlds(deepest=10, rows=1))
def test_nobody_more_leaves_than_has_to_where_one_resource_is_short(world: World) -> None:
    alike = world._replace(cost=np.where(world.cost >= 0, 1, -1))
    assert found_in(alike) == least_of(alike, [every_set(alike, node) for node in range(len(world.reach))])


@settings(max_examples=100)
@given(worlds(deepest=14))
def test_of_many_on_one_node_the_largest_leave_first(world: World) -> None:
    sets = [
        every_set(world, node) if len(everybody(world, node)) <= 8 else sets_in_order(world, node)
        for node in range(len(world.reach))
    ]
    assert found_in(world) == least_of(world, sets)


@pytest.mark.parametrize("spread", [1, 3, 10**9])
def test_many_nodes_cost_as_little_as_all_of_them_looked_at_one_after_the_other(spread: int) -> None:
    """So many that most of them are left out before they are looked at together."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        nodes, depth = 120, 4
        cost = random.integers(1, spread + 1, (depth, nodes)) + 10**10
        gives = random.integers(1, 4, (depth, 1, nodes))
        reach = np.ones(nodes, dtype=np.bool_)
        world = World(np.zeros((1, nodes), dtype=np.int64), np.array([3]), reach, gives, cost, 40)
        assert found_in(world) == least_of(world, [every_set(world, node) for node in range(nodes)])
