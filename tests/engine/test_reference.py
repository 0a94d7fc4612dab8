"""Random worlds, decided by Reprieve and by the plainest possible kube-scheduler: they have to agree."""

from __future__ import annotations

import os

from hypothesis import event, given, settings
from hypothesis import strategies as st

import reprieve
from tests.random_worlds import NOW, Dict, random_worlds
from tests.reference.decision import Answer, decide

EXAMPLES = int(os.environ.get("REFERENCE_EXAMPLES", "400"))


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
def test_every_decision_is_that_of_the_reference(world: tuple[list[Dict], str], respect: bool) -> None:
    want = assert_agrees(*world, respect=respect)
    event(want.outcome)
