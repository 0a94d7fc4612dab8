"""The loop: follow the store, take the unit whose turn it is, decide, commit; the same for every store and policy.

1. Nothing that is needed after a restart is only here: nominations, holds and admissions are in the objects.
2. First of all what was begun is finished; only then is anything decided.
3. Before each decision the world is brought up to date; what the loop itself writes is seen by the next decision at
   once, whether the store's watch has told of it yet or not.
4. A decision that the store refuses is made again. A unit for which anything fails is tried again after a back-off, and
   never holds up the others.
5. In shadow, everything is decided and recorded and nothing is written.
6. When nothing happens any more, those who wait are told how things are now (`refresh`).
7. A lane whose objects cannot be read, because they are somebody else's who is not there, waits; the others go on.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from math import inf

from reprieve.configuration import OWN_SCHEDULER, Settings
from reprieve.model.clock import Clock
from reprieve.model.names import kind_of
from reprieve.policies.registry import Policies
from reprieve.scheduler.context import Context
from reprieve.scheduler.decision_log import DecisionLog
from reprieve.scheduler.events import Recorder
from reprieve.scheduler.history import History
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.metrics import Metrics
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.reactions import Reactions
from reprieve.scheduler.refresh import Refresh
from reprieve.scheduler.registry import make_lanes
from reprieve.scheduler.scheduling_queue import QueuePart, SchedulingQueue
from reprieve.scheduler.shadow import Observer
from reprieve.scheduler.witness import Witness
from reprieve.scheduler.writes import Writes
from reprieve.stores.errors import Conflict, NotFound, StoreError, TooManyRequests
from reprieve.stores.portions import Portions
from reprieve.stores.protocol import Store
from reprieve.world import World, microseconds

_log = logging.getLogger(__name__)

ALL_NAMES = (OWN_SCHEDULER, "default-scheduler", "yunikorn")
"""What the only scheduler of a control plane answers to."""
_PARTS: tuple[QueuePart, ...] = ("active", "backOff", "unschedulable")
_RETRY_SECONDS = 1.0
_SOME = 8
"""Events that are written at a time while nobody waits for a decision."""
_MOST_UNTOLD = 2_000
_FREED = 1_000
"""Changes that are let go of at a time, once all have reacted to them."""
_TELL_AGAIN_SECONDS = 0.2
"""How often it is looked whether there is time for events by now, when nothing else happens."""
_LAST_WORDS_SECONDS = 5.0
"""How long a scheduler that ends goes on writing events."""


class Scheduler:
    """One scheduler on one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        history: History,
        *,
        metrics: Metrics | None = None,
        names: Iterable[str] = (OWN_SCHEDULER,),
        shadow: bool = False,
        at_once: int = 1,
    ) -> None:
        """`at_once`: how many decisions may be on their way to the store while others are made."""
        self.ready = False
        self.world = World()
        self.metrics = metrics or Metrics()
        names = frozenset(names)
        self.policies = Policies(self.world, settings, microseconds(clock()), names=names)
        self.queue = SchedulingQueue(_elapsed, lambda: clock().timestamp())
        self._history = history
        self._shadow = shadow
        self._observer = (
            Observer(self.world, self.policies, names, history, self.metrics, clock, _elapsed) if shadow else None
        )
        before = self._observer.before if self._observer is not None else None
        self._mirror = Mirror(store, self.world, before, self.policies.reads)
        self._recorder = Recorder(store, clock, at_once=at_once)
        self._witness = Witness(history)
        self._log = DecisionLog(
            history, self.metrics, self.world, clock, shadow=shadow, waiting=lambda: self.queue.size("active")
        )
        self._writes = Writes(at_once)
        context = Context(store, clock, self._mirror, self._recorder, self._log, self._writes)
        services = Services(context, self.queue, self.policies, names, _elapsed, self.metrics.registry, shadow)
        self._lane_of = make_lanes(services)
        self._lanes = list(dict.fromkeys(self._lane_of.values()))
        self._not_resumed = [] if shadow else list(self._lanes)
        self._reactions = Reactions(self._lanes, self.queue, _elapsed)
        self._refresh = Refresh(_elapsed)

    def lane_of(self, kind: str) -> Lane:
        """Who takes the turn of a kind of units."""
        return self._lane_of[kind]

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._start()
            while True:
                if not await self.turn():
                    await self._rest()
        finally:
            await self._writes.finish()
            self._mirror.close()
            if self._observer is not None:
                self._observer.stop()
            self._history.flush()
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_SECONDS):
                    await self._recorder.finish()

    async def _start(self) -> None:
        """See everything, then finish what was begun."""
        while not self.ready:
            try:
                await self._follow()
                if self._not_resumed:
                    await self._resume()
                    await self._follow()
                self.ready = True
            except StoreError as error:
                _log.warning("the store cannot be read yet: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _resume(self) -> None:
        """Each lane for itself, once it sees what it decides over: what one cannot finish holds up no other one."""
        for lane in [each for each in self._not_resumed if self._mirror.follows(each.reads)]:
            try:
                await lane.resume()
            except StoreError:
                raise
            except Exception:
                _log.exception("%s could not finish what was begun", type(lane).__name__)
            self._not_resumed.remove(lane)

    async def turn(self) -> bool:
        """One unit's turn; False when nobody is ready."""
        try:
            await self._follow()
            if self._not_resumed:
                await self._resume()
        except StoreError as error:
            _log.warning("the store cannot be followed: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
            return True
        unit = self.queue.pop()
        if unit is None:
            return await self._tell()
        await self._work(unit)
        if len(self._recorder) > _MOST_UNTOLD or self._writes.in_parallel:
            await self._recorder.write(len(self._recorder) - _MOST_UNTOLD, busy=len(self._writes) > 0)
        await asyncio.sleep(0)  # others on this loop have work, too
        return True

    async def _tell(self) -> bool:
        """Nobody is ready: there is time to write down what has happened. Whether there was anything."""
        self._history.flush()
        told = len(self._recorder) > 0
        await self._recorder.write(_SOME, busy=len(self._writes) > 0)
        if told:
            await asyncio.sleep(0)  # who runs pods, and who makes more of them, need not wait for what is told
        return told and not self._writes.in_parallel

    async def _follow(self) -> None:
        changes = await self._mirror.follow()
        if changes:
            self._refresh.changed()
        if self._observer is not None:
            await self._observer.follow(self._mirror.store, self._mirror.signal)
            self._observer.settle()
        await self._witness.take(changes)
        await self._reactions.take(changes)
        portions = Portions(_FREED)
        while changes:  # what was there before is held by nobody else: all at once, that takes long
            if portions.full(changes.pop().record):
                await asyncio.sleep(0)

    async def _work(self, unit: str) -> None:
        lane = self._lane_of[kind_of(unit)]
        if not self._mirror.follows(lane.reads):
            return self.queue.failed(unit)
        try:
            await lane.turn(unit)
        except (Conflict, NotFound, TooManyRequests) as refused:
            _log.debug("%s is decided again: %s", unit, refused)
            self.queue.failed(unit)
        except StoreError as error:
            _log.warning("%s is decided again: the store has not taken what was decided: %s", unit, error)
            self._log.failed(kind_of(unit))
            self.queue.failed(unit)
        except Exception:
            _log.exception("%s could not be scheduled and is tried again", unit)
            self._log.failed(kind_of(unit))
            self.queue.failed(unit)

    async def _rest(self) -> None:
        """Until something happens, or somebody's time has come."""
        sizes: dict[str, int] = {part: self.queue.size(part) for part in _PARTS}
        for lane in self._lanes:
            sizes |= lane.pending()
        self.metrics.pending(sizes)
        if self._refresh.begins():
            self.queue.move()
        ready = self.queue.ready_in()
        seconds = min(inf if ready is None else ready, self._reactions.due_in(), self._refresh.due_in())
        if self._observer is not None:
            seconds = min(seconds, self._observer.due_in())
        if len(self._recorder):
            seconds = min(seconds, _TELL_AGAIN_SECONDS)
        if seconds == 0.0:
            return
        try:
            # Not `wait_for`: in Python 3.11 that loses a cancellation which comes together with the signal.
            async with asyncio.timeout(None if seconds == inf else seconds):
                await self._mirror.signal.wait()
        except TimeoutError:
            return


def _elapsed() -> float:
    """Seconds on the event loop's own clock: intervals are measured by it, since nobody can set it."""
    return asyncio.get_running_loop().time()
