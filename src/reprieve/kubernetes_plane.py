"""A scheduler for a real cluster: the objects are in its API server, and so is all that is needed after a restart.

Of several replicas one acts; the others wait for its lease. Whoever loses it stops at once, in the middle of what it
does: the next one reads in the objects what was begun.

Nothing is decided beside a program that decides by the same design in that cluster (`incumbents`): it is looked for
before anything else, again before the first write, and all along.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

import msgspec

from reprieve.configuration import OWN_SCHEDULER, Settings, beside_others
from reprieve.control_plane import ControlPlane
from reprieve.controllers import registry as sets
from reprieve.model.clock import system_clock
from reprieve.policies import registry as policies
from reprieve.policies.incumbents import Incumbent
from reprieve.scheduler.history import History
from reprieve.stores.errors import Forbidden, StoreError
from reprieve.stores.kubernetes.access import Access, open_access
from reprieve.stores.kubernetes.incumbents import Lookout
from reprieve.stores.kubernetes.leases import Election, Timing
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.kubernetes.requests import Requests
from reprieve.stores.kubernetes.store import KubernetesStore
from reprieve.texts import incumbents as texts

_log = logging.getLogger(__name__)

AT_ONCE = 24
"""Decisions that are on their way at once: an API server gains little from more."""

_POLITE_SECONDS = 10.0
_FIRST_LOOK_SECONDS = 10.0


class ClusterSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster, and how to treat it."""

    kubeconfig: str | None = None
    context: str | None = None
    qps: float = 200.0
    burst: int = 400
    names: tuple[str, ...] = (OWN_SCHEDULER,)
    shadow: bool = False
    history: Path | None = None
    """Where decisions are remembered; None: in memory, for as long as it runs."""
    controllers: tuple[str, ...] = ()
    """Sets of controllers that the cluster has not of its own."""
    lease: str = ""
    """Namespace and name of the lease; empty: nobody else acts."""
    timing: Timing = Timing()


@asynccontextmanager
async def open_store(
    kubeconfig: str | None = None, context: str | None = None, *, qps: float = 200.0, burst: int = 400
) -> AsyncIterator[KubernetesStore]:
    """The API server of a context, for whoever only reads or writes objects."""
    requests = Requests(await open_access(kubeconfig, context), RateLimit(qps, burst))
    store = KubernetesStore(requests)
    try:
        yield store
    finally:
        await store.close()


