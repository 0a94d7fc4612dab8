"""Namespaces that are being deleted: everything in them goes first, then they do."""

from typing import Any

from reprieve.controllers.runner import BaseController, own_key
from reprieve.manifests.kinds import EVENTS, NAMESPACES, PODS, RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.model.conditions import set_condition
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving, together
from reprieve.texts import controllers as texts

_FINALIZER = "kubernetes"
_LOOK_AGAIN = 1.0
_CONTENTS: tuple[Resource, ...] = (
    *(resource for resource in RESOURCES.values() if resource.namespaced and resource not in (PODS, EVENTS)),
    PODS,
    EVENTS,
)
"""In the order in which they are deleted: what makes pods before pods, and what tells of it all at the end."""


class NamespaceController(BaseController):
    component = "namespace-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._namespaces = self.watch(NAMESPACES, own_key)

    async def reconcile(self, key: Any) -> float | None:
        namespace = self._namespaces.get(key[1])
        if namespace is None or not is_leaving(namespace):
            return None
        remaining = {resource: await self._empty(resource, namespace.name) for resource in _CONTENTS}
        counts = {str(resource): number for resource, number in remaining.items() if number}
        if counts:
            await self.modify_status(namespace, lambda status: self._write_status(status, counts))
            return _LOOK_AGAIN
        await self._finalize(namespace)
        return None

    async def _empty(self, resource: Resource, namespace: str) -> int:
        """Delete all of a kind; how many are still there."""
        found = (await self.store.list(resource, namespace)).records
        await together(self.delete(record) for record in found if not is_leaving(record))
        return len((await self.store.list(resource, namespace)).records) if found else 0

    async def _finalize(self, namespace: Record) -> None:
        """The last step: nothing keeps the namespace any more. Refused when it has changed since."""
        spec = namespace.data.get("spec", {})
        kept = [each for each in spec.get("finalizers", ()) if each != _FINALIZER]
        if kept == spec.get("finalizers", []):
            return
        data = {**namespace.data, "spec": {**spec, "finalizers": kept}}
        try:
            await self.store.replace(NAMESPACES, data, subresource="finalize")
        except NotFound:
            self.forget(namespace)

    def _write_status(self, status: dict[str, Any], counts: dict[str, int]) -> None:
        message = texts.content_remains(counts)
        set_condition(status, "NamespaceContentRemaining", "True", "SomeResourcesRemain", message, now=self.clock())
