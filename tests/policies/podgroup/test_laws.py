"""Laws of preemption by and of groups, over small random worlds: what must never happen, whatever is decided.

1. No unit is half preempted, and nobody above the preemptor is.
2. Nobody makes way for a gang of which less than minCount can be placed.
3. Every pod that is placed passes all filters once the victims are gone.
4. No victim could have stayed: with any one unit back, some placed pod would not fit.
5. Nobody above the lowest priority that is enough makes way.
6. Whom a gang preempted cannot preempt it.
7. Equal worlds get equal answers, in whatever order they are written.
8. Where the places leave no choice, the victims of the design's search are those of the plainest one; looking for less
   takes nobody more important, and no more pods.
"""

from __future__ import annotations

import os
from itertools import islice
from random import Random
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import reprieve
from reprieve.planning.result import Decision
from tests.generators.groups import FEATURES, GATES, NOW, Dict, random_gangs
from tests.reference.cluster import unit_of
from tests.reference.groups import NaiveUnit, Question, Where, at

EXAMPLES = int(os.environ.get("GROUP_EXAMPLES", "50"))
WITHOUT_RACKS = tuple(name for name in FEATURES if name != "racks")
EQUAL_SHAPES = tuple(name for name in WITHOUT_RACKS if name != "mixed")
MOST_PLACEMENTS = 200
World = tuple[list[Dict], str]


def plan(objects: list[Dict], preemptor: str, **config: Any) -> Decision:
    """A decision after which the ledger must be what it was."""
    settings = {"validate": True, **config}
    return reprieve.plan(objects, preemptor=preemptor, now=NOW, config=settings, feature_gates=GATES).decision


def victims_of(decision: Decision) -> set[str]:
    return {victim["unit"] for victim in decision.victims}


def gone(question: Question, decision: Decision) -> list[NaiveUnit]:
    return [unit for unit in question.units if unit.members & victims_of(decision)]


def single_pod(world: World) -> World:
    """The same world with one member of the gang, on its own, as what is to be placed."""
    objects = [item for item in world[0] if not item["metadata"]["name"].startswith("job")]
    pod = next(item for item in world[0] if item["metadata"]["name"] == "job-0")
    spec = {key: value for key, value in pod["spec"].items() if key not in ("schedulingGroup", "workloadRef")}
    return [*objects, {**pod, "spec": {**spec, "priority": 10}}], "Pod/default/job-0"


preemptors = st.one_of(random_gangs(), random_gangs().map(single_pod))


@settings(max_examples=3 * EXAMPLES)
@given(preemptors, st.sampled_from(["BestEffort", "Respect"]))
def test_units_go_whole_and_only_below_the_preemptor(world: World, pdb: str) -> None:
    decision, question = plan(*world, pdb=pdb), Question(*world)
    event(decision.outcome)
    assert bool(decision.victims) == (decision.outcome == "Preempt")
    for unit in gone(question, decision):
        assert unit.members <= victims_of(decision)
        assert unit.priority < question.priority


@settings(max_examples=3 * EXAMPLES)
@given(preemptors)
def test_nobody_makes_way_for_less_than_min_count(world: World) -> None:
    decision, question = plan(*world), Question(*world)
    assert set(decision.placement) <= {unit_of(pod) for pod in question.members}
    if decision.outcome in ("Fits", "Preempt"):
        assert len(decision.placement) >= question.required
    else:
        assert decision.placement == {}
        assert decision.victims == []


@settings(max_examples=3 * EXAMPLES)
@given(preemptors)
def test_everybody_placed_fits_and_no_victim_could_have_stayed(world: World) -> None:
    decision, question = plan(*world), Question(*world)
    victims = gone(question, decision)
    assert question.all_keep_their_place(question.without(victims), decision.placement)
    for unit in victims:
        others = [other for other in victims if other is not unit]
        assert not question.all_keep_their_place(question.without(others), decision.placement), unit


@settings(max_examples=EXAMPLES)
@given(random_gangs(EQUAL_SHAPES))
def test_nobody_above_the_lowest_priority_that_is_enough_makes_way(world: World) -> None:
    decision, question = plan(*world), Question(*world)
    assume(decision.outcome == "Preempt")
    victims = gone(question, decision)
    # A unit whose budget would break is reprieved before priorities are looked at.
    kept = [unit for unit in question.violating(question.lower) if unit not in victims]
    for limit in sorted({unit.priority for unit in question.lower}):
        left = question.without([unit for unit in question.lower if unit.priority <= limit and unit not in kept])
        if can_place(question, left, len(decision.placement)):
            assert max(unit.priority for unit in victims) <= limit
            return
    raise AssertionError("the plainest search finds no place at all")