class ClusterScheduler:
    """What `reprieve run` is, but the terminal and the network it listens on."""

    def __init__(
        self,
        requests: Requests,
        setup: ClusterSetup,
        settings: Settings,
        election: Election | None,
        lookout: Lookout,
    ) -> None:
        store = KubernetesStore(requests, election.check if election is not None else lambda: None)
        history = History(setup.history or ":memory:", system_clock)
        self.plane = ControlPlane(
            store,
            history,
            system_clock,
            # A shadow asks whom the cluster's own scheduler would ask: it compares itself with that one.
            settings if setup.shadow else beside_others(settings),
            names=setup.names,
            shadow=setup.shadow,
            at_once=AT_ONCE,
            alone=True,
            controllers=setup.controllers,
            close=history.close,
        )
        self._requests = requests
        self._election = election
        self._lookout = lookout
        for name in setup.controllers:
            if name in policies.choices() and not self.plane.scheduler.policies.decides(name):
                _log.warning(texts.nobody_decides(name))
        self._incumbents = {} if setup.shadow else incumbents_of(settings, setup.controllers)

    async def run(self) -> None:
        """Until cancelled, or until another replica may act: then it raises `LeaseLost`. Where somebody else decides by
        a design that was asked for, or comes to do so, it raises `IncumbentFound`."""
        if not self._incumbents:
            return await self._act()
        await self._lookout.stay_away(self._incumbents)
        tasks = [asyncio.create_task(work) for work in (self._act(), self._lookout.keep_looking(self._incumbents))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()

    async def _act(self) -> None:
        if self._election is None:
            await self.plane.start()
            await asyncio.Event().wait()
            return
        self.plane.stands_by = True
        await self._election.acquire()
        if self._incumbents:  # that may have taken long
            await self._lookout.stay_away(self._incumbents)
        self.plane.stands_by = False
        await self.plane.start()
        await self._election.hold()

    async def stop(self) -> None:
        """End in good order: what is on its way arrives, and the next one need not wait for the lease."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience()):
                await self.plane.stop()
        if self._election is not None:
            await self._election.release()
        await self._requests.close()

    def _patience(self) -> float:
        """How long what is on its way may take to arrive at the end: no longer than the lease lets it, and a server
        that does not answer keeps nobody here."""
        return _POLITE_SECONDS if self._election is None else max(0.0, min(_POLITE_SECONDS, self._election.left()))


@asynccontextmanager
async def open_scheduler(setup: ClusterSetup, settings: Settings) -> AsyncIterator[ClusterScheduler]:
    """Connected, and nothing runs yet. Raises `NoAccess` where it is not known how to connect."""
    access = await open_access(setup.kubeconfig, setup.context)
    requests = Requests(access, RateLimit(setup.qps, setup.burst))
    election = _election(access, setup) if setup.lease else None
    lookout = Lookout(Requests(access, RateLimit(0, 1)))
    if settings.policies is None and not setup.shadow:
        settings = await without_incumbents(settings, lookout)
    scheduler = ClusterScheduler(requests, setup, settings, election, lookout)
    try:
        yield scheduler
    finally:
        with suppress(asyncio.CancelledError):
            await scheduler.stop()


def incumbents_of(settings: Settings, controllers: Iterable[str]) -> dict[Incumbent, list[str]]:
    """Whom to stay away from, and by which options what they do was asked for."""
    asked: dict[Incumbent, list[str]] = {}
    on = policies.chosen(settings.policies)
    for name, incumbent in policies.choices().items():
        if incumbent is not None and name in on:
            asked.setdefault(incumbent, []).append(f"{name} of --policies")
    for name, incumbent in sets.choices().items():
        if incumbent is not None and name in controllers:
            asked.setdefault(incumbent, []).append(f"{name} of --controllers")
    return asked


async def without_incumbents(settings: Settings, lookout: Lookout) -> Settings:
    """Where nobody has chosen policies: all but those that somebody else decides by in this cluster."""
    of_others = {name: incumbent for name, incumbent in policies.choices().items() if incumbent is not None}
    try:
        async with asyncio.timeout(_FIRST_LOOK_SECONDS):
            found = {sign.incumbent: sign.what for sign in await lookout.find(dict.fromkeys(of_others.values()))}
    except Forbidden as error:
        _log.warning(texts.may_be_left_to([each.name for each in dict.fromkeys(of_others.values())], str(error)))
        return _only(settings, [name for name in policies.choices() if name not in of_others])
    except (StoreError, TimeoutError):
        return settings  # it is looked again before anything is written
    for name, incumbent in of_others.items():
        if incumbent in found:
            _log.warning(texts.left_to(incumbent.name, found[incumbent], name))
    return _only(settings, [name for name, incumbent in policies.choices().items() if incumbent not in found])


def _only(settings: Settings, names: list[str]) -> Settings:
    return msgspec.structs.replace(settings, policies=tuple(names))


def _election(access: Access, setup: ClusterSetup) -> Election:
    """Its requests wait behind nobody else's: a lease that is renewed late is lost."""
    namespace, _, name = setup.lease.rpartition("/")
    unlimited = Requests(access, RateLimit(0, 1))
    return Election(unlimited, name, namespace or "kube-system", _identity(), setup.timing)


def _identity() -> str:
    return f"{socket.gethostname()}_{os.getpid()}_{uuid4().hex[:8]}"


def names_or_own(names: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(names or ()) or (OWN_SCHEDULER,)
