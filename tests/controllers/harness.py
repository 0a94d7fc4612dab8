"""What tests of controllers share: an agent that lets pods run, and stores that break at the worst moment."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import EVENTS, JOBS, NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually, timestamp
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Conflict, Expired, NotFound, StoreError, Unavailable
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Record, WatchEvent

Result = TypeVar("Result")
RUNS, EXITS = "test/runs", "test/exits"
_WRITES = ("create", "replace", "patch", "delete", "bind", "evict")


class Crash(BaseException):
    """The process is gone."""


class Mortal:
    """A store whose user dies after a number of writes: the last one is done, but its user does not learn of it."""

    def __init__(self, store: EmbeddedStore, lives: int, death: type[BaseException] = Crash) -> None:
        self._store = store
        self._lives = lives
        self._death = death
        self._dead = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return self._write(method) if name in _WRITES else method

    def _write(self, method: Callable[..., Awaitable[Record]]) -> Callable[..., Awaitable[Record]]:
        async def write(*arguments: Any, **named: Any) -> Record:
            if self._dead:
                raise Crash
            record = await method(*arguments, **named)
            self._lives -= 1
            if self._lives == 0:
                self._dead = self._death is Crash
                raise self._death("after the write was done")
            return record

        return write


class Agent:
    """Binds every pod, lets it run for the seconds it asks for, and ends it as it asks; deleted ones take a second."""

    def __init__(self, store: EmbeddedStore, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._pods: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        await self.store.create(NODES, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1000"}}})
        listing = await self.store.list(PODS)
        for record in listing.records:
            self._see(record)
        async for event in self.store.watch(PODS, listing.version):
            if event.type != "DELETED":
                self._see(event.record)

    def _see(self, pod: Record) -> None:
        leaving = "deletionTimestamp" in pod.metadata
        known = self._pods.get(pod.uid)
        if known is None or (leaving and known.get_name() == "live"):
            if known is not None:
                known.cancel()
            work = self._end(pod) if leaving else self._live(pod)
            self._pods[pod.uid] = asyncio.create_task(self._quietly(work), name="end" if leaving else "live")

    async def _quietly(self, work: Coroutine[Any, Any, None]) -> None:
        with suppress(NotFound, Conflict):
            await work

    async def _end(self, pod: Record) -> None:
        await asyncio.sleep(1)
        await self.store.delete(PODS, pod.name, pod.namespace, grace=0, uid=pod.uid)

    async def _live(self, pod: Record) -> None:
        said = pod.metadata.get("annotations", {})
        await asyncio.sleep(1)
        await self.store.bind(pod.name, pod.namespace, "n", uid=pod.uid)
        await self.report(pod, "Running", ready=True)
        if RUNS in said:
            await asyncio.sleep(float(said[RUNS]))
            await self.report(pod, "Failed" if said.get(EXITS, "0") != "0" else "Succeeded", ready=False)

    async def report(self, pod: Record, phase: str, *, ready: bool) -> None:
        now = timestamp(self.clock())
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}
        status: dict[str, Any] = {"phase": phase, "conditions": [condition]}
        if phase in ("Succeeded", "Failed"):
            status["containerStatuses"] = [{"name": "main", "state": {"terminated": {"finishedAt": now}}}]
        await self.store.patch(PODS, pod.name, pod.namespace, {"status": status}, subresource="status", uid=pod.uid)


def in_virtual_time(main: Callable[[EmbeddedStore, Clock], Coroutine[Any, Any, Result]], seed: int = 0) -> Result:
    """Run a test with a store in memory, on virtual time."""

    async def with_store(clock: Clock) -> Result:
        store = EmbeddedStore.open(":memory:", clock, seed=seed)
        try:
            return await main(store, clock)
        finally:
            store.close()

    return run_virtually(with_store)


@asynccontextmanager
async def running(*parts: Any) -> AsyncIterator[None]:
    """Controllers and agents at work; one that dies in the meantime is an error."""
    tasks = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 3600) -> None:
    """Wait until something is so; an hour of virtual time is enough for anything here."""
    for _ in range(int(seconds * 4)):
        if await condition():
            return
        await asyncio.sleep(0.25)
    raise AssertionError("it never came to be")


async def live_through_crashes(
    store: EmbeddedStore,
    start: Callable[[Any], Iterable[BaseController]],
    lives: Iterable[int],
    over: Callable[[], Awaitable[bool]],
) -> None:
    """Start controllers again and again; each time they die after some writes, until there are no more deaths."""
    for number in lives:
        if await over():
            return
        mortal = Mortal(store, number)
        tasks = [asyncio.create_task(part.run()) for part in start(mortal)]
        waiting = asyncio.create_task(until(over))
        await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, waiting):
            task.cancel()
        ends = await asyncio.gather(*tasks, waiting, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end
    async with running(*start(store)):
        await until(over)


class Unreachable(Mortal):
    """A store that is not reached after one write: it was done, but the answer was lost. Then all is well again."""

    def __init__(self, store: EmbeddedStore, lives: int) -> None:
        super().__init__(store, lives, Unavailable)


class Lagging:
    """A store as it is far away: watches tell late, and now and then they are lost, sometimes for too long."""

    def __init__(self, store: EmbeddedStore, lag: float, *, lost_after: int = 0, only: Resource | None = None) -> None:
        self._store = store
        self._lag = lag
        self._only = only
        self._lost_after = lost_after
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def watch(self, resource: Resource, since: int, namespace: str = "", *, signal: asyncio.Event) -> Watch:
        inner, outer = self._store.watch(resource, since, namespace), Watch(signal)
        waiting = deque(inner.take())
        lag = self._lag if self._only in (None, resource) else 0.0

        def arrive() -> None:
            if not outer.closed:
                outer.feed(waiting.popleft())
                left[0] -= 1
                if left[0] == 0:
                    self._lose(inner, outer)

        def feed(event: WatchEvent) -> None:
            waiting.append(event)
            asyncio.get_running_loop().call_later(lag, arrive)

        left = [self._lost_after]
        inner.feed = feed  # type: ignore[method-assign]
        for _ in waiting:
            asyncio.get_running_loop().call_later(lag, arrive)
        return outer

    def _lose(self, inner: Watch, outer: Watch) -> None:
        self.lost += 1
        inner.close()
        outer.fail(Expired("too old") if self.lost % 2 else Unavailable("the connection was lost"))


class Witness:
    """Sees every pod at every moment, and remembers the most that were active at once and all that ever succeeded."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._watch = store.watch(PODS, store.version)
        self._feed, self._watch.feed = self._watch.feed, self._see  # type: ignore[method-assign]
        self._active: set[str] = set()
        self.most = 0
        self.created: set[str] = set()
        self.succeeded: set[str] = set()

    def _see(self, event: WatchEvent) -> None:
        pod = event.record
        phase = pod.data.get("status", {}).get("phase")
        leaving = event.type == "DELETED" or "deletionTimestamp" in pod.metadata
        self.created.add(pod.uid)
        if phase == "Succeeded":
            self.succeeded.add(pod.uid)
        if leaving or phase in ("Succeeded", "Failed"):
            self._active.discard(pod.uid)
        else:
            self._active.add(pod.uid)
        self.most = max(self.most, len(self._active))


