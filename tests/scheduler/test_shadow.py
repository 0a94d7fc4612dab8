"""A scheduler in shadow decides and records, and writes nothing: not a status, not an event, not an annotation."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.agents.hollow.nodes import HollowAgent
from reprieve.manifests.kinds import RESOURCES
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.stores.embedded.store import EmbeddedStore
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.builders.pods import pod_group
from tests.builders.queues import queues, tree
from tests.builders.quota import flavor, queue, workload
from tests.controllers.harness import running
from tests.planes.running import SETTINGS, Dict, Plane, job, live, pod


def _configuration() -> Dict:
    made = queues(tree("prod", cpu=1, preemption_delay="1s"), tree("test"), quotapreemptionenabled=True)
    return {**made, "metadata": {"name": "yunikorn-configs", "namespace": "default"}}


async def _fill(plane: Plane) -> None:
    """Something of each policy that runs already; a scheduler that acts has placed it."""
    await plane.node("n1", cpu="2", labels={"pool": "a"})
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)
    await plane.apply(flavor("default"), *queue("team", {"default": {"cpu": 1}}, within="LowerPriority"))
    await plane.apply(hollow_cluster("m1", {"cpu": "2"}))
    made = federated.policy("low")
    await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
    await plane.pod("low", cpu="2", priority="low")
    await plane.apply(workload("small", "team", cpu=1))
    await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **federated.deployment("web", replicas=2)})


async def _ask(plane: Plane) -> None:
    """Something of each policy for which somebody would have to go."""
    await plane.pod("high", cpu="2", priority="high")
    await plane.apply(pod_group("gang", gang=2, priorityClassName="high"))
    for number in range(2):
        await plane.pod(f"gang-{number}", priority="high", schedulingGroup={"podGroupName": "gang"})
    await plane.apply(workload("large", "team", cpu=1, priority=5))
    high = federated.policy("high")
    await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **high})
    made = federated.deployment("important", replicas=2, tier="high")
    await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **made})


async def _states(plane: Plane) -> dict[str, bytes]:
    records = [record for resource in RESOURCES.values() for record in (await plane.store.list(resource)).records]
    return {f"{record.resource}/{record.unit}": record.raw for record in records}


def test_everything_is_decided_and_nothing_is_written() -> None:
    async def story(plane: Plane) -> None:
        await _fill(plane)
        await plane.passes(5)
        await _ask(plane)
        await plane.passes(1)
        before, version = await _states(plane), plane.plane.store.version
        history = plane.plane.history
        await plane.passes(3600)
        assert plane.plane.store.version == version
        assert await _states(plane) == before
        decided = {item["preemptor"] for item in history.decisions(limit=1000)}
        assert {"Pod/default/low", "Pod/default/high", "PodGroup/default/gang"} <= decided
        assert {"Workload/default/small", "Workload/default/large"} <= decided
        assert {"ResourceBinding/default/web-deployment", "ResourceBinding/default/important-deployment"} <= decided
        assert await plane.where("high") == await plane.where("low") == ""

    live(story, shadow=True)


@pytest.mark.parametrize("configured", [False, True])
def test_it_decides_as_the_one_that_acts_would_and_leaves_the_victims_alone(configured: bool) -> None:
    """A world that somebody else has filled; the shadow sees who would have to go."""

    async def main(clock: Clock) -> None:
        store, history = EmbeddedStore.open(":memory:", clock, seed=1), History(":memory:", clock)
        acting = Scheduler(store, clock, SETTINGS, history, names=ALL_NAMES)
        plane = Plane(_Bare(store), clock)
        try:
            async with running(HollowAgent(store, clock), acting):
                if configured:
                    await plane.apply(_configuration())
                await _fill(plane)
                await plane.passes(10)
            shadowed = History(":memory:", clock)
            shadow = Scheduler(
                store,
                clock,
                SETTINGS,
                shadowed,
                names=ALL_NAMES,
                shadow=True,
            )
            await _ask(plane)
            if configured:
                labels = {"queue": "root.prod", "applicationId": "ask"}
                await plane.store.create(_PODS, pod("ask", labels=labels, priority="low"))
            before, version = await _states(plane), store.version
            async with running(shadow):
                await plane.passes(600)
            assert (store.version, await _states(plane)) == (version, before)
            last = {item["preemptor"]: item for item in reversed(shadowed.decisions(limit=1000))}
            outcomes = {unit: item["outcome"] for unit, item in last.items()}
            plans = {unit: (shadowed.decision(item["id"]) or {})["plan"] for unit, item in last.items()}
            victims = {unit: [victim["unit"] for victim in plan["victims"]] for unit, plan in plans.items()}
            assert outcomes["PodGroup/default/gang"] == "Preempt"
            assert victims["PodGroup/default/gang"] == ["Pod/default/low"]
            assert outcomes["Workload/default/large"] == "Preempt"
            assert victims["Workload/default/large"] == ["Workload/default/small"]
            if configured:
                assert outcomes["Pod/default/high"] == "Unschedulable", "its queue has no guarantee"
                assert (outcomes["Pod/default/ask"], victims["Pod/default/ask"]) == ("Preempt", ["Pod/default/low"])
            else:
                assert (outcomes["Pod/default/high"], victims["Pod/default/high"]) == ("Preempt", ["Pod/default/low"])
            shadowed.close()
        finally:
            history.close()
            store.close()

    run_virtually(main)


def test_it_finishes_nothing_that_another_has_begun() -> None:
    """Holds in the objects are for whoever acts: a shadow that starts tells no victim."""

    async def main(clock: Clock) -> None:
        store, history = EmbeddedStore.open(":memory:", clock, seed=1), History(":memory:", clock)
        plane = Plane(_Bare(store), clock)
        try:
            await plane.node("n1", cpu="1")
            await plane.priority("high", 100)
            running_pod = await plane.pod("low")
            await store.bind("low", "default", "n1")
            hold = (
                f'{{"preemptor":"Pod/default/high","victims":[{{"unit":"Pod/default/low","uid":"{running_pod.uid}"}}]}}'
            )
            await plane.pod("high", priority="high", annotations={"reprieve.scheduling/hold": hold})
            version = store.version
            shadow = Scheduler(store, clock, SETTINGS, history, names=ALL_NAMES, shadow=True)
            async with running(shadow):
                await plane.passes(60)
            assert store.version == version
        finally:
            history.close()
            store.close()

    run_virtually(main)


def test_a_shadow_counts_what_repeats_instead_of_filling_its_history() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.apply(job("too-large", cpu="5"))
        await plane.passes(4 * 3600)
        (decided,) = plane.plane.history.decisions(limit=100)
        assert decided["outcome"] == "Unschedulable"
        assert decided["times"] > 10

    live(story, shadow=True)


_PODS = next(resource for resource in RESOURCES.values() if resource.kind == "Pod")


class _Bare:
    """A store alone, where a whole control plane is expected."""

    def __init__(self, store: Any) -> None:
        self.store = store
