"""Which kinds a server has, and in which versions.

A kind that it does not have is absent, not an error: nobody has objects of it. Whoever waits for it is told when it
appears, because somebody installed its definition.
"""

import asyncio
import logging

import msgspec

from reprieve.manifests.resource import Resource
from reprieve.stores.errors import StoreError
from reprieve.stores.kubernetes.requests import Requests

_log = logging.getLogger(__name__)

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_LOOK_AGAIN_SECONDS = 10.0


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Resource(msgspec.Struct):
    resource: str = ""


class _Version(msgspec.Struct):
    version: str = ""
    resources: list[_Resource] = []


class _Group(msgspec.Struct):
    metadata: _Name = _Name()
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    items: list[_Group] = []


_GROUPS = msgspec.json.Decoder(_Groups)
Served = frozenset[tuple[str, str, str]]
"""Group, version and plural."""


class Discovery:
    """Asks once, and again while somebody waits for a kind that is not there."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._served: Served | None = None
        self._asking: asyncio.Task[Served] | None = None

    async def api_version(self, resource: Resource) -> str | None:
        """The version in which a kind is read and written: the first of ours that the server has; None: absent."""
        served = self._served if self._served is not None else await self._ask()
        return next(
            (
                resource.in_version(version)
                for version in resource.versions
                if (resource.group, version, resource.plural) in served
            ),
            None,
        )

    async def appears(self, resource: Resource) -> None:
        """Returns when the server has a kind."""
        while await self.api_version(resource) is None:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            try:
                await self._ask()
            except StoreError as error:
                _log.debug("which kinds there are cannot be asked now: %s", error)

    async def look_again(self) -> None:
        """Something was not found that was there."""
        await self._ask()

    async def _ask(self) -> Served:
        """However many want to know, it is asked once."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._read())
        self._served = await asyncio.shield(self._asking)
        return self._served

    async def _read(self) -> Served:
        bodies = [await self._requests.send("GET", path, accept=_AGGREGATED) for path in ("/api", "/apis")]
        return frozenset(
            (group.metadata.name, version.version, each.resource)
            for body in bodies
            for group in _GROUPS.decode(body).items
            for version in group.versions
            for each in version.resources
        )
