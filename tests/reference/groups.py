"""Groups as KEP-5710 and kube-scheduler see them, as plainly as it can be written: units, gangs, places, victims.

A state is just who runs where. Everything else is worked out anew each time it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from tests.reference.cluster import Cluster, Dict, namespace_of, priority_of, read, unit_of
from tests.reference.decision import LATEST, Decision
from tests.reference.neighbours import affinity_met, kept_away, spread_evenly
from tests.reference.nodes import (
    PASSES,
    conflict,
    cordoned,
    host_ports,
    node_affinity,
    resources_fit,
    taints_tolerated,
)

Where = dict[str, str]
"""Pods by name, and the node of each."""


@dataclass
class NaiveUnit:
    """What goes as one: at which priority, and with which pods."""

    name: str
    priority: int
    grouped: bool
    pods: list[Dict]

    @property
    def members(self) -> set[str]:
        return {unit_of(pod) for pod in self.pods}

    @property
    def nodes(self) -> set[str]:
        return {pod["spec"]["nodeName"] for pod in self.pods}


class Groups:
    """All groups of a world, in both API shapes."""

    def __init__(self, objects: list[Dict]) -> None:
        self.cluster: Cluster = read(objects)
        self.pods = {unit_of(item): item for item in objects if item["kind"] == "Pod"}
        self._groups = {
            (item["kind"], item["metadata"]["name"]): item
            for item in objects
            if item["kind"] in ("PodGroup", "Workload")
        }

    def group_of(self, pod: Dict) -> tuple[str, Dict] | None:
        """The name of a pod's group, and what it says of itself: priorities, mode, how many it takes."""
        spec = pod["spec"]
        if "workloadRef" in spec:
            return self._of_workload(namespace_of(pod), spec["workloadRef"])
        name = spec.get("schedulingGroup", {}).get("podGroupName", "")
        found = self._groups.get(("PodGroup", name))
        if found is None:
            return None
        own = found["spec"]
        facts = {
            "priority": own["priority"],
            "preempted above": own["priority"],
            "whole": "all" in own.get("disruptionMode", {}),
            "least": own["schedulingPolicy"].get("gang", {}).get("minCount", 1),
        }
        return f"PodGroup/{namespace_of(pod)}/{name}", facts

    def _of_workload(self, namespace: str, reference: Dict) -> tuple[str, Dict] | None:
        found = self._groups.get(("Workload", reference["name"]))
        if found is None:
            return None
        inline = next((item for item in found["spec"]["podGroups"] if item["name"] == reference["podGroup"]), None)
        if inline is None:
            return None
        gang = inline["policy"].get("gang", {})
        priority = self._value(found["spec"].get("priorityClassName", ""))
        above = found["spec"].get("preemptionPriorityClassName", "")
        facts = {
            "priority": priority,
            "preempted above": max(priority, self._value(above)) if above else priority,
            "whole": gang.get("preemptionMode") == "PodGroup",
            "least": gang.get("minCount", 1),
        }
        replica = reference.get("podGroupReplicaKey", "")
        name = f"Workload/{namespace}/{reference['name']}/{reference['podGroup']}"
        return f"{name}/{replica}" if replica else name, facts

    def _value(self, name: str) -> int:
        return priority_of(self.cluster, {"spec": {"priorityClassName": name}})

    def units(self, running: list[Dict]) -> list[NaiveUnit]:
        """Everybody who runs, unit by unit."""
        found: dict[str, NaiveUnit] = {}
        for pod in running:
            group = self.group_of(pod)
            name, priority = unit_of(pod), priority_of(self.cluster, pod)
            if group is not None:
                priority = group[1]["preempted above"]
                name = group[0] if group[1]["whole"] else name
            found.setdefault(name, NaiveUnit(name, priority, group is not None, [])).pods.append(pod)
        return list(found.values())


