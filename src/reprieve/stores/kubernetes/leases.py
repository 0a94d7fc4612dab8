"""Who of several replicas acts: whoever holds a Lease, as kube-scheduler and its kind do it.

1. The lease says who holds it and when it was renewed last. Clocks of different machines need not agree: a lease has
   run out when it has not changed for its duration, on the clock of whoever watches it.
2. It is taken and renewed by writes that are refused when somebody else was faster.
3. Whoever could not renew it in time has lost it and must not write any more, not even what was begun: `check` is asked
   before every write, so that a process which slept for a while finds out before it does any harm.
4. Whoever ends in good order gives it back, so that nobody has to wait.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from math import ceil
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.problems import ReprieveError
from reprieve.model.clock import precise_timestamp
from reprieve.stores.errors import AlreadyExists, Conflict, NotFound, StoreError, Unavailable
from reprieve.stores.kubernetes.requests import Requests

_log = logging.getLogger(__name__)


def seconds_awake_or_not() -> float:
    """A clock that nobody can set, and that goes on while the machine sleeps: other machines do not sleep with it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class LeaseLost(ReprieveError):
    """Another replica acts from now on, or may."""


class Timing(NamedTuple):
    """In seconds, as kube-scheduler has them."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0


class Election:
    """One replica, and its wish to hold a lease."""

    def __init__(
        self,
        requests: Requests,
        name: str,
        namespace: str,
        identity: str,
        timing: Timing = Timing(),  # noqa: B008 - it never changes
        *,
        elapsed: Callable[[], float] = seconds_awake_or_not,
    ) -> None:
        self._requests = requests
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._namespace = namespace
        self.identity = identity
        self._timing = timing
        self._elapsed = elapsed
        self._seen: tuple[str, str] = "", ""
        self._seen_at = -timing.duration
        self._renewed_at: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it is certain that nobody else does."""
        return self.left() > 0

    def check(self) -> None:
        """Before every write. Raises where it would be one too late."""
        if not self.holds:
            raise Unavailable("the lease is not held any more: another replica may act by now")

    def left(self) -> float:
        """Seconds until the lease counts as lost."""
        return 0.0 if self._renewed_at is None else self._renewed_at + self._timing.renew_deadline - self._elapsed()

    async def acquire(self) -> None:
        """Returns when the lease is held."""
        while not await self._try():
            await asyncio.sleep(self._timing.retry)
        _log.info("%s holds the lease %s/%s", self.identity, self._namespace, self._name)

    async def hold(self) -> None:
        """Renew it until that fails for too long; raises `LeaseLost`."""
        while self.holds:
            # Whatever is under way then: at the deadline it is over.
            with suppress(TimeoutError):
                async with asyncio.timeout(self.left()):
                    await asyncio.sleep(self._timing.retry)
                    await self._try()
        raise LeaseLost(f"the lease {self._namespace}/{self._name} is lost: it could not be renewed in time")

    async def release(self) -> None:
        """Give it back."""
        if self._renewed_at is None:
            return
        self._renewed_at = None
        try:
            async with asyncio.timeout(self._timing.renew_deadline / 2):
                await self._give_back()
        except (StoreError, TimeoutError) as error:
            _log.warning("the lease could not be given back: %s", error)

    async def _give_back(self) -> None:
        lease = await self._read()
        if lease is not None and lease["spec"].get("holderIdentity") == self.identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._replace({**lease, "spec": spec})

    async def _try(self) -> bool:
        """Take or renew it, once; whether it is held."""
        began = self._elapsed()
        try:
            # What does not answer in time counts as a no: the deadline goes on meanwhile.
            async with asyncio.timeout(self._timing.renew_deadline / 2):
                taken = await self._take()
        except (StoreError, TimeoutError) as error:
            _log.warning("the lease %s/%s cannot be taken or renewed now: %s", self._namespace, self._name, error)
            return self.holds
        if taken:
            self._renewed_at = began
        else:
            self._renewed_at = None
        return taken

    async def _take(self) -> bool:
        lease = await self._read()
        now = precise_timestamp(datetime.now(UTC))
        if lease is None:
            return await self._create(now)
        spec = lease["spec"]
        holder = spec.get("holderIdentity") or ""
        self._note(holder, spec.get("renewTime") or "")
        if holder and holder != self.identity and not self._run_out(spec):
            return False
        changed = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": ceil(self._timing.duration),
            "renewTime": now,
            "acquireTime": spec.get("acquireTime") if holder == self.identity else now,
            "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (holder != self.identity),
        }
        try:
            await self._replace({**lease, "spec": {**spec, **changed}})
        except Conflict:
            if holder == self.identity:
                raise  # whoever has touched it need not have taken it: that is seen the next time
            return False
        return True

    def _note(self, holder: str, renewed: str) -> None:
        if (holder, renewed) != self._seen:
            self._seen, self._seen_at = (holder, renewed), self._elapsed()

    def _run_out(self, spec: dict[str, Any]) -> bool:
        seconds = float(spec.get("leaseDurationSeconds") or self._timing.duration)
        return self._elapsed() >= self._seen_at + seconds

    async def _read(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = msgspec.json.decode(await self._requests.send("GET", f"{self._path}/{self._name}"))
        except NotFound:
            return None
        return {**found, "spec": found.get("spec") or {}}

    async def _create(self, now: str) -> bool:
        spec = {"holderIdentity": self.identity, "leaseDurationSeconds": ceil(self._timing.duration)}
        spec |= {"acquireTime": now, "renewTime": now, "leaseTransitions": 0}
        metadata = {"name": self._name, "namespace": self._namespace}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        try:
            await self._requests.send("POST", self._path, body=msgspec.json.encode(lease))
        except AlreadyExists:
            return False
        return True

    async def _replace(self, lease: dict[str, Any]) -> None:
        await self._requests.send("PUT", f"{self._path}/{self._name}", body=msgspec.json.encode(lease))
