"""The law of the required node, from the design: "YuniKorn guarantees that the pod will run on that node and nothing
else will be scheduled on that node until the DaemonSet pod is scheduled."

`ClosedNodes` is told every version of every pod, and knows pods as Kubernetes has them and nothing else. A DaemonSet's
pod that waits and is nominated to a node closes that node. Whoever is bound there in the meantime is a fault, unless it
was nominated to that node before: to whom the place had been promised, that promise holds.
"""

from __future__ import annotations

from typing import Any

from reprieve.manifests.kinds import PODS
from reprieve.stores.records import WatchEvent

Pod = dict[str, Any]


class ClosedNodes:
    """Sees all pods from now on."""

    def __init__(self, store: Any) -> None:
        self.faults: list[str] = []
        self.closed = 0
        """How often a node was closed."""
        self._pods: dict[str, Pod] = {}
        self._promised: dict[str, set[str]] = {}
        """By the pod that closes a node: whom a place there was promised before."""
        self.attach(store)

    def attach(self, store: Any) -> None:
        """Also after a restart: what it knows of pods goes on."""
        watch = store.watch(PODS, store.version)
        watch.feed = self._see

    def _see(self, event: WatchEvent) -> None:
        pod, uid = event.record.data, event.record.uid
        before = self._pods.get(uid)
        if event.type == "DELETED":
            self._pods.pop(uid, None)
            self._promised.pop(uid, None)
            return
        node = _node(pod)
        if node and not (before and _node(before)):
            self._bound(uid, pod, node)
        self._pods[uid] = pod
        self._note(uid, pod)

    def _bound(self, uid: str, pod: Pod, node: str) -> None:
        for closer, promised in self._promised.items():
            waiting = self._pods[closer]
            if closer != uid and uid not in promised and _closes(waiting) == node:
                faulty, owner = pod["metadata"]["name"], waiting["metadata"]["name"]
                self.faults.append(f"{faulty} was placed on {node} while {owner} waited for it")

    def _note(self, uid: str, pod: Pod) -> None:
        node = _closes(pod)
        if not node:
            self._promised.pop(uid, None)
        elif uid not in self._promised:
            self.closed += 1
            self._promised[uid] = {other for other, each in self._pods.items() if _nomination(each) == node}


def _node(pod: Pod) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _nomination(pod: Pod) -> str:
    waits = not _node(pod) and "deletionTimestamp" not in pod["metadata"]
    return str(pod.get("status", {}).get("nominatedNodeName", "")) if waits else ""


def _closes(pod: Pod) -> str:
    owners = pod["metadata"].get("ownerReferences", ())
    return _nomination(pod) if any(owner["kind"] == "DaemonSet" for owner in owners) else ""
