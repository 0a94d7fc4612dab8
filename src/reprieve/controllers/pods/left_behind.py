"""Pods that were told to go and whose node is gone: nobody is left there who could tell that they have ended, so they
are deleted, as Kubernetes' pod garbage collector does it."""

from collections.abc import Hashable, Iterable

from reprieve.controllers.runner import BaseController, own_key
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving

_LEAVING = b'"deletionTimestamp"'


class LeftBehind(BaseController):
    component = "pod-garbage-collector"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._pods = self.watch(PODS, own_key, {"node": _node}, mark=_LEAVING)
        self._nodes = self.watch(NODES, self._on, concern=lambda _: None)

    def _on(self, node: Record) -> Iterable[Hashable]:
        return [pod.key for pod in self._pods.by("node", node.name)]

    async def reconcile(self, key: tuple[str, str]) -> None:
        pod = self._pods.get(key[1], key[0])
        name = pod.data["spec"].get("nodeName") if pod is not None and is_leaving(pod) else None
        if pod is None or not name or self._nodes.get(name) is not None:
            return
        if await self.find(NODES, "", name) is None:
            await self.delete(pod, grace=0)


def _node(pod: Record) -> Iterable[Hashable]:
    name = pod.data["spec"].get("nodeName")
    return (name,) if name else ()
