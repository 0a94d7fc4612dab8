"""The law of peace: queues that fight for all there is come to rest, and within the bound that the laws give.

With the variable QUEUE_RESTS there are so many worlds; QUEUE_FIRST_REST is the number of the first.
"""

from __future__ import annotations

import os

import pytest

from reprieve.model.resources import Resources
from tests.builders.pods import Dict, node
from tests.builders.queues import OPTED_OUT, decide, in_queue, policies_over, queues, rules, tree
from tests.generators.queue_rivals import Rival, rivalry
from tests.policies.queue.cycles import Cycles, preemptions
from tests.reference.queue_peace import Asking, most_preemptions

WORLDS = int(os.environ.get("QUEUE_RESTS", "300"))
FIRST = int(os.environ.get("QUEUE_FIRST_REST", "0"))
_BATCH = 100
_MOST_CYCLES = 200


def asking(rivals: list[Rival]) -> list[Asking]:
    return [
        Asking(
            one.queue, Resources.parse({"cpu": str(one.cpu), "memory": f"{one.memory}Gi", "pods": "1"}), one.replicas
        )
        for one in rivals
    ]


def pods_of(rivals: list[Rival]) -> list[Dict]:
    """One of each after the other: nobody has been there first."""
    found: list[Dict] = []
    for number in range(max(one.replicas for one in rivals)):
        for one in rivals:
            if number < one.replicas:
                found.append(
                    in_queue(
                        f"{one.name}-{number}",
                        one.queue,
                        app=one.name,
                        minutes=60 - len(found),
                        cpu=str(one.cpu),
                        memory=f"{one.memory}Gi" if one.memory else None,
                        priority=one.priority,
                        annotations=OPTED_OUT if one.opted_out else None,
                    )
                )
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + WORLDS, _BATCH))
def test_rivals_come_to_rest_within_the_bound(batch: int) -> None:
    fights = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + WORLDS)):
        made = rivalry(seed)
        nodes = [node(name, cpu=str(cpu), memory=f"{memory}Gi") for name, (cpu, memory) in made.nodes.items()]
        moves = Cycles(policies_over([made.configuration, *nodes, *pods_of(made.rivals)])).until_rest(_MOST_CYCLES)
        fights += len(preemptions(moves))
        assert len(preemptions(moves)) <= most_preemptions(made.configuration, asking(made.rivals)), seed
    assert fights > 0, "worlds in which nobody makes way prove nothing"


def test_children_of_a_parent_that_guarantees_one_type_leave_each_other_alone() -> None:
    """A type that a guarantee does not name is not guaranteed, and nobody is over because of it."""
    parent = tree("parent", tree("a", preemption_delay="1s"), tree("b", preemption_delay="1s"), cpu=2)
    pods = [
        in_queue(name, f"root.parent.{name[0]}", node=where, cpu="2", memory="1Gi")
        for name, where in (("a-1", "n1"), ("b-1", None))
    ]
    objects = [queues(parent), node("n1", cpu="2", memory="4Gi"), *pods]
    assert Cycles(policies_over(objects)).until_rest(5) == []
    spared = decide(objects, preemptor="b-1")
    assert rules(spared) == {"a-1": "SameGuarantee"}
    assert "and only shares that of root.parent, which the preemptor claims" in spared.spared[0]["message"]


def test_three_children_of_a_parent_over_its_guarantee_do_not_take_turns() -> None:
    """Each would bring its parent back to the guarantee, and leave room for another to take it over again."""
    parent = tree("parent", tree("a"), tree("b"), tree("x"), cpu=4)
    pods = [
        in_queue("a-1", "root.parent.a", node="n1", cpu="2"),
        in_queue("b-1", "root.parent.b", node="n1", cpu="3"),
        in_queue("a-2", "root.parent.a", cpu="2", minutes=50),
        in_queue("x-1", "root.parent.x", cpu="2", minutes=40),
    ]
    cycles = Cycles(policies_over([queues(parent), node("n1", cpu="6"), *pods]))
    assert cycles.until_rest(20) == []


def test_within_a_guarantee_somebody_over_its_own_makes_way_and_no_more_leaves_than_comes() -> None:
    parent = tree("parent", tree("own", cpu=2), tree("none"), cpu=4)
    running = [in_queue(f"own-{number}", "root.parent.own", node="n1", minutes=50 - number) for number in range(4)]
    cycles = Cycles(
        policies_over([queues(parent), node("n1", cpu="4"), *running, in_queue("ask", "root.parent.none", cpu="2")])
    )
    (taken,) = preemptions(cycles.until_rest(10))
    assert [victim.unit for victim in taken.victims] == ["Pod/default/own-3", "Pod/default/own-2"]

    large = [in_queue("own-0", "root.parent.own", node="n1"), in_queue("own-1", "root.parent.own", node="n1", cpu="3")]
    ask = in_queue("ask", "root.parent.none", cpu="2")
    cycles = Cycles(policies_over([queues(parent), node("n1", cpu="4"), *large, ask]))
    assert cycles.until_rest(10) == [], "the parent would have less of its guarantee than before"
