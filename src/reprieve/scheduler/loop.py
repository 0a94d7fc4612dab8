"""The loop: follow the store, take the unit whose turn it is, decide, commit; the same for every store and policy.

1. Nothing that is needed after a restart is only here: nominations, holds and admissions are in the objects.
2. First of all what was begun is finished; only then is anything decided.
3. Before each decision the world is brought up to date; what the loop itself writes is seen by the next decision at
   once, whether the store's watch has told of it yet or not.
4. A decision that the store refuses is made again. A unit for which anything fails is tried again after a back-off, and
   never holds up the others.
5. In shadow, everything is decided and recorded and nothing is written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from math import inf

from reprieve.configuration import Settings
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.model.clock import Clock
from reprieve.policies.queue.pods import OWN_NAME
from reprieve.scheduler.context import Context
from reprieve.scheduler.decision_log import Journal
from reprieve.scheduler.events import Recorder
from reprieve.scheduler.federation import effects as effects_federation
from reprieve.scheduler.federation.turn import ScheduleBindings
from reprieve.scheduler.history import History
from reprieve.scheduler.metrics import Metrics
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.resume import ResumePods
from reprieve.scheduler.pods.turn import PlacePods
from reprieve.scheduler.pods.wakeups import Wakeups
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.scheduler.queues.limits import LIMITS, QueueLimits
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.scheduler.quota.turn import CYCLE, AdmitWorkloads
from reprieve.scheduler.reactions import Reactions
from reprieve.scheduler.scheduling_queue import Part, SchedulingQueue
from reprieve.stores.errors import Conflict, NotFound, StoreError
from reprieve.stores.protocol import Store
from reprieve.world import World, microseconds

_log = logging.getLogger(__name__)

ALL_NAMES = (OWN_NAME, "default-scheduler", "yunikorn")
"""What the only scheduler of a control plane answers to."""
_BINDINGS = ("ResourceBinding/", "ClusterResourceBinding/")
_PARTS: tuple[Part, ...] = ("active", "backOff", "unschedulable")
_RETRY_SECONDS = 1.0
_SOME = 8
"""Events that are written at a time while nobody waits for a decision."""
_MOST_UNTOLD = 2_000


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
        names: Iterable[str] = (OWN_NAME,),
        shadow: bool = False,
    ) -> None:
        self.ready = False
        self.world = World()
        self.metrics = metrics or Metrics()
        self._history = history
        served = frozenset(names)
        self._mirror = Mirror(store, self.world)
        self._recorder = Recorder(store, clock)
        self._context = Context(store, clock, self._mirror, self._recorder)
        self.deciding = Deciding(self.world, settings, microseconds(clock()))
        self.queue = SchedulingQueue(_elapsed, lambda: clock().timestamp())
        pending = PendingUnits(self.world, self.deciding, served)
        journal = Journal(history, self.metrics, self.world, clock)
        self._shadow = shadow
        self._pod_effects = PodEffects(self._context, pending.own_nominated_to)
        self._resume_pods = ResumePods(self._mirror, self.deciding, pending, self._pod_effects)
        self._quota_effects = QuotaEffects(self._context)
        self._pods = PlacePods(self.deciding, pending, self.queue, self._pod_effects, journal, clock, shadow=shadow)
        self.workloads = AdmitWorkloads(
            self.deciding.quota, self.queue, self._quota_effects, journal, clock, shadow=shadow
        )
        self._bindings = ScheduleBindings(
            self.deciding.federation, self.queue, self._context, journal, served, shadow=shadow
        )
        configurations = QueueConfigurations(self._context, self.world, writes=not shadow)
        self._limits = QueueLimits(
            self.deciding,
            self.queue,
            self._context,
            self._pod_effects,
            journal,
            configurations,
            pending.mine,
            shadow=shadow,
        )
        self._wakeups = Wakeups(self.queue, pending, self.deciding, _elapsed)
        self._reactions = Reactions(
            pending,
            self.queue,
            self._wakeups,
            self.workloads,
            self._bindings,
            configurations,
            self._limits,
            history,
            _elapsed,
        )

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._start()
            while True:
                if not await self.turn():
                    await self._rest()
        finally:
            self._mirror.close()
            self._history.flush()
            with suppress(StoreError):
                await self._recorder.write(len(self._recorder))

    async def _start(self) -> None:
        """See everything, then finish what was begun."""
        while not self.ready:
            try:
                await self._follow()
                if not self._shadow:
                    await self._resume()
                    await self._follow()
                self.ready = True
            except StoreError as error:
                _log.warning("the store cannot be read yet: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _resume(self) -> None:
        await self._resume_pods.run()
        await self.workloads.resume()
        records = [*self._mirror.all(BINDINGS), *self._mirror.all(CLUSTER_BINDINGS)]
        await effects_federation.resume(self._context, records)

    async def turn(self) -> bool:
        """One unit's turn; False when nobody is ready."""
        try:
            await self._follow()
        except StoreError as error:
            _log.warning("the store cannot be followed: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
            return True
        unit = self.queue.pop()
        if unit is None:
            return await self._tell()
        await self._work(unit)
        await self._recorder.write(max(0, len(self._recorder) - _MOST_UNTOLD))
        await asyncio.sleep(0)  # others on this loop have work, too
        return True

    async def _tell(self) -> bool:
        """Nobody is ready: there is time to write down what has happened. Whether there was anything."""
        self._history.flush()
        told = len(self._recorder) > 0
        await self._recorder.write(_SOME)
        return told

    async def _follow(self) -> None:
        await self._reactions.take(await self._mirror.follow())

    async def _work(self, unit: str) -> None:
        try:
            await self._turn_of(unit)
        except (Conflict, NotFound) as refused:
            _log.debug("%s is decided again: %s", unit, refused)
            self.queue.failed(unit)
        except Exception:
            _log.exception("%s could not be scheduled and is tried again", unit)
            self.metrics.failed(unit.partition("/")[0])
            self.queue.failed(unit)

    async def _turn_of(self, unit: str) -> None:
        if unit == CYCLE:
            await self.workloads.turn()
        elif unit == LIMITS:
            await self._limits.turn()
        elif unit.startswith(_BINDINGS):
            await self._bindings.turn(unit)
        else:
            await self._pods.turn(unit)

    async def _rest(self) -> None:
        """Until something happens, or somebody's time has come."""
        self.metrics.pending({part: self.queue.size(part) for part in _PARTS} | self.workloads.pending())
        ready = self.queue.ready_in()
        seconds = min(inf if ready is None else ready, self._reactions.due_in())
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
