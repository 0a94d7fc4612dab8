"""Gangs and pods in small random worlds against all there is to try: legal, minimal for the places given, complete.

GANG_WORLDS sets how many worlds of each kind are looked at.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from tests.generators.groups import FEATURES, Dict
from tests.generators.groups import world as random_world
from tests.policies.podgroup.test_laws import can_place, gone, plan, single_pod, victims_of
from tests.reference.groups import Question

WORLDS = int(os.environ.get("GANG_WORLDS", "150"))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
GANGS = tuple(name for name in FEATURES if name != "racks")
TOLERATIONS = (*GANGS, *["tolerations"] * 3)
"""The more often a feature is named, the more worlds have it."""


@pytest.mark.parametrize("features", [GANGS, TOLERATIONS], ids=["gangs", "tolerations"])
def test_gangs_are_decided_for_as_well_as_can_be(features: tuple[str, ...]) -> None:
    for seed in range(WORLDS):
        objects, preemptor = random_world(seed, features)
        try:
            check_gang(objects, preemptor)
        except AssertionError as wrong:
            raise AssertionError(f"world {seed}") from wrong


def check_gang(objects: list[Dict], preemptor: str) -> None:
    decision, question = plan(objects, preemptor), Question(objects, preemptor, NOW)
    fits = can_place(question, question.running, question.required)
    preempts = can_place(question, question.without(question.lower), question.required)
    later = Question(objects, preemptor, NOW, patient=True)
    waits = can_place(later, later.without(later.lower), later.required)
    want = "Fits" if fits else "Preempt" if preempts else "Wait" if waits else "Unschedulable"
    assert decision.outcome == want, decision.message
    victims = gone(question, decision)
    assert {name for unit in victims for name in unit.members} == victims_of(decision)
    assert all(unit in question.lower for unit in victims)
    if decision.placement:
        assert len(decision.placement) >= question.required
        assert question.all_keep_their_place(question.without(victims), decision.placement)
    for unit in victims:
        others = [other for other in victims if other is not unit]
        assert not question.all_keep_their_place(question.without(others), decision.placement), unit
    if victims and not any(item["kind"] == "PodDisruptionBudget" for item in objects):
        assert max(unit.priority for unit in victims) <= lowest_enough(question)


def lowest_enough(question: Question) -> int:
    """The lowest priority such that as many as are needed can be placed with nobody above it touched."""
    return next(
        limit
        for limit in sorted({unit.priority for unit in question.lower})
        if can_place(
            question, question.without([unit for unit in question.lower if unit.priority <= limit]), question.required
        )
    )


def test_a_pod_is_told_of_every_node_what_can_be_had_there() -> None:
    for seed in range(WORLDS):
        objects, preemptor = single_pod(random_world(seed, TOLERATIONS))
        decision, question = plan(objects, preemptor), Question(objects, preemptor, NOW)
        pod = question.members[0]
        free = {name for name in question.cluster.nodes if question.passes(question.running, pod, name)}
        wanted = {name: found for name in question.cluster.nodes if (found := question.on_node(name))}
        got = {name: set(cost["victims"]) for name, cost in decision.candidates.items() if name not in free}
        assert got == {name: found for name, found in wanted.items() if name not in free}, seed
        later = Question(objects, preemptor, NOW, patient=True)
        waits = any(later.on_node(name) for name in later.cluster.nodes)
        assert decision.outcome == ("Fits" if free else "Preempt" if got else "Wait" if waits else "Unschedulable"), (
            seed
        )
