"""Nobody leaves who need not: until the first victim goes, a decision is taken back when it has become needless.

The store is far away, so that between a decision and its effects there is time for something to happen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Unavailable
from tests.planes.far import FarStore
from tests.planes.running import Plane, condition
from tests.scheduler.test_far_store import live_far_away


class SlowStore(FarStore):
    """Quick and reliable, but for the writes that a test holds up."""

    def __init__(self, store: EmbeddedStore, seed: object) -> None:
        super().__init__(store, seed, lost=0.0, slowest=0.01, held_up=0.0)
        self.marks = 0
        self.before_marking: Callable[[], Any] | None = None
        """Called once, before the first pod is marked."""
        self.deletes = True
        self.binds_within = 0.0
        self.binds_late = 0.0
        """Bindings are answered by nobody, and arrive after so many seconds."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name not in ("patch", "delete", "bind"):
            return found

        async def held_up(*args: Any, **options: Any) -> Any:
            if name == "patch" and args[0] == PODS and _marks(args):
                self.marks += 1
                await self._before_marking()
            if name == "delete" and not self.deletes:
                raise Unavailable("the line broke")
            if name == "bind" and self.binds_late:
                self._arrives_late(self.binds_late, found, args, options)
            await asyncio.sleep(self.binds_within if name == "bind" else 0)
            return await found(*args, **options)

        return held_up

    async def _before_marking(self) -> None:
        if self.before_marking is not None:
            before, self.before_marking = self.before_marking, None
            await before()


def _marks(args: tuple[Any, ...]) -> bool:
    conditions = args[3].get("status", {}).get("conditions", ())
    return any(each["type"] == "DisruptionTarget" and each["status"] == "True" for each in conditions)


async def two_full_nodes(plane: Plane, near: EmbeddedStore) -> None:
    """On `a` somebody who is about to end, on `b` somebody less important."""
    await plane.priority("high", 1000)
    await plane.priority("middle", 500)
    for node, priority in (("a", "high"), ("b", "")):
        await near.create(NODES, hollow_node(node, cpu="2"))
        await plane.pod(f"on-{node}", cpu="2", priority=priority)
        await plane.until(partial(bound, plane, f"on-{node}"))
        assert await plane.where(f"on-{node}") == node


async def bound(plane: Plane, name: str) -> bool:
    return bool(await plane.where(name))


def told_to_go(record: Any) -> bool:
    return condition(record, "DisruptionTarget").get("status") == "True"


def test_room_that_comes_free_before_the_victim_leaves_spares_it() -> None:
    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await two_full_nodes(plane, near)

        async def the_other_ends() -> None:
            await near.delete(PODS, "on-a", "default", grace=0)
            await asyncio.sleep(1)

        far.before_marking = the_other_ends
        await plane.pod("wants", cpu="2", priority="middle")
        await plane.until(lambda: bound(plane, "wants"))
        assert far.marks == 1
        assert await plane.where("wants") == "a"
        stays = await plane.record("on-b")
        assert "deletionTimestamp" not in stays.metadata
        assert not told_to_go(stays)
        assert await plane.events("Preempted") == []

    live_far_away(story, far_away=SlowStore)


def test_a_decision_of_which_nobody_has_left_yet_is_made_anew_when_a_write_fails() -> None:
    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await two_full_nodes(plane, near)

        async def the_line_breaks() -> None:
            asyncio.get_running_loop().call_later(0.5, end, near, "on-a")
            raise Unavailable("the line broke")

        far.before_marking = the_line_breaks
        await plane.pod("wants", cpu="2", priority="middle")
        await plane.until(lambda: bound(plane, "wants"))
        assert await plane.where("wants") == "a"
        assert not told_to_go(await plane.record("on-b"))

    live_far_away(story, far_away=SlowStore)


_ENDING: set[asyncio.Task[Any]] = set()


def end(near: EmbeddedStore, name: str) -> None:
    _ENDING.add(asyncio.ensure_future(near.delete(PODS, name, "default", grace=0)))


def test_nobody_leaves_while_changes_cannot_be_seen() -> None:
    async def story(plane: Plane, near: EmbeddedStore, _: SlowStore) -> None:
        await two_full_nodes(plane, near)
        cache = plane.plane.scheduler._mirror._caches[PODS]
        await plane.pod("wants", cpu="2", priority="middle")
        cache._watch.live = False
        await plane.passes(20)
        assert not told_to_go(await plane.record("on-b"))
        cache._watch.live = True
        await plane.until(lambda: bound(plane, "wants"))
        assert await plane.where("wants") == "b"

    live_far_away(story, far_away=SlowStore)
