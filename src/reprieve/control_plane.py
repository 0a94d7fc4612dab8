"""A whole control plane in one process: a store, a scheduler, controllers and agents on one event loop.

Each part only talks to the store, be it one in this process (`embedded_plane.py` opens it) or a Kubernetes API server.
"""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from prometheus_client import CollectorRegistry

from reprieve.agents.hollow.clusters import HollowClusters
from reprieve.agents.hollow.nodes import HollowAgent
from reprieve.configuration import Settings
from reprieve.controllers.registry import make_all, make_sets
from reprieve.manifests.kinds import PODS
from reprieve.manifests.loaded import Loaded
from reprieve.model.backoff import Backoff
from reprieve.model.clock import Clock
from reprieve.planning.change import ProposedChange
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import Planner
from reprieve.planning.queue_figures import survey_queues
from reprieve.planning.what_if import what_if
from reprieve.planning.yunikorn_answers import YunikornAnswers
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.policies.quota.world import QuotaWorld
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.scheduler.metrics import Metrics
from reprieve.stores.errors import BadRequest
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import agents as texts

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=1.0, longest=30.0)
_LONG_RUN = 60.0
_RARELY = 20_000
_YOUNG, _OLD = 5, 2_500
"""What has been looked through once is looked through again after so few times: trees of queues that were made anew are
found then, a few of them, and not hundreds at once."""
_MANY = 10_000
_OFTEN = 0.05
"""Seconds between two looks at what has been loaded."""


class PlanePart(Protocol):
    """Anything that runs until it is cancelled."""

    async def run(self) -> None: ...


@runtime_checkable
class LogSource(Protocol):
    """An agent that can tell what containers wrote."""

    def logs(self, pod: Record, container: str, **options: Any) -> AsyncIterator[bytes] | None:
        """None: it does not run this pod."""
        ...


@runtime_checkable
class LogKeeper(Protocol):
    """An agent that keeps what containers wrote after they are over."""

    def runs(self, uid: str) -> list[Any]:
        """The runs of a pod's containers that are known, also after the pod is gone."""
        ...

    def run_log(self, uid: str, container: str, run: int, **options: Any) -> AsyncIterator[bytes] | None:
        """What one run wrote; None: nothing is left of it."""
        ...


class ControlPlane:
    """Everything that `reprieve up` is, but the terminal and the network."""

    def __init__(
        self,
        store: Store,
        history: History,
        clock: Clock,
        settings: Settings,
        *,
        names: Iterable[str] = ALL_NAMES,
        shadow: bool = False,
        at_once: int = 1,
        alone: bool = False,
        controllers: Iterable[str] = (),
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """`at_once`: decisions that may be on their way to the store while others are made; for a store far away.
        `alone`: only the scheduler, in a cluster that has controllers and nodes of its own; `controllers` are the sets
        of them that it has not.
        `close` lets go of whatever was opened for it, once nothing runs any more."""
        self.store = store
        self.history = history
        self.clock = clock
        self.settings = settings
        self._names = frozenset(names)
        self.metrics_registry = CollectorRegistry()
        metrics = Metrics(self.metrics_registry)
        metrics.gates(settings.feature_gates)
        self.scheduler = Scheduler(
            store, clock, settings, history, metrics=metrics, names=self._names, shadow=shadow, at_once=at_once
        )
        self._parts: list[PlanePart] = [self.scheduler]
        if alone:
            self._parts += make_sets(controllers, store, clock, settings)
        else:
            self._parts += make_all(store, clock, settings)
            self._parts += [HollowAgent(store, clock), HollowClusters(store, clock)]
        self._log_sources: list[LogSource] = []
        self._log_keepers: list[LogKeeper] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._close = close
        self.stands_by = False
        """Another replica acts; this one would at once."""

    def add(self, part: PlanePart) -> None:
        """One more part, such as an agent; before `start`."""
        self._parts.append(part)
        if isinstance(part, LogSource):
            self._log_sources.append(part)
        if isinstance(part, LogKeeper):
            self._log_keepers.append(part)

    @property
    def ready(self) -> bool:
        """Whether everything has been seen once, and what was begun before is finished; or is for another replica."""
        return self.stands_by or self.scheduler.ready

    @property
    def started(self) -> bool:
        """Whether anything may have been decided, or written."""
        return bool(self._tasks)

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(_keep_running(part.run), name=type(part).__name__) for part in self._parts]

    async def stop(self) -> None:
        """End all parts, then close what they wrote to: nothing is written after this."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._close()

    # What the API asks for

    @property
    def quota(self) -> QuotaWorld:
        quota: QuotaWorld = self.scheduler.policies[QuotaEntry.name].policy.quota
        quota.sync()
        return quota

    def planner(self, loaded: Loaded, now: datetime) -> Planner:
        return Planner(loaded, self.settings, now, names=self._names)

    def compare(self, loaded: Loaded, change: ProposedChange, now: datetime) -> Comparison:
        return what_if(loaded, change, self.settings, now, names=self._names)

    def queues(self) -> YunikornAnswers | None:
        """YuniKorn's queues as the scheduler sees them; None where none are configured."""
        survey = survey_queues(self.scheduler.policies)
        return YunikornAnswers(survey) if survey is not None else None

    async def logs(self, namespace: str, pod: str, container: str, **options: Any) -> AsyncIterator[bytes]:
        """What a container of a pod wrote."""
        record = await self.store.get(PODS, pod, namespace)
        for source in self._log_sources:
            found = source.logs(record, container, **options)
            if found is not None:
                async for part in found:
                    yield part
                return
        bound = bool(record.data["spec"].get("nodeName"))
        why = f'pod "{pod}" is on no node that keeps logs' if bound else texts.not_started_yet(container, pod)
        raise BadRequest(why, kind="pods", name=pod)

    def runs(self, uid: str) -> list[Any]:
        """The runs of a pod's containers that any agent knows of."""
        return [run for keeper in self._log_keepers for run in keeper.runs(uid)]

    def run_log(self, uid: str, container: str, run: int, **options: Any) -> AsyncIterator[bytes] | None:
        """What one run wrote, also after its pod is gone; None: nothing is left of it."""
        found = (keeper.run_log(uid, container, run, **options) for keeper in self._log_keepers)
        return next((each for each in found if each is not None), None)


def calm_garbage_collection() -> None:
    """For a process that is a control plane and nothing else: what has been loaded stays, so it is not looked through
    again, and what comes later seldom; each look holds up whoever waits for a decision."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_RARELY, _YOUNG, _OLD)


async def load_calmly(plane: ControlPlane) -> None:
    """The same while a control plane starts, again and again until it is ready: a look at all that a large store
    holds would take long, so it is looked through as it is loaded, a little at a time."""
    while not plane.ready:
        if _much_is_new(*gc.get_count()):
            calm_garbage_collection()
        await asyncio.sleep(_OFTEN)
    calm_garbage_collection()


def _much_is_new(young: int, *survived: int) -> bool:
    """Whether a look is worth it, by what garbage collection itself has counted since the last one."""
    return young > _MANY or any(survived)


async def _keep_running(run: Callable[[], Any]) -> None:
    """One part that fails must not take the others with it: it starts again, from what is in the store.

    One that fails again soon waits longer each time; a long run makes good for what came before.
    """
    failures, loop = 0, asyncio.get_running_loop()
    while True:
        began = loop.time()
        try:
            await run()
            return
        except asyncio.CancelledError:
            raise
        except Exception:
            _log.exception("a part of the control plane failed and starts again")
            failures = 1 if loop.time() - began >= _LONG_RUN else failures + 1
            await asyncio.sleep(_BACK_OFF.wait(failures))
