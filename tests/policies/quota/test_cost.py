"""What a cycle costs, counted in what it looks at: with twice as many queues or workloads about twice as much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from reprieve.configuration import configure
from reprieve.engine.preemption import decide
from reprieve.engine.quota_tree import QuotaNode
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota import classical, fair_sharing, knock_out
from reprieve.policies.quota.alike import NominatedAlike
from reprieve.policies.quota.asking_order import AskingOrder
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.knock_out import KnockOuts
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.turn_order import Contender
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.builders.quota import flavor, queue, workload
from tests.generators.quota import RandomQuota, random_quotas
from tests.policies.quota.test_laws import summary

Dict = dict[str, Any]
FAIR: Dict = {"fairSharing": {"enable": True}}


def policy_over(objects: list[Dict], config: Dict | None = None) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(load_objects(objects).objects), configure(config or {})))


def team(name: str, *, running: int, waiting: int, cpu: int) -> list[Dict]:
    """A queue with a quota of 2 in the cohort of all."""
    return [
        *queue(name, {"default": {"cpu": 2}}, cohort="all", within="LowerPriority", reclaim="Any"),
        *(workload(f"{name}-r{number}", name, on="default", cpu=1) for number in range(running)),
        *(
            workload(f"{name}-w{number}", name, created=f"2026-01-01T10:{number // 60:02}:{number % 60:02}Z", cpu=cpu)
            for number in range(waiting)
        ),
    ]


def teams(number: int, *, waiting: int = 1) -> list[Dict]:
    """Half of them borrow what the others have, and all want more."""
    found = [flavor("default")]
    for each in range(number):
        found += team(f"q{each}", running=4 if each % 2 else 0, waiting=waiting, cpu=3)
    return found


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """As many items as there were calls."""
    calls: list[None] = []
    real: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_a_fair_search_looks_at_each_queue_once_and_at_those_who_gave_again(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    for size in (20, 40, 80):
        made = policy_over(teams(size), FAIR)
        facts = made.quota.waiting["q0"][0]
        with monkeypatch.context() as patched:
            calls = counted(patched, AskingOrder, "_place")
            decide(made, PendingWorkload(facts), 0)
        numbers.append(len(calls))
    assert numbers[0] > 20
    assert numbers[2] < 2.2 * numbers[1] < 4.8 * numbers[0]


def test_a_fair_cycle_compares_the_heads_of_a_cohort_once_and_who_took_something_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = []
    for size in (20, 40, 80):
        made = policy_over(teams(size), FAIR)
        with monkeypatch.context() as patched:
            calls = counted(patched, knock_out, "_place")
            cycle(made)
        numbers.append(len(calls))
    assert numbers[0] >= 20
    assert numbers[2] < 2.2 * numbers[1] < 4.8 * numbers[0]


@pytest.mark.parametrize("config", [{}, FAIR])
def test_workloads_of_one_shape_cost_one_search(config: Dict, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    for waiting in (3, 60):
        made = policy_over([flavor("default"), *team("one", running=2, waiting=waiting, cpu=1)], config)
        with monkeypatch.context() as patched:
            calls = [counted(patched, module, "search") for module in (classical, fair_sharing)]
            plans = cycle(made)
        assert [plan.outcome for plan in plans] == ["Unschedulable"] * waiting
        numbers.append(sum(map(len, calls)))
    assert numbers[0] == numbers[1] > 0


# What is kept says the same as looking again


def with_copies(world: RandomQuota) -> list[Dict]:
    """Each that waits several times, at other moments."""
    found = list(world.objects)
    for item in world.objects:
        if item["kind"] == "Workload" and "admission" not in item.get("status", {}):
            for number in range(world.random.randint(0, 4)):
                named = {"name": f"{item['metadata']['name']}-{number}", "creationTimestamp": world.maker.time()}
                found.append({**item, "metadata": {**item["metadata"], **named}})
    return found


@given(random_quotas())
@settings(max_examples=60)
def test_those_alike_are_nominated_as_if_each_were_asked(world: RandomQuota) -> None:
    objects = with_copies(world)
    shared, each = (policy_over(objects, world.config) for _ in range(2))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(NominatedAlike, "nominate", lambda self, view, nominate: view.nominate(nominate(view)))  # noqa: ARG005
        asked = [(plan, plan.claims, plan.until, plan.details) for plan in cycle(each)]
    told = [(plan, plan.claims, plan.until, plan.details) for plan in cycle(shared)]
    assert told == asked
    assert summary(plan for plan, *_ in told) == summary(plan for plan, *_ in asked)


@given(random_quotas())
@settings(max_examples=60)
def test_whoever_is_asked_next_has_the_highest_share_of_all(world: RandomQuota) -> None:
    """The rule, looked up in the whole tree before each step."""
    real = AskingOrder.next

    def checked(order: AskingOrder) -> QuotaNode | None:
        found = real(order)
        assert found is (highest(order, order._root) if not order._root.queue else found)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(AskingOrder, "next", checked)
        cycle(policy_over(with_copies(world), {**world.config, **FAIR}))


def highest(order: AskingOrder, cohort: QuotaNode) -> QuotaNode | None:
    """A cohort before a queue of the same share, the last by name; of two queues the one with the better candidate."""
    asked = [child for child in cohort.children if order._borrows(child)]
    queues = [child for child in asked if child.queue and order._rank(child) is not None]
    top = max((child.share().key for child in queues), default=None)
    for child in sorted(asked, key=lambda node: (node.share().key, node.name), reverse=True):
        if not child.queue and (top is None or child.share().key >= top):
            found = highest(order, child)
            if found is not None:
                return found
    tied = [child for child in queues if child.share().key == top]
    return min(tied, key=lambda child: order._rank(child) or (), default=None)


@given(random_quotas())
@settings(max_examples=60)
def test_whose_turn_it_is_wins_against_all_who_wait(world: RandomQuota) -> None:
    """The rule, looked up in the whole tree before each turn."""
    real = KnockOuts.winner

    def checked(turns: KnockOuts[Contender]) -> Contender | None:
        found = real(turns)
        waiting = list(turns._waiting.values())
        if waiting:
            first = waiting[0]
            assert found is (first if first.queue.parent is None else knocked_out(first.queue.root, waiting))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(KnockOuts, "winner", checked)
        cycle(policy_over(with_copies(world), {**world.config, **FAIR}))


def knocked_out(node: QuotaNode, heads: list[Contender]) -> Contender | None:
    """In each cohort those compete who have won below its children."""
    if node.queue:
        own = [head for head in heads if head.queue is node]
        return min(own, key=lambda head: knock_out._place(node, head), default=None)
    won = [(child, knocked_out(child, heads)) for child in node.children]
    entrants = [(child, head) for child, head in won if head is not None]
    return min(entrants, key=lambda one: knock_out._place(*one))[1] if entrants else None
