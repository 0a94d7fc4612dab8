"""Preemptions, victims, broken budgets and lost work are counted when they have happened, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import BINDINGS, BUDGETS, NODES, PODS, QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.errors import Conflict
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import Plane, live, pod
from tests.planes.schedulers import Schedulers, add_classes, alone

Counted = Callable[..., float]


def preemptions(counted: Counted, policy: str = "pod", prefix: str = "scheduler") -> tuple[float, float]:
    """How many decisions cost somebody a place, and how many that were."""
    return (
        counted(f"{prefix}_preemption_attempts_total", policy=policy),
        counted(f"{prefix}_preemption_victims_sum", policy=policy),
    )


def counted_by(plane: Plane) -> Counted:
    registry = plane.plane.metrics_registry
    return lambda name, **labels: registry.get_sample_value(name, labels) or 0.0


def refuse_once(store: Any, resource: Resource) -> list[Any]:
    """The first write of a hold to such an object is refused: somebody else has changed it just then."""
    refused: list[Any] = []
    patch = store.patch

    async def patched(given: Resource, name: str, namespace: str, change: Any, *args: Any, **named: Any) -> Any:
        holds = (change.get("metadata", {}).get("annotations") or {}).get(HOLD_ANNOTATION)
        if given == resource and holds and not refused:
            refused.append(name)
            raise Conflict("it has changed")
        return await patch(given, name, namespace, change, *args, **named)

    store.patch = patched
    return refused


async def fill(world: Schedulers) -> None:
    await add_classes(world)
    await world.store.create(NODES, hollow_node("n1", cpu="3"))
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    metadata = {"name": "guarded", "namespace": "default"}
    await world.store.create(BUDGETS, {**budget, "metadata": metadata, "spec": spec})
    for number in range(3):
        labels = {"app": "guarded"} if number == 0 else {}
        await world.store.create(PODS, pod(f"low-{number}", priority="low", leaves=5, labels=labels))
    await world.schedule(100)


async def ask(world: Schedulers) -> None:
    await world.store.create(PODS, pod("high", cpu="3", priority="high"))


def test_a_decision_that_is_made_again_after_a_conflict_counts_once() -> None:
    async def main(clock: Clock) -> None:
        async with alone(clock) as world:
            await fill(world)
            refused = refuse_once(world.store, PODS)
            await ask(world)
            await world.schedule(60)
            assert refused == ["high"]
            decided = [item for item in world.history.decisions("Pod/default/high") if item["outcome"] == "Preempt"]
            assert len(decided) == 2, "it was decided twice"
            assert preemptions(world.counted) == (1, 3)
            assert world.counted("scheduler_preemption_pdb_violations_total") == 1
            lost = world.counted("reprieve_preemption_lost_resource_seconds_total", resource="cpu")
            assert 3 * 98 <= lost <= 3 * 105, "three cpus for a little more than the time that they ran"
            assert preemptions(world.counted, prefix="reprieve_shadow") == (0, 0)

    run_virtually(main)


def test_whoever_tells_the_victims_counts_them_and_nobody_does_twice() -> None:
    """The scheduler dies after its 1st, 2nd, ... write, and the next one finishes what was begun."""

    async def main(clock: Clock) -> list[tuple[float, float]]:
        totals = []
        for writes in range(1, 20):
            async with alone(clock) as world:
                await fill(world)
                await ask(world)
                died = await world.schedule(60, writes=writes)
                first = preemptions(world.counted)
                await world.schedule(60)
                second = preemptions(world.counted)
                totals.append((first[0] + second[0], first[1] + second[1]))
                if not died:
                    assert sum(second) == 0, "there was nothing left to do"
                    return totals
        raise AssertionError("it never came to an end")

    totals = run_virtually(main)
    assert totals[0] == totals[-1] == (1.0, 3.0)
    # Who dies in the very moment in which a victim is told cannot count it.
    assert all(decisions <= 1 and victims <= 3 for decisions, victims in totals), totals
    assert sum(victims == 3 for _, victims in totals) > len(totals) // 2, totals


@pytest.mark.parametrize(("policy", "resource"), [("quota", QUOTA_WORKLOADS), ("federation", BINDINGS)])
def test_workloads_and_bindings_are_counted_alike(policy: str, resource: Resource) -> None:
    async def story(plane: Plane) -> None:
        for name, value in (("low", 1), ("high", 100)):
            await plane.priority(name, value)
            made = federated.policy(name)
            await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
        await plane.apply(hollow_cluster("m1", {"cpu": "2"}))
        await plane.apply(flavor("default"), *queue("team", {"default": {"cpu": 1}}, within="LowerPriority"))
        await plane.apply(workload("small", "team", cpu=1))
        await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **federated.deployment("web", replicas=2)})
        await plane.passes(10)
        assert preemptions(counted_by(plane), policy) == (0, 0)
        refused = refuse_once(plane.store, resource)
        await plane.apply(workload("large", "team", cpu=1, priority=5))
        made = federated.deployment("important", replicas=2, tier="high")
        await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **made})
        await plane.passes(300)
        assert len(refused) == 1
        assert preemptions(counted_by(plane), policy) == (1, 1)

    live(story)


def test_a_shadow_counts_what_would_have_been_once_and_apart() -> None:
    async def story(plane: Plane) -> None:
        for name, value in (("low", 1), ("high", 100)):
            await plane.priority(name, value)
        await plane.node("n1", cpu="1")
        await plane.pod("low", priority="low")
        await plane.store.bind("low", "default", "n1")
        await plane.passes(100)
        await plane.pod("high", priority="high")
        await plane.passes(4 * 3600)
        decided = plane.plane.history.decisions("Pod/default/high", limit=1000)
        assert len(decided) > 10, "it was decided again and again"
        counted = counted_by(plane)
        assert preemptions(counted, prefix="reprieve_shadow") == (1, 1)
        lost = counted("reprieve_shadow_preemption_lost_resource_seconds_total", resource="cpu")
        assert 99 <= lost <= 102
        assert preemptions(counted) == (0, 0)
        attempts = {"result": "unschedulable", "policy": "pod"}
        assert counted("scheduler_schedule_attempts_total", **attempts) == 0
        assert counted("reprieve_shadow_schedule_attempts_total", **attempts) == len(decided)

    live(story, shadow=True)
