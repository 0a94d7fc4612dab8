"""Quotas over pods that are there already: they are counted while others go on, and nobody gets in before that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.kinds import PODS, RESOURCE_QUOTAS
from reprieve.stores.api import resource_quotas
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Forbidden
from tests.stores.embedded.scene import Scene, pod


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_quotas, "_AT_A_TIME", 1)


def quota(pods: int, name: str = "few", **hard: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"hard": {"pods": str(pods), **hard}}}


async def let_in(store: EmbeddedStore, name: str) -> bool:
    """Whether there was room for one more."""
    try:
        await store.create(PODS, pod(name))
    except Forbidden:
        return False
    return True


def test_others_have_their_turn_while_pods_are_counted(scene: Scene) -> None:
    for number in range(50):
        scene.create(PODS, pod(f"p{number}"))
    scene.create(RESOURCE_QUOTAS, quota(51))

    async def turns() -> int:
        made = asyncio.create_task(let_in(scene.store, "new"))
        number = 0
        while not made.done():
            await asyncio.sleep(0)
            number += 1
        assert made.result()
        return number

    assert asyncio.run(turns()) >= 50
    assert scene.names(PODS, "default")[:1] == ["new"]


def test_of_many_that_come_while_pods_are_counted_no_more_get_in_than_there_is_room_for(scene: Scene) -> None:
    for number in range(20):
        scene.create(PODS, pod(f"p{number}"))
    scene.create(RESOURCE_QUOTAS, quota(23))

    async def all_together() -> list[bool]:
        return await asyncio.gather(*(let_in(scene.store, f"new-{number}") for number in range(10)))

    assert sorted(asyncio.run(all_together())) == [False] * 7 + [True] * 3
    assert len(scene.names(PODS, "default")) == 23


def test_a_quota_that_is_replaced_while_pods_are_counted_is_counted_anew(scene: Scene) -> None:
    for number in range(20):
        scene.create(PODS, pod(f"p{number}"))
    scene.create(RESOURCE_QUOTAS, quota(100))

    async def replaced() -> bool:
        coming = asyncio.create_task(let_in(scene.store, "new"))
        await asyncio.sleep(0)
        await scene.store.patch(RESOURCE_QUOTAS, "few", "default", {"spec": {"hard": {"pods": "20"}}})
        return await coming

    assert not asyncio.run(replaced())


def test_one_who_applies_a_new_pod_waits_as_well(scene: Scene) -> None:
    for number in range(3):
        scene.create(PODS, pod(f"p{number}"))
    scene.create(RESOURCE_QUOTAS, quota(3))
    data = {"apiVersion": "v1", "kind": "Pod", **pod("new")}
    with pytest.raises(Forbidden, match="used: pods=3, limited: pods=3"):
        asyncio.run(scene.store.patch(PODS, "new", "default", data, "apply"))


def test_a_pod_that_has_ended_uses_nothing_and_is_still_one(scene: Scene) -> None:
    scene.create(PODS, pod("over"))
    scene.status(PODS, "over", {"phase": "Succeeded"})
    scene.create(RESOURCE_QUOTAS, quota(1, **{"count/pods": "2"}))
    assert asyncio.run(let_in(scene.store, "new"))
    with pytest.raises(Forbidden, match="used: count/pods=2,pods=1, limited: count/pods=2,pods=1"):
        scene.create(PODS, pod("third"))


Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["make", "delete", "end", "limit", "turn"]), st.integers(0, 9)), max_size=40)


@given(STEPS)
def test_law_a_quota_is_never_exceeded_by_a_pod_that_comes_after_it(steps: list[Step]) -> None:
    with Scene() as scene:
        asyncio.run(_live(scene, steps))


async def _live(scene: Scene, steps: list[Step]) -> None:
    for number in range(6):
        scene.create(PODS, pod(f"old-{number}"))
    coming: list[asyncio.Task[None]] = []
    for step, (verb, number) in enumerate(steps):
        names = scene.names(PODS, "default")
        name = names[number % len(names)] if names else ""
        if verb == "make":
            coming.append(asyncio.create_task(_make(scene, f"new-{step}")))
        elif verb == "limit":
            data = {"apiVersion": "v1", "kind": "ResourceQuota", **quota(number)}
            await scene.store.patch(RESOURCE_QUOTAS, "few", "default", data, "apply")
        elif verb == "delete" and name:
            await scene.store.delete(PODS, name, "default", grace=0)
        elif verb == "end" and name:
            await scene.store.patch(PODS, name, "default", {"status": {"phase": "Succeeded"}}, subresource="status")
        else:
            await asyncio.sleep(0)
    await asyncio.gather(*coming)


async def _make(scene: Scene, name: str) -> None:
    """One that gets in counts for what is allowed at that very moment; one that does not would have been too much."""
    made = await let_in(scene.store, name)
    quotas = (await scene.store.list(RESOURCE_QUOTAS, "default")).records
    pods = (await scene.store.list(PODS, "default")).records
    using = sum(each.manifest.status.phase not in ("Succeeded", "Failed") for each in pods)
    for each in quotas:
        allowed = int(each.data["spec"]["hard"]["pods"])
        assert using <= allowed if made else using + 1 > allowed
    assert made or quotas
