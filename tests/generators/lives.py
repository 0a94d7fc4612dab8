"""What random lives of control planes are made of: nodes, classes, and work that arrives, changes and goes.

Victims are made again by Jobs and ReplicaSets, as in real clusters: that is what could go on for ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import FairSharingSettings, QuotaSettings, Settings
from reprieve.manifests.kinds import JOBS, NODES, PRIORITY_CLASSES, REPLICA_SETS
from reprieve.stores.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import budget, pod_group, priority_class
from tests.planes.running import Dict, Plane, job, replica_set

ARRIVALS = 180.0
TOLERATION = "preemption-toleration.scheduling.x-k8s.io"
Step = Callable[[Plane], Awaitable[Any]]


class Life(NamedTuple):
    """One random life."""

    settings: Settings
    first: list[Dict]
    later: list[tuple[float, Step]]

    async def begin(self, plane: Plane) -> None:
        """All that happens, at its moments."""
        await plane.apply(*self.first)
        passed = 0.0
        for moment, step in sorted(self.later, key=lambda item: item[0]):
            await plane.passes(moment - passed)
            passed = moment
            await step(plane)


class arrives:  # noqa: N801 - one of several steps
    """Objects are made."""

    def __init__(self, *manifests: Dict) -> None:
        self.manifests = manifests

    async def __call__(self, plane: Plane) -> None:
        try:
            await plane.apply(*self.manifests)
        except (AlreadyExists, Conflict, Forbidden, Invalid, NotFound):
            return  # there is no such class or namespace now, or somebody else was first


def returns(manifest: Dict) -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.apply(manifest)
        except Conflict:
            return  # it is not gone yet

    return step


def goes(resource: Any, name: str, namespace: str = "default") -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.store.delete(resource, name, namespace)
        except NotFound:
            return  # it was not there yet, or is gone already

    return step


def changes(resource: Any, name: str, patch: Dict, namespace: str = "default", subresource: str = "") -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.store.patch(resource, name, namespace, patch, subresource=subresource)
        except NotFound:
            return

    return step


class Maker:
    """Makes what all lives have in common."""

    def __init__(self, random: Random, *, closed: bool = False) -> None:
        self.random = random
        self.closed = closed
        self.first: list[Dict] = []
        self.later: list[tuple[float, Step]] = []
        self.classes: list[str] = []
        self.number = 0

    def settings(self) -> Settings:
        fair = FairSharingSettings(enable=self.chance(0.3))
        quota = QuotaSettings(wait_before_preemption_seconds=self.random.choice([0, 0, 20]))
        return Settings(
            validate=True,
            feature_gates=GANGS_AND_BINDINGS,
            pdb=self.random.choice(["BestEffort", "BestEffort", "Respect"]),
            scoring=self.random.choice(["LeastAllocated", "MostAllocated"]),
            fair_sharing=fair,
            quota=quota,
        )

    def upsets(self) -> None:
        """What nobody plans for: nodes that shrink, close, go and come back; classes that are deleted or changed."""
        for name in [manifest["metadata"]["name"] for manifest in self.first if manifest["kind"] == "Node"]:
            if self.chance(0.25):
                self._upset_node(name)
        for name in self.classes:
            if self.chance(0.15):
                self.at(goes(PRIORITY_CLASSES, name, ""))
                again = priority_class(name, self.random.choice([0, 3, 10, 70]))
                self.at(returns(again), ARRIVALS)

    def _upset_node(self, name: str) -> None:
        random = self.random
        match random.choice(["size", "taint", "gone", "label"]):
            case "size":
                for _ in range(2):
                    amounts = {"cpu": str(random.randint(1, 6)), "memory": "32Gi", "pods": "110"}
                    self.at(changes(NODES, name, {"status": {"allocatable": amounts}}, "", subresource="status"))
            case "taint":
                taint = {"key": "closed", "effect": "NoSchedule"}
                self.at(changes(NODES, name, {"spec": {"taints": [taint]}}, ""))
                self.at(changes(NODES, name, {"spec": {"taints": None}}, ""), ARRIVALS / 2)
            case "gone":
                self.at(goes(NODES, name, ""))
                again = hollow_node(name, cpu=str(random.randint(2, 5)), labels={"zone": "z0", "pool": "a"})
                self.at(returns(again), ARRIVALS)
            case _:
                self.at(changes(NODES, name, {"metadata": {"labels": {"zone": random.choice(["z0", "z1"])}}}, ""))

    # Parts

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def at(self, step: Step, earliest: float = 0.0) -> None:
        """Something happens at some moment. In a closed world all arrives in the first seconds, and nothing goes."""
        if self.closed:
            if isinstance(step, arrives):
                self.later.append((round(self.random.uniform(0, 5), 1), step))
            return
        self.later.append((round(self.random.uniform(earliest, max(ARRIVALS, earliest + 60)), 1), step))

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}-{self.number}"

    def how_many(self, most: int, *, few: bool) -> int:
        return self.random.randint(1, 2) if few else self.random.randint(3, most)

    def priorities(self) -> None:
        for number, value in enumerate(self.random.sample([0, 1, 5, 10, 50, 100], self.random.randint(2, 4))):
            name = f"class-{number}"
            said = {}
            if self.chance(0.2):
                said = {
                    f"{TOLERATION}/minimum-preemptable-priority": str(value + self.random.randint(1, 60)),
                    f"{TOLERATION}/toleration-seconds": str(self.random.choice([10, 45, -1])),
                }
            policy = "Never" if self.chance(0.1) else None
            self.classes.append(name)
            self.first.append(priority_class(name, value, policy=policy, annotations=said))

    def nodes(self, most: int) -> None:
        for number in range(self.random.randint(1, 3)):
            node = hollow_node(
                f"n{number}", cpu=str(self.random.randint(2, most)), labels={"zone": f"z{number % 2}", "pool": "a"}
            )
            if number and self.chance(0.2):
                self.at(arrives(node))
                continue
            self.first.append(node)
            if self.chance(0.1):
                self.at(changes(NODES, f"n{number}", {"spec": {"unschedulable": True}}, ""))
                self.at(changes(NODES, f"n{number}", {"spec": {"unschedulable": None}}, ""), ARRIVALS / 2)

    def body(self) -> Dict:
        """What all pods of a workload have in common."""
        random = self.random
        body: Dict = {
            "cpu": str(random.choice([1, 1, 1, 2, 2, 3])),
            "priority": random.choice(self.classes),
            "leaves": random.choice([0, 0, 3, 12, 90]),
        }
        if self.chance(0.4) and not self.closed:
            body["run"] = random.choice([20, 60, 200])
        return body

    def company(self, body: Dict, name: str) -> None:
        """Now and then pods mind whom they are with."""
        labels = {"kind": name}
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        if self.chance(0.12):
            body["labels"] = {**body.get("labels", {}), **labels}
            kind = self.random.choice(["podAntiAffinity", "podAntiAffinity", "podAffinity"])
            body["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif self.chance(0.08):
            body["labels"] = {**body.get("labels", {}), **labels}
            spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            body["topologySpreadConstraints"] = [{**spread, "labelSelector": term["labelSelector"]}]

    def work(self, body: Dict, replicas: int) -> None:
        """A Job or a ReplicaSet that arrives, and perhaps changes and goes."""
        if "run" in body or self.chance(0.5):
            name = self.name("job")
            self.at(arrives(job(name, replicas=replicas, pod_labels=body.pop("labels", None), **body)))
            if self.chance(0.15):
                self.at(goes(JOBS, name), ARRIVALS / 2)
            return
        name = self.name("set")
        self.at(arrives(replica_set(name, replicas=replicas, **body)))
        if self.chance(0.25):
            size = {"spec": {"replicas": self.random.randint(0, 4)}}
            self.at(changes(REPLICA_SETS, name, size), ARRIVALS / 2)
        elif self.chance(0.2):
            guard = budget(f"guard-{name}", {"app": name}, allowed=0)
            guard["spec"]["minAvailable"] = self.random.randint(1, replicas)
            del guard["status"]
            self.at(arrives(guard))

    def gang(self, body: Dict) -> None:
        """A group, and the Job or ReplicaSet that makes its pods; either may come first."""
        name, size = self.name("gang"), self.random.randint(2, 4)
        least = size if self.chance(0.7) else self.random.randint(1, size)
        group = pod_group(name, gang=least, whole=self.chance(0.6), priorityClassName=body["priority"])
        if self.chance(0.15):
            group["spec"]["schedulingPolicy"] = {"basic": {}}
        self.at(arrives(group))
        self.work({**body, "schedulingGroup": {"podGroupName": name}}, size)
