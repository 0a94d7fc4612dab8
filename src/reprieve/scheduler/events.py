"""Kubernetes Events: what happened to an object, and why, for people to read.

The same thing said again about the same object is counted, not repeated. Nobody waits for an event to be written: they
are kept until there is nothing more urgent to do. With a store far away they are written beside everything else:

1. while decisions are on their way, which need the server more, they wait; those that have waited for long are written
   one at a time;
2. several at once when none is on its way, or when thousands are kept;
3. when more is said than can be written, the oldest are lost.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from reprieve.manifests.kinds import EVENTS
from reprieve.model.clock import Clock, timestamp
from reprieve.stores.errors import NotFound, StoreError
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record

_log = logging.getLogger(__name__)

EventKind = Literal["Normal", "Warning"]
DECISION = "reprieve.scheduling/decision"
_REMEMBERED = 4096
_LONGEST_NAME = 200
_DEFAULT = "default"
_MOST_WRITERS = 4
_MOST_WHILE_BUSY = 20_000
"""Events that may wait for decisions which are on their way."""
_MOST_KEPT = 50_000
"""About 1 KB each: the most that is said in a burst of 5,000 preemptors is kept until somebody has time to write it."""
_LONGEST_WAIT = timedelta(seconds=15)
"""How long an event waits for decisions that are on their way."""


class _About(NamedTuple):
    """What is needed of an object to tell of it: thousands may wait, so nobody keeps the objects themselves."""

    unit: str
    uid: str
    name: str
    namespace: str
    reference: dict[str, str]

    @classmethod
    def of(cls, record: Record) -> "_About":
        return cls(record.unit, record.uid, record.name, record.namespace or _DEFAULT, _reference(record))


class _Said(NamedTuple):
    """An event before it is written."""

    about: _About
    kind: EventKind
    reason: str
    message: str
    at: datetime
    decision: int
    once: bool


class Recorder:
    """Writes events. Losing one is no reason to stop: what could not be written is logged."""

    def __init__(self, store: Store, clock: Clock, component: str = "reprieve", *, at_once: int = 1) -> None:
        self._store = store
        self._clock = clock
        self._component = component
        self._known: OrderedDict[str, int] = OrderedDict()
        self._kept: deque[_Said] = deque(maxlen=_MOST_KEPT if at_once > 1 else None)
        self._writers: set[asyncio.Task[None]] = set()
        self._most_writers = self._wanted = min(at_once, _MOST_WRITERS)

    def __len__(self) -> int:
        """How many events are still to be written."""
        return len(self._kept)

    def record(
        self, about: Record, kind: EventKind, reason: str, message: str, *, decision: int = 0, once: bool = False
    ) -> None:
        """Say something about an object; `once`: what goes on for long is not said again and again."""
        self._kept.append(_Said(_About.of(about), kind, reason, message, self._clock(), decision, once))

    async def write(self, most: int, *, busy: bool = False) -> None:
        """Write some of what has been said, the oldest first; or see to it that it is being written. `busy`: decisions
        are on their way to the store."""
        if self._most_writers == 1:
            return await self._write_some(most)
        self._wanted = self._writers_while_busy() if busy else self._most_writers
        while self._kept and len(self._writers) < self._wanted:
            writer = asyncio.create_task(self._write_all())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
            await asyncio.sleep(0)

    def _writers_while_busy(self) -> int:
        if len(self._kept) > _MOST_WHILE_BUSY:
            return self._most_writers
        return int(bool(self._kept) and self._clock() - self._kept[0].at > _LONGEST_WAIT)

    async def finish(self) -> None:
        """Write all that has been said."""
        await self._write_some(len(self._kept))
        await asyncio.gather(*self._writers)

    async def _write_all(self) -> None:
        while self._kept and len(self._writers) <= self._wanted:
            await self._write_some(1)

    async def _write_some(self, most: int) -> None:
        for _ in range(most):
            if not self._kept:
                return
            said = self._kept.popleft()
            try:
                await self._write(said)
            except StoreError as error:
                _log.warning("an event about %s could not be written: %s", said.about.unit, error)

    async def _write(self, said: _Said) -> None:
        about = said.about
        identity = f"{about.unit}\0{about.uid}\0{said.kind}\0{said.reason}\0{said.message}"
        name = f"{about.name[:_LONGEST_NAME].rstrip('-.')}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        if said.once and name in self._known:
            return
        if not (name in self._known and await self._count(name, about, said.at)):
            await self._create(name, about, said.kind, said.reason, said.message, said.at, said.decision)

    async def _count(self, name: str, about: _About, now: datetime) -> bool:
        """One more of what was said before; False when the store has forgotten it."""
        count = self._known[name] + 1
        try:
            patch = {"count": count, "lastTimestamp": timestamp(now)}
            await self._store.patch(EVENTS, name, about.namespace, patch)
        except NotFound:
            del self._known[name]
            return False
        self._remember(name, count)
        return True

    async def _create(
        self, name: str, about: _About, kind: EventKind, reason: str, message: str, now: datetime, decision: int
    ) -> None:
        metadata: dict[str, Any] = {"name": name, "namespace": about.namespace}
        if decision:
            metadata["annotations"] = {DECISION: str(decision)}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": about.reference,
            "type": kind,
            "reason": reason,
            "message": message[:1024],
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": timestamp(now),
            "lastTimestamp": timestamp(now),
            "count": 1,
        }
        try:
            await self._store.create(EVENTS, event)
            self._remember(name, 1)
        except StoreError as error:
            if error.reason != "AlreadyExists":
                raise
            known = await self._store.get(EVENTS, name, about.namespace)
            self._remember(name, _count_in(known.data))
            await self._count(name, about, now)

    def _remember(self, name: str, count: int) -> None:
        self._known[name] = count
        self._known.move_to_end(name)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _count_in(event: dict[str, Any]) -> int:
    """How often it was said: in the older form a number, in the newer one a series, once there was more than one."""
    return int(event.get("count") or (event.get("series") or {}).get("count") or 1)


def _reference(about: Record) -> dict[str, str]:
    """How an event names the object it is about."""
    named = {
        "apiVersion": about.api_version,
        "kind": about.resource.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": str(about.version),
    }
    return {key: value for key, value in named.items() if value}
