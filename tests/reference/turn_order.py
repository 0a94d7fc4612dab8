"""Whose turn it is among pods in queues, read plainly off the manifests: everybody is compared anew before each turn.

From YuniKorn's documentation: queues below one parent take turns by priority, then by who has the smaller share;
applications in a leaf by priority, then by age (`fifo`) or by what they have (`fair`); pods of one by age.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from reprieve.model.resources import Resources
from tests.builders.pods import Dict


class PlainOrder:
    """A world in which there is room for everybody."""

    def __init__(self, objects: list[Dict]) -> None:
        text = next(item["data"]["queues.yaml"] for item in objects if item["kind"] == "ConfigMap")
        self.queues: dict[str, Dict] = {}
        self._read(json.loads(text)["partitions"][0]["queues"][0], "")
        pods = [item for item in objects if item["kind"] == "Pod"]
        self.there = [pod for pod in pods if "nodeName" in pod["spec"]]
        self.waiting = [pod for pod in pods if "nodeName" not in pod["spec"]]
        self.total = sum(
            (Resources.parse(item["status"]["allocatable"]) for item in objects if item["kind"] == "Node"), Resources()
        )

    def _read(self, queue: Dict, parent: str) -> None:
        path = f"{parent}.{queue['name']}" if parent else queue["name"]
        self.queues[path] = queue
        for child in queue.get("queues", []):
            self._read(child, path)

    def turns(self) -> list[str]:
        """The names of all who wait, as they have their turns; each gets a place."""
        taken = []
        while self.waiting:
            one = min(self.waiting, key=self._key)
            self.waiting.remove(one)
            self.there.append(one)
            taken.append(str(one["metadata"]["name"]))
        return taken

    def _key(self, pod: Dict) -> tuple[Any, ...]:
        """Of worlds in which no queue shifts priorities: the smallest goes first."""
        queue = _queue(pod)
        shares = [self._share(name) for name in reversed(_up(queue)[:-1])]
        application = self._of_app(pod)
        since = min(one["metadata"]["creationTimestamp"] for one in (*application, pod))
        if self._says(queue, "application.sort.policy") == "fair":
            there = [one for one in application if "nodeName" in one["spec"] or one in self.there]
            shares.append(_largest(_sum([one for one in there if _queue(one) == queue]), self.total))
            since = pod["metadata"]["creationTimestamp"]
        while shares and not shares[-1]:
            shares.pop()
        age = since, pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]
        if self._says("root", "application.sort.priority") == "disabled":
            return shares, since, -pod["spec"]["priority"], *age[1:]
        return -pod["spec"]["priority"], shares, *age

    def _says(self, queue: str, name: str) -> str:
        return str(self.queues.get(queue, {}).get("properties", {}).get(name, ""))

    def _of_app(self, pod: Dict) -> list[Dict]:
        return [
            one
            for one in (*self.there, *self.waiting)
            if one["metadata"]["labels"]["applicationId"] == pod["metadata"]["labels"]["applicationId"]
        ]

    def _share(self, queue: str) -> Fraction:
        used = _sum([pod for pod in self.there if queue in _up(_queue(pod))])
        of = dict(self.total)
        for name in reversed(_up(queue)):
            for kind, units in self._bound(name, "max").items():
                of[kind] = min(units, of[kind]) if name != "root" and kind in self._maxima(name) else units
        return _largest(used, {**of, **self._bound(queue, "guaranteed")})

    def _maxima(self, queue: str) -> set[str]:
        """The resources of which a queue above has a maximum."""
        return {kind for name in _up(queue)[1:] for kind in self._bound(name, "max")}

    def _bound(self, queue: str, which: str) -> Resources:
        said = self.queues.get(queue, {}).get("resources", {}).get(which, {})
        return Resources.parse({"cpu" if name == "vcore" else name: value for name, value in said.items()})


def _queue(pod: Dict) -> str:
    return str(pod["metadata"]["labels"]["queue"])


def _up(queue: str) -> list[str]:
    steps = queue.split(".")
    return [".".join(steps[:length]) for length in range(len(steps), 0, -1)]


def _sum(pods: list[Dict]) -> Resources:
    return sum((Resources.parse(pod["spec"]["containers"][0]["resources"]["requests"]) for pod in pods), Resources())


def _largest(used: Resources, of: Any) -> Fraction:
    shares = [Fraction(units * 10**6 // of[name]) for name, units in used.items() if of.get(name)]
    return max(shares, default=Fraction(0))
