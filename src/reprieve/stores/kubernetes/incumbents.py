"""Whether somebody else decides by the same design in a cluster: looked for before anything is written, and all along.

1. It runs when a Lease of its own is held and was renewed of late. Clocks of machines differ, so a minute more than the
   lease is good for is still of late; and one that was renewed between two looks is alive, whatever its time says.
2. A lease that nobody holds, or that was not renewed for longer, is left over from one that has ended.
3. It runs, or will in a moment, when a Deployment of its own wants or has pods, whatever its lease says.
4. What may not be looked at is not known to be absent: whoever asked for it by name is refused.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.problems import ReprieveError
from reprieve.policies.incumbents import Incumbent
from reprieve.stores.errors import Forbidden, NotFound, StoreError, Unavailable
from reprieve.stores.kubernetes.requests import Requests
from reprieve.texts import incumbents as texts

_log = logging.getLogger(__name__)

_LEASES = "/apis/coordination.k8s.io/v1/leases"
_DEPLOYMENTS = "/apis/apps/v1/deployments"
_CLOCKS_APART = 60.0
"""Seconds by which the clock of another machine may be wrong."""
_DURATION = 15.0
"""How long a lease is good that does not say it."""
_RENEWED_WITHIN = 5.0
"""Seconds after which whoever holds a lease has renewed it: all of them do so every two."""
_RETRY = 2.0
_NO_RIGHT_SECONDS = 10.0
"""How long a server that has just started may say no to everybody."""


class IncumbentFound(ReprieveError):
    """Somebody else decides by a design that was asked for, or that cannot be ruled out."""


class Sign(NamedTuple):
    """By what somebody is known to run."""

    incumbent: Incumbent
    what: str


class _Listed(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


class Lookout:
    """Looks for incumbents in one cluster."""

    def __init__(
        self, requests: Requests, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), every: float = 10.0
    ) -> None:
        self._requests = requests
        self._now = now
        self._every = every
        self._renewals: dict[tuple[str, str], str] = {}
        """When each lease was renewed, as it said at the last look."""

    async def find(self, incumbents: Iterable[Incumbent]) -> list[Sign]:
        """Those who run, each with one sign of it. A lease that looks as if it were left over is looked at twice."""
        asked = list(incumbents)
        before = dict(self._renewals)
        signs = await self._look(asked)
        if self._renewals.keys() - before.keys() and len(signs) < len(asked):
            await asyncio.sleep(_RENEWED_WITHIN)
            signs = await self._look(asked)
        return signs

    async def stay_away(self, asked: Mapping[Incumbent, list[str]]) -> None:
        """Returns when it is certain that none of them runs; raises `IncumbentFound` where one does. By whom it was
        asked for is in the sentence."""
        waited = 0.0
        while True:
            try:
                return self._refuse(await self.find(asked), asked)
            except Forbidden as error:
                if waited >= _NO_RIGHT_SECONDS:
                    raise IncumbentFound(texts.cannot_look(_names(asked), str(error))) from error
                waited += _RETRY
            except StoreError as error:
                _log.warning(texts.cannot_look_yet(_names(asked), str(error)))
            await asyncio.sleep(_RETRY)

    async def keep_looking(self, asked: Mapping[Incumbent, list[str]]) -> None:
        """Raises `IncumbentFound` when one of them has come."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self._refuse(await self._look(asked), asked)
            except StoreError as error:
                _log.warning(texts.cannot_look_yet(_names(asked), str(error)))

    def _refuse(self, signs: list[Sign], asked: Mapping[Incumbent, list[str]]) -> None:
        if signs:
            incumbent, what = signs[0]
            raise IncumbentFound(texts.runs_here(incumbent.name, what, asked[incumbent]))

    async def _look(self, incumbents: Iterable[Incumbent]) -> list[Sign]:
        found = [(each, await self._sign(each)) for each in incumbents]
        return [Sign(incumbent, what) for incumbent, what in found if what]

    async def _sign(self, incumbent: Incumbent) -> str:
        leases = [each for name in incumbent.leases for each in await self._named(_LEASES, name)]
        held = [each for each in leases if self._is_alive(each)]  # all of them: each look is remembered
        if held:
            return texts.lease_held(*_place(held[0]), held[0]["spec"]["holderIdentity"])
        for name in incumbent.deployments:
            for each in await self._named(_DEPLOYMENTS, name):
                if _wants_pods(each):
                    return texts.deployment_there(*_place(each))
        return ""

    def _is_alive(self, lease: dict[str, Any]) -> bool:
        spec = lease.get("spec") or {}
        if not spec.get("holderIdentity"):
            self._renewals.pop(_place(lease), None)
            return False
        renewed = str(spec.get("renewTime") or "")
        before = self._renewals.get(_place(lease))
        self._renewals[_place(lease)] = renewed
        good_for = float(spec.get("leaseDurationSeconds") or _DURATION) + _CLOCKS_APART
        return self._age(renewed) <= good_for or before not in (None, renewed)

    def _age(self, renewed: str) -> float:
        """Seconds since then; where it is not known, none: who cannot tell is taken to be there."""
        try:
            return (self._now() - datetime.fromisoformat(renewed)).total_seconds()
        except (TypeError, ValueError):
            return 0.0

    async def _named(self, path: str, name: str) -> list[dict[str, Any]]:
        """All of that name, in whatever namespace; rights for this one name are enough."""
        try:
            body = await self._requests.send("GET", path, query={"fieldSelector": f"metadata.name={name}"})
        except NotFound:
            return []
        try:
            return msgspec.json.decode(body, type=_Listed).items or []
        except msgspec.MsgspecError as error:
            raise Unavailable(f"{path} is answered with something else than a list: {error}") from error


def _wants_pods(deployment: dict[str, Any]) -> bool:
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    return bool(wanted or (deployment.get("status") or {}).get("replicas"))


def _place(item: dict[str, Any]) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _names(incumbents: Iterable[Incumbent]) -> list[str]:
    return [incumbent.name for incumbent in incumbents]
