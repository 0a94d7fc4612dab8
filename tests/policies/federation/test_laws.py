"""Laws of preemption between bindings, over random federations: what must never happen, whatever the numbers."""

from __future__ import annotations

import os
import random
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.model.resources import Resources
from reprieve.policies.federation.bindings import BindingFacts, protected, protection
from reprieve.policies.federation.placement import place
from reprieve.policies.federation.plans import FederationPlan
from reprieve.policies.federation.policy import FederationPolicy
from tests.builders.pods import Dict
from tests.generators.federations import DIVIDED, DUPLICATED, asked, binding, cluster, policy_of, weighted

STYLES = [DIVIDED, DIVIDED, DUPLICATED, weighted(), weighted(("m0", 2), ("m1", 1))]
EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "40"))
laws = settings(max_examples=EXAMPLES)
SCHEDULERS = ["default-scheduler"] * 4 + ["other"]


@st.composite
def federations(draw: st.DrawFn, *, styles: list[Dict] = STYLES, most_replicas: int = 4) -> list[Dict]:
    """Up to three clusters, each filled by bindings of all kinds, and one that waits."""
    count = draw(st.integers(1, 3))
    used = [[0, 0] for _ in range(count)]
    objects: list[Dict] = []
    for number in range(draw(st.integers(2, 8))):
        cpu, gpu = draw(st.integers(0, 6)), draw(st.sampled_from([0, 0, 1]))
        where = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2, unique=True))
        for home in where:
            used[home][0] += cpu
            used[home][1] += gpu
        objects.append(
            binding(
                f"b{number}",
                priority=draw(st.integers(-2, 6)),
                policy=draw(st.sampled_from(["Never", "PreemptLowerPriority"])),
                cpu=str(cpu),
                gpu=str(gpu),
                replicas=len(where),
                on={f"m{home}": 1 for home in where},
                kind=draw(st.sampled_from(["ResourceBinding"] * 5 + ["ClusterResourceBinding"])),
                spec={"schedulerName": draw(st.sampled_from(SCHEDULERS))},
            )
        )
    for home, (cpu, gpu) in enumerate(used):
        room = draw(st.integers(0, 3))
        fields: Any = {"gpu": str(gpu + draw(st.integers(0, 1))), "gpu_used": str(gpu)}
        objects.append(cluster(f"m{home}", cpu=str(cpu + room), used=str(cpu), **fields))
    pending = binding(
        "high",
        priority=draw(st.integers(0, 7)),
        cpu=str(draw(st.integers(0, 6))),
        gpu=str(draw(st.sampled_from([0, 0, 0, 1]))),
        replicas=draw(st.integers(1, most_replicas)),
        scheduling=draw(st.sampled_from(styles)),
    )
    return [*objects, pending]


def decided(objects: list[Dict]) -> tuple[FederationPolicy, BindingFacts, FederationPlan]:
    policy = policy_of(*objects)
    facts = asked(policy, "high")
    return policy, facts, policy.decide(facts)


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
    allowed = [(other.key, where) for other, where in eligible(policy, facts)]
    assert all((other.key, where) in allowed for other, where in made.evictions)
    assert all(other.priority < facts.priority for other, _ in made.evictions)


@laws
@given(federations())
def test_victims_leave_only_where_that_makes_it_fit_and_never_where_it_fits_already(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    clusters = policy.federation.clusters
    fits = place(facts, clusters, policy.federation.free) is not None
    assert (made.outcome == "Fits") == fits
    assert bool(made.victims) == (made.outcome == "Preempt")
    if made.outcome == "Preempt":
        assert place(facts, clusters, free_without(policy, made.evictions)) is not None


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
        for seat in made.evictions:
            assert place(facts, policy.federation.clusters, free_without(policy, [seat])) is None


@laws
@given(federations(styles=[DIVIDED], most_replicas=1))
def test_no_cluster_would_have_needed_fewer_victims_by_its_own_order(objects: list[Dict]) -> None:
    """The plainest reading of the flow chart, cluster by cluster, finds the same number and the same clusters."""
    policy, facts, made = decided(objects)
    answers = {name: plain_victims(policy, facts, name) for name in policy.federation.clusters}
    found = {name: victims for name, victims in answers.items() if victims}
    if made.outcome == "Preempt":
        best = min(found.values(), key=lambda victims: (len(victims), max(other.priority for other in victims)))
        assert len(made.victims) == len(best)
        assert [other.key for other, _ in made.evictions] == [other.key for other in found[made.domain]]
    elif made.outcome == "Unschedulable":
        assert not found


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
        if all(sum(one.on(name).of(key) for one in remembered) >= units for key, units in gap.items()):
            return remembered
    return []


@laws
@given(federations())
def test_replicas_are_conserved(objects: list[Dict]) -> None:
    _, facts, made = decided(objects)
    if made.outcome in ("Fits", "Preempt"):
        counts = made.division.values()
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
    assert policy.decide(facts) == made
    assert policy.federation.free == free


@laws
@given(federations())
def test_a_committed_plan_leaves_no_cluster_with_less_than_nothing_and_forgets_nobody(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    before = {other.key: dict(other.held) for other in policy.federation.bindings}
    policy.commit(made)
    for name in made.division:
        free = policy.federation.free[name]
        assert all(free.of(resource) >= 0 for resource in facts.request)
    lost = {(other.key, where) for other, where in made.evictions}
    for other in policy.federation.bindings:
        if other.key != facts.key:
            assert other.held == {where: n for where, n in before[other.key].items() if (other.key, where) not in lost}


@laws
@given(federations())
def test_what_the_journal_brings_up_to_date_is_what_is_read_anew(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    policy.commit(made)
    anew = FederationPolicy(policy.world, policy.settings)
    for name, residents in policy.federation.residents.items():
        known = anew.federation.residents.get(name)
        assert [o.key for o in residents.bindings] == ([o.key for o in known.bindings] if known else [])
    assert {o.key for o in policy.federation.bindings} == {o.key for o in anew.federation.bindings}
    assert facts.key in {o.key for o in anew.federation.bindings}


@laws
@given(federations())
def test_columns_and_explanations_go_by_the_same_rules(objects: list[Dict]) -> None:
    policy, facts, _ = decided(objects)
    scheduler = facts.binding.spec.scheduler_name
    for other, where in combinations_of_seats(policy):
        reason = protection(facts, other, where, other.on(where))
        spared = protected(other, scheduler) or other.priority >= facts.priority
        assert spared == (reason is not None)


def combinations_of_seats(policy: FederationPolicy) -> list[tuple[BindingFacts, str]]:
    return [(other, where) for other in policy.federation.bindings for where in other.held if other.request]


@laws
@given(federations(styles=[DIVIDED], most_replicas=4))
def test_in_several_clusters_nobody_leaves_who_could_have_stayed(objects: list[Dict]) -> None:
    policy, facts, made = decided(objects)
    if "," in made.domain and made.outcome == "Preempt":
        for fewer in combinations(made.evictions, len(made.evictions) - 1):
            assert place(facts, policy.federation.clusters, free_without(policy, list(fewer))) is None
