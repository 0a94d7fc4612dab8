"""The law of reasons, over random worlds of all five policies: everybody within reach is told why, and told the truth.

`REASON_WORLDS` says how many times as many worlds are looked at; `REASON_SEED` where to begin.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import pytest

from tests.builders.pods import to_yaml
from tests.reasons import law
from tests.reasons.reach import only_one_waits
from tests.reasons.steps import UNPROTECTED
from tests.reasons.worlds import POLICIES, Dict, World, world

TIMES = float(os.environ.get("REASON_WORLDS", "1"))
FIRST = int(os.environ.get("REASON_SEED", "0"))
WORLDS = {"pod": 100, "podgroup": 200, "queue": 450, "quota": 350, "federation": 350}
KNOWN = {"pod": [709], "podgroup": [588], "queue": [3966], "quota": [2211, 3490]}
"""Worlds beyond those that once showed a fault."""
CLAIMED = [91, 189, 771, 1095, 1209]
"""Worlds of the quota policy in whose cycle somebody makes way for two heads: few do."""
OUTCOMES = ("Preempt", "Wait", "Unschedulable")
# Rules that any sensible number of worlds shows: without them the law would hold for want of examples.
MET = {
    "pod": "Priority Toleration UnknownPriorityClass Reprieved CheaperElsewhere NoHelp NobodyAsked Leaving",
    "podgroup": "Priority Toleration UnknownPriorityClass DisruptionBudget MinimalPriority Reprieved",
    "queue": "NeverBelowGuarantee SameApplication OwnQueue WithinGuarantee HigherPriority PriorityFence OutsideFence "
    "PreemptionDisabled RequiredNode OtherNode Leaving WholeGroup OutsideQueues NobodyAsked Reprieved CheaperElsewhere",
    "quota": "WithinNominalQuota PreemptionPolicy QueueClosed NotContested NotEnough Reprieved",
    "federation": "Priority ClusterScoped OtherScheduler NoRequirements NotContested NoHelp Reprieved CheaperElsewhere",
}
each_policy = pytest.mark.parametrize("policy", POLICIES)


class Complaint(NamedTuple):
    """What is wrong, and in which world."""

    seed: int
    text: str
    still: Callable[[World, Dict], bool]
    """Whether a smaller world has the same."""


class Examined:
    """All worlds of one policy, decided over once."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.seen: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.complaints: dict[tuple[str, str], list[Complaint]] = defaultdict(list)
        for seed in [*range(FIRST, FIRST + max(1, int(WORLDS[policy] * TIMES))), *KNOWN.get(policy, ())]:
            self._examine(seed, world(policy, seed))

    def _examine(self, seed: int, made: World) -> None:
        decision = law.decide(made)
        outcome = decision["outcome"]
        self.outcomes[outcome] += 1
        for text in law.unnamed(made, decision):
            self._note("named", outcome, Complaint(seed, text, _unnamed_like(text)))
        for rule, text in law.unmoved(made, decision, self.seen):
            self._note("opposite", rule, Complaint(seed, text, _unmoved_like(rule)))
        for rule, text in law.untrue(made, decision):
            self._note("step", rule, Complaint(seed, text, _untrue_like(rule)))

    def _note(self, part: str, key: str, complaint: Complaint) -> None:
        self.complaints[part, key].append(complaint)

    def about(self, part: str, key: str) -> str:
        """Empty where there is nothing to complain about; else how often, and the smallest world that shows it."""
        found = self.complaints.get((part, key), [])
        if not found:
            return ""
        first = found[0]
        made = world(self.policy, first.seed)
        outcome = law.decide(made)["outcome"]
        small = law.smallest(made, lambda fewer: _same(fewer, outcome, first.still))
        seeds = sorted({complaint.seed for complaint in found})
        head = f"{len(found)} times in {len(seeds)} worlds ({seeds[:5]}); {first.text}\nsettings {made.config}"
        return f"{head}\n{law.decide(small)}\n{to_yaml(*small.objects)}"


def _same(made: World, outcome: str, still: Callable[[World, Dict], bool]) -> bool:
    decision = law.decide(made)
    return bool(decision["outcome"] == outcome) and still(made, decision)


def _unnamed_like(text: str) -> Callable[[World, Dict], bool]:
    kind = text.partition(":")[0]
    return lambda made, decision: any(found.startswith(kind) for found in law.unnamed(made, decision))


def _unmoved_like(rule: str) -> Callable[[World, Dict], bool]:
    return lambda made, decision: any(found == rule for found, _ in law.unmoved(made, decision, Counter()))


def _untrue_like(rule: str) -> Callable[[World, Dict], bool]:
    return lambda made, decision: any(found == rule for found, _ in law.untrue(made, decision))


@cache
def examined(policy: str) -> Examined:
    return Examined(policy)


def rules() -> Iterator[tuple[str, str]]:
    for policy in POLICIES:
        yield from ((policy, rule) for rule in law.SWAPS[policy])


@pytest.mark.parametrize("outcome", OUTCOMES)
@each_policy
def test_everybody_within_reach_is_a_victim_or_is_told_once_why_not(policy: str, outcome: str) -> None:
    assert not examined(policy).about("named", outcome)


@pytest.mark.parametrize(("policy", "rule"), list(rules()))
def test_with_the_opposite_fact_it_goes_or_stays_for_another_reason(policy: str, rule: str) -> None:
    assert not examined(policy).about("opposite", rule)


@pytest.mark.parametrize(
    ("policy", "rule"), [(policy, rule) for policy in POLICIES for rule in ("NotEnough", *UNPROTECTED)]
)
def test_what_a_step_says_is_true(policy: str, rule: str) -> None:
    assert not examined(policy).about("step", rule)


@each_policy
def test_every_rule_has_an_opposite(policy: str) -> None:
    assert set(examined(policy).seen) <= set(law.SWAPS[policy])


@each_policy
def test_the_worlds_have_all_outcomes_and_rules(policy: str) -> None:
    made = examined(policy)
    assert set(MET[policy].split()) <= set(made.seen)
    assert {"Fits", *OUTCOMES} <= set(made.outcomes)


@pytest.mark.parametrize("seed", CLAIMED)
def test_whoever_is_claimed_makes_way_for_an_earlier_head_and_alone_nobody_is(seed: int) -> None:
    made = world("quota", seed)
    claimed = list(law.claims(law.decide_all(made)))
    assert claimed
    for unit, preemptor, heads in claimed:
        assert heads
        alone = law.decide(only_one_waits(made._replace(preemptor=preemptor)))
        assert (unit, "Claimed") not in [(item["unit"], item["rule"]) for item in alone["spared"]]
