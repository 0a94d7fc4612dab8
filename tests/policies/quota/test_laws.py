"""Laws of the quota policy, over random trees of one to three levels: what must never happen, whatever the world."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

from hypothesis import given, settings

from reprieve import plan
from reprieve.configuration import configure
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.cycle import Verdict, cycle
from reprieve.policies.quota.policy import Nominee, QuotaPolicy, Without
from reprieve.policies.quota.preemption import QuotaLedger
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.world import World
from tests.generators.quota import NOW, RandomQuota, random_quotas
from tests.reference.quota_tree import Tree

Dict = dict[str, Any]


def read(objects: Iterable[Dict]) -> list[Any]:
    return load_objects(objects).objects


def policy_over(world: RandomQuota) -> QuotaPolicy:
    return QuotaPolicy(World(read(world.objects)), configure(world.config))


def nominees(policy: QuotaPolicy) -> list[Nominee]:
    """What each workload that waits would get if it were alone."""
    return [policy.nominate(facts) for waiting in policy.quota.waiting.values() for facts in waiting]


def nodes(policy: QuotaPolicy) -> list[QuotaNode]:
    found = {id(node): node for queue in policy.quota.queues.values() for node in (queue, *queue.path())}
    return list(found.values())


def usages(policy: QuotaPolicy) -> dict[tuple[str, bool], Amounts]:
    return {(node.name, node.queue): node.usages() for node in nodes(policy)}


# What is taken, and from whom


@given(random_quotas())
def test_nothing_is_taken_from_a_queue_that_is_not_over_its_quota_at_that_moment(world: RandomQuota) -> None:
    for nominee in nominees(policy_over(world)):
        taken: dict[str, list[WorkloadFacts]] = {}
        for target in nominee.targets:
            if target.facts.queue is not None and target.facts.queue is not nominee.queue:
                taken.setdefault(target.facts.queue.name, []).append(target.facts)
        for victims in taken.values():
            assert any(each_from_a_borrower(world, nominee, order) for order in permutations(victims))


def each_from_a_borrower(world: RandomQuota, nominee: Nominee, victims: Iterable[WorkloadFacts]) -> bool:
    """Whether, taken in this order, each leaves a queue that is still over its quota."""
    gone: list[WorkloadFacts] = []
    for facts in victims:
        with Without(gone):
            over = facts.queue is not None and any(map(facts.queue.exceeds, keys_that_count(world, nominee, facts)))
        if not over:
            return False
        gone.append(facts)
    return True


def keys_that_count(world: RandomQuota, nominee: Nominee, facts: WorkloadFacts) -> Iterable[FlavorResource]:
    """What a queue must borrow of to give: what is contested; under fair sharing anything makes up its share."""
    everything = facts.queue.usages() if facts.queue is not None else ()
    return everything if world.config else nominee.assignment.contested


@given(random_quotas())
def test_the_preemptor_fits_once_its_victims_are_gone(world: RandomQuota) -> None:
    policy = policy_over(world)
    for nominee in nominees(policy):
        if nominee.targets:
            assert fits(policy, nominee, {target.facts.unit for target in nominee.targets}, borrowing=True)


@given(random_quotas())
def test_at_most_one_victim_could_be_given_back(world: RandomQuota) -> None:
    """Only the last that was taken is never tried: everybody else goes because the preemptor needs it."""
    policy = policy_over(world)
    for nominee in nominees(policy):
        units = {target.facts.unit for target in nominee.targets}
        if units:
            ways = [borrowing for borrowing in (True, False) if fits(policy, nominee, units, borrowing=borrowing)]
            spare = [[unit for unit in units if fits(policy, nominee, units - {unit}, borrowing=way)] for way in ways]
            assert min(len(units) for units in spare) <= 1


def fits(policy: QuotaPolicy, nominee: Nominee, gone: set[str], *, borrowing: bool) -> bool:
    request = policy._request(nominee.facts, nominee.queue, nominee.assignment.usage, nominee.assignment.contested)
    with Without(target.facts for target in nominee.targets if target.facts.unit in gone):
        return QuotaLedger(request, borrowing=borrowing).fits()


# The tree


@given(random_quotas())
def test_every_node_has_what_the_manifests_say_and_no_quota_is_lost(world: RandomQuota) -> None:
    policy, tree = policy_over(world), Tree(world.objects)
    for root in {id(node.root): node.root for node in nodes(policy)}.values():
        below = tree.nodes["ClusterQueue" if root.queue else "Cohort", root.name].below
        for key in {key for node in below for key in node.quotas}:
            nominal = sum(node.quotas.get(key, (0, None, None))[0] for node in below)
            kept = sum(node.kept(key) for node in below if node.parent is not None)
            assert below[0].quota(key) + kept == nominal
    for node in nodes(policy):
        same = tree.nodes["ClusterQueue" if node.queue else "Cohort", node.name]
        for key in same.declared():
            unit = 1000 if key[1] == "cpu" else 1
            assert node.used(key) == tree.usage(same, key) * unit
            assert node.available(key) == tree.available(same, key) * unit
            assert node.most(key) == tree.most(same, key) * unit
            assert node.cell(key).quota == same.quota(key) * unit


@given(random_quotas())
def test_a_decision_and_a_cycle_leave_the_tree_as_it_was(world: RandomQuota) -> None:
    policy = policy_over(world)
    before = usages(policy)
    first = summary(cycle(policy))
    assert usages(policy) == before
    nominees(policy)
    assert usages(policy) == before
    assert summary(cycle(policy)) == first


@given(random_quotas())
def test_a_cycle_uses_no_more_than_the_tree_allows_once_its_victims_are_gone(world: RandomQuota) -> None:
    policy = policy_over(world)
    got = [verdict.nominee for verdict in cycle(policy) if took(verdict)]
    gone = {target.facts.unit: target.facts for nominee in got for target in nominee.targets}
    with Without(gone.values()):
        for nominee in got:
            nominee.queue.add(nominee.assignment.usage)
        for nominee in got:
            for key, amount in nominee.assignment.usage.items():
                assert not amount or nominee.queue.available(key) >= 0


def took(verdict: Verdict) -> bool:
    """Whether a head has its quota, or will have it once those it counts on are gone."""
    return verdict.outcome in ("Fits", "Preempt") or (verdict.outcome == "Wait" and not verdict.reason)


@given(random_quotas())
def test_nobody_makes_way_twice_in_a_cycle(world: RandomQuota) -> None:
    verdicts = [verdict for verdict in cycle(policy_over(world)) if took(verdict)]
    victims = [target.facts.unit for verdict in verdicts for target in verdict.nominee.targets]
    assert len(victims) == len(set(victims))


# Same world, same plan


@given(random_quotas())
@settings(max_examples=60)
def test_the_order_of_the_manifests_changes_nothing(world: RandomQuota) -> None:
    shuffled = list(world.objects)
    world.random.shuffle(shuffled)
    assert without_warnings(world, shuffled) == without_warnings(world, world.objects)


def without_warnings(world: RandomQuota, objects: list[Dict]) -> Dict:
    return {**plan(objects, now=NOW, config=world.config).to_dict(), "warnings": []}


@given(random_quotas())
@settings(max_examples=60)
def test_a_policy_that_follows_its_world_decides_as_one_made_from_scratch(world: RandomQuota) -> None:
    live = World(read(world.objects))
    policy = QuotaPolicy(live, configure(world.config))
    for step in range(6):
        change(world, live, step)
        fresh = QuotaPolicy(live, configure(world.config))
        assert summary(cycle(policy)) == summary(cycle(fresh))
        assert usages(policy) == usages(fresh)
        assert [summary_of(nominee) for nominee in nominees(policy)] == [summary_of(item) for item in nominees(fresh)]


def change(world: RandomQuota, live: World, step: int) -> None:
    """A workload comes, goes, gets its quota or loses it."""
    random, maker = world.random, world.maker
    there = sorted(live.all(QuotaWorkload), key=lambda item: str(item.name))
    if there and random.random() < 0.4:
        leaving = random.choice(there)
        assert live.delete(QuotaWorkload, leaving.name, leaving.namespace)
        return
    name = random.choice(there).name if there and random.random() < 0.5 else f"new-{step}"
    (item,) = read([maker.workload(name, random.choice([None, *maker.flavors]))])
    live.put(item)


def summary(verdicts: Iterable[Verdict]) -> list[tuple[Any, ...]]:
    return [(verdict.outcome, verdict.reason, *summary_of(verdict.nominee)) for verdict in verdicts]


def summary_of(nominee: Nominee) -> tuple[Any, ...]:
    targets = [(target.facts.unit, target.reason) for target in nominee.targets]
    return nominee.facts.unit, nominee.assignment.mode, nominee.assignment.usage, targets
