"""When room appears, the most important of those whom it could help gets it, however often it failed before."""

from __future__ import annotations

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kinds import DEPLOYMENTS, PODS
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.builders.pods import priority_class
from tests.planes.laws import Eye
from tests.planes.running import Plane, live

BINDINGS = Settings(
    validate=True, feature_gates={"PriorityBasedScheduling": True, "PriorityBasedPreemptiveScheduling": True}
)
A_MOMENT = 0.5


async def _classes(plane: Plane) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)


async def _tries(plane: Plane, times: int) -> None:
    """Things happen that could help somebody, and do not."""
    for number in range(times):
        await plane.pod(f"passing-{number}", cpu="100m", run=0.2)
        await plane.passes(0.4)


@pytest.mark.parametrize("tries", [0, 1, 8, 30])
def test_a_pod_that_failed_often_gets_the_room_before_one_that_arrives_later(tries: int) -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="2")
        await plane.pod("keeps", cpu="1800m", priority="high")
        await plane.passes(1)
        await plane.pod("waits", cpu="1800m", priority="middle")
        await _tries(plane, tries)
        eye = Eye(plane.plane.store)
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.pod("late", cpu="1800m", priority="low")
        await plane.passes(A_MOMENT)
        assert await plane.where("waits") == "n1"
        assert not eye.evictions

    live(story)


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.049, 0.051])
def test_whoever_arrives_a_moment_after_the_room_does_not_overtake(delay: float) -> None:
    """Something else happened just before, so that those who wait were looked through just before."""

    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="2")
        await plane.pod("keeps", cpu="1500m", priority="high")
        await plane.pod("small", cpu="100m")
        await plane.passes(1)
        await plane.pod("waits", cpu="1500m", priority="middle")
        await plane.passes(1)
        await plane.store.delete(PODS, "small", "default", grace=0)
        await plane.passes(0.001)
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.passes(delay)
        await plane.pod("late", cpu="1500m", priority="low")
        eye = Eye(plane.plane.store)
        await plane.passes(A_MOMENT)
        assert await plane.where("waits") == "n1"
        assert not eye.evictions, "nobody had to leave: there was room for the one that waited first"

    live(story)


def test_a_binding_that_failed_often_gets_the_room_before_a_later_one() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(hollow_cluster("m1", {"cpu": "4"}))
        for tier, value in (("low", 1), ("high", 100)):
            await plane.apply(priority_class(tier, value))
            made = federated.policy(tier, kind="Deployment", scheduling=federated.DIVIDED)
            await plane.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
        await plane.passes(5)

        async def deploy(name: str, cpu: str, tier: str) -> None:
            made = federated.deployment(name, cpu=cpu, replicas=1, tier=tier)
            await plane.apply({"apiVersion": "apps/v1", "kind": "Deployment", **made})

        await deploy("keeps", "4", "high")
        await plane.passes(5)
        await deploy("waits", "4", "high")
        for number in range(6):
            await deploy(f"small-{number}", "5", "low")
            await plane.passes(2)
        for number in range(6):
            await plane.store.delete(DEPLOYMENTS, f"small-{number}", "default")
            await plane.passes(2)
        await plane.store.delete(DEPLOYMENTS, "keeps", "default")
        await plane.passes(2)
        await deploy("late", "4", "low")
        await plane.passes(5)
        assert (await plane.binding("waits")).data["spec"].get("clusters")
        assert not (await plane.binding("late")).data["spec"].get("clusters")

    live(story, BINDINGS)
