"""The seven laws over small random trees and workloads: what must never happen, whatever is decided.

All laws look at the same worlds, so that each is decided over once; QUEUE_WORLDS says how many there are.
"""

from __future__ import annotations

import copy
import os
from functools import cache
from random import Random
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reprieve.model.resources import Resources
from reprieve.planning.result import Decision
from tests.builders.pods import Dict
from tests.builders.queues import OPTED_OUT, decide, victims
from tests.generators.queues import Features, queue_world
from tests.reference.queues import PlainQueues

WORLDS = int(os.environ.get("QUEUE_WORLDS", "200"))
ASK = "ask-0"
often = settings(max_examples=min(WORLDS, 2000), suppress_health_check=[HealthCheck.filter_too_much])


class Decided(NamedTuple):
    objects: list[Dict]
    decision: Decision
    plain: PlainQueues
    gone: list[str]


@cache
def decided(seed: int, *, priorities: bool = True) -> Decided:
    objects = queue_world(seed, Features(priorities=priorities))
    decision = decide(objects, preemptor=ASK)
    return Decided(objects, decision, PlainQueues(objects), victims(decision))


worlds = st.integers(0, WORLDS - 1).map(decided)
preemptions = worlds.filter(lambda made: made.decision.outcome == "Preempt")


@often
@given(preemptions)
def test_law_1_who_opted_out_goes_only_where_nobody_else_is_enough(made: Decided) -> None:
    _, _, plain, gone = made
    opted = [name for name in gone if plain.pods[name]["metadata"].get("annotations") == OPTED_OUT]
    if opted:
        without = copy.deepcopy(made.objects)
        owner = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ds", "uid": "ds", "controller": True}]
        for item in without:
            if item["metadata"].get("annotations") == OPTED_OUT and item["metadata"]["name"] != ASK:
                item["metadata"]["ownerReferences"] = owner  # nobody may ask them at all
        assert decide(without, preemptor=ASK).outcome == "Unschedulable"


@often
@given(preemptions)
def test_law_2_no_queue_is_left_below_its_guarantee(made: Decided) -> None:
    _, _, plain, gone = made
    for name in gone:
        for queue in plain.below_common(plain.queue(name), plain.queue(ASK)):
            left = plain.use(queue, set(gone), leaving=False)
            for resource, units in (plain.bound(queue, "guaranteed") or {}).items():
                assert left.of(resource) >= units or not plain.amount(name).of(resource)


@often
@given(preemptions)
def test_law_3_nobody_of_the_same_application_or_queue_goes(made: Decided) -> None:
    _, _, plain, gone = made
    assert all(plain.application(name) != plain.application(ASK) for name in gone)
    assert all(plain.queue(name) != plain.queue(ASK) for name in gone)


@often
@given(preemptions)
def test_law_4_the_queue_is_under_its_guarantee_or_nobody_goes(made: Decided) -> None:
    _, _, plain, gone = made
    assert plain.under_guarantee(ASK, set(gone))


@often
@given(preemptions)
def test_law_5_only_queues_over_their_guarantee_give(made: Decided) -> None:
    _, _, plain, gone = made
    for name in gone:
        queues = plain.below_common(plain.queue(name), plain.queue(ASK))
        assert any(
            all(plain.use(queue, leaving=False).of(resource) > units(plain, queue, resource) for queue in queues)
            for resource in plain.amount(ASK)
        )


def units(plain: PlainQueues, queue: str, resource: str) -> int:
    """What a queue guarantees; one without a guarantee is over it as soon as it uses anything."""
    return (plain.bound(queue, "guaranteed") or Resources()).of(resource)


@often
@given(st.integers(0, WORLDS - 1))
def test_law_6_nobody_of_higher_priority_goes(seed: int) -> None:
    _, _, plain, gone = decided(seed, priorities=False)
    assert all(plain.priority(name) <= plain.priority(ASK) for name in gone)


@often
@given(preemptions)
def test_law_7_nobody_outside_the_fence_goes(made: Decided) -> None:
    _, _, plain, gone = made
    assert all(plain.fence(ASK) in plain.path(plain.queue(name)) for name in gone)


@often
@given(preemptions)
def test_the_pod_fits_once_its_victims_are_gone_and_with_none_of_them_back(made: Decided) -> None:
    _, decision, plain, gone = made
    assert decision.domain is not None
    away = {*gone, *(name for name, pod in plain.pods.items() if "deletionTimestamp" in pod["metadata"])}
    assert plain.fits(ASK, decision.domain, away)
    for name in gone:
        assert not plain.fits(ASK, decision.domain, away - {name})


@often
@given(preemptions)
def test_victims_are_on_the_chosen_node_unless_only_a_maximum_is_in_the_way(made: Decided) -> None:
    _, decision, plain, gone = made
    assert decision.domain is not None
    free, request = plain.room(decision.domain, set()), plain.amount(ASK)
    if not all(amount <= free.of(name) for name, amount in request.items()):
        assert {plain.pods[name]["spec"]["nodeName"] for name in gone} == {decision.domain}


@often
@given(preemptions)
def test_nobody_goes_who_must_stay_leaves_already_or_is_where_preemption_is_disabled(made: Decided) -> None:
    _, _, plain, gone = made
    for name in gone:
        assert "ownerReferences" not in plain.pods[name]["metadata"]
        assert "deletionTimestamp" not in plain.pods[name]["metadata"]
        said = [plain.says(queue, "preemption.policy") for queue in plain.path(plain.queue(name))[:-1]]
        assert next(filter(None, said), "") != "disabled"


@often
@given(worlds)
def test_everybody_who_runs_makes_way_or_stays_by_a_rule(made: Decided) -> None:
    if made.decision.outcome != "Fits":
        told = [item["unit"] for item in (*made.decision.victims, *made.decision.spared)]
        running = [f"Pod/default/{name}" for name, pod in made.plain.pods.items() if "nodeName" in pod["spec"]]
        assert sorted(told) == sorted(running)


@often
@given(worlds, st.randoms(use_true_random=False))
def test_equal_worlds_get_equal_answers_in_whatever_order_they_are_written(made: Decided, random: Random) -> None:
    shuffled = list(made.objects)
    random.shuffle(shuffled)
    assert told(decide(shuffled, preemptor=ASK)) == told(made.decision)


def told(decision: Decision) -> tuple[object, ...]:
    """A decision, without the order in which those who stay are listed."""
    spared = sorted((item["unit"], item["message"]) for item in decision.spared)
    return decision.outcome, decision.domain, decision.victims, decision.candidates, spared, decision.message
