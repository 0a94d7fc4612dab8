"""kube-scheduler's decision for one pod, as plainly as it can be written, with preemption toleration.

Everything is worked out anew from the manifests each time it is asked: slow, and with nothing to get out of step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.reference.cluster import (
    Cluster,
    Dict,
    condition,
    labels_of,
    moment,
    namespace_of,
    policy_of,
    priority_of,
    read,
    unit_of,
)
from tests.reference.neighbours import affinity_met, kept_away, spread_evenly
from tests.reference.nodes import (
    PASSES,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    conflict,
    cordoned,
    host_ports,
    node_affinity,
    resources_fit,
    selects,
    taints_tolerated,
)

ANNOTATION = "preemption-toleration.scheduling.x-k8s.io/"
LATEST = datetime.max.replace(tzinfo=moment("2026-01-01T00:00:00Z").tzinfo)


@dataclass
class Answer:
    """What is to be done; `domains` are all the nodes that nothing tells apart."""

    outcome: str
    domains: set[str] = field(default_factory=set)
    candidates: dict[str, tuple[set[str], int]] = field(default_factory=dict)
    """For each node that would do, who would have to go and how many of them break a budget."""
    waiting_for: set[str] = field(default_factory=set)


def decide(objects: Iterable[Dict], preemptor: str, now: str, *, respect: bool = False, own: bool = False) -> Answer:
    """The decision for one pending pod; with `respect`, no plan breaks a budget; with `own`, only pods of
    its scheduler make way."""
    objects = list(objects)
    pod = next(item for item in objects if item["kind"] == "Pod" and unit_of(item) == preemptor)
    return Decision(read(objects), pod, moment(now), respect, own).answer()


class Decision:
    def __init__(self, cluster: Cluster, pod: Dict, now: datetime, respect: bool, own: bool = False) -> None:
        self.cluster = cluster
        self.pod = pod
        self.now = now
        self.respect = respect
        self.own = own
        self.priority = priority_of(cluster, pod)
        self.nominated = str(pod.get("status", {}).get("nominatedNodeName", ""))

    def answer(self) -> Answer:
        found = {name: self.filtered(name, self.cluster.running.get(name, [])) for name in self.cluster.nodes}
        fitting = {name for name, status in found.items() if status == PASSES}
        within_reach = [name for name, status in found.items() if status == UNSCHEDULABLE]
        candidates = self.candidates(within_reach)
        costs = {name: (set(map(unit_of, victims)), violations) for name, (victims, violations) in candidates.items()}
        if fitting:
            return Answer("Fits", {self.nominated} if self.nominated in fitting else fitting, costs)
        if policy_of(self.cluster, self.pod) == "Never":
            return Answer("Unschedulable", candidates=costs)
        leaving = self.leaving() if found.get(self.nominated) == UNSCHEDULABLE else set()
        if leaving:
            return Answer("Wait", {self.nominated}, costs, leaving)
        allowed = self.allowed(candidates)
        if allowed:
            return Answer("Preempt", self.cheapest(allowed), costs)
        could_later = self.allowed(self.candidates(within_reach, patient=True))
        return Answer("Wait" if could_later else "Unschedulable", candidates=costs)

    # Filters, with and without the nominated pods that count as present

    def filtered(self, name: str, here: list[Dict]) -> str:
        above = [
            other
            for other in self.cluster.nominated.get(name, [])
            if priority_of(self.cluster, other) >= self.priority and unit_of(other) != unit_of(self.pod)
        ]
        crowded = self.status(name, [*here, *above])
        return crowded if crowded != PASSES else self.status(name, here)

    def status(self, name: str, here: list[Dict]) -> str:
        """What the first filter says that does not let the pod pass, if `here` were the pods of the node."""
        node, pod = self.cluster.nodes[name], self.pod
        if cordoned(node, pod) or not taints_tolerated(node, pod) or not node_affinity(node, pod):
            return UNRESOLVABLE
        if any(conflict(one, two) for other in here for one in host_ports(pod) for two in host_ports(other)):
            return UNSCHEDULABLE
        for rest in (resources_fit, spread_evenly, affinity_met):
            answer = rest(self.cluster, pod, name, here)
            if answer != PASSES:
                return answer
        return UNSCHEDULABLE if kept_away(self.cluster, pod, name, here) else PASSES

    def leaving(self) -> set[str]:
        """Victims of an earlier preemption that are still on the nominated node."""
        return {
            unit_of(other)
            for other in self.cluster.running.get(self.nominated, [])
            if priority_of(self.cluster, other) < self.priority and _leaving_by_preemption(other)
        }

    # Victims

    def candidates(self, names: list[str], *, patient: bool = False) -> dict[str, tuple[list[Dict], int]]:
        searched = {name: self.victims(name, patient) for name in names}
        return {name: found for name, found in searched.items() if found is not None}

    def victims(self, name: str, patient: bool) -> tuple[list[Dict], int] | None:
        """Take all potential victims away, then put back whoever fits: first those whose budget would break."""
        everybody = self.cluster.running.get(name, [])
        lower = [other for other in everybody if priority_of(self.cluster, other) < self.priority]
        lower = [other for other in lower if self.may_ask(other)]
        if any(self.in_doubt(_class_name(other)) for other in lower):
            return None
        potential = sorted((other for other in lower if not self.exempt(other, patient)), key=self.importance)
        here = [other for other in everybody if other not in potential]
        if not potential or self.filtered(name, here) != PASSES:
            return None
        violating = self.violating(potential)
        gone = []
        for other in [*violating, *(other for other in potential if other not in violating)]:
            if self.filtered(name, [*here, other]) == PASSES:
                here.append(other)
            else:
                gone.append(other)
        return gone, sum(other in violating for other in gone)

    def may_ask(self, other: Dict) -> bool:
        """Whether it may be asked: it is not its kubelet's own nor, where only own pods go, another scheduler's."""
        mine, theirs = (pod["spec"].get("schedulerName", "default-scheduler") for pod in (self.pod, other))
        mirror = "kubernetes.io/config.mirror" in other["metadata"].get("annotations", {})
        return not mirror and (mine == theirs or not self.own)

    def importance(self, pod: Dict) -> tuple[int, datetime, str, str, str]:
        """The most important first; creation time and name only end ties."""
        meta = pod["metadata"]
        created = meta.get("creationTimestamp", "9999")  # what is only tried out is the newest
        return -priority_of(self.cluster, pod), _start(pod), created, namespace_of(pod), meta["name"]

    def exempt(self, pod: Dict, patient: bool) -> bool:
        """Whether its priority class tolerates this preemptor, or will for ever if one is patient."""
        annotations = self.tolerations(_class_name(pod))
        if not annotations:
            return False
        item = self.cluster.classes[_class_name(pod)]
        written = annotations.get(f"{ANNOTATION}minimum-preemptable-priority", str(item["value"] + 1))
        for_so_long = annotations.get(f"{ANNOTATION}toleration-seconds", "0")
        if self.priority >= int(written):
            return False
        if int(for_so_long) < 0 or patient:
            return int(for_so_long) < 0
        scheduled = condition(pod, "PodScheduled")
        if scheduled is None or scheduled["status"] != "True":
            return True
        return moment(scheduled["lastTransitionTime"]) + timedelta(seconds=int(for_so_long)) > self.now

    def in_doubt(self, name: str) -> bool:
        """Whether nobody can say what a class tolerates: it does not exist, or writes no numbers."""
        return bool(name) and (
            name not in self.cluster.classes or not all(map(_number, self.tolerations(name).values()))
        )

    def tolerations(self, name: str) -> dict[str, str]:
        """What a class says of toleration: one that says nothing tolerates nobody."""
        annotations = self.cluster.classes.get(name, {}).get("metadata", {}).get("annotations", {})
        return {key: text for key, text in annotations.items() if key.startswith(ANNOTATION)}

    # Budgets

    def violating(self, pods: list[Dict]) -> list[Dict]:
        """Walking from the most important down: whoever takes a budget below zero."""
        left = [budget["status"]["disruptionsAllowed"] for budget in self.cluster.budgets]
        broken = []
        for pod in pods:
            for number in self.covering(pod):
                left[number] -= 1
                if left[number] < 0:
                    broken.append(pod)
                    break
        return broken

    def covering(self, pod: Dict) -> list[int]:
        return [
            number
            for number, budget in enumerate(self.cluster.budgets)
            if budget["metadata"]["namespace"] == namespace_of(pod)
            and labels_of(pod)
            and any((budget["spec"].get("selector") or {}).values())
            and selects(budget["spec"]["selector"], labels_of(pod))
            and pod["metadata"]["name"] not in budget["status"].get("disruptedPods", {})
        ]

    def allowed(self, candidates: dict[str, tuple[list[Dict], int]]) -> dict[str, tuple[list[Dict], int]]:
        if not self.respect:
            return candidates
        return {name: found for name, found in candidates.items() if not self.breaks(found[0])}

    def breaks(self, pods: list[Dict]) -> bool:
        """Whether some budget would be broken if just these pods left."""
        covered = [self.covering(pod) for pod in pods]
        return any(
            sum(number in numbers for numbers in covered) > budget["status"]["disruptionsAllowed"]
            for number, budget in enumerate(self.cluster.budgets)
            if any(number in numbers for numbers in covered)
        )

    # Which node

    def cheapest(self, candidates: dict[str, tuple[list[Dict], int]]) -> set[str]:
        costs = {name: self.cost(*found) for name, found in candidates.items()}
        return {name for name, cost in costs.items() if cost == min(costs.values())}

    def cost(self, victims: list[Dict], violations: int) -> tuple[int, int, int, int, float]:
        priorities = [priority_of(self.cluster, pod) for pod in victims]
        earliest = min(_start(pod) for pod in victims if priority_of(self.cluster, pod) == max(priorities))
        total = sum(priority + 2**31 for priority in priorities)
        return violations, max(priorities), total, len(victims), -earliest.timestamp()


def _class_name(pod: Dict) -> str:
    return str(pod["spec"].get("priorityClassName", ""))


def _start(pod: Dict) -> datetime:
    """A pod that has not started counts as started last."""
    started = pod.get("status", {}).get("startTime")
    return LATEST if started is None else moment(started)


def _leaving_by_preemption(pod: Dict) -> bool:
    target = condition(pod, "DisruptionTarget") or {}
    by_preemption = target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler"
    return by_preemption and "deletionTimestamp" in pod["metadata"]


def _number(text: str) -> bool:
    return text.removeprefix("-").isdigit()
