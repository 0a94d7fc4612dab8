"""Whoever was put off, because something about it is on its way to the store, is decided for again, and told."""

from __future__ import annotations

import asyncio
from typing import Any

from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.stores.embedded.store import EmbeddedStore
from tests.planes.far import FarStore
from tests.planes.running import Plane, condition
from tests.scheduler.quota.companies import company, work
from tests.scheduler.test_far_store import live_far_away


class SlowWords(FarStore):
    """To tell a workload that it waits for those before it takes two seconds."""

    def __init__(self, store: EmbeddedStore, seed: object) -> None:
        super().__init__(store, seed, lost=0.0, slowest=0.01)
        self.told = 0

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name != "patch":
            return found

        async def patch(*args: Any, **options: Any) -> Any:
            says = [each.get("message", "") for each in args[3].get("status", {}).get("conditions", ())]
            if args[0] == QUOTA_WORKLOADS and any("for those before it" in message for message in says):
                self.told += 1
                await asyncio.sleep(2)
            return await found(*args, **options)

        return patch


def test_a_workload_says_what_holds_now_also_when_its_last_words_took_long() -> None:
    async def story(plane: Plane, _: EmbeddedStore, far: SlowWords) -> None:
        await company(plane, team={"cpu": 4, "within": "LowerPriority"})
        await plane.apply(work("v", "team", replicas=4, priority="low", leaves=0.5))
        await plane.passes(5)
        await plane.apply(work("first", "team", replicas=4, priority="high"))
        await plane.apply(work("second", "team", replicas=4, priority="middle"))
        await plane.passes(1000)
        assert far.told > 0
        assert "for those before" not in condition(await plane.workload("second"), "QuotaReserved")["message"]

    live_far_away(story, far_away=SlowWords)
