"""A Kubernetes API server behind the store protocol.

1. Lists come in pages, from what the server has in memory (`resourceVersion=0`): it need not ask etcd, and the watch
   that follows tells what it did not know yet.
2. What a write returns is the object, as it is then. A binding and an eviction return nothing but that they are done.
3. A kind that the server does not have has no objects, and nobody can write any.
4. A kind that we may never list is as good as absent, said to be so once, and tried again from time to time. Pods and
   nodes are not: without them nothing can be decided. Nor is a kind that could be listed before: a server that has just
   started says no to everybody for a moment.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import msgspec

from reprieve.manifests.kinds import EVENTS, NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.stores.api.paths import path_of
from reprieve.stores.errors import Conflict, Expired, Forbidden, Invalid, NotFound, TooManyRequests, Unavailable
from reprieve.stores.kubernetes import events
from reprieve.stores.kubernetes.discovery import Discovery
from reprieve.stores.kubernetes.objects import Page, kind_in, page_of, record
from reprieve.stores.kubernetes.requests import JSON, Requests, over_budget
from reprieve.stores.kubernetes.watching import Follower, ServerWatch
from reprieve.stores.protocol import Patch, PatchType, Propagation, Watch
from reprieve.stores.records import Listing, Record

_log = logging.getLogger(__name__)

_PAGE = 500
_TRY_AGAIN_SECONDS = 60.0
_NEEDED = (PODS, NODES)
_CONTENT: dict[PatchType, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_NOTHING = Listing([], sys.maxsize)
"""Of a kind that is not there: however late anybody has heard of an object, it is gone."""
_Asked = tuple[Resource, str, str]
"""A kind, in which namespace, by which fields: rights may be to one object by its name."""
_MANAGER = "reprieve"
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode


class KubernetesStore:
    """One API server, for everything that the scheduler, the controllers and the agents ask of a store."""

    def __init__(self, requests: Requests, check: Callable[[], None] = lambda: None) -> None:
        """`check` is asked before every write, and raises where there must be none."""
        self._requests = requests
        self._check = check
        self.discovery = Discovery(requests)
        self._dry_run = False
        self._listed: set[_Asked] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._forbidden: set[_Asked] = set()
        self._instance = f"{socket.gethostname()}-{os.getpid()}"[:128]

    def rehearsal(self) -> "KubernetesStore":
        """This store for a dry run: the server answers a write as it would, and changes nothing."""
        other = copy(self)
        other._dry_run = True
        return other

    async def close(self) -> None:
        """Watches end first: whoever reads from a connection that is closed under it never closes its own end."""
        tasks = list(self._watching)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._requests.close()

    # Reading

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        api_version = await self.discovery.api_version(resource)
        if api_version is None:
            return _NOTHING
        asked = resource, namespace, fields
        query = {"limit": str(_PAGE), "resourceVersion": "0", "labelSelector": labels, "fieldSelector": fields}
        path = path_of(resource, namespace, version=_version(api_version))
        try:
            found = await self._pages(resource, api_version, path, {key: each for key, each in query.items() if each})
        except NotFound:  # it was there a moment ago: somebody has taken its definition away
            await self.discovery.look_again()
            return _NOTHING
        except Forbidden as error:
            if resource in _NEEDED or asked in self._listed:
                raise
            if asked not in self._forbidden:
                _log.warning("no right to list %s: none of them count. %s", resource, error)
                self._forbidden.add(asked)
            return _NOTHING
        self._forbidden.discard(asked)
        self._listed.add(asked)
        return found

    @property
    def forbidden(self) -> set[Resource]:
        """Kinds that we turned out to have no right to list, or not all that was asked for of them."""
        return {resource for resource, _, _ in self._forbidden}

    async def _pages(self, resource: Resource, api_version: str, path: str, query: dict[str, str]) -> Listing:
        """All pages; when the server has forgotten where the next one begins, all at once."""
        records: list[Record] = []
        page = await self._page(resource, api_version, path, query)
        records += page.records
        while page.more:
            following = {**query, "continue": page.more}
            following.pop("resourceVersion", None)
            try:
                page = await self._page(resource, api_version, path, following)
            except Expired:
                return await self._pages(resource, api_version, path, {**query, "limit": "0"})
            records += page.records
        return Listing(records, page.version)

    async def _page(self, resource: Resource, api_version: str, path: str, query: Mapping[str, str]) -> Page:
        return page_of(resource, api_version, await self._requests.send("GET", path, query=query))

    def watch(
        self,
        resource: Resource,
        since: int,
        namespace: str = "",
        *,
        signal: asyncio.Event | None = None,
        fields: str = "",
    ) -> Watch:
        watch = ServerWatch(signal)
        follower = Follower(self._requests, self.discovery, resource, namespace, fields)
        work = _later(watch) if (resource, namespace, fields) in self._forbidden else follower.run(watch, since)
        watch.task = asyncio.create_task(work, name=f"watch {resource}")
        self._watching.add(watch.task)
        watch.task.add_done_callback(self._watching.discard)
        return watch

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Record:
        if resource is EVENTS:  # where they are written, so that the right to one API is enough
            return record(EVENTS, EVENTS.api_version, await self._send("GET", events.path(namespace, name)))
        return await self._write("GET", resource, namespace, name)

    # Writing

    async def create(self, resource: Resource, data: Mapping[str, Any]) -> Record:
        namespace = data["metadata"].get("namespace", "")
        if resource is EVENTS:
            made = _ENCODE(events.in_new_form(data, self._instance))
            return record(EVENTS, EVENTS.api_version, await self._send("POST", events.path(namespace), body=made))
        return await self._write("POST", resource, namespace, body=_ENCODE(data))

    async def replace(self, resource: Resource, data: Mapping[str, Any], *, subresource: str = "") -> Record:
        metadata = data["metadata"]
        where = metadata.get("namespace", ""), metadata["name"]
        return await self._write("PUT", resource, *where, subresource=subresource, body=_ENCODE(data))

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Patch,
        kind: PatchType = "merge",
        *,
        subresource: str = "",
        version: int | None = None,
        uid: str = "",
        api_version: str = "",
    ) -> Record:
        if resource is EVENTS and isinstance(patch, Mapping) and "count" in patch:
            body = await self._send(
                "PATCH", events.path(namespace, name), body=_ENCODE(events.counted(patch)), content=_CONTENT["merge"]
            )
            return record(EVENTS, EVENTS.api_version, body)
        query = {"fieldManager": _MANAGER, "force": "true"} if kind == "apply" else None
        try:
            return await self._write(
                "PATCH",
                resource,
                namespace,
                name,
                subresource=subresource,
                body=_ENCODE(_only_if(patch, version, uid)),
                content=_CONTENT[kind],
                query=query,
                api_version=api_version,
            )
        except Invalid as refused:
            # That it is another object of the same name is for an API server an attempt to change the uid.
            if uid and any(field == "metadata.uid" for _, _, field in refused.causes):
                raise Conflict(f"{resource} {name} is another one now", kind=resource.plural, name=name) from refused
            raise

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        grace: int | None = None,
        uid: str = "",
        version: int | None = None,
        propagation: Propagation = "Background",
    ) -> Record:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        conditions = {"uid": uid, "resourceVersion": str(version) if version is not None else ""}
        options["preconditions"] = {key: value for key, value in conditions.items() if value}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return await self._write("DELETE", resource, namespace, name, body=_ENCODE(options))

    async def bind(self, name: str, namespace: str, node: str, *, uid: str = "", version: int | None = None) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        conditions = {"uid": uid, "resourceVersion": str(version) if version is not None else ""}
        metadata = {"name": name, "namespace": namespace, **{key: value for key, value in conditions.items() if value}}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self._send("POST", path_of(PODS, namespace, name, subresource="binding"), body=_ENCODE(binding))

    async def evict(self, name: str, namespace: str, *, grace: int | None = None, uid: str = "") -> None:
        options: dict[str, Any] = {"preconditions": {"uid": uid}} if uid else {}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        metadata = {"name": name, "namespace": namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
        path = path_of(PODS, namespace, name, subresource="eviction")
        try:
            await self._send("POST", path, body=_ENCODE(eviction))
        except TooManyRequests as busy:
            if over_budget(busy):
                raise
            raise Unavailable(f"the server had no time to evict {namespace}/{name}: {busy.message}") from busy

    async def _send(self, method: str, path: str, **options: Any) -> bytes:
        if method != "GET":
            options["check"] = self._check
            if self._dry_run:
                options["query"] = {**(options.get("query") or {}), "dryRun": "All"}
        return await self._requests.send(method, path, **options)

    async def _write(
        self,
        method: str,
        resource: Resource,
        namespace: str,
        name: str = "",
        *,
        subresource: str = "",
        body: bytes | None = None,
        content: str = JSON,
        query: Mapping[str, str] | None = None,
        api_version: str | None = None,
    ) -> Record:
        api_version = api_version or await self.discovery.api_version(resource)
        if api_version is None:
            raise NotFound(f"the server has no {resource}", group=resource.group, kind=resource.plural, name=name)
        path = path_of(resource, namespace, name, version=_version(api_version), subresource=subresource)
        answer = await self._send(method, path, query=query, body=body, content=content)
        if method == "DELETE" and kind_in(answer) == "Status":
            return _gone(resource, api_version, namespace, name)
        return record(resource, api_version, answer)


async def _later(watch: Watch) -> None:
    """Of a kind that may not be listed: it is tried again after a while."""
    await asyncio.sleep(_TRY_AGAIN_SECONDS)
    watch.fail(Expired("it may be allowed by now"))


def _only_if(patch: Patch, version: int | None, uid: str) -> Patch:
    """The patch, refused where the object is at another version, or is another one."""
    meant = {"resourceVersion": str(version) if version is not None else "", "uid": uid}
    meant = {key: value for key, value in meant.items() if value}
    if not meant:
        return patch
    if not isinstance(patch, Mapping):
        named = [{"op": "add", "path": f"/metadata/{key}", "value": value} for key, value in meant.items()]
        return [*named, *patch]
    return {**patch, "metadata": {**patch.get("metadata", {}), **meant}}


def _gone(resource: Resource, api_version: str, namespace: str, name: str) -> Record:
    """What is left of an object of which the server says only that it is deleted."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    raw = _ENCODE({"apiVersion": api_version, "kind": resource.kind, "metadata": metadata})
    return Record(resource, raw, namespace=namespace, name=name, uid="", version=0)


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
