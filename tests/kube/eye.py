"""Sees every version of every pod of a namespace on a real API server, in order, and complains of what must not be.

1. No node is ever given more than it has.
2. Nobody ever gets a second node.
3. Nobody is evicted in vain: whoever it was for gets that node, or is overtaken there by somebody above it, or is gone
   before it has any. As with kube-scheduler, room that comes free elsewhere while the victim still leaves is taken:
   that somebody did leave there in between, or gave up a promise of that room, is looked at, and how often it happens
   is counted. What happened half a second before the victim was told to go may not have been heard of yet: it is on
   its way through the same server, which is made to stumble.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx

from tests.kube.client import KubeClient, Refused

_MADE_WAY = re.compile(r"Preempted by Pod/(?P<namespace>[^/]+)/(?P<name>\S+) on (?P<node>[^:]+): ")
_OVER = ("Succeeded", "Failed")
_ON_ITS_WAY = 0.5


@dataclass
class Life:
    """All that is known of one pod."""

    name: str
    uid: str
    priority: int
    cpu: int
    node: str = ""
    bound_at: int = 0
    victim_of: str = ""
    wanted: str = ""
    left_at: int = 0
    gone_at: int = 0
    nominated: str = ""


class Eye:
    """Watches from the moment it is opened until it is closed, over restarts of the server."""

    def __init__(self, client: KubeClient, namespace: str, capacity: dict[str, int]) -> None:
        """`capacity` is the cpu of each node, in thousandths."""
        self._client = client
        self._path = client.path("v1", "Pod", namespace)
        self._capacity = capacity
        self._closed = threading.Event()
        self._version = 0
        self.lives: dict[str, Life] = {}
        self.faults: list[str] = []
        self.given_up: list[tuple[str, int, str]] = []
        """Nodes that were promised to somebody and are no longer, from which version on, and to whom."""
        self._moments: list[tuple[int, float]] = []
        """When each version was seen."""
        self.gaps = 0
        """How often the server had forgotten what happened in between."""
        self._thread = threading.Thread(target=self._run, name="eye", daemon=True)

    def __enter__(self) -> Self:
        self._list()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=30)

    @property
    def victims(self) -> list[Life]:
        return [life for life in self.lives.values() if life.victim_of and life.left_at]

    def in_vain(self) -> list[str]:
        return [
            f"{each.name} left {each.node} for {each.victim_of}{self._instead(each)}"
            for each in self.victims
            if self._in_vain(each) and not self._room_came_free(each)
        ]

    def _instead(self, victim: Life) -> str:
        """Where its preemptor went, and who left there, by the versions at which that was."""
        claimants = [life for life in self.lives.values() if life.name == victim.victim_of]
        left = sorted(
            (life.gone_at, life.left_at, life.name)
            for life in self.lives.values()
            if life.gone_at and life.node in {claimant.node for claimant in claimants}
        )
        told = [(life.node, life.bound_at, life.priority, life.gone_at) for life in claimants]
        lost = [each for each in self.given_up if abs(each[1] - victim.left_at) < 100]
        recent = [each for each in left if abs(each[0] - victim.left_at) < 100]
        return f" at {victim.left_at}, which went to {told}; there left {recent}; promises given up: {lost}"

    def room_came_free(self) -> int:
        """How many left for somebody who then found room elsewhere."""
        return sum(self._in_vain(each) and self._room_came_free(each) for each in self.victims)

    def _room_came_free(self, victim: Life) -> bool:
        """Whether its preemptor is on a node that somebody left after the victim was told to go."""
        known = self._known_by(victim.left_at)
        return any(
            other.node == life.node and known < other.gone_at <= life.bound_at
            for life in self.lives.values()
            if life.name == victim.victim_of and life.node
            for other in self.lives.values()
        ) or any(
            node == life.node and known < version <= life.bound_at
            for life in self.lives.values()
            if life.name == victim.victim_of
            for node, version, name in self.given_up
            if name != life.name
        )

    def _known_by(self, version: int) -> int:
        """The last version that a scheduler must have heard of when it wrote another one."""
        wrote = next((moment for seen, moment in self._moments if seen >= version), 0.0)
        return max((seen for seen, moment in self._moments if moment < wrote - _ON_ITS_WAY), default=0)

    def _in_vain(self, victim: Life) -> bool:
        """By name: of several that had this name one after the other, one that got the place is enough."""
        claimants = [life for life in self.lives.values() if life.name == victim.victim_of]
        if any(life.node == victim.wanted or _never_placed(life) for life in claimants):
            return False
        if not claimants:  # it came and went while the server had forgotten what happened
            return not self.gaps
        above = min(life.priority for life in claimants)
        arrived = (
            life for life in self.lives.values() if life.node == victim.wanted and life.bound_at > victim.left_at
        )
        return not any(life.priority > above for life in arrived)

    # What the server tells

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with suppress(httpx.TransportError, Refused):
                    self._watch()
            except Exception as error:
                self.faults.append(f"it could not look any more: {error!r}")
                return
            self._closed.wait(0.05)

    def _list(self) -> None:
        found = self._client.request("GET", self._path)
        self._version = int(found["metadata"]["resourceVersion"])
        there = {item["metadata"]["uid"] for item in found["items"]}
        for life in self.lives.values():
            if life.uid not in there and not life.gone_at:
                life.gone_at = self._version
        for item in found["items"]:
            self._see(item)
        self._look()

    def _watch(self) -> None:
        parameters = {"watch": "true", "resourceVersion": str(self._version), "timeoutSeconds": "5"}
        with self._client.http.stream("GET", self._path, params=parameters) as answer:
            if answer.is_error:
                answer.read()
                if answer.status_code == httpx.codes.GONE:
                    self._lost_track()
                return
            for line in answer.iter_lines():
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            return self._lost_track()
        self._version = int(event["object"]["metadata"]["resourceVersion"])
        self._moments.append((self._version, time.monotonic()))
        life = self._see(event["object"])
        if event["type"] == "DELETED":
            life.gone_at = life.gone_at or self._version  # its place is free since it was over
            self._promised(life, "")
        return self._look()

    def _lost_track(self) -> None:
        self.gaps += 1
        self._list()

    def _see(self, pod: dict[str, Any]) -> Life:
        metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
        life = self.lives.setdefault(
            metadata["uid"], Life(metadata["name"], metadata["uid"], spec.get("priority", 0), _cpu(spec))
        )
        node = spec.get("nodeName", "")
        if node and life.node and node != life.node:
            self.faults.append(f"{life.name} was on {life.node} and is on {node}")
        if node and not life.node:
            life.node, life.bound_at = node, self._version
        if node and life.nominated == node:
            life.nominated = ""  # kept
        self._promised(life, "" if node else status.get("nominatedNodeName", ""))
        if status.get("phase") in _OVER and not life.gone_at:
            life.gone_at = self._version
        if "deletionTimestamp" in metadata and not life.left_at:
            life.left_at = self._version
        for condition in status.get("conditions", ()):
            self._told(life, condition)
        return life

    def _promised(self, life: Life, node: str) -> None:
        if life.nominated and life.nominated != node:
            self.given_up.append((life.nominated, self._version, life.name))
        life.nominated = node

    def _told(self, life: Life, condition: dict[str, Any]) -> None:
        if condition["type"] != "DisruptionTarget" or condition.get("reason") != "PreemptionByScheduler":
            return
        told = _MADE_WAY.match(condition.get("message", ""))
        assert told is not None, condition
        stays = condition["status"] != "True"
        life.victim_of, life.wanted = ("", "") if stays else (told["name"], told["node"])

    def _look(self) -> None:
        used: dict[str, int] = defaultdict(int)
        for life in self.lives.values():
            if life.node and not life.gone_at:
                used[life.node] += life.cpu
        for node, cpu in used.items():
            if cpu > self._capacity[node]:
                there = sorted(life.name for life in self.lives.values() if life.node == node and not life.gone_at)
                self.faults.append(f"{node} has {self._capacity[node]} and gives {cpu}: {', '.join(there)}")


def _never_placed(life: Life) -> bool:
    """It was gone before it had any node: one that went elsewhere has no such excuse."""
    return bool(life.gone_at) and not life.node


def _cpu(spec: dict[str, Any]) -> int:
    asked = (each["resources"]["requests"]["cpu"] for each in spec["containers"])
    return sum(int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu) for cpu in asked)
