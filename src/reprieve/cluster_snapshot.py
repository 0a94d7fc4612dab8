"""A cluster as it is now, read with the right to list and nothing else: for questions about any Kubernetes, with
nothing installed there.

1. All kinds are listed at once. They are as many moments as there are kinds, some milliseconds apart.
2. A kind that the server does not have, or that we may not list, has no objects here; which ones these are is told.
   Without pods and nodes nothing can be said, so that having no right to them is an error. Nor has one that Kubernetes
   itself does not have, and that cannot be given now, because whoever converts or serves it is not there.
3. Nothing is ever written: what is opened here can only read.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import (
    COMPOSITE_POD_GROUPS,
    CONFIG_MAPS,
    EVENTS,
    POD_GROUPS,
)
from reprieve.manifests.problems import ReprieveError
from reprieve.manifests.resource import Resource
from reprieve.manifests.yunikorn import CONFIG_MAPS as OF_QUEUES
from reprieve.stores.api.selectors import select
from reprieve.stores.errors import Forbidden, StoreError, Unauthorized
from reprieve.stores.kubernetes.access import Access, open_access
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.records import Listing, Record
from reprieve.texts import clusters as texts

if TYPE_CHECKING:
    from reprieve.stores.kubernetes.store import KubernetesStore

_NO_LIMIT = RateLimit(0, 1)
_PREEMPTED = "reason=Preempted"
_ONLY = {CONFIG_MAPS: tuple(f"metadata.name={name}" for name in OF_QUEUES), EVENTS: (_PREEMPTED,)}
"""Of some kinds there are many that no decision reads."""
_GATES = {POD_GROUPS: "GenericWorkload", COMPOSITE_POD_GROUPS: "CompositePodGroup"}


class ClusterUnusable(ReprieveError):
    """The cluster cannot be asked, or does not answer whoever asks."""


class Snapshot(NamedTuple):
    """What was found."""

    context: str
    namespace: str
    """Where the context means its user to be."""
    records: list[Record]
    absent: tuple[Resource, ...]
    """Kinds that the server does not have."""
    forbidden: tuple[Resource, ...]
    """Kinds that we may not list."""
    broken: tuple[tuple[Resource, str], ...] = ()
    """Kinds of others that cannot be given now, and why."""

    def all(self, resource: Resource) -> list[Record]:
        return [record for record in self.records if record.resource == resource]

    def items(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[dict[str, Any]]:
        """Objects of a kind as plain data, in a namespace or in all, with these labels."""
        here = (record for record in self.all(resource) if namespace in ("", record.namespace))
        return [record.data for record in select(here, resource, labels, "")]

    @property
    def gates(self) -> dict[str, bool]:
        """Feature gates that the server must have on, since it has the kinds that come with them."""
        return {gate: True for resource, gate in _GATES.items() if resource not in self.absent}


def take_snapshot(kubeconfig: str | None, context: str | None, resources: Iterable[Resource]) -> Snapshot:
    """The cluster of a context. Raises `NoAccess` and `ClusterUnusable`, each with one line."""
    return asyncio.run(_take(kubeconfig, context, list(resources)))


async def _take(kubeconfig: str | None, context: str | None, resources: list[Resource]) -> Snapshot:
    access = await open_access(kubeconfig, context)
    # Imported here: what they need is an extra, and whoever has no access need not wait for it.
    from reprieve.stores.kubernetes.requests import Requests
    from reprieve.stores.kubernetes.store import KubernetesStore

    store = KubernetesStore(Requests(access, _NO_LIMIT), check=_never)
    try:
        return await _read(store, access, resources)
    except StoreError as error:
        raise ClusterUnusable(_why(access, error)) from error
    finally:
        await store.close()


async def _read(store: "KubernetesStore", access: Access, resources: list[Resource]) -> Snapshot:
    versions = {resource: await store.discovery.api_version(resource) for resource in resources}
    served = [resource for resource, version in versions.items() if version is not None]
    asked = [(each, fields) for each in served for fields in _ONLY.get(each, ("",))]
    found = await _all(*(store.list(each, fields=fields) for each, fields in asked))
    broken: dict[Resource, str] = {}
    records: list[Record] = []
    for (resource, _), answer in zip(asked, found, strict=True):
        if isinstance(answer, Listing):
            records += answer.records
        elif resource.custom and isinstance(answer, StoreError):
            broken[resource] = answer.message
        else:
            raise answer
    absent = tuple(resource for resource in resources if versions[resource] is None)
    forbidden = tuple(each for each in served if each in store.forbidden)
    namespace = access.namespace or DEFAULT_NAMESPACE
    return Snapshot(access.context, namespace, records, absent, forbidden, tuple(broken.items()))


async def _all(*asked: Coroutine[Any, Any, Listing]) -> list[Listing | BaseException]:
    """Every answer and every refusal, once all of them are there: a connection that is given up while it is being made
    stays open after the session was closed."""
    return await asyncio.gather(*asked, return_exceptions=True)


def _why(access: Access, error: StoreError) -> str:
    if isinstance(error, Unauthorized):
        return texts.unknown_here(access.context, access.host)
    if isinstance(error, Forbidden):
        return texts.no_right(access.context, str(error))
    return texts.unusable(access.context, str(error))


def _never() -> None:
    raise AssertionError("a snapshot is read, and nothing is written")
