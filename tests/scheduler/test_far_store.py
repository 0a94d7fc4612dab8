"""With a store far away, decisions go on while others are on their way, and come to rest as well.

The random lives of `test_loops`, over a store that takes its time, lags behind and loses writes and answers: until
everything rests no node is ever given more than it has and nobody a second node, and then nobody waits who could be
helped.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.control_plane import ControlPlane
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.stores.embedded.store import EmbeddedStore
from tests.generators.planes import POLICIES, life
from tests.planes.far import FarStore
from tests.planes.laws import Eye
from tests.planes.patience import patience
from tests.planes.rest import what_is_wrong
from tests.planes.running import SETTINGS, Plane

LIVES = int(os.environ.get("REPRIEVE_LIVES", "10"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 10
_LONGEST_UNREST = 3600.0


def live_far_away(
    story: Callable[[Plane, EmbeddedStore, Any], Awaitable[Any]],
    settings: Any = None,
    *,
    seed: int = 0,
    far_away: Callable[[EmbeddedStore, object], FarStore] = FarStore,
) -> Any:
    async def main(clock: Clock) -> Any:
        near = EmbeddedStore.open(":memory:", clock, seed=7)
        far = far_away(near, seed)
        history = History(":memory:", clock)
        plane = ControlPlane(far, history, clock, settings or SETTINGS, at_once=16)
        alive = Plane(plane, clock)
        alive.store = near
        await plane.start()
        try:
            return await story(alive, near, far)
        finally:
            await plane.stop()
            history.close()
            near.close()

    with patience(120):
        return run_virtually(main)


def _live_through(policy: str, seed: int) -> int:
    upsets = seed % 3 == 1
    made = life(policy, seed, upsets=upsets)

    async def story(plane: Plane, near: EmbeddedStore, far: FarStore) -> tuple[list[str], int]:
        eye = Eye(near)
        await made.begin(plane)
        await plane.passes(300)
        far.calm = True
        await plane.rests(within=_LONGEST_UNREST)
        return await what_is_wrong(plane, eye), eye.evictions.total()

    faults, evictions = live_far_away(story, made.settings, seed=seed)
    # A node may shrink while a pod is on its way to it: no API server looks, and the node's own agent sends it away.
    faults = [fault for fault in faults if not (upsets and "over its capacity" in fault)]
    assert faults == [], f"{policy} {seed}: {faults}"
    return int(evictions)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
@pytest.mark.parametrize("policy", POLICIES)
def test_every_life_comes_to_rest_over_a_store_that_is_far_away(policy: str, batch: int) -> None:
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        _live_through(policy, seed)
