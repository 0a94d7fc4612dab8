"""Pod disruption budgets: how many may go, as evictions see it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reprieve.controllers.pods.budgets import BudgetController
from reprieve.controllers.pods.deployments import DeploymentController
from reprieve.controllers.pods.replica_sets import ReplicaSetController
from reprieve.manifests.core import PodDisruptionBudgetSpec, desired_healthy
from reprieve.manifests.kinds import BUDGETS, DEPLOYMENTS, NODES, PODS, REPLICA_SETS
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import TooManyRequests
from tests.controllers.harness import Agent, condition_of, in_virtual_time, pods_in, running, status_of, template


def budget(selector: Any = None, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "a"}} if selector is None else selector
    return {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": selector, **spec}}


def replica_set(number: int, name: str = "r") -> dict[str, Any]:
    spec = {"replicas": number, "selector": {"matchLabels": {"app": "a"}}, "template": template()}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"min_available": 2}, 5, 2),
        ({"min_available": "50%"}, 5, 3),
        ({"min_available": "100%"}, 5, 5),
        ({"max_unavailable": 2}, 5, 3),
        ({"max_unavailable": 9}, 5, 0),
        ({"max_unavailable": "30%"}, 5, 3),
        ({"max_unavailable": "0%"}, 5, 5),
        ({}, 5, 5),
    ],
)
def test_how_many_have_to_stay(spec: Any, expected: int, desired: int) -> None:
    assert desired_healthy(PodDisruptionBudgetSpec(**spec), expected) == desired


def counts(status: dict[str, Any]) -> tuple[int, int, int, int]:
    return status["expectedPods"], status["desiredHealthy"], status["currentHealthy"], status["disruptionsAllowed"]


@pytest.mark.parametrize(
    ("spec", "selector", "want"),
    [
        ({"minAvailable": 3}, None, (4, 3, 4, 1)),
        ({"maxUnavailable": "50%"}, None, (4, 2, 4, 2)),
        ({"maxUnavailable": 1}, {}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, {"matchLabels": {"app": "other"}}, (0, 0, 0, 0)),
        ({"minAvailable": "100%"}, None, (4, 4, 4, 0)),
    ],
)
def test_the_status_counts_the_pods_that_are_selected(spec: Any, selector: Any, want: tuple[int, ...]) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (ReplicaSetController(store, clock), BudgetController(store, clock), Agent(store, clock))
        async with running(*parts):
            await store.create(BUDGETS, budget(selector, **spec))
            await store.create(REPLICA_SETS, replica_set(4))
            await asyncio.sleep(5)
            status = await status_of(store, BUDGETS, "b")
            assert counts(status) == want
            assert status["observedGeneration"] == 1
            allowed = await condition_of(store, "DisruptionAllowed", "b", BUDGETS)
            assert allowed["status"] == ("True" if want[3] else "False")

    in_virtual_time(main)


def test_expected_are_the_pods_that_controllers_are_to_have_and_lone_pods() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (DeploymentController(store, clock), ReplicaSetController(store, clock), BudgetController(store, clock))
        async with running(*parts, Agent(store, clock)):
            await store.create(BUDGETS, budget(maxUnavailable="25%"))
            await store.create(REPLICA_SETS, replica_set(4))
            await store.create(DEPLOYMENTS, replica_set(3, "d"))
            lone = {"metadata": {"name": "lone", "namespace": "default", "labels": {"app": "a"}}}
            await store.create(PODS, {**lone, "spec": template()["spec"]})
            await asyncio.sleep(5)
            assert counts(await status_of(store, BUDGETS, "b")) == (8, 6, 8, 2)
            await store.patch(DEPLOYMENTS, "d", "default", {"spec": {"replicas": 11}})
            await asyncio.sleep(0.1)
            assert counts(await status_of(store, BUDGETS, "b")) == (16, 12, 8, 0)
            await asyncio.sleep(5)
            assert counts(await status_of(store, BUDGETS, "b")) == (16, 12, 16, 4)

    in_virtual_time(main)


def test_evictions_are_allowed_one_after_the_other_as_pods_come_back() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (ReplicaSetController(store, clock), BudgetController(store, clock), Agent(store, clock))
        async with running(*parts):
            await store.create(BUDGETS, budget(maxUnavailable=1))
            await store.create(REPLICA_SETS, replica_set(3))
            await asyncio.sleep(5)
            for pod in await pods_in(store):
                await store.evict(pod.name, "default")
                other = next(each for each in await pods_in(store) if "deletionTimestamp" not in each.metadata)
                with pytest.raises(TooManyRequests):
                    await store.evict(other.name, "default")
                await asyncio.sleep(0.1)
                assert counts(await status_of(store, BUDGETS, "b")) == (3, 2, 2, 0)
                await asyncio.sleep(10)
                assert counts(await status_of(store, BUDGETS, "b")) == (3, 2, 3, 1)
                assert "disruptedPods" not in await status_of(store, BUDGETS, "b")

    in_virtual_time(main)


def test_an_eviction_of_which_nothing_is_seen_is_forgotten_after_two_minutes() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (ReplicaSetController(store, clock), BudgetController(store, clock), Agent(store, clock))
        async with running(*parts):
            await store.create(BUDGETS, budget(maxUnavailable=1))
            await store.create(REPLICA_SETS, replica_set(3))
            await asyncio.sleep(5)
            name = (await pods_in(store))[0].name
            status = {"disruptionsAllowed": 0, "disruptedPods": {name: "2026-01-01T00:00:05Z"}}
            await store.patch(BUDGETS, "b", "default", {"status": status}, subresource="status")
            await asyncio.sleep(110)
            assert counts(await status_of(store, BUDGETS, "b")) == (3, 2, 2, 0)
            await asyncio.sleep(15)
            assert counts(await status_of(store, BUDGETS, "b")) == (3, 2, 3, 1)

    in_virtual_time(main)


def test_a_changed_budget_is_counted_anew_and_a_quiet_one_is_not_written() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (ReplicaSetController(store, clock), BudgetController(store, clock), Agent(store, clock))
        async with running(*parts):
            await store.create(BUDGETS, budget(maxUnavailable=1))
            await store.create(REPLICA_SETS, replica_set(3))
            await asyncio.sleep(5)
            await store.patch(BUDGETS, "b", "default", {"spec": {"maxUnavailable": 2}})
            await asyncio.sleep(0.1)
            status = await status_of(store, BUDGETS, "b")
            assert (counts(status), status["observedGeneration"]) == ((3, 1, 3, 2), 2)
            version = store.version
            await store.patch(NODES, "n", "", {"metadata": {"labels": {"a": "b"}}})
            await asyncio.sleep(600)
            assert store.version == version + 1

    in_virtual_time(main)
