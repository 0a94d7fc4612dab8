"""Nodes and queues as one pod finds them, told from the manifests alone."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reasons.reach import of_kind
from tests.reasons.worlds import Dict, QueueFile, World
from tests.reference.nodes import requests, whole
from tests.truth.pods import Ground


class QueueGround(Ground):
    """Nodes and queues as one pod finds them; queues are written from root down."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.file = QueueFile(world.objects)
        groups = of_kind(world.objects, "PodGroup")
        self.whole_groups = [
            item["metadata"]["name"] for item in groups if "all" in item["spec"].get("disruptionMode", ())
        ]
        self.running = [pod for pods in self.cluster.running.values() for pod in pods]
        self.waiting = [pod for pods in self.cluster.nominated.values() for pod in pods]

    def nominated(self, node: str) -> list[Dict]:
        """Between queues what was promised holds, whatever the priority."""
        return [other for other in self.cluster.nominated.get(node, []) if other is not self.pod]

    def free(self, node: str, resource: str, gone: Iterable[Dict] = (), *, when_left: bool = False) -> int:
        """Nominated pods get what leaves their node first, and only the rest of what they need from what is free.

        `when_left`: once everybody is gone who is leaving already.
        """
        leaving = self.leaving(node)
        here = [pod for pod in self.here(node) if pod not in gone and not (when_left and pod in leaving)]
        promised = _sum(self.nominated(node), resource)
        used = _sum(here, resource) + (promised if when_left else max(0, promised - _sum(leaving, resource)))
        return max(0, self.has(node, resource) - used)

    def leaving(self, node: str) -> list[Dict]:
        """Who counts as gone: of a group that goes as a whole nobody does, before all of it leave."""
        stay = {self.whole_group(pod) for pod in self.running if "deletionTimestamp" not in pod["metadata"]} - {""}
        gone = [pod for pod in self.here(node) if "deletionTimestamp" in pod["metadata"]]
        return [pod for pod in gone if self.whole_group(pod) not in stay]

    def whole_group(self, pod: Dict) -> str:
        """The group that a pod goes with as a whole; empty: it goes alone."""
        name = str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))
        return name if name in self.whole_groups else ""

    def names(self, pod: Dict) -> list[str]:
        """The queue of a pod and all above it, from its own up."""
        name = queue_of(pod)
        parts = name.split(".")
        return [".".join(parts[: end + 1]) for end in range(len(parts) - 1, -1, -1)]

    def bounds(self, name: str, which: str) -> dict[str, int]:
        path = self.file.path(name)
        if len(path) != len(name.split(".")):
            return {}
        said = path[-1].get("resources", {}).get(which, {})
        return whole({"cpu" if key == "vcore" else key: value for key, value in said.items()})

    def used(self, name: str, resource: str, *, kept: bool = False) -> int:
        """By pods in a queue and below it; `kept`: of those that are not leaving."""
        inside = [pod for pod in self.running if in_queues(pod) and name in self.names(pod)]
        return sum(
            requests(pod).get(resource, 0) for pod in inside if not kept or "deletionTimestamp" not in pod["metadata"]
        )

    def promised(self, name: str, resource: str) -> int:
        others = [pod for pod in self.waiting if pod is not self.pod and in_queues(pod) and name in self.names(pod)]
        return sum(requests(pod).get(resource, 0) for pod in others)


def _sum(pods: Iterable[Dict], resource: str) -> int:
    return sum(1 if resource == "pods" else requests(pod).get(resource, 0) for pod in pods)


def queue_of(pod: Dict) -> str:
    return str(pod["metadata"].get("labels", {}).get("queue", "root.default")).lower()


def in_queues(pod: Dict) -> bool:
    return bool(pod["spec"].get("schedulerName") != "reprieve")
