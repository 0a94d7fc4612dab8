"""`search: Best` is never worse than `Design`: by manifests alone, with code that knows nothing of the engine."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from benchmarks.quality.worlds import GATES, NOON, WORLDS, Question
from reprieve import plan
from reprieve.planning.result import Decision
from tests.builders.pods import node, pod, pod_group
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.generators import groups
from tests.policies.podgroup import gangs
from tests.policies.podgroup.test_composites import TOP
from tests.policies.podgroup.test_composites import random_world as random_tree

_WORLDS = int(os.environ.get("REPRIEVE_WORLDS", "6"))


def decide(question: Question, search: str, now: Any = NOON) -> Decision:
    config = {"search": search, "validate": True}
    return plan(question.objects, preemptor=question.preemptor, now=now, config=config, feature_gates=GATES).decision


def priorities(question: Question) -> dict[str, int]:
    """Of everybody, as manifests have it; whoever is in a group has that of the group."""
    found: dict[str, int] = {}
    groups = {
        each["metadata"]["name"]: each["spec"]["priority"]
        for each in question.objects
        if each["kind"] == "PodGroup" and "priority" in each["spec"]
    }
    for each in question.objects:
        meta, spec = each["metadata"], each.get("spec", {})
        own = spec.get("priority", spec.get("schedulePriority", {}).get("priority", 0))
        group = spec.get("schedulingGroup", {}).get("podGroupName")
        found[f"{each['kind']}/{meta.get('namespace', '')}/{meta['name']}"] = groups.get(group, own)
    return found


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_best_is_never_worse_than_the_design(name: str) -> None:
    for seed in range(_WORLDS if name != "gangs, at the edge" else max(1, _WORLDS // 6)):
        question = WORLDS[name](seed)
        by_design, best = decide(question, "Design"), decide(question, "Best")
        if by_design.outcome != "Preempt":
            assert best.outcome in (by_design.outcome, "Preempt"), (name, seed)
            continue
        ranks = priorities(question)
        assert best.outcome == "Preempt", (name, seed)
        assert _broken(best) <= _broken(by_design), (name, seed)
        top = max(ranks[victim["unit"]] for victim in by_design.victims)
        assert max(ranks[victim["unit"]] for victim in best.victims) <= top, (name, seed)
        assert len(best.victims) <= len(by_design.victims), (name, seed)
        assert len(best.placement) >= len(by_design.placement), (name, seed)
        fewer = len(best.victims) < len(by_design.victims)
        assert fewer <= (f"{len(by_design.victims)} victim" in best.message), (name, seed, best.message)


def _broken(decision: Decision) -> int:
    return sum(victim["pdbViolation"] for victim in decision.victims)


def test_the_same_world_gives_the_same_plan() -> None:
    for name, world in WORLDS.items() - {("gangs, at the edge", WORLDS["gangs, at the edge"])}:
        assert decide(world(3), "Best") == decide(world(3), "Best"), name


@pytest.mark.parametrize(("pods", "members"), [(1, (4,)), (2, (2, 3, 4)), (4, (5, 3, 1))])
def test_nor_does_it_go_by_the_order_in_which_it_is_written(pods: int, members: tuple[int, ...]) -> None:
    """Nodes that are alike but for their names: ties end on these, wherever a table has them."""
    objects = [node(f"n{number:02d}", cpu="8") for number in range(12)]
    objects += [
        pod(f"low-{number:02d}-{place}", cpu=str(8 // pods), node=f"n{number:02d}", priority=1)
        for number in range(12)
        for place in range(pods)
    ]
    objects.append(pod_group("gang", gang=9, whole=True, priority=100))
    spec = {"schedulingGroup": {"podGroupName": "gang"}}
    objects += [pod(f"g-{n}", cpu=str(members[n % len(members)]), priority=100, spec=spec) for n in range(9)]
    as_written = decide(Question(objects, "PodGroup/default/gang"), "Best", NOW)
    for seed in range(4):
        shuffled = Random(seed).sample(objects, len(objects))  # noqa: S311
        again = decide(Question(shuffled, "PodGroup/default/gang"), "Best", NOW)
        assert (again.victims, again.placement) == (as_written.victims, as_written.placement)


@pytest.mark.parametrize("name", ["gangs, several shapes", "gangs, just possible"])
def test_nor_where_a_gang_may_go_in_part(name: str) -> None:
    for seed in range(2 * _WORLDS):
        question = WORLDS[name](seed)
        gang = next(each for each in question.objects if each["metadata"]["name"] == "gang")
        whole = gang["spec"]["schedulingPolicy"]["gang"]
        whole["minCount"] = max(1, whole["minCount"] - 2)
        shuffled = Random(seed).sample(question.objects, len(question.objects))  # noqa: S311
        once, again = (decide(Question(each, question.preemptor), "Best") for each in (question.objects, shuffled))
        assert (once.victims, once.placement) == (again.victims, again.placement), seed


def test_a_freed_node_is_filled_before_another_is_emptied() -> None:
    """Sixteen nodes, each with one low pod of its whole size; a gang of sixteen that fits on one of them."""
    objects = [node(f"n{number:02d}", cpu="64") for number in range(16)]
    objects += [pod(f"low-{number:02d}", cpu="64", node=f"n{number:02d}", priority=1) for number in range(16)]
    objects.append(pod_group("gang", gang=16, whole=True, priority=100))
    member = {"schedulingGroup": {"podGroupName": "gang"}}
    objects += [pod(f"g-{number:02d}", cpu="4", priority=100, spec=member) for number in range(16)]
    question = Question(objects, "PodGroup/default/gang")
    by_design, best = decide(question, "Design", NOW), decide(question, "Best", NOW)
    assert (len(by_design.victims), len(best.victims)) == (16, 1)
    assert set(best.placement.values()) == {"n00"}
    assert "16 victims by the design's order, 1 is enough." in best.message
    assert not any(spared["unit"] == best.victims[0]["unit"] for spared in best.spared)


def test_the_one_that_is_enough_goes_though_younger_ones_would_have_been_asked_first() -> None:
    """Queue b guarantees 2 and runs 1, 7 and, the youngest, 2; a asks for 7: the 7 alone may go by law 2."""
    objects = [
        queues(tree("a", cpu=8), tree("b", cpu=2)),
        node("n1", cpu="10"),
        in_queue("one", "root.b", cpu="1", node="n1", minutes=90),
        in_queue("seven", "root.b", cpu="7", node="n1", minutes=60),
        in_queue("two", "root.b", cpu="2", node="n1", minutes=30),
        in_queue("ask", "root.a", cpu="7", minutes=10),
    ]
    best = decide(Question(objects, "Pod/default/ask"), "Best", NOW)
    assert (best.outcome, [victim["unit"] for victim in best.victims]) == ("Preempt", ["Pod/default/seven"])


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("queues, at the edge", 197),
        ("queues, at the edge", 1158),
        ("queues, at the edge", 1373),
        ("gangs, just possible", 23),
        ("gangs, just possible", 41),
        ("gangs, just possible", 57),
        ("quota", 1350),
    ],
)
def test_a_lawful_set_is_found_where_the_designs_own_order_finds_none(name: str, seed: int) -> None:
    question = WORLDS[name](seed)
    by_design, best = decide(question, "Design"), decide(question, "Best")
    assert (by_design.outcome, best.outcome) == ("Unschedulable", "Preempt")
    assert question.preemptor in best.message


def _gang_of(seed: int) -> tuple[list[Any], str, Any, dict[str, bool]]:
    """Budgets, groups that go whole, several shapes, racks, and pods that mind each other."""
    objects, preemptor = groups.world(seed)
    return objects, preemptor, groups.NOW, groups.GATES


def _tree_of(seed: int) -> tuple[list[Any], str, Any, dict[str, bool]]:
    """A tree of groups above single pods and another tree."""
    objects, _, _ = random_tree(seed)
    return [each for item in objects for each in (item if isinstance(item, list) else [item])], TOP, NOW, gangs.GATES


@pytest.mark.parametrize("world", [_gang_of, _tree_of])
@pytest.mark.parametrize("pdb", ["BestEffort", "Respect"])
def test_best_is_never_worse_for_gangs_of_any_kind(world: Any, pdb: str) -> None:
    better = 0
    for seed in range(_WORLDS * 10):
        objects, preemptor, now, gates = world(seed)
        results = [
            plan(
                objects,
                preemptor=preemptor,
                now=now,
                config={"search": search, "validate": True, "pdb": pdb},
                feature_gates=gates,
            )
            for search in ("Design", "Best")
        ]
        by_design, best = (result.decision for result in results)
        if by_design.outcome != "Preempt":
            assert best.outcome in (by_design.outcome, "Preempt"), seed
            continue
        assert best.outcome == "Preempt", seed
        assert _broken(best) <= _broken(by_design), seed
        assert len(best.victims) <= len(by_design.victims), seed
        assert len(best.placement) >= len(by_design.placement), seed
        better += len(best.victims) < len(by_design.victims)
        tops = [max(_rank(objects, victim) for victim in one.victims) for one in (by_design, best)]
        assert tops[1] <= tops[0], seed
    assert better or world is _tree_of


def _rank(objects: list[Any], victim: Any) -> int:
    """The priority that a victim is preempted at: that of its group, where it has one with a number of its own."""
    for each in objects:
        meta = each["metadata"]
        if each["kind"] == "Pod" and f"Pod/{meta.get('namespace', '')}/{meta['name']}" == victim["unit"]:
            return int(each["spec"].get("priority", 0))
    raise AssertionError(victim)
