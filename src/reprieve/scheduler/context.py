"""What carrying out a decision needs, whatever the policy: a store to write to, a clock, a mirror, somebody to tell."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import NamedTuple, TypeVar

from reprieve.model.clock import Clock
from reprieve.scheduler.decision_log import DecisionLog
from reprieve.scheduler.events import EventKind, Recorder
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.writes import Writes
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record

Answer = TypeVar("Answer")


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


async def together(works: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """All of them at once, also when one fails; then that is raised. Their answers."""
    each = list(works)
    if len(each) == 1:  # mostly it is one, and needs no task of its own
        return [await each[0]]
    outcomes = await asyncio.gather(*each, return_exceptions=True)
    return [_answer(outcome) for outcome in outcomes]


def _answer(outcome: Answer | BaseException) -> Answer:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def annotations_of(record: Record) -> dict[str, str]:
    return record.metadata.get("annotations") or {}
