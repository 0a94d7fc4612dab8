"""Pods and groups that a tree can do without: one rule, over examples and over small random trees tried by force.

1. They take free room.
2. Beyond that nobody makes way for them who ranks above those who made way for what the tree needs; where nobody did,
   nobody does.
3. They never cost a PDB violation.

GROUP_EXAMPLES sets how many worlds are looked at.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.planning.result import Decision
from tests.builders.pods import budget, node, pod
from tests.policies.podgroup.gangs import decide, places, victims
from tests.policies.podgroup.test_composites import TOP, composite, group, nodes
from tests.reference.trees import Dict, NaiveTree

WORLDS = int(os.environ.get("GROUP_EXAMPLES", "150"))
GUARDED = {"app": "guarded"}


def running(name: str, at: int, priority: int, cpu: str = "4", **fields: Any) -> Dict:
    return pod(name, node=f"n{at}", priority=priority, cpu=cpu, **fields)


def held(item: Dict, limit: int) -> Dict:
    """A pod that has its place, and remembers who made way for its group."""
    text = Hold(preemptor=TOP, policy="podgroup", limit=limit).text()
    return {**item, "metadata": {**item["metadata"], "annotations": {HOLD_ANNOTATION: text}}}


def test_pods_above_the_minimum_of_a_group_cost_nobody_of_a_higher_priority() -> None:
    tree = [composite("top", 2), *group("a", 3, least=1), *group("b", 1)]
    rest = [running("low1", 0, 10), running("low2", 1, 10), running("low3", 2, 10), running("middle", 3, 50)]
    decision = decide(nodes(4), tree, rest, preemptor=TOP)
    assert (decision.outcome, victims(decision)) == ("Preempt", ["low1", "low2", "low3"])
    assert len(places(decision)) == 3


def test_groups_above_the_minimum_cost_nobody_where_the_tree_has_room_for_what_it_needs() -> None:
    tree = [composite("top", 1), *group("a", 1), *group("b", 1)]
    decision = decide(nodes(2), tree, running("low", 1, 10), preemptor=TOP)
    assert (decision.outcome, victims(decision), len(places(decision))) == ("Fits", [], 1)


@pytest.mark.parametrize(("limit", "gone"), [(None, []), (10, ["low"]), (5, [])])
def test_a_group_that_comes_later_goes_by_who_made_way_before(limit: int | None, gone: list[str]) -> None:
    first = group("a", 1, where=["n0"])
    there = first if limit is None else [first[0], held(first[1], limit)]
    world = [nodes(3), composite("top", 1), there, group("b", 1), running("low", 1, 10), running("mid", 2, 50)]
    decision = decide(*world, preemptor=TOP)
    assert (decision.outcome, victims(decision)) == ("Preempt" if gone else "Unschedulable", gone)
    if not gone:
        assert f"{TOP} has the pods it needs; 1 more pod waits for free room" in decision.message


def test_optional_groups_cost_no_violation() -> None:
    tree = [composite("top", 1), *group("a", 1), *group("b", 1)]
    rest = [running("low", 0, 10), running("guarded", 1, 10, labels=GUARDED), budget("b", GUARDED, allowed=0)]
    assert victims(decide(nodes(2), tree, rest, preemptor=TOP)) == ["low"]


# By force


def random_tree(seed: int) -> list[Dict]:
    """Two to four groups, perhaps under a second composite group, of which some may be there; and whoever runs."""
    random = Random(seed)  # noqa: S311
    room = [random.choice((2, 3, 4, 5)) for _ in range(random.randint(2, 4))]
    objects: list[Dict] = [node(f"n{at}", cpu=str(cpu)) for at, cpu in enumerate(room)]
    names = "abcd"[: random.randint(2, 4)]
    deep = names[: random.randint(1, len(names) - 1)] if random.random() < 0.4 else ""
    objects.append(composite("top", random.randint(1, len(names) - len(deep) + bool(deep))))
    if deep:
        least = random.choice([None, *range(1, len(deep) + 1)])
        objects.append(composite("mid", least, parentCompositePodGroupName="top"))
    limit = random.choice((None, None, 10, 30, 50))
    for name in names:
        size, cpu = random.randint(1, 3), random.randint(1, 2)
        objects += _group(random, name, size, cpu, "mid" if name in deep else "top", room, limit)
    guarded = random.random() < 0.4
    for number in range(random.randint(1, 7)):
        at, cpu = random.randrange(len(room)), random.randint(1, 2)
        if room[at] >= cpu:
            room[at] -= cpu
            labels = GUARDED if guarded and random.random() < 0.4 else {"app": "any"}
            priority = random.choice((10, 10, 30, 50, 200))
            objects.append(running(f"r{number}", at, priority, str(cpu), labels=labels))
    return [*objects, budget("guard", GUARDED, allowed=0)] if guarded else objects


def _group(
    random: Random, name: str, size: int, cpu: int, above: str, room: list[int], limit: int | None
) -> list[Dict]:
    """A group, of which those may have their place that it needs."""
    least = random.randint(1, size)
    where = [""] * size
    if random.random() < 0.35:
        before = list(room)
        for at in range(least):
            fitting = [place for place, left in enumerate(room) if left >= cpu]
            if not fitting:
                room[:], where = before, [""] * size
                break
            room[fitting[0]] -= cpu
            where[at] = f"n{fitting[0]}"
    made: list[Dict] = group(name, size, least=least, cpu=str(cpu), above=above, where=where)
    bound = [held(item, limit) if limit is not None and item["spec"].get("nodeName") else item for item in made[1:]]
    return [made[0], *bound]


@pytest.mark.parametrize("seed", range(WORLDS))
def test_optional_pods_in_random_trees(seed: int) -> None:
    objects = random_tree(seed)
    tree = NaiveTree(objects, "top")
    if not tree.waiting or not tree.ways("top"):
        return
    decision = decide(objects, preemptor=TOP)
    gone = set(victims(decision))
    assert gone <= {name for name, item in tree.others.items() if item["spec"]["priority"] < 100}
    check_outcome(tree, objects, decision, gone)
    check_places(tree, decision, gone)
    guarded = {name for name in gone if tree.pods[name]["metadata"]["labels"] == GUARDED}
    if not guarded:
        return
    assert not tree.has_enough("top", tree.bound), "a violation for nobody who is needed"
    assert tree.needs_all(places(decision), gone, guarded), "a violation for somebody who is optional"


def check_outcome(tree: NaiveTree, objects: list[Dict], decision: Decision, gone: set[str]) -> None:
    budgets = any(item["kind"] == "PodDisruptionBudget" for item in objects)
    top = max((tree.pods[name]["spec"]["priority"] for name in gone), default=-1)
    if tree.has_enough("top", tree.bound):
        holds = [tree.pods[name]["metadata"].get("annotations") for name in tree.bound]
        limits = [10 * int(text[HOLD_ANNOTATION].split('"limit":')[1][0]) for text in holds if text]
        assert top <= max(limits, default=-1), "nobody above those who made way before"
    elif tree.can_be_placed([]):
        assert (decision.outcome, gone) == ("Fits", set())
    else:
        limit = tree.lowest_enough(100)
        assert decision.outcome == ("Unschedulable" if limit is None else "Preempt"), decision.message
        assert budgets or top <= (limit or 0), "nobody above the lowest priority that is enough"


def check_places(tree: NaiveTree, decision: Decision, gone: set[str]) -> None:
    placed = places(decision)
    left = tree.free(gone, placed)
    assert min(left.values()) >= 0
    if decision.outcome not in ("Fits", "Preempt"):
        assert not placed
        return
    there = tree.bound | set(placed)
    assert tree.has_enough("top", there)
    assert not tree.in_part("top", set(placed))
    for name in gone:
        assert min(tree.free(gone - {name}, placed).values()) < 0, f"{name} could have stayed"
    for name in set(tree.waiting) - set(placed):
        group = tree.group_of(name)
        if there & set(tree.members(group)) and tree.whole_above(group, there):
            assert max(left.values()) < tree.cpu(name), f"there is room for {name}"
