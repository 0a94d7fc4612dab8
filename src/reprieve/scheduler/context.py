"""What carrying out a decision needs, whatever the policy: a store to write to, a clock, a mirror, somebody to tell."""

from __future__ import annotations

from typing import NamedTuple

from reprieve.model.clock import Clock
from reprieve.scheduler.events import EventKind, Recorder
from reprieve.scheduler.mirror import Mirror
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record


class Context(NamedTuple):
    """Given to all effects."""

    store: Store
    clock: Clock
    mirror: Mirror
    recorder: Recorder

    def absorb(self, record: Record) -> None:
        """What a write returned: the next decision sees it."""
        self.mirror.absorb(record)

    async def event(
        self, about: Record, kind: EventKind, reason: str, message: str, *, decision: int = 0, once: bool = False
    ) -> None:
        self.recorder.record(about, kind, reason, message, decision=decision, once=once)
