"""Trees of groups: placed and preempted as one, over examples and over small random worlds that are searched by force.

1. Enough groups are placed with enough pods each, or nobody is.
2. Whoever is placed fits when the victims have gone, and nobody at or above the tree's priority goes.
3. A tree that is disrupted as a whole goes whole, wherever its pods run.
4. No victim could have stayed: with any one unit back, some node would hold more than it has.
5. Where a place for the tree is found by force, with everybody below it gone, it is found here.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest

from reprieve.planning.result import Decision
from tests.builders.pods import node, pod, pod_group
from tests.policies.podgroup.gangs import decide, places, victims

WORLDS = int(os.environ.get("GROUP_EXAMPLES", "150"))
MADE: dict[str, Any] = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
TOP = "CompositePodGroup/default/top"
Dict = dict[str, Any]


def composite(name: str, least: int | None, *, priority: int = 100, whole: bool = False, **spec: Any) -> Dict:
    policy = {"basic": {}} if least is None else {"gang": {"minGroupCount": least}}
    mode: Dict = {"all": {}} if whole else {"single": {}}
    said = {"schedulingPolicy": policy, "priority": priority, "disruptionMode": mode, **MADE, **spec}
    about = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": about, "spec": said}


def group(name: str, size: int, *, least: int | None = None, cpu: str = "4", above: str = "top", **said: Any) -> Any:
    priority, where = said.pop("priority", 100), said.pop("where", [""] * size)
    made = pod_group(name, gang=least or size, priority=priority, parentCompositePodGroupName=above, **MADE, **said)
    pods = (pod(f"{name}-{at}", group=name, priority=priority, cpu=cpu, node=where[at]) for at in range(size))
    return [made, *pods]


def nodes(number: int, cpu: str = "4", **fields: Any) -> list[Dict]:
    return [node(f"n{at}", cpu=cpu, **fields) for at in range(number)]


def test_too_little_room_for_one_of_its_groups_is_too_little_for_all() -> None:
    tree = [composite("top", 2), *group("a", 2), *group("b", 2)]
    assert places(decide(nodes(4), tree, preemptor=TOP)).keys() == {"a-0", "a-1", "b-0", "b-1"}
    refused = decide(nodes(3), tree, preemptor=TOP)
    assert (refused.outcome, refused.placement) == ("Unschedulable", {})
    assert "nobody is preempted for a part of it" in refused.message


def test_as_many_groups_as_it_needs_are_enough_and_none_comes_in_part() -> None:
    decision = decide(nodes(3), composite("top", 1), group("a", 2), group("b", 2), preemptor=TOP)
    assert decision.outcome == "Fits"
    assert Counter(name[0] for name in places(decision)) == {"a": 2}


def test_groups_below_one_without_a_gang_go_their_own_ways() -> None:
    world = [nodes(3), composite("top", None), group("a", 2), group("b", 2)]
    assert decide(*world, preemptor="PodGroup/default/a").outcome == "Fits"
    assert decide(*world, preemptor="PodGroup/default/b").outcome == "Fits"


def test_who_asks_for_a_group_or_a_pod_is_told_of_the_tree() -> None:
    world = [nodes(4), composite("top", 2), group("a", 2), group("b", 2)]
    for asked in ("PodGroup/default/b", "Pod/default/a-1", TOP):
        assert decide(*world, preemptor=asked).preemptor == TOP


def test_a_tree_that_is_not_complete_waits() -> None:
    decision = decide(nodes(4), composite("top", 2), group("a", 2), group("b", 1, least=2), preemptor=TOP)
    assert decision.message.startswith(f"{TOP} is not complete: 1 group of the 2 it needs has enough pods.")


def test_groups_wait_for_the_tree_they_name() -> None:
    decision = decide(nodes(4), group("a", 2), preemptor="PodGroup/default/a")
    assert decision.message.startswith(f"{TOP} does not exist yet: 2 pods name it and wait for it.")


def test_a_group_that_is_there_counts() -> None:
    there = group("a", 2, where=["n0", "n1"])
    assert decide(nodes(4), composite("top", 2), there, group("b", 2), preemptor=TOP).outcome == "Fits"
    assert decide(nodes(3), composite("top", 2), there, group("b", 2), preemptor=TOP).outcome == "Unschedulable"


def test_each_group_has_a_rack_within_the_block_of_the_tree() -> None:
    racks = [
        node(f"n{at}", cpu="4", labels={"block": "b1" if at < 4 else "b2", "rack": f"r{at // 2}"}) for at in range(6)
    ]
    by: list[Dict] = [{"schedulingConstraints": {"topology": [{"key": key}]}} for key in ("block", "rack")]
    tree = [composite("top", 2, **by[0]), *group("a", 2, **by[1]), *group("b", 2, **by[1])]
    placed = places(decide(racks, tree, preemptor=TOP))
    found = {name: {placed[f"{name}-0"], placed[f"{name}-1"]} for name in ("a", "b")}
    assert sorted(map(sorted, found.values())) == [["n0", "n1"], ["n2", "n3"]]


def test_with_its_gate_off_each_group_stands_for_itself() -> None:
    gates = {"GenericWorkload": True}
    world = [nodes(2), composite("top", 2), group("a", 2), group("b", 2)]
    assert decide(*world, preemptor="PodGroup/default/a", gates=gates).outcome == "Fits"


@pytest.mark.parametrize("whole", [True, False])
def test_a_tree_makes_way_whole_if_it_says_so(whole: bool) -> None:
    low: Dict = {"priority": 10}
    running = [
        composite("top", 1, whole=whole, **low),
        *group("a", 1, where=["n0"], **low),
        *group("b", 1, where=["n1"], **low),
    ]
    decision = decide(nodes(2), running, pod("high", priority=100, cpu="4"), preemptor="Pod/default/high")
    assert len(victims(decision)) == (2 if whole else 1)


# By force


def random_world(seed: int) -> tuple[list[Any], dict[str, tuple[int, int, int]], int]:
    """A tree of two or three groups that waits, above single pods, and a tree, that run."""
    random = Random(seed)  # noqa: S311
    sizes = [random.choice((2, 3, 4)) for _ in range(random.randint(2, 4))]
    asked = {name: (size := random.randint(1, 3), random.randint(1, size), random.randint(1, 2)) for name in "abc"}
    asked = dict(list(asked.items())[: random.randint(2, 3)])
    least = random.randint(1, len(asked))
    room = list(sizes)
    running: list[Any] = []
    for number in range(random.randint(0, 6)):
        at, cpu = random.randrange(len(sizes)), random.randint(1, 2)
        if room[at] < cpu:
            continue
        room[at] -= cpu
        kind = random.choice(("pod", "pod", "other", "left", "right"))
        said: Dict = {"group": kind} if kind in ("left", "right") else {}
        priority = 200 if kind == "other" else 10
        running.append(pod(f"low{number}", node=f"n{at}", priority=priority, cpu=str(cpu), **said))
    below = [pod_group(name, priority=10, parentCompositePodGroupName="low", **MADE) for name in ("left", "right")]
    tree: list[Any] = [composite("top", least), composite("low", 1, priority=10, whole=True), *below]
    for name, (size, fewest, cpu) in asked.items():
        tree += group(name, size, least=fewest, cpu=str(cpu))
    return [*(node(f"n{at}", cpu=str(cpu)) for at, cpu in enumerate(sizes)), *tree, *running], asked, least


def free_without(objects: list[Any], gone: set[str]) -> dict[str, int]:
    free = {
        item["metadata"]["name"]: int(item["status"]["allocatable"]["cpu"]) for item in objects if is_a(item, "Node")
    }
    for item in objects:
        if is_a(item, "Pod") and item["spec"].get("nodeName") and item["metadata"]["name"] not in gone:
            free[item["spec"]["nodeName"]] -= cpu_of(item)
    return free


def is_a(item: Any, kind: str) -> bool:
    return bool(item["kind"] == kind)


def cpu_of(item: Any) -> int:
    return int(item["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def possible(free: tuple[int, ...], asked: dict[str, tuple[int, int, int]], least: int) -> bool:
    """Whether so many groups can have so many pods each, whichever these are."""

    @cache
    def fit(free: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
        if not wanted:
            return True
        after = (tuple(sorted((*free[:at], room - wanted[0], *free[at + 1 :]))) for at, room in enumerate(free))
        return any(min(rest) >= 0 and fit(rest, wanted[1:]) for rest in after)

    needed = [(cpu,) * fewest for _, fewest, cpu in asked.values()]
    choices = range(1 << len(needed))
    return any(
        fit(
            free,
            tuple(sorted((cpu for at, each in enumerate(needed) if choice >> at & 1 for cpu in each), reverse=True)),
        )
        for choice in choices
        if choice.bit_count() == least
    )


def check_placed(decision: Decision, asked: dict[str, tuple[int, int, int]], least: int) -> None:
    counts = Counter(name[0] for name in places(decision))
    there = [name for name, (_, fewest, _) in asked.items() if counts[name] >= fewest]
    assert len(there) >= least, "enough groups"
    assert set(counts) <= set(there), "no group in part"


@pytest.mark.parametrize("seed", range(WORLDS))
def test_trees_in_random_worlds(seed: int) -> None:
    objects, asked, least = random_world(seed)
    decision = decide(objects, preemptor=TOP)
    below = {item["metadata"]["name"] for item in objects if is_a(item, "Pod") and item["spec"]["priority"] < 100}
    gone = set(victims(decision))
    assert gone <= below
    tree = {name for name in below if name_in_tree(objects, name)}
    assert not gone & tree or tree <= gone, "a tree that goes whole"
    if decision.outcome in ("Fits", "Preempt"):
        check_placed(decision, asked, least)
        check_room(objects, decision, gone, tree)
    else:
        assert decision.placement == {}
        free = tuple(sorted(free_without(objects, below).values()))
        assert not possible(free, asked, least), "there is a place for it"


def name_in_tree(objects: list[Any], name: str) -> bool:
    item = next(each for each in objects if is_a(each, "Pod") and each["metadata"]["name"] == name)
    return (item["spec"].get("schedulingGroup") or {}).get("podGroupName") in ("left", "right")


def check_room(objects: list[Any], decision: Decision, gone: set[str], tree: set[str]) -> None:
    cpus = {item["metadata"]["name"]: cpu_of(item) for item in objects if is_a(item, "Pod")}

    def left(without: set[str]) -> int:
        free = free_without(objects, without)
        for name, where in places(decision).items():
            free[where] -= cpus[name]
        return min(free.values())

    assert left(gone) >= 0
    for unit in [tree & gone, *({name} for name in gone - tree)]:
        assert not unit or left(gone - unit) < 0, f"{sorted(unit)} could have stayed"
