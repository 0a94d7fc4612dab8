"""Plays a scenario on any store, and says in what it did not end as it should."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from reprieve.manifests.kinds import BUDGETS, EVENTS, find_resource, resource_of
from reprieve.manifests.resource import Resource
from reprieve.stores.protocol import Store
from tests.scenarios.observing import (
    Wanted,
    differences,
    pairs,
    placed,
    preempted_in,
    same_preemption,
    was_told,
)
from tests.scenarios.scenario import Manifest, Scenario, Step, manifests

PATIENCE = 40.0
EVERY = 0.1
REST = 1.0
"""What was reached must still be so after this."""


class Stage(Protocol):
    """What differs between stores: who plays the nodes, and where decisions are told."""

    store: Store

    async def make(self, resource: Resource, manifest: Manifest) -> None:
        """Create an object, so that somebody here looks after it."""
        ...

    async def preemptions(self) -> list[dict[str, Any]]:
        """Decisions to preempt, as the history tells them."""
        ...


class Player:
    """One scenario, in a namespace of its own, by the time of the event loop that it runs on."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        self._stage = stage
        self._store = stage.store
        self._scenario = scenario
        self._namespace = scenario.name

    async def play(self) -> None:
        for number, step in enumerate(self._scenario.steps, 1):
            await self._take(step, f"step {number}")
        await self._wait_for(self._unlike_outcome, "the end")
        await asyncio.sleep(REST)
        unlike = await self._unlike_outcome()
        assert not unlike, _told(self._scenario, "the end did not last", unlike)

    async def _take(self, step: Step, where: str) -> None:
        for manifest in manifests(step):
            resource = resource_of(manifest["apiVersion"], manifest["kind"])
            assert resource is not None, manifest
            await self._stage.make(resource, _in_namespace(manifest, resource, self._namespace))
        for unit, change in step.patch.items():
            await self._store.patch(*self._address(unit), change)
        for unit in step.delete:
            await self._store.delete(*self._address(unit))
        if step.until:
            await self._wait_for(lambda: self._unlike(step.until, all_of_them=False), where)
        if step.counted:
            await self._wait_for(lambda: self._uncounted(step.counted), where)

    def _address(self, unit: str) -> tuple[Resource, str, str]:
        kind, _, name = unit.partition("/")
        resource = find_resource(kind)
        assert resource is not None, unit
        return resource, name, self._namespace if resource.namespaced else ""

    async def _wait_for(self, unlike: Callable[[], Awaitable[list[str]]], where: str) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while found := await unlike():
            assert loop.time() < end, _told(self._scenario, where, found)
            await asyncio.sleep(EVERY)

    async def _unlike(self, wanted: Wanted, *, all_of_them: bool) -> list[str]:
        return differences(wanted, await placed(self._store, self._namespace), all_of_them=all_of_them)

    async def _uncounted(self, wanted: Mapping[str, int]) -> list[str]:
        found = {record.name: record.data for record in (await self._store.list(BUDGETS, self._namespace)).records}
        healthy = {name: found[name].get("status", {}).get("currentHealthy") for name in wanted}
        return [] if healthy == wanted else [f"healthy pods: wanted {wanted}, found {healthy}"]

    async def _unlike_outcome(self) -> list[str]:
        unlike = await self._unlike(self._scenario.outcome, all_of_them=True)
        return unlike or [*await self._unlike_preemptions(), *await self._untold()]

    async def _unlike_preemptions(self) -> list[str]:
        found = preempted_in(await self._stage.preemptions(), self._namespace)
        wanted = self._scenario.preempted
        return [] if pairs(wanted, found, same_preemption) else [f"preempted: wanted {wanted}, found {found}"]

    async def _untold(self) -> list[str]:
        events = (await self._store.list(EVENTS, self._namespace)).records
        missing = [each for each in self._scenario.events if not was_told(each, events)]
        heard = [(each.data["involvedObject"]["name"], each.data["reason"], each.data["message"]) for each in events]
        return [f"not told: {each}; but {heard}" for each in missing]


def _in_namespace(manifest: Manifest, resource: Resource, namespace: str) -> Manifest:
    where = {"namespace": namespace} if resource.namespaced else {}
    return {**manifest, "metadata": {**manifest["metadata"], **where}}


def _told(scenario: Scenario, where: str, unlike: list[str]) -> str:
    return "\n  ".join([f"{scenario.name}, {where}:", *unlike])