class Question:
    """A gang or a single pod that waits, and everything that can be asked about it."""

    def __init__(self, objects: list[Dict], preemptor: str, now: datetime = LATEST, *, patient: bool = False) -> None:
        """`patient`: as if tolerations that are limited in time were over."""
        self.groups = Groups(objects)
        self.cluster = self.groups.cluster
        everybody = self.groups.pods.values()
        found = {unit_of(pod): self.groups.group_of(pod) for pod in everybody}
        ours = [pod for pod in everybody if (group := found[unit_of(pod)]) and group[0] == preemptor]
        self.members = sorted(
            (pod for pod in ours or [self.groups.pods[preemptor]] if "nodeName" not in pod["spec"]),
            key=lambda pod: str(pod["metadata"]["name"]),
        )
        group = found[unit_of(self.members[0])] if ours else None
        self.priority = group[1]["priority"] if group else priority_of(self.cluster, self.members[0])
        self.required = max(group[1]["least"] - len(ours) + len(self.members), 1) if group else 1
        self.running = [pod for pods in self.cluster.running.values() for pod in pods]
        self.units = sorted(self.groups.units(self.running), key=importance)
        self._asker = Decision(self.cluster, self.members[0], now, respect=False)
        self._asker.priority = self.priority
        self._patient = patient
        below = [unit for unit in self.units if unit.priority < self.priority]
        self.left_out = {node for unit in below if self._in_doubt(unit) for node in unit.nodes}
        """Nodes on which nobody knows what somebody below tolerates."""
        self.lower = [unit for unit in below if not self.tolerates(unit) and self._reached(unit, gang=bool(ours))]

    def _reached(self, unit: NaiveUnit, *, gang: bool) -> bool:
        """A gang asks nobody who is on a node that is left out; a pod asks those on its own node, wherever else."""
        return not unit.nodes & self.left_out if gang else bool(unit.nodes - self.left_out)

    def tolerates(self, unit: NaiveUnit) -> bool:
        """One of its pods does, each since it was scheduled."""
        return any(self._asker.exempt(pod, self._patient) for pod in unit.pods if not self._in_doubt(unit))

    def _in_doubt(self, unit: NaiveUnit) -> bool:
        return any(self._asker.in_doubt(pod["spec"].get("priorityClassName", "")) for pod in unit.pods)

    def passes(self, running: list[Dict], pod: Dict, node: str) -> bool:
        """Whether a pod passes all filters on a node, if just these ran."""
        by_node: dict[str, list[Dict]] = {name: [] for name in self.cluster.nodes}
        for other in running:
            by_node[other["spec"]["nodeName"]].append(other)
        state = replace(self.cluster, running=by_node)
        there = self.cluster.nodes[node]
        here = by_node[node]
        if cordoned(there, pod) or not taints_tolerated(there, pod) or not node_affinity(there, pod):
            return False
        if any(conflict(one, two) for other in here for one in host_ports(pod) for two in host_ports(other)):
            return False
        rest = (resources_fit, spread_evenly, affinity_met)
        return all(ask(state, pod, node, here) == PASSES for ask in rest) and not kept_away(state, pod, node, here)

    def placements(self, running: list[Dict], waiting: list[Dict] | None = None) -> Iterator[Where]:
        """Every way to place members one by one, each on any node that takes it; those that none takes stay out."""
        pending = self.members if waiting is None else waiting
        if not pending:
            yield {}
            return
        pod, *others = pending
        nodes = [name for name in self.cluster.nodes if self.passes(running, pod, name)]
        for node in nodes:
            for rest in self.placements([*running, at(pod, node)], others):
                yield {unit_of(pod): node, **rest}
        if not nodes:
            yield from self.placements(running, others)

    def without(self, units: list[NaiveUnit]) -> list[Dict]:
        gone = {name for unit in units for name in unit.members}
        return [pod for pod in self.running if unit_of(pod) not in gone]

    def newcomers(self, placement: Where) -> list[Dict]:
        return [at(self.groups.pods[name], node) for name, node in placement.items()]

    def all_keep_their_place(self, running: list[Dict], placement: Where) -> bool:
        """Whether each placed pod passes all filters beside everybody else."""
        come = self.newcomers(placement)
        return all(
            self.passes([*running, *(other for other in come if other is not pod)], pod, pod["spec"]["nodeName"])
            for pod in come
        )

    def victims(self, placement: Where, lower: list[NaiveUnit] | None = None) -> set[str]:
        """Who cannot be put back beside a placement: first whose budget would break, then by importance."""
        lower = self.lower if lower is None else lower
        violating = self.violating(lower)
        back: list[NaiveUnit] = []
        gone: set[str] = set()
        for unit in [*violating, *(unit for unit in lower if unit not in violating)]:
            left = self.without([other for other in lower if other not in back and other is not unit])
            if self.all_keep_their_place(left, placement):
                back.append(unit)
            else:
                gone |= unit.members
        return gone

    def on_node(self, node: str) -> set[str] | None:
        """For a single pod: who has to leave a node, and with them their groups elsewhere; None: it is no use."""
        lower = [unit for unit in self.lower if any(pod["spec"]["nodeName"] == node for pod in unit.pods)]
        pod = self.members[0]
        if node in self.left_out or not lower or not self.passes(self.without(lower), pod, node):
            return None
        return self.victims({unit_of(pod): node}, lower)

    def violating(self, units: list[NaiveUnit]) -> list[NaiveUnit]:
        """Units with a pod that takes a budget below zero, walking from the most important down."""
        asker = Decision(self.cluster, self.members[0], LATEST, respect=False)
        pods = sorted(units, key=importance)
        broken = asker.violating([pod for unit in pods for pod in sorted(unit.pods, key=asker.importance)])
        return [unit for unit in pods if any(pod in broken for pod in unit.pods)]


def importance(unit: NaiveUnit) -> tuple[int, bool, int, str, str, str]:
    """The most important first; creation time (the newest, where there is none) and name only end ties."""
    starts = [pod.get("status", {}).get("startTime", "9999") for pod in unit.pods]
    created = [pod["metadata"].get("creationTimestamp", "9999") for pod in unit.pods]
    return -unit.priority, not unit.grouped, -len(unit.pods), min(starts), min(created), unit.name


def at(pod: Dict, node: str) -> Dict:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}
