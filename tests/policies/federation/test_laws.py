"""Laws of preemption between bindings, over random federations: what must never happen, whatever the numbers."""

from __future__ import annotations

import os
import random
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.model.resources import Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.placement import place
from reprieve.policies.federation.policy import FederationPolicy
from tests.builders.pods import Dict
from tests.generators.federations import DIVIDED, asked, federations, policy_of

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "40"))
laws = settings(max_examples=EXAMPLES)


def decided(objects: list[Dict], **settings: Any) -> tuple[FederationPolicy, BindingFacts, Plan]:
    policy = policy_of(*objects, **settings)
    facts = asked(policy, "high")
    return policy, facts, decide(policy, facts, now=0)


def free_without(policy: FederationPolicy, seats: list[tuple[BindingFacts, str]]) -> dict[str, Resources]:
    free = dict(policy.federation.free)
    for other, where in seats:
        free[where] += other.on(where)
    return free


def eligible(policy: FederationPolicy, facts: BindingFacts) -> list[tuple[BindingFacts, str]]:
    """Everybody who may be asked, wherever they are: told from the manifests alone."""
    return [
        (other, where)
        for other in policy.federation.bindings
        for where in other.held
        if other.binding.kind == "ResourceBinding"
        and other.binding.spec.scheduler_name == facts.binding.spec.scheduler_name
        and other.priority < facts.priority
        and other.on(where).positive()
    ]


@laws
@given(federations())
def test_nobody_of_equal_or_higher_priority_makes_way_nor_anybody_who_is_protected(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    allowed = [(other.unit, where) for other, where in eligible(policy, facts)]
    assert all((other.unit, where) in allowed for other, where in made.terms.evictions)
    assert all(other.priority < facts.priority for other, _ in made.terms.evictions)


@laws
@given(federations())
def test_victims_leave_only_where_that_makes_it_fit_and_never_where_it_fits_already(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    clusters = policy.federation.clusters
    fits = place(facts, clusters, policy.federation.free) is not None
    assert (made.outcome == "Fits") == fits
    assert bool(made.victims) == (made.outcome == "Preempt")
    if made.outcome == "Preempt":
        assert place(facts, clusters, free_without(policy, made.terms.evictions)) is not None


@laws
@given(federations())
def test_nobody_is_missed_it_stays_pending_only_where_even_all_together_would_not_do(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    if made.outcome == "Unschedulable":
        everyone = free_without(policy, eligible(policy, facts))
        assert place(facts, policy.federation.clusters, everyone) is None


@laws
@given(federations(styles=[DIVIDED], most_replicas=1))
def test_a_single_victim_that_is_enough_is_never_joined_by_another(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    if len(made.victims) > 1:
        for seat in made.terms.evictions:
            assert place(facts, policy.federation.clusters, free_without(policy, [seat])) is None


@laws
@given(federations(styles=[DIVIDED], most_replicas=1))
def test_no_cluster_would_have_needed_fewer_victims_by_its_own_order(objects: list[Dict]) -> None:
    """The plainest reading of the flow chart, cluster by cluster, finds the same number and the same clusters; looking
    for less finds no more, and nobody more important."""
    policy, facts, made = decided(objects, search="Design")
    less = decided(objects)[2]
    assert less.outcome == made.outcome
    assert len(less.victims) <= len(made.victims)
    assert _top(less) <= _top(made)
    answers = {name: plain_victims(policy, facts, name) for name in policy.federation.clusters}
    found = {name: victims for name, victims in answers.items() if victims}
    if made.outcome == "Preempt":
        best = min(found.values(), key=lambda victims: (len(victims), max(other.priority for other in victims)))
        assert len(made.victims) == len(best)
        assert [other.unit for other, _ in made.terms.evictions] == [other.unit for other in found[made.domain]]
    elif made.outcome == "Unschedulable":
        assert not found


def _top(made: Plan) -> int:
    return max((other.priority for other, _ in made.terms.evictions), default=-1) if made.terms else -1


def plain_victims(policy: FederationPolicy, facts: BindingFacts, name: str) -> list[BindingFacts]:
    free = policy.federation.free[name]
    gap = {key: need - free.of(key) for key, need in facts.request.items() if need > free.of(key)}
    remembered: list[BindingFacts] = []
    asked_here = sorted((other for other, where in eligible(policy, facts) if where == name), key=lambda o: o.order)
    for other in asked_here:
        held = other.on(name)
        if not any(held.of(key) for key in gap):
            continue
        if all(held.of(key) >= units for key, units in gap.items()):
            return [other]
        remembered.append(other)
        if _covers(remembered, name, gap):
            return _without_superfluous(remembered, name, gap)
    return []


def _covers(some: list[BindingFacts], name: str, gap: dict[str, int]) -> bool:
    return all(sum(one.on(name).of(key) for one in some) >= units for key, units in gap.items())


def _without_superfluous(some: list[BindingFacts], name: str, gap: dict[str, int]) -> list[BindingFacts]:
    """The most important who are not needed stay."""
    kept = list(some)
    for one in reversed(some):
        rest = [other for other in kept if other is not one]
        kept = rest if _covers(rest, name, gap) else kept
    return kept


@laws
@given(federations())
def test_replicas_are_conserved(objects: list[Dict]) -> None:
    _, facts, made = decided(objects)
    if made.outcome in ("Fits", "Preempt"):
        counts = made.terms.division.values()
        if facts.style == "Duplicated":
            assert set(counts) == {facts.binding.spec.replicas}
        else:
            assert sum(counts) == facts.binding.spec.replicas


@laws
@given(federations(), st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_read_does_not_matter(objects: list[Dict], chance: random.Random) -> None:
    shuffled = list(objects)
    chance.shuffle(shuffled)
    assert decided(objects)[2] == decided(shuffled)[2]


@laws
@given(federations())
def test_deciding_changes_nothing(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    free = dict(policy.federation.free)
    assert decide(policy, facts, now=0) == made
    assert policy.federation.free == free


@laws
@given(federations())
def test_a_committed_plan_leaves_no_cluster_with_less_than_nothing_and_forgets_nobody(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    before = {other.unit: dict(other.held) for other in policy.federation.bindings}
    policy.commit(made)
    for name in made.terms.division:
        free = policy.federation.free[name]
        assert all(free.of(resource) >= 0 for resource in facts.request)
    lost = {(other.unit, where) for other, where in made.terms.evictions}
    for other in policy.federation.bindings:
        if other.unit != facts.unit:
            assert other.held == {
                where: n for where, n in before[other.unit].items() if (other.unit, where) not in lost
            }


@laws
@given(federations())
def test_what_the_journal_brings_up_to_date_is_what_is_read_anew(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    policy.commit(made)
    anew = FederationPolicy(policy.world, policy.settings)
    for name, residents in policy.federation.residents.items():
        known = anew.federation.residents.get(name)
        assert [o.unit for o in residents.bindings] == ([o.unit for o in known.bindings] if known else [])
    assert {o.unit for o in policy.federation.bindings} == {o.unit for o in anew.federation.bindings}
    assert facts.unit in {o.unit for o in anew.federation.bindings}


@laws
@given(federations(styles=[DIVIDED], most_replicas=4))
def test_in_several_clusters_nobody_leaves_who_could_have_stayed(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    if "," in made.domain and made.outcome == "Preempt":
        for fewer in combinations(made.terms.evictions, len(made.terms.evictions) - 1):
            assert place(facts, policy.federation.clusters, free_without(policy, list(fewer))) is None
