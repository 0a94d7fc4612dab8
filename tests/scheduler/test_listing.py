"""A kind of others that cannot be listed, or takes for ever: pods are none of its business, and quota waits for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reprieve.control_plane import ControlPlane
from reprieve.manifests.kinds import CLUSTER_QUEUES, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Unavailable
from reprieve.stores.records import Listing
from tests.planes.patience import patience
from tests.planes.running import SETTINGS, Plane, condition
from tests.scheduler.quota.companies import company, work


class Withholding:
    """One kind cannot be listed for as long as it is `withheld`."""

    def __init__(self, store: EmbeddedStore, withheld: Resource, how: str) -> None:
        self._store = store
        self.withheld: Resource | None = withheld
        self._how = how

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def list(self, resource: Resource, *where: Any, **options: Any) -> Listing:
        if resource is self.withheld:
            if self._how == "hangs":
                await self._is_given()
            elif self._how == "fails":
                raise Unavailable("conversion webhook failed")
            else:
                raise ValueError("nobody has thought of this")
        return await self._store.list(resource, *where, **options)

    async def _is_given(self) -> None:
        while self.withheld is not None:
            await asyncio.sleep(1.0)


@pytest.mark.parametrize("how", ["fails", "hangs", "surprises"])
def test_a_kind_that_cannot_be_listed_holds_up_nobody_else(how: str) -> None:
    async def main(clock: Clock) -> None:
        near = EmbeddedStore.open(":memory:", clock, seed=7)
        store = Withholding(near, CLUSTER_QUEUES, how)
        history = History(":memory:", clock)
        plane = Plane(ControlPlane(store, history, clock, SETTINGS), clock)
        plane.store = near
        await plane.plane.start()
        try:
            await company(plane, team={"cpu": 4})
            await plane.apply(work("work", "team", replicas=1, run=60))
            await plane.pod("alone", cpu="1")
            await plane.passes(15)
            assert await plane.where("alone")
            assert condition(await plane.workload("work"), "QuotaReserved") == {}
            await plane.passes(120)
            store.withheld = None
            await plane.passes(60)
            assert condition(await plane.workload("work"), "QuotaReserved")["status"] == "True"
        finally:
            await plane.plane.stop()
            history.close()
            near.close()

    with patience(120):
        run_virtually(main)


def test_pods_themselves_are_waited_for() -> None:
    async def main(clock: Clock) -> None:
        near = EmbeddedStore.open(":memory:", clock, seed=7)
        store = Withholding(near, PODS, "fails")
        history = History(":memory:", clock)
        plane = ControlPlane(store, history, clock, SETTINGS)
        await plane.start()
        await asyncio.sleep(30)
        ready = [plane.ready]
        store.withheld = None
        await asyncio.sleep(30)
        ready.append(plane.ready)
        await plane.stop()
        history.close()
        near.close()
        assert ready == [False, True]

    with patience(120):
        run_virtually(main)
