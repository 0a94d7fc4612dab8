"""Random worlds, decided by Reprieve and by the plainest possible kube-scheduler: they have to agree."""

from __future__ import annotations

import os

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import reprieve
from tests.builders import to_yaml
from tests.random_worlds import NOW, Dict, RandomWorld, random_worlds
from tests.reference.decision import Answer, decide

EXAMPLES = int(os.environ.get("REFERENCE_EXAMPLES", "500"))


def smallest(objects: list[Dict], preemptor: str, respect: bool) -> list[Dict]:
    """As few objects as it takes to disagree: what a person wants to look at."""
    for item in objects:
        fewer = [other for other in objects if other is not item]
        if item["metadata"]["name"] != "p" and not agrees(fewer, preemptor, respect):
            return smallest(fewer, preemptor, respect)
    return objects


def agrees(objects: list[Dict], preemptor: str, respect: bool) -> bool:
    try:
        assert_agrees(objects, preemptor, respect=respect)
    except AssertionError:
        return False
    return True


def assert_agrees(objects: list[Dict], preemptor: str, *, respect: bool = False) -> Answer:
    want = decide(objects, preemptor, NOW, respect=respect)
    config = {"validate": True, "pdb": "Respect" if respect else "BestEffort"}
    got = reprieve.plan(objects, preemptor=preemptor, now=NOW, config=config).decision
    assert got.outcome == want.outcome
    assert {
        name: (set(cost["victims"]), cost["pdbViolations"]) for name, cost in got.candidates.items()
    } == want.candidates
    assert (got.domain in want.domains) if want.domains else got.domain is None
    assert set(got.waiting_for) == want.waiting_for
    if want.outcome == "Preempt":
        assert got.domain is not None
        assert {victim["unit"] for victim in got.victims} == want.candidates[got.domain][0]
        assert sum(victim["pdbViolation"] for victim in got.victims) == want.candidates[got.domain][1]
    else:
        assert got.victims == []
    return want


@settings(max_examples=EXAMPLES)
@given(random_worlds(), st.booleans())
def test_every_decision_is_that_of_the_reference(world: RandomWorld, respect: bool) -> None:
    objects, preemptor = world.objects, world.preemptor
    try:
        event(assert_agrees(objects, preemptor, respect=respect).outcome)
    except AssertionError:
        note(to_yaml(*smallest(objects, preemptor, respect)))
        raise