def can_place(question: Question, running: list[Dict], number: int) -> bool:
    return any(len(placement) >= number for placement in every_placement(question, running, question.members))


def every_placement(question: Question, running: list[Dict], waiting: list[Dict]) -> Any:
    """Every way to place any of the members."""
    if not waiting:
        yield {}
        return
    pod, *others = waiting
    for node in question.cluster.nodes:
        if question.passes(running, pod, node):
            for rest in every_placement(question, [*running, at(pod, node)], others):
                yield {unit_of(pod): node, **rest}
    yield from every_placement(question, running, others)


@settings(max_examples=EXAMPLES)
@given(preemptors, st.sampled_from(["BestEffort", "Respect"]))
def test_whom_somebody_preempted_cannot_preempt_back(world: World, pdb: str) -> None:
    decision, question = plan(*world, pdb=pdb), Question(*world)
    assume(decision.outcome == "Preempt")
    after = committed(world[0], decision)
    ours = set(decision.placement)
    for victim in gone(question, decision):
        group = question.groups.group_of(victim.pods[0])
        answer = plan(after, group[0] if group else victim.name, pdb=pdb)
        assert not victims_of(answer) & ours


def committed(objects: list[Dict], decision: Decision) -> list[Dict]:
    """The world after a plan: its preemptor runs, and its victims wait."""
    return [_moved(item, decision.placement, victims_of(decision)) for item in objects]


def _moved(item: Dict, placement: Where, victims: set[str]) -> Dict:
    if item["kind"] != "Pod":
        return item
    if unit_of(item) in placement:
        return at(item, placement[unit_of(item)])
    if unit_of(item) in victims:
        return {**item, "spec": {key: value for key, value in item["spec"].items() if key != "nodeName"}, "status": {}}
    return item


@settings(max_examples=EXAMPLES)
@given(preemptors, st.randoms(use_true_random=False))
def test_the_order_of_writing_does_not_matter(world: World, random: Random) -> None:
    objects, preemptor = world
    shuffled = list(objects)
    random.shuffle(shuffled)
    first, second = plan(objects, preemptor), plan(shuffled, preemptor)
    assert (first.outcome, first.placement, first.message) == (second.outcome, second.placement, second.message)
    assert first.victims == second.victims
    assert first.candidates == second.candidates


@settings(max_examples=EXAMPLES)
@given(random_gangs(WITHOUT_RACKS))
def test_a_gang_is_answered_as_by_the_plainest_search_where_places_leave_no_choice(world: World) -> None:
    decision, question = plan(*world, search="Design"), Question(*world)
    # Other orders than the queue's may find room: then it is taken, and nobody is preempted.
    assume(not can_place(question, question.running, question.required))
    emptied = list(placements(question, question.without(question.lower)))
    assume(len(emptied) < MOST_PLACEMENTS)
    if not can_place(question, question.without(question.lower), question.required):
        assert decision.outcome == "Unschedulable"
    if all(len(found) >= question.required for found in emptied):
        assert decision.outcome == "Preempt"
        possible = {frozenset(question.victims(found)) for found in emptied}
        whole = all(len(found) == len(question.members) for found in emptied)
        if len(possible) == 1 and whole:
            event("no choice")
            (everybody,) = possible
            if question.required == len(question.members):
                assert victims_of(decision) == everybody
                assert weight(question, plan(*world)) <= weight(question, decision)
            else:  # pods that the group can do without may be left waiting, rather than cost somebody more important
                assert victims_of(decision) <= everybody


def weight(question: Question, decision: Decision) -> tuple[int, int]:
    """What looking for less may never raise: the highest priority of a victim, and how many pods leave."""
    return max(unit.priority for unit in gone(question, decision)), len(decision.victims)


def placements(question: Question, running: list[Dict]) -> Any:
    return islice(question.placements(running), MOST_PLACEMENTS)


@settings(max_examples=3 * EXAMPLES)
@given(random_gangs(WITHOUT_RACKS).map(single_pod))
def test_a_pod_is_told_of_every_node_what_the_plainest_search_finds(world: World) -> None:
    decision, question = plan(*world), Question(*world)
    pod = question.members[0]
    free = {name for name in question.cluster.nodes if question.passes(question.running, pod, name)}
    wanted = {name: found for name in question.cluster.nodes if name not in free and (found := question.on_node(name))}
    got = {name: set(cost["victims"]) for name, cost in decision.candidates.items() if name not in free}
    assert got == wanted
    assert decision.outcome == ("Fits" if free else "Preempt" if wanted else "Unschedulable")
