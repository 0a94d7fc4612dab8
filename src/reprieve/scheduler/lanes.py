"""What the loop asks of whoever decides for some kind of units: a lane. The loop itself knows no policy.

A lane is made once for a scheduler (see `registry`). It is told every change of every object, puts those of its units
that wait into the one scheduling queue, and takes their turns when the queue says so.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from prometheus_client import CollectorRegistry

from reprieve.policies.registry import Policies
from reprieve.scheduler.context import Context
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.world import World

Helps = Callable[[str], bool]
"""Whether what has happened could help a unit that waits."""


class Services(NamedTuple):
    """What the loop gives to every lane."""

    context: Context
    queue: SchedulingQueue
    policies: Policies
    names: frozenset[str]
    """The schedulers whose units are this one's to place."""
    elapsed: Callable[[], float]
    """Seconds on a clock that nobody can set."""
    registry: CollectorRegistry
    """Where a lane counts what is its own."""
    shadow: bool = False
    """Everything is decided and recorded, and nothing is written."""

    @property
    def world(self) -> World:
        return self.policies.world


class Lane(Protocol):
    """Units that are decided for in one way. What does nothing here is for those that need it."""

    kinds: frozenset[str]
    """Whose turns it takes: the kinds that the names of its units in the queue begin with."""
    reads: frozenset[str] = frozenset()
    """API groups of others that it decides over: while these cannot be read, its units have no turn."""

    async def react(self, seen: Seen) -> None:
        """Something has changed: are units of this lane new or gone, does it help any? Where this fails, the change is
        told again later."""

    async def turn(self, unit: str) -> None:
        """A unit's turn: decide, act, and say to the queue what became of it. What the store refuses, and whatever
        else fails, is tried again after a back-off."""

    def settle(self) -> None:
        """All changes that came together have been told, to all lanes."""
        return

    def stirred(self) -> bool:
        """Whether anything has happened that could help those of its units that wait."""
        return False

    def whom_it_helps(self) -> Helps:
        """Whom that could help; it is then forgotten."""
        return lambda _: True

    async def resume(self) -> None:
        """Before the first decision: finish what a scheduler before this one has begun."""
        return

    def pending(self) -> dict[str, int]:
        """How many wait, by a name for where; those in the scheduling queue are counted without this."""
        return {}
