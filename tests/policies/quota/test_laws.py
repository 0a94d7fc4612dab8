"""Laws of the quota policy, over random trees of one to three levels: what must never happen, whatever the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve import plan
from reprieve.configuration import configure
from reprieve.engine.plan import Plan
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.loading import load_objects
from reprieve.model.names import UnitName
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.refusals import Refusals
from reprieve.policies.quota.search import QuotaLedger, Without
from reprieve.policies.quota.view import PendingWorkload, Terms, WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.builders.pods import manifest, metadata
from tests.builders.quota import flavor, queue, workload
from tests.generators.quota import NOW, RandomQuota, random_quotas
from tests.reference.quota_tree import Tree

Dict = dict[str, Any]


def read(objects: Iterable[Dict]) -> list[Any]:
    return load_objects(objects).objects


def policy_over(world: RandomQuota) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(read(world.objects)), configure(world.config)))


def nominated(policy: QuotaPolicy) -> list[WorkloadView]:
    """What each workload that waits would get if it were alone."""
    views = [policy.view(PendingWorkload(facts), 0) for waiting in policy.quota.waiting.values() for facts in waiting]
    for view in views:
        view.nominate(policy.nominate(view))
    return views


def nodes(policy: QuotaPolicy) -> list[QuotaNode]:
    found = {id(node): node for queue in policy.quota.queues.values() for node in (queue, *queue.path())}
    return list(found.values())


def usages(policy: QuotaPolicy) -> dict[tuple[str, bool], Amounts]:
    return {(node.name, node.queue): node.usages() for node in nodes(policy)}


# What is taken, and from whom


@given(random_quotas())
def test_nothing_is_taken_from_a_queue_that_is_not_over_its_quota_at_that_moment(world: RandomQuota) -> None:
    for view in nominated(policy_over(world)):
        taken: dict[str, list[WorkloadFacts]] = {}
        for facts in view.gone.values():
            if facts.queue is not None and facts.queue is not view.queue:
                taken.setdefault(facts.queue.name, []).append(facts)
        for victims in taken.values():
            assert any(each_from_a_borrower(world, view, order) for order in permutations(victims))


def each_from_a_borrower(world: RandomQuota, view: WorkloadView, victims: Iterable[WorkloadFacts]) -> bool:
    """Whether, taken in this order, each leaves a queue that is still over its quota."""
    gone: list[WorkloadFacts] = []
    for facts in victims:
        with Without(gone):
            over = facts.queue is not None and any(map(facts.queue.exceeds, keys_that_count(world, view, facts)))
        if not over:
            return False
        gone.append(facts)
    return True


def keys_that_count(world: RandomQuota, view: WorkloadView, facts: WorkloadFacts) -> Iterable[FlavorResource]:
    """What a queue must borrow of to give: what is contested; under fair sharing anything makes up its share."""
    everything = facts.queue.usages() if facts.queue is not None else ()
    return everything if world.config else view.assignment.demand.contested


@given(random_quotas())
def test_the_preemptor_fits_once_its_victims_are_gone(world: RandomQuota) -> None:
    policy = policy_over(world)
    for view in nominated(policy):
        if view.gone:
            assert fits(view, set(view.gone), borrowing=True)


@given(random_quotas())
def test_at_most_one_victim_could_be_given_back(world: RandomQuota) -> None:
    """Only the last that was taken is never tried: everybody else goes because the preemptor needs it."""
    policy = policy_over(world)
    for view in nominated(policy):
        units = set(view.gone)
        if units:
            ways = [borrowing for borrowing in (True, False) if fits(view, units, borrowing=borrowing)]
            spare = [[unit for unit in units if fits(view, units - {unit}, borrowing=way)] for way in ways]
            assert min(len(units) for units in spare) <= 1


def fits(view: WorkloadView, gone: set[UnitName], *, borrowing: bool) -> bool:
    with Without(view.gone[unit] for unit in gone):
        return QuotaLedger(view.queue, view.assignment.demand, borrowing=borrowing).fits()


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
    nominated(policy)
    assert usages(policy) == before
    assert summary(cycle(policy)) == first


@given(random_quotas())
def test_a_cycle_uses_no_more_than_the_tree_allows_once_its_victims_are_gone(world: RandomQuota) -> None:
    policy = policy_over(world)
    got: list[Terms] = [made.terms for made in cycle(policy) if made.terms.takes]
    gone = {unit: facts for terms in got for unit, facts in terms.gone.items()}
    with Without(gone.values()):
        for terms in got:
            terms.queue.add(terms.assignment.usage)
        for terms in got:
            for key, amount in terms.assignment.usage.items():
                assert not amount or terms.queue.available(key) >= 0


@given(random_quotas())
def test_nobody_makes_way_twice_in_a_cycle(world: RandomQuota) -> None:
    victims = [unit for made in cycle(policy_over(world)) if made.terms.takes for unit in made.terms.gone]
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
    policy = QuotaPolicy(QuotaWorld(live, configure(world.config)))
    for step in range(6):
        change(world, live, step)
        fresh = QuotaPolicy(QuotaWorld(live, configure(world.config)))
        assert summary(cycle(policy)) == summary(cycle(fresh))
        assert usages(policy) == usages(fresh)
        assert [summary_of(view) for view in nominated(policy)] == [summary_of(view) for view in nominated(fresh)]


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


def summary(plans: Iterable[Plan]) -> list[tuple[Any, ...]]:
    return [
        (made, made.terms.assignment.mode, made.terms.assignment.usage, list(made.terms.gone), made.terms.takes)
        for made in plans
    ]


def summary_of(view: WorkloadView) -> tuple[Any, ...]:
    victims = [(item.facts.unit, item.right) for item in view.found.victims] if view.found is not None else []
    return view.unit, view.assignment.mode, view.assignment.usage, victims


@given(random_quotas())
def test_who_is_protected_by_which_rule_is_counted_as_if_each_were_asked(world: RandomQuota) -> None:
    policy = policy_over(world)
    for view in nominated(policy):
        if view.found is None or view.found.rules.eligible.personal:
            continue
        root = view.queue.root
        everybody = [facts for each in policy.quota.admitted.values() for facts in each]
        there = [facts for facts in everybody if facts.queue is not None and facts.queue.root is root]
        said = [view.found.protection(facts) for facts in there]
        singly = Counter(reason.rule if reason is not None else "" for reason in said)
        assert +policy.quota.census(root).protecting(view.found, view.queue) == singly


# What is remembered


@given(random_quotas(), st.booleans())
def test_who_is_known_to_be_refused_changes_nothing_for_others(world: RandomQuota, stop: bool) -> None:
    """The next cycle over the same world says of everybody what the first did, or nothing: it was refused."""
    config = {**world.config, "quota": {**world.config.get("quota", {}), "stopBorrowingAfterNonBorrower": stop}}
    policy = QuotaPolicy(QuotaWorld(World(read(world.objects)), configure(config)))
    known = Refusals()
    first = {plan.preemptor: said(plan) for plan in cycle(policy, known)}
    again = {plan.preemptor: said(plan) for plan in cycle(policy, known)}
    assert again.items() <= first.items()
    assert {first[unit][0] for unit in first.keys() - again.keys()} <= {"Unschedulable", "Wait"}


def said(plan: Plan) -> tuple[str, str, tuple[UnitName, ...]]:
    return plan.outcome, plan.message, tuple(victim.unit for victim in plan.victims)


def test_who_is_known_to_be_refused_holds_nothing_that_nobody_may_borrow() -> None:
    """`stuck` needs no more than its queue has, so that nobody borrows after it, and `large` reserves nothing."""
    objects = [
        flavor(),
        manifest("v1", "Namespace", metadata("default")),
        *queue("full", {"default": {"cpu": (4, 0)}}, cohort="all"),
        *queue("guests", {"default": {"cpu": 0}}, cohort="all"),
        *queue("large", {"default": {"cpu": (4, None, 1)}}, cohort="all", weight="2", queueingStrategy="StrictFIFO"),
        *queue(
            "own",
            {"default": {"cpu": (6, None, 4)}},
            cohort="all",
            within="LowerPriority",
        ),
        workload("there", "full", on="default", cpu=3, priority=3),
        workload("stuck", "full", cpu=2, priority=-1),
        workload("guest", "guests", on="default", cpu=2),
        workload("large", "large", cpu=6, priority=1),
        workload("low", "own", on="default", cpu=3, priority=1),
        workload("small", "own", on="default", cpu=1),
        workload("high", "own", cpu=4, priority=3),
    ]
    config = {"fairSharing": {"enable": True}, "quota": {"stopBorrowingAfterNonBorrower": True}}
    policy = QuotaPolicy(QuotaWorld(World(read(objects)), configure(config)))
    known = Refusals()
    for _ in range(2):
        plans = {str(plan.preemptor): plan for plan in cycle(policy, known)}
        assert said(plans["Workload/default/high"])[::2] == ("Preempt", ("Workload/default/low",))
