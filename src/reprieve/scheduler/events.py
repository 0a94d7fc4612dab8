"""Kubernetes Events: what happened to an object, and why, for people to read.

The same thing said again about the same object is counted, not repeated. Nobody waits for an event to be written: they
are kept until there is nothing more urgent to do.
"""

import hashlib
import logging
from collections import OrderedDict, deque
from datetime import datetime
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
_DEFAULT = "default"


class _Said(NamedTuple):
    """An event before it is written."""

    about: Record
    kind: EventKind
    reason: str
    message: str
    at: datetime
    decision: int
    once: bool


class Recorder:
    """Writes events. Losing one is no reason to stop: what could not be written is logged."""

    def __init__(self, store: Store, clock: Clock, component: str = "reprieve") -> None:
        self._store = store
        self._clock = clock
        self._component = component
        self._known: OrderedDict[str, int] = OrderedDict()
        self._kept: deque[_Said] = deque()

    def __len__(self) -> int:
        """How many events are still to be written."""
        return len(self._kept)

    def record(
        self, about: Record, kind: EventKind, reason: str, message: str, *, decision: int = 0, once: bool = False
    ) -> None:
        """Say something about an object; `once`: what goes on for long is not said again and again."""
        self._kept.append(_Said(about, kind, reason, message, self._clock(), decision, once))

    async def write(self, most: int) -> None:
        """Write some of what has been said, the oldest first."""
        for _ in range(min(most, len(self._kept))):
            said = self._kept.popleft()
            try:
                await self._write(said)
            except StoreError as error:
                _log.warning("an event about %s could not be written: %s", said.about.unit, error)

    async def _write(self, said: _Said) -> None:
        about = said.about
        identity = f"{about.unit}\0{about.uid}\0{said.kind}\0{said.reason}\0{said.message}"
        name = f"{about.name[:200]}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        if said.once and name in self._known:
            return
        if not (name in self._known and await self._count(name, about, said.at)):
            await self._create(name, about, said.kind, said.reason, said.message, said.at, said.decision)

    async def _count(self, name: str, about: Record, now: datetime) -> bool:
        """One more of what was said before; False when the store has forgotten it."""
        count = self._known[name] + 1
        try:
            patch = {"count": count, "lastTimestamp": timestamp(now)}
            await self._store.patch(EVENTS, name, about.namespace or _DEFAULT, patch)
        except NotFound:
            del self._known[name]
            return False
        self._remember(name, count)
        return True

    async def _create(
        self, name: str, about: Record, kind: EventKind, reason: str, message: str, now: datetime, decision: int
    ) -> None:
        metadata: dict[str, Any] = {"name": name, "namespace": about.namespace or _DEFAULT}
        if decision:
            metadata["annotations"] = {DECISION: str(decision)}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": reference(about),
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
            known = await self._store.get(EVENTS, name, about.namespace or _DEFAULT)
            self._remember(name, int(known.data.get("count", 1)))
            await self._count(name, about, now)

    def _remember(self, name: str, count: int) -> None:
        self._known[name] = count
        self._known.move_to_end(name)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def reference(about: Record) -> dict[str, str]:
    """How an event names the object it is about."""
    named = {
        "apiVersion": about.data["apiVersion"],
        "kind": about.resource.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": str(about.version),
    }
    return {key: value for key, value in named.items() if value}
