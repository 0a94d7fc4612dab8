"""What carrying out a decision needs, whatever the policy: a store to write to, a clock, a mirror, somebody to tell."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple

from reprieve.model.clock import Clock
from reprieve.scheduler.decision_log import DecisionLog
from reprieve.scheduler.events import EventKind, Recorder
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.writes import Writes
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record


class Context(NamedTuple):
    """Given to all effects."""

    store: Store
    clock: Clock
    mirror: Mirror
    recorder: Recorder
    log: DecisionLog
    writes: Writes

    def absorb(self, record: Record) -> None:
        """What a write returned: the next decision sees it."""
        self.mirror.absorb(record)

    async def event(
        self, about: Record, kind: EventKind, reason: str, message: str, *, decision: int = 0, once: bool = False
    ) -> None:
        self.recorder.record(about, kind, reason, message, decision=decision, once=once)


async def together(works: Iterable[Awaitable[Any]]) -> None:
    """All of them at once, also when one fails; then that is raised."""
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def annotations_of(record: Record) -> dict[str, str]:
    return record.metadata.get("annotations") or {}
