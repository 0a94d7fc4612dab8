"""The laws of preemption between queues, read plainly off the manifests: no tree that is kept, no columns.

A queue is its path; what runs below it is found by looking at every pod.
"""

from __future__ import annotations

import json
from typing import Any

from reprieve.model.resources import Resources
from tests.builders.pods import Dict


class PlainQueues:
    """Configuration and pods of a world, as written."""

    def __init__(self, objects: list[Dict]) -> None:
        text = next(item["data"]["queues.yaml"] for item in objects if item["kind"] == "ConfigMap")
        self.queues: dict[str, Dict] = {}
        self._read(json.loads(text)["partitions"][0]["queues"][0], "")
        self.pods = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Pod"}
        self.nodes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Node"}

    def _read(self, queue: Dict, parent: str) -> None:
        path = f"{parent}.{queue['name']}" if parent else queue["name"]
        self.queues[path] = queue
        for child in queue.get("queues", []):
            self._read(child, path)

    # Single things

    def queue(self, pod: str) -> str:
        return str(self.pods[pod]["metadata"]["labels"]["queue"])

    def application(self, pod: str) -> str:
        return str(self.pods[pod]["metadata"]["labels"]["applicationId"])

    def priority(self, pod: str) -> int:
        return int(self.pods[pod]["spec"]["priority"])

    def amount(self, pod: str) -> Resources:
        return Resources.parse(self.pods[pod]["spec"]["containers"][0]["resources"]["requests"])

    def path(self, queue: str) -> list[str]:
        """From a queue up to root."""
        steps = queue.split(".")
        return [".".join(steps[:length]) for length in range(len(steps), 0, -1)]

    def says(self, queue: str, name: str) -> str:
        return str(self.queues[queue].get("properties", {}).get(name, ""))

    def bound(self, queue: str, kind: str) -> Resources | None:
        found: Any = self.queues[queue].get("resources", {}).get(kind)
        if found is None:
            return None
        return Resources.parse({"cpu" if name == "vcore" else name: value for name, value in found.items()})

    # Sums

    def use(self, queue: str, without: set[str] = frozenset(), *, leaving: bool = True) -> Resources:  # type: ignore[assignment]
        """What runs in a queue and below it, with or without those that leave."""
        total = Resources()
        for name, pod in self.pods.items():
            runs = "nodeName" in pod["spec"] and name not in without
            counts = leaving or "deletionTimestamp" not in pod["metadata"]
            if runs and counts and queue in self.path(self.queue(name)):
                total += self.amount(name)
        return total

    def room(self, node: str, without: set[str]) -> Resources:
        total = Resources.parse(self.nodes[node]["status"]["allocatable"])
        for name, pod in self.pods.items():
            if pod["spec"].get("nodeName") == node and name not in without:
                total -= self.amount(name)
        return total

    def below_common(self, queue: str, other: str) -> list[str]:
        """The queues on a path that are not on the other."""
        return [step for step in self.path(queue) if step not in self.path(other)]

    # What a request needs

    def fits(self, pod: str, node: str, without: set[str]) -> bool:
        """On the node, and below every maximum."""
        room = all(units <= self.room(node, without).of(name) for name, units in self.amount(pod).items())
        return room and not self.over_maximum(pod, without)

    def over_maximum(self, pod: str, without: set[str]) -> bool:
        return any(
            (self.use(queue, without) + self.amount(pod)).of(name) > units
            for queue in self.path(self.queue(pod))
            for name, units in (self.bound(queue, "max") or {}).items()
            if self.amount(pod).of(name)
        )

    def under_guarantee(self, pod: str, without: set[str]) -> bool:
        """Law 4: of each type that is guaranteed, the lowest queue that does has some left."""
        lowest: dict[str, int] = {}
        for queue in self.path(self.queue(pod)):
            for name, units in (self.bound(queue, "guaranteed") or {}).items():
                lowest.setdefault(name, units - self.use(queue, without, leaving=False).of(name))
        asked = [name for name in self.amount(pod) if name in lowest]
        return bool(asked) and all(lowest[name] > 0 for name in asked)

    def fence(self, pod: str) -> str:
        """Law 7: the first queue on the way up that is fenced, or whose maximum is in the way."""
        for queue in self.path(self.queue(pod)):
            most = self.bound(queue, "max") or Resources()
            request = self.amount(pod)
            over = any((self.use(queue) + request).of(name) > most[name] for name in most if request.of(name))
            if over or (queue != "root" and self.says(queue, "preemption.policy") == "fence"):
                return queue
        return "root"
