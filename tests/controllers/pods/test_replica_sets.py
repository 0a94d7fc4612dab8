"""ReplicaSets and Deployments: always as many pods as wanted, and the right ones go."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from reprieve.controllers.garbage import GarbageCollector
from reprieve.controllers.pods.deployments import DeploymentController
from reprieve.controllers.pods.replica_sets import ReplicaSetController
from reprieve.manifests.kinds import DEPLOYMENTS, PODS, REPLICA_SETS, find_resource
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import Record
from tests.controllers.harness import (
    Agent,
    Lagging,
    Witness,
    condition_of,
    in_virtual_time,
    live_through_crashes,
    pods_in,
    running,
    status_of,
    template,
    told,
    until,
)


def replicas(number: int, name: str = "r", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": number,
            "selector": {"matchLabels": {"app": "a"}},
            "template": template(runs=spec.pop("runs", None), exits=spec.pop("exits", 0)),
            **spec,
        },
    }


async def active(store: EmbeddedStore) -> list[Record]:
    pods = await pods_in(store)
    return [
        pod
        for pod in pods
        if "deletionTimestamp" not in pod.metadata and pod.data["status"]["phase"] in ("Pending", "Running")
    ]


async def scale(store: EmbeddedStore, number: int, name: str = "r") -> None:
    await store.patch(REPLICA_SETS, name, "default", {"spec": {"replicas": number}})


def test_there_are_as_many_pods_as_wanted_and_the_status_says_so() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(ReplicaSetController(store, clock), Agent(store, clock)):
            made = await store.create(REPLICA_SETS, replicas(3))
            await asyncio.sleep(5)
            pods = await active(store)
            assert [pod.metadata["ownerReferences"][0]["uid"] for pod in pods] == [made.uid] * 3
            status = await status_of(store, REPLICA_SETS, "r")
            assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (3, 3, 3)
            assert status["observedGeneration"] == 1
            for number in (5, 2, 0, 4):
                await scale(store, number)
                await asyncio.sleep(3)
                assert len(await active(store)) == number
            assert witness.most == 5

    in_virtual_time(main)


def test_deleted_and_preempted_pods_are_replaced_at_once() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(ReplicaSetController(store, clock), Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(2))
            await asyncio.sleep(5)
            victim = (await active(store))[0]
            await store.delete(PODS, victim.name, "default")
            await asyncio.sleep(0.1)
            assert len(await active(store)) == 2
            assert len(await pods_in(store)) == 3, "the victim still leaves"

    in_virtual_time(main)


def test_pods_that_do_least_go_first_and_of_equal_ones_the_youngest() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(ReplicaSetController(store, clock), Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(1))
            await asyncio.sleep(5)
            oldest = (await active(store))[0].name
            await scale(store, 2)
            await asyncio.sleep(5)
            middle = next(pod.name for pod in await active(store) if pod.name != oldest)
            await scale(store, 3)
            await asyncio.sleep(0.1)
            await scale(store, 2)
            await asyncio.sleep(0.1)
            assert {pod.name for pod in await active(store)} == {oldest, middle}
            await scale(store, 1)
            await asyncio.sleep(0.1)
            assert {pod.name for pod in await active(store)} == {oldest}

    in_virtual_time(main)


def test_a_pod_is_available_when_it_has_been_ready_for_long_enough() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(ReplicaSetController(store, clock), Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(2, minReadySeconds=30))
            await asyncio.sleep(20)
            status = await status_of(store, REPLICA_SETS, "r")
            assert (status["readyReplicas"], status["availableReplicas"]) == (2, 0)
            await asyncio.sleep(15)
            assert (await status_of(store, REPLICA_SETS, "r"))["availableReplicas"] == 2

    in_virtual_time(main)


def test_pods_that_fail_are_replaced_slower_and_slower_and_do_not_pile_up() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(ReplicaSetController(store, clock), Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(1, runs=1, exits=1))
            await asyncio.sleep(3600)
            assert 5 < len(witness.created) < 40
            assert len(await pods_in(store)) < 10

    in_virtual_time(main)


def test_a_set_for_member_clusters_is_left_alone() -> None:
    policies = find_resource("clusterpropagationpolicies")
    assert policies is not None
    selectors = [{"apiVersion": "apps/v1", "kind": "ReplicaSet"}, {"apiVersion": "apps/v1", "kind": "Deployment"}]

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(policies, {"metadata": {"name": "p"}, "spec": {"resourceSelectors": selectors}})
        async with running(ReplicaSetController(store, clock), DeploymentController(store, clock)):
            await store.create(REPLICA_SETS, replicas(2))
            await store.create(DEPLOYMENTS, replicas(2, "d"))
            await asyncio.sleep(5)
            assert await pods_in(store) == []
            assert len((await store.list(REPLICA_SETS)).records) == 1

    in_virtual_time(main)


def test_pods_that_cannot_be_created_are_told() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(ReplicaSetController(store, clock)):
            manifest = replicas(1)
            manifest["spec"]["template"]["spec"]["priorityClassName"] = "nowhere"
            await store.create(REPLICA_SETS, manifest)
            await asyncio.sleep(1)
            assert "FailedCreate" in await told(store)

    in_virtual_time(main)


@pytest.mark.parametrize("seed", range(20))
def test_a_controller_that_dies_between_any_two_writes_never_makes_too_many(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)

        async def is_right() -> bool:
            status = await status_of(store, REPLICA_SETS, "r")
            return status.get("readyReplicas") == 6 == len(await active(store))

        async with running(Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(6))
            lives = [chance.randint(1, 4) for _ in range(10)]
            await live_through_crashes(store, lambda seen: [ReplicaSetController(seen, clock)], lives, is_right)
        assert (witness.most, len(witness.created)) == (6, 6)

    in_virtual_time(main, seed)


@pytest.mark.parametrize("lag", [0.0, 0.3, 2.5])
def test_a_watch_that_tells_late_or_is_lost_makes_no_pod_too_many(lag: float) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        far_away: Any = Lagging(store, lag, lost_after=5)
        async with running(ReplicaSetController(far_away, clock), Agent(store, clock)):
            await store.create(REPLICA_SETS, replicas(6))
            await asyncio.sleep(10)
            for _ in range(10):
                await store.delete(PODS, (await active(store))[0].name, "default")
                await asyncio.sleep(4)
            assert len(await active(store)) == 6
            assert (witness.most, len(witness.created)) == (6, 16)

    in_virtual_time(main)


def test_a_deployment_has_the_pods_of_its_template_as_it_is_now() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (DeploymentController(store, clock), ReplicaSetController(store, clock), GarbageCollector(store, clock))
        async with running(*parts, Agent(store, clock)):
            await store.create(DEPLOYMENTS, replicas(2, "d", revisionHistoryLimit=1))
            await asyncio.sleep(5)
            assert len(await active(store)) == 2
            assert (await condition_of(store, "Available", "d", DEPLOYMENTS))["status"] == "True"
            for image in ("one", "two", "three"):
                containers = [{"name": "main", "image": image}]
                change = {"spec": {"replicas": 3, "template": {"spec": {"containers": containers}}}}
                await store.patch(DEPLOYMENTS, "d", "default", change)
                await asyncio.sleep(10)
                assert [pod.data["spec"]["containers"][0]["image"] for pod in await pods_in(store)] == [image] * 3
            status = await status_of(store, DEPLOYMENTS, "d")
            assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (3, 3, 3)
            assert (status["unavailableReplicas"], status["observedGeneration"]) == (0, 4)
            assert len((await store.list(REPLICA_SETS)).records) == 2, "this one, and one to go back to"
            await store.delete(DEPLOYMENTS, "d", "default")
            await asyncio.sleep(10)
            assert await pods_in(store) == []

    in_virtual_time(main)


def test_an_earlier_template_finds_its_replica_set_again_and_an_orphan_its_owner() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        parts = (DeploymentController(store, clock), ReplicaSetController(store, clock), GarbageCollector(store, clock))
        async with running(*parts, Agent(store, clock)):
            await store.create(DEPLOYMENTS, replicas(2, "d"))
            await asyncio.sleep(5)
            before = {pod.uid for pod in await pods_in(store)}
            await store.delete(DEPLOYMENTS, "d", "default", propagation="Orphan")
            await asyncio.sleep(5)
            again = await store.create(DEPLOYMENTS, replicas(2, "d"))
            await asyncio.sleep(5)
            (found,) = (await store.list(REPLICA_SETS)).records
            assert found.metadata["ownerReferences"][0]["uid"] == again.uid
            assert {pod.uid for pod in await pods_in(store)} == before

    in_virtual_time(main)


def test_a_deployment_that_is_made_anew_waits_until_what_the_old_one_had_is_gone() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(DeploymentController(store, clock), ReplicaSetController(store, clock)):
            await store.create(DEPLOYMENTS, replicas(2, "d"))
            await asyncio.sleep(1)
            await store.delete(DEPLOYMENTS, "d", "default")
            again = await store.create(DEPLOYMENTS, replicas(2, "d"))
            await asyncio.sleep(1)
            async with running(GarbageCollector(store, clock)):

                async def is_anew() -> bool:
                    found = (await store.list(REPLICA_SETS)).records
                    return [each.metadata["ownerReferences"][0]["uid"] for each in found] == [again.uid]

                await until(is_anew, 120)

    in_virtual_time(main)
