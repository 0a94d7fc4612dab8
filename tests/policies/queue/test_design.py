"""What the design of the queues says in words, case by case: guarantees up the path, who may ask, who goes first."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import configure
from reprieve.manifests.loading import load_objects
from reprieve.planning.result import Decision, decision
from reprieve.policies.registry import Policies
from reprieve.world import World
from tests.builders.pods import Dict, node, priority_class
from tests.builders.queues import (
    OPTED_OUT,
    Search,
    at,
    decide,
    decide_for,
    in_queue,
    policies_over,
    queues,
    rules,
    tree,
    victims,
)
from tests.policies.queue.cycles import Cycles, preemptions

IN_CODE: Dict = {"requestWithinGuarantee": True, "optOut": "Pod"}


def as_in_the_code(*objects: Any) -> Decision:
    """The decision where YuniKorn's code is followed."""
    flat = [each for item in objects for each in (item if isinstance(item, list) else [item])]
    policies = Policies(World(load_objects(flat).objects), configure({"queues": IN_CODE, "validate": True}))
    return decision(decide_for(policies, "ask", at()))


def low(*names: str, queue: str, where: str = "n1", minutes: int = 60, **fields: Any) -> list[Dict]:
    """Pods that run, each younger than the one before; none of them leads its application."""
    app = fields.pop("app", queue)
    leader = in_queue(f"leader-{app}", queue, app=app, minutes=90, cpu="0")
    ages = enumerate(names)
    return [leader, *(in_queue(one, queue, app=app, node=where, minutes=minutes - n, **fields) for n, one in ages)]


# Laws 2 and 4 at every queue on the way

TEAM = queues(tree("team", tree("x"), tree("y", cpu=2), cpu=5))


def test_a_common_ancestor_is_not_left_below_its_guarantee() -> None:
    """It uses 6 of 5, and would use 3.5: the victim leaves, the preemptor comes."""
    running = low("x-1", "x-2", queue="root.team.x", cpu="3")
    made = decide(TEAM, node("n1", cpu="6"), running, in_queue("ask", "root.team.y", cpu="500m"))
    assert made.outcome == "Unschedulable"
    assert rules(made) == {"x-1": "NeverBelowGuarantee", "x-2": "NeverBelowGuarantee"}
    assert "without it root.team would be left below its guarantee (law 2)" in made.spared[0]["message"]


def test_what_comes_to_a_common_ancestor_counts() -> None:
    """It uses 6 of 5, and uses 5 afterwards."""
    running = low("x-1", "x-2", queue="root.team.x", cpu="3")
    made = decide(TEAM, node("n1", cpu="6"), running, in_queue("ask", "root.team.y", cpu="2"))
    assert victims(made) == ["x-2"]


