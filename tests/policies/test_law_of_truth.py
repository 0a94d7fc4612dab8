"""The law of truth, over random worlds of all five policies: whatever a decision says is so in the world.

`TRUTH_WORLDS` says how many times as many worlds are looked at; `TRUTH_SEED` where to begin.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from functools import cache
from typing import NamedTuple

import pytest

from tests.reasons import law as reasons
from tests.reasons.worlds import POLICIES, Dict, world
from tests.truth import law

TIMES = float(os.environ.get("TRUTH_WORLDS", "1"))
FIRST = int(os.environ.get("TRUTH_SEED", "0"))
WORLDS = {"pod": 120, "podgroup": 120, "queue": 250, "quota": 200, "federation": 200}
KNOWN = {"queue": [3966], "quota": [1209]}
"""Worlds beyond those that once showed a fault."""
# Claims and reasons that any sensible number of worlds shows: without them the law would hold for want of examples.
TOLD = {
    "pod": "NotReached TooSmall Insufficient KeptOut LeftAlone BudgetRespected Priority Toleration CheaperElsewhere",
    "podgroup": "GangShort MemberTooLarge Priority Toleration UnknownPriorityClass MinimalPriority",
    "queue": "Insufficient TooSmall AtMaximum NoGuarantee GuaranteeUsed InReach WithinGuarantee NeverBelowGuarantee",
    "quota": "QuotaShort WorkloadsStay PreemptionPolicy QueueClosed FairSharing InCohortReclamation InClusterQueue",
    "federation": "ClusterShort ClusterOut Priority OtherScheduler LowerPriority CheaperElsewhere",
}
NUMBERS = {
    "TooSmall": "has",
    "Insufficient": "free",
    "AtMaximum": "used",
    "GuaranteeUsed": "used",
    "QuotaShort": "used",
}
each_policy = pytest.mark.parametrize("policy", POLICIES)


class Heard(NamedTuple):
    """What was said in all worlds of a policy."""

    decisions: list[tuple[int, Dict]]
    told: Counter[str]
    untrue: dict[str, list[str]]


@cache
def heard(policy: str) -> Heard:
    found = Heard([], Counter(), defaultdict(list))
    for seed in [*range(FIRST, FIRST + max(1, int(WORLDS[policy] * TIMES))), *KNOWN.get(policy, ())]:
        made = world(policy, seed)
        decision = reasons.decide(made)
        if decision["outcome"] == "Fits":
            continue
        found.decisions.append((seed, decision))
        found.told.update(law.told(decision))
        for kind, text in law.untrue(made, decision):
            found.untrue[kind].append(f"world {seed}: {text}")
    return found


@each_policy
def test_what_a_decision_says_is_so(policy: str) -> None:
    assert not {kind: [len(texts), *texts[:3]] for kind, texts in heard(policy).untrue.items()}


@each_policy
def test_the_worlds_show_every_kind_of_claim(policy: str) -> None:
    assert set(TOLD[policy].split()) <= set(heard(policy).told)


@each_policy
def test_a_refusal_is_made_from_claims(policy: str) -> None:
    refused = [decision for _, decision in heard(policy).decisions if decision["outcome"] == "Unschedulable"]
    assert refused
    silent = [decision["message"] for decision in refused if not decision["claims"]]
    assert [message for message in silent if "is refused" not in message and "not complete" not in message] == []


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_wrong_number_does_not_pass(kind: str) -> None:
    """The law has teeth: with one number changed, it complains."""
    policy = {"AtMaximum": "queue", "GuaranteeUsed": "queue", "QuotaShort": "quota"}.get(kind, "pod")
    for seed, decision in heard(policy).decisions:
        for claim in decision["claims"]:
            if claim["kind"] == kind and (policy != "pod" or "domain" in claim):
                wrong = {**claim, NUMBERS[kind]: claim[NUMBERS[kind]] + 1}
                assert list(law.untrue(world(policy, seed), {**decision, "claims": [wrong]}))
                return
    pytest.fail(f"nobody claims {kind}")
