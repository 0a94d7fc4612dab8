"""Random worlds, decided by Reprieve and by the plainest possible kube-scheduler: they have to agree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import reprieve
from reprieve.manifests.yaml_reader import read_yaml
from tests.builders.pods import to_yaml
from tests.generators.worlds import NOW, Dict, RandomWorld, random_worlds
from tests.paths import CONFORMANCE
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


def assert_agrees(objects: list[Dict], preemptor: str, *, respect: bool = False, own: bool = False) -> Answer:
    want = decide(objects, preemptor, NOW, respect=respect, own=own)
    config = {"validate": True, "pdb": "Respect" if respect else "BestEffort", "victims": "Own" if own else "Any"}
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


def single_pod_cases() -> Iterator[Dict]:
    for file in sorted((*CONFORMANCE.glob("kubernetes/*.yaml"), *CONFORMANCE.glob("toleration/*.yaml"))):
        for case in read_yaml(file.read_text()):
            of_a_pod = isinstance(case, dict) and case.get("preemptor", {}).get("kind") == "Pod"
            if of_a_pod and not any(case.get("featureGates", {}).values()):
                yield case


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the conformance cases are not beside this project")
def test_the_reference_itself_answers_what_kube_scheduler_answered() -> None:
    cases = list(single_pod_cases())
    assert len(cases) > 100
    for case in cases:
        pod, expect = case["preemptor"], case["expect"]
        answer = decide(case["objects"], f"Pod/{pod['namespace']}/{pod['name']}", case["now"])
        assert answer.outcome == expect["outcome"], case["case"]
        assert expect.get("domain") in {None, *answer.domains}, case["case"]
        if "victims" in expect and expect["outcome"] == "Preempt":
            assert any(answer.candidates[name][0] == set(expect["victims"]) for name in answer.domains), case["case"]


@settings(max_examples=EXAMPLES)
@given(random_worlds(), st.booleans())
def test_every_decision_is_that_of_the_reference(world: RandomWorld, respect: bool) -> None:
    objects, preemptor = world.objects, world.preemptor
    try:
        event(assert_agrees(objects, preemptor, respect=respect).outcome)
    except AssertionError:
        note(to_yaml(*smallest(objects, preemptor, respect)))
        raise


@settings(max_examples=EXAMPLES // 5)
@given(random_worlds(), st.randoms(use_true_random=False), st.booleans())
def test_so_it_is_where_pods_belong_to_several_schedulers_and_to_kubelets(
    world: RandomWorld, random: Random, own: bool
) -> None:
    for item in world.objects:
        if item["kind"] == "Pod":
            item["spec"]["schedulerName"] = random.choice(["default-scheduler", "default-scheduler", "reprieve"])
            if random.random() < 0.1:
                item["metadata"].setdefault("annotations", {})["kubernetes.io/config.mirror"] = "7c1f"
    event(assert_agrees(world.objects, world.preemptor, own=own).outcome)
