"""A world, a decision over it, and one who was spared: what a swap turns around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from tests.reasons.reach import named, of_kind
from tests.reasons.worlds import Dict, QueueFile, World, copied

FAR_BELOW = -1000
Swap = Callable[["Scene"], None]
"""Turns around the fact that protects the one who was spared."""


class Scene:
    """A copy of a world in which a fact about one spared unit is turned around."""

    def __init__(self, world: World, decision: Dict, spared: dict[str, str]) -> None:
        self.world = copied(world)
        self.decision = decision
        self.unit = spared["unit"]
        self.domain = spared["domain"]
        self.moved = False
        """Whether it was put elsewhere."""

    @property
    def objects(self) -> list[Dict]:
        return self.world.objects

    @property
    def item(self) -> Dict:
        """The one who was spared."""
        return named(self.objects, self.unit)

    @property
    def asking(self) -> list[Dict]:
        """The preemptor; of a gang, its pods that wait."""
        if self.world.policy == "podgroup":
            return [item for item in of_kind(self.objects, "Pod") if not item["spec"].get("nodeName")]
        return [named(self.objects, self.world.preemptor)]

    def node(self, name: str) -> Dict:
        return next(item for item in of_kind(self.objects, "Node") if item["metadata"]["name"] == name)

    def cluster(self, name: str) -> Dict:
        return next(item for item in of_kind(self.objects, "Cluster") if item["metadata"]["name"] == name)


class QueueScene:
    """The queues of a scene, saved when all is done."""

    def __init__(self, scene: Scene) -> None:
        self.file = QueueFile(scene.objects)
        self._scene = scene

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.save()

    def of(self, pod: Dict) -> list[Dict]:
        """The queues of a pod, from root down."""
        return self.file.path(pod["metadata"].get("labels", {}).get("queue", "root.default"))

    @property
    def theirs(self) -> list[Dict]:
        return self.of(self._scene.item)

    @property
    def own(self) -> list[Dict]:
        return self.of(self._scene.asking[0])


def without_property(queue: Dict, *names: str) -> None:
    for name in names:
        queue.get("properties", {}).pop(name, None)


def alone(pod: Dict) -> None:
    """A pod that belongs to no group any more."""
    pod["spec"].pop("schedulingGroup", None)
    pod["spec"].pop("workloadRef", None)


def conditions(item: Dict, *dropped: str) -> None:
    """Without some conditions."""
    status: dict[str, Any] = item.get("status", {})
    status["conditions"] = [found for found in status.get("conditions", ()) if found["type"] not in dropped]