def template(*, runs: float | None = None, exits: int = 0, **spec: Any) -> dict[str, Any]:
    said = {RUNS: str(runs), EXITS: str(exits)} if runs is not None else {}
    containers = [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "metadata": {"annotations": said, "labels": {"app": "a"}},
        "spec": {"containers": containers, "terminationGracePeriodSeconds": 5, **spec},
    }


def job(name: str = "j", *, runs: float | None = 10, exits: int = 0, pods: Any = None, **spec: Any) -> dict[str, Any]:
    made = template(runs=runs, exits=exits, **(pods or {}))
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": made, **spec}}


async def pods_in(store: EmbeddedStore, namespace: str = "default") -> list[Record]:
    return (await store.list(PODS, namespace)).records


async def status_of(store: EmbeddedStore, resource: Resource, name: str, namespace: str = "default") -> dict[str, Any]:
    status: dict[str, Any] = (await store.get(resource, name, namespace)).data.get("status", {})
    return status


async def condition_of(store: EmbeddedStore, kind: str, name: str = "j", resource: Resource = JOBS) -> dict[str, Any]:
    conditions = (await status_of(store, resource, name)).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


async def exists(store: EmbeddedStore, resource: Resource, name: str, namespace: str = "default") -> bool:
    try:
        await store.get(resource, name, namespace)
    except StoreError:
        return False
    return True


async def told(store: EmbeddedStore) -> list[str]:
    """The reasons of all events, in the order in which they were written."""
    await asyncio.sleep(0.01)  # events are written when nothing is more urgent
    events = (await store.list(EVENTS)).records
    return [event.data["reason"] for event in sorted(events, key=lambda event: event.version)]