def test_a_common_ancestor_that_is_below_its_guarantee_is_not_taken_further_down() -> None:
    config = queues(tree("team", tree("x"), tree("y", cpu=2), cpu=9))
    running = low("small", "large", queue="root.team.x")
    running[-1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    made = decide(config, node("n1", cpu="3"), running, in_queue("ask", "root.team.y"))
    assert (victims(made), rules(made)["large"]) == (["small"], "NeverBelowGuarantee")


def test_a_type_that_a_common_ancestor_guarantees_is_not_taken_by_who_asks_for_another() -> None:
    config = queues(tree("team", tree("x"), tree("y", cpu=2), memory="4Gi"))
    running = low("x-1", "x-2", queue="root.team.x", memory="2Gi")
    made = decide(config, node("n1", cpu="2", memory="8Gi"), running, in_queue("ask", "root.team.y"))
    assert set(rules(made).values()) == {"NeverBelowGuarantee"}


def test_between_two_queues_that_guarantee_nothing_nothing_moves() -> None:
    """Also where one further up guarantees another type to both."""
    inner = tree("m", tree("a"), tree("b"), memory="1Gi")
    config = queues(tree("team", inner, cpu=9))
    running = low("b-1", "b-2", queue="root.team.m.b", memory="1Gi")
    made = decide(config, node("n1", cpu="2", memory="8Gi"), running, in_queue("ask", "root.team.m.a"))
    assert rules(made) == {"b-1": "SameGuarantee", "b-2": "SameGuarantee"}
    assert "it has no guarantee of its own and only shares that of root.team" in made.spared[0]["message"]


def test_within_a_common_ancestor_who_is_over_its_own_guarantee_gives() -> None:
    config = queues(tree("team", tree("a"), tree("b", cpu=1), tree("c"), cpu=9))
    running = [*low("b-1", "b-2", queue="root.team.b"), *low("c-1", queue="root.team.c")]
    made = decide(config, node("n1", cpu="3"), running, in_queue("ask", "root.team.a"))
    assert (victims(made), rules(made)["c-1"]) == (["b-2"], "SameGuarantee")


def test_a_type_that_a_guarantee_does_not_name_makes_no_queue_under_or_over() -> None:
    config = queues(tree("a", memory="2Gi"), tree("b", memory="2Gi"))
    running = low("b-1", "b-2", queue="root.b", memory="1Gi")
    asks = node("n1", cpu="2", memory="8Gi"), running
    assert "no guarantee of what it asks for" in decide(config, *asks, in_queue("ask", "root.a")).message
    made = decide(config, *asks, in_queue("ask", "root.a", memory="1Gi"))
    assert set(rules(made).values()) == {"WithinGuarantee"}, "however much cpu it uses"


def test_every_queue_of_a_victim_that_guarantees_anything_is_over_it() -> None:
    config = queues(tree("a", cpu=2), tree("p", tree("b", cpu=1), memory="4Gi"))
    running = low("b-1", "b-2", queue="root.p.b")
    made = decide(config, node("n1", cpu="2"), running, in_queue("ask", "root.a"))
    assert rules(made) == {"b-1": "WithinGuarantee", "b-2": "WithinGuarantee"}
    assert "root.p is not over its guarantee" in made.spared[0]["message"]


# Law 4 as flow 1 has it

FLOW_1 = queues(tree("parent", tree("prod", cpu=3), tree("test", cpu=2)))


def flow_1() -> list[Dict]:
    prod = [in_queue("prod-1", "root.parent.prod", node="n1", cpu="2")]
    test = [in_queue(f"test-{n}", "root.parent.test", node="n1", minutes=40 - n) for n in range(5)]
    return [FLOW_1, node("n1", cpu="7"), *prod, *test]


def test_flow_1_both_queues_end_up_above_their_guarantee() -> None:
    """Prod uses 2 of 3 and takes 2; then it is above, and asks nobody else. Test is at 3 of 2, and waits."""
    waiting = [in_queue(f"prod-{n}", "root.parent.prod", cpu="2", minutes=10 - n) for n in (2, 3)]
    cycles = Cycles(policies_over([*flow_1(), *waiting]))
    (taken,) = preemptions(cycles.until_rest(10))
    assert [victim.unit for victim in taken.victims] == ["Pod/default/test-4", "Pod/default/test-3"]
    assert (cycles.running("root.parent.prod"), cycles.running("root.parent.test")) == (2, 3)


def test_at_its_guarantee_a_queue_asks_nobody() -> None:
    running = [*flow_1(), in_queue("prod-2", "root.parent.prod", node="n2"), node("n2", cpu="1")]
    made = decide(*running, in_queue("ask", "root.parent.prod"))
    assert "root.parent.prod uses 3 of its guaranteed 3 cpu, and queues preempt only while" in made.message


def test_as_in_the_code_the_guarantee_has_to_hold_the_whole_request() -> None:
    made = as_in_the_code(*flow_1(), in_queue("ask", "root.parent.prod", cpu="2"))
    assert "uses 2 of its guaranteed 3 cpu, and it needs 2 more" in made.message
    assert as_in_the_code(*flow_1(), in_queue("ask", "root.parent.prod")).outcome == "Preempt"


# No victim too many


def test_nobody_leaves_only_so_that_a_guarantee_holds_the_request() -> None:
    """The parent uses 6 of 4: with one gone, which is all that it takes, it is still above."""
    config = queues(tree("parent", tree("own", cpu=2), tree("none"), cpu=4))
    running = low(*(f"own-{n}" for n in range(6)), queue="root.parent.own")
    made = decide(config, node("n1", cpu="6"), running, in_queue("ask", "root.parent.none"))
    assert (made.outcome, set(rules(made).values())) == ("Unschedulable", {"AboveGuarantee"})


def test_where_another_node_was_chosen_it_is_law_4_that_makes_a_victim_useless() -> None:
    """Room could be made on both nodes; any memory is left of the parent's guarantee only where somebody holds some."""
    config = queues(tree("parent", tree("own", cpu=2), tree("other"), memory="512Mi"))
    large = in_queue("large", "root.parent.other", node="n1", cpu="2", memory="512Mi", app="x")
    small = in_queue("small", "root.parent.other", node="n2", cpu="2", app="y")
    nodes = [node(name, cpu="2", memory="4Gi") for name in ("n1", "n2")]
    made = decide(config, *nodes, large, small, in_queue("ask", "root.parent.own", cpu="2", memory="512Mi"))
    assert (victims(made), rules(made)) == (["large"], {"small": "NoHelp"})
    assert made.obstacles == {
        "n2": "not to be freed: without the pods that would have to go, "
        "root.parent would still not have enough left of its guarantee (law 4)"
    }


@pytest.mark.parametrize("search", ["Best", "Design"])
def test_no_node_is_chosen_and_in_the_way_at_once(search: Search) -> None:
    """The design's order takes the young one first, who holds no memory; looked for less, it is the old one."""
    config = queues(tree("parent", tree("own", cpu=2), tree("other"), memory="512Mi"))
    old = in_queue("old", "root.parent.other", node="n1", cpu="2", memory="512Mi", app="x", minutes=60)
    young = in_queue("young", "root.parent.other", node="n1", cpu="2", app="y", minutes=10)
    waiting = in_queue("ask", "root.parent.own", cpu="2", memory="512Mi")
    made = decide(config, node("n1", cpu="4", memory="4Gi"), old, young, waiting, search=search)
    assert (made.domain is None) == (search == "Design")
    assert made.domain not in made.obstacles


def test_whoever_turns_out_not_to_be_needed_comes_back() -> None:
    running = [*low("large", queue="root.b", cpu="3"), *low("small", queue="root.b", app="c", minutes=20)]
    config = queues(tree("a", cpu=4), tree("b"))
    made = decide(config, node("n1", cpu="4"), running, in_queue("ask", "root.a", cpu="3"))
    assert victims(made) == ["large"]


# Pods are a resource


def test_a_maximum_of_pods_is_kept() -> None:
    config = queues(tree("a", most={"pods": "2"}))
    running = [in_queue(f"a-{n}", "root.a", node="n1") for n in range(2)]
    made = decide(config, node("n1", cpu="8"), running, in_queue("ask", "root.a"))
    assert "root.a uses 2 of its maximum of 2 pods, and it needs 1 more" in made.message


def test_a_guarantee_of_pods_is_claimed_and_protects() -> None:
    config = queues(tree("a", pods=2), tree("b", pods=2), tree("c", pods=1))
    running = [*low("b-1", "b-2", queue="root.b"), *low("c-1", "c-2", queue="root.c")]
    made = decide(config, node("n1", cpu="4"), running, in_queue("ask", "root.a"))
    assert (victims(made), rules(made)["b-1"]) == (["c-2"], "WithinGuarantee")
    own = [in_queue(f"a-{n}", "root.a", node="n2", app="a") for n in range(2)]
    held = decide(config, [node("n1", cpu="4"), node("n2", cpu="2")], running, own, in_queue("ask", "root.a"))
    assert "root.a uses 2 of its guaranteed 2 pods" in held.message


def test_where_a_maximum_of_pods_is_in_the_way_whoever_is_below_it_makes_room() -> None:
    config = queues(tree("p", tree("a", pods=1), tree("b"), most={"pods": "2"}))
    running = low("b-1", "b-2", queue="root.p.b", cpu="0")
    made = decide(config, node("n1", cpu="8"), running, in_queue("ask", "root.p.a", app="mine"))
    assert victims(made) == ["b-2"]


def test_a_lowered_maximum_of_pods_makes_pods_leave() -> None:
    config = queues(tree("a", most={"pods": "1"}, quota_preemption_delay="1s"), quotapreemptionenabled=True)
    policies = policies_over([config, node("n1", cpu="8"), *low("a-1", "a-2", queue="root.a")])
    (plan,) = policies["queue-limits"].plans(at())
    assert [victim.unit for victim in plan.victims] == ["Pod/default/a-2"]


# Opting out is up to the priority class

KEEP, PLAIN = priority_class("keep", 0, annotations=OPTED_OUT), priority_class("plain", 0)


@pytest.mark.parametrize(
    ("name", "own", "in_design", "in_code"),
    [
        ("keep", None, False, False),
        ("keep", "true", False, True),
        ("plain", "false", True, False),
        ("plain", None, True, True),
        (None, "false", False, False),
    ],
)
def test_a_pods_own_annotation_does_not_overrule_its_class(
    name: str | None, own: str | None, in_design: bool, in_code: bool
) -> None:
    """Whether the youngest goes."""
    said = {} if own is None else {"yunikorn.apache.org/allow-preemption": own}
    running = low("old", "young", queue="root.b", priority_class=None)
    if name:
        running[-1]["spec"]["priorityClassName"] = name
    running[-1]["metadata"]["annotations"] = said
    world = queues(tree("a", cpu=1), tree("b")), KEEP, PLAIN, node("n1", cpu="2"), running, in_queue("ask", "root.a")
    assert (victims(decide(*world)) == ["young"]) == in_design
    assert (victims(as_in_the_code(*world)) == ["young"]) == in_code


# Who goes first

TWO = queues(tree("a", cpu=2), tree("b"), tree("c", priority_offset=5))


def test_the_less_important_goes_first_and_age_decides_among_equals() -> None:
    running = [
        *low("old-and-low", queue="root.b"),
        *low("older", "younger", queue="root.b", app="d", priority=3),
    ]
    ask = in_queue("ask", "root.a", priority=9)
    assert victims(decide(TWO, node("n1", cpu="3"), running, ask)) == ["old-and-low"]
    assert victims(decide(TWO, node("n1", cpu="2"), running[2:], ask)) == ["younger"]


def test_importance_is_what_root_sees() -> None:
    """In c priorities count for five more."""
    running = [*low("b-1", queue="root.b", priority=3), *low("c-1", queue="root.c", priority=0, minutes=20)]
    made = decide(TWO, node("n1", cpu="2"), running, in_queue("ask", "root.a", priority=9))
    assert victims(made) == ["b-1"]


def test_between_nodes_two_of_little_importance_go_before_one_of_more() -> None:
    running = [
        *low("high", queue="root.b", where="n1", cpu="2", priority=3),
        *low("x", "y", queue="root.b", where="n2", app="d"),
    ]
    nodes = [node("n1", cpu="2"), node("n2", cpu="2")]
    made = decide(TWO, nodes, running, in_queue("ask", "root.a", cpu="2", priority=9))
    assert (victims(made), made.criterion) == (["x", "y"], "LowestHighestPriority")


def test_between_nodes_importance_counts_before_age_and_age_among_equals() -> None:
    ask, nodes = in_queue("ask", "root.a", priority=9), [node("n1", cpu="1"), node("n2", cpu="1")]
    old, young = low("old", queue="root.b"), in_queue("young", "root.b", app="root.b", node="n2", minutes=20)
    made = decide(TWO, nodes, old, young, ask)
    assert (victims(made), made.criterion) == (["young"], "YoungestVictims")
    important = in_queue("young", "root.b", app="root.b", node="n2", minutes=20, priority=1)
    assert victims(decide(TWO, nodes, old, important, ask)) == ["old"]


def test_where_the_most_important_are_alike_the_others_count() -> None:
    running = [
        *low("a-1", "a-2", queue="root.b", where="n1", priority=3),
        *low("b-1", queue="root.b", where="n2", app="d", priority=3),
        *low("b-2", queue="root.b", where="n2", app="e", priority=1),
    ]
    nodes = [node("n1", cpu="2"), node("n2", cpu="2")]
    made = decide(TWO, nodes, running, in_queue("ask", "root.a", cpu="2", priority=9))
    assert (victims(made), made.criterion) == (["b-1", "b-2"], "SmallestSumOfPriorities")


def test_a_small_victim_does_not_keep_a_large_one_that_would_do_alone() -> None:
    """b is over by 2: with the younger, small one gone the large one might not go, and somebody who opted out would."""
    config = queues(tree("a", cpu=2), tree("b", cpu=2), tree("c"))
    running = [
        *low("stays", queue="root.b", where="n2", cpu="1"),
        *low("large", queue="root.b", where="n1", cpu="2"),
        *low("small", queue="root.b", where="n1", minutes=20),
        *low("keep", queue="root.c", where="n1", minutes=10, annotations=OPTED_OUT),
    ]
    nodes = [node("n1", cpu="4"), node("n2", cpu="1")]
    assert victims(decide(config, nodes, running, in_queue("ask", "root.a", cpu="2"))) == ["large"]
    alone = [item for item in running if item["metadata"]["name"] != "keep"]
    assert victims(decide(config, [node("n1", cpu="3"), nodes[1]], alone, in_queue("ask", "root.a", cpu="2"))) == [
        "large"
    ]
