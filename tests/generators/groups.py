"""Small random clusters with groups: gangs that wait, groups and single pods that run, budgets, places to be had."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.builders import pods as builders
from tests.reference.cluster import REQUIRED

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
HOST, RACK = "kubernetes.io/hostname", "rack"
CLASSES = {"low": 0, "middle": 5, "high": 10}
GATES = {"GenericWorkload": True}
TOLERATION = "preemption-toleration.scheduling.x-k8s.io/"
TOLERATING = {
    "patient": {"minimum-preemptable-priority": "20", "toleration-seconds": "600"},
    "hurried": {"minimum-preemptable-priority": "20", "toleration-seconds": "120"},
    "for-ever": {"minimum-preemptable-priority": "8", "toleration-seconds": "-1"},
}
FEATURES = ("budgets", "pins", "avoid", "taints", "workloads", "memory", "mixed", "racks", "divergence", "few", "repel")


class Maker:
    """Makes one world out of a stream of random numbers."""

    def __init__(self, random: Random, features: frozenset[str]) -> None:
        self.random = random
        self.features = features
        self.priority = random.choice([5, 10, 10])

    def chance(self, feature: str, share: float) -> bool:
        return feature in self.features and self.random.random() < share

    def world(self) -> tuple[list[Dict], str]:
        """All objects, and the gang that is to be placed."""
        random = self.random
        nodes = [self.node(f"n{number}") for number in range(random.randint(1, 4))]
        groups = [self.group(f"team{number}", self.other()) for number in range(random.randint(0, 3))]
        pods = [pod for node in nodes for pod in self.residents(node, groups)]
        gang = self.gang([node["metadata"]["name"] for node in nodes])
        objects = [*nodes, *pods, *(item for item, _ in groups), *gang, *self.classes(), *self.budgets()]
        random.shuffle(objects)
        name = "Workload/default/job/workers" if "workloads" in self.features else "PodGroup/default/job"
        return objects, name

    def other(self) -> int:
        return self.random.choice([0, 0, 5, 5, 10])

    def classes(self) -> list[Dict]:
        made = [builders.priority_class(name, value) for name, value in CLASSES.items()]
        if "tolerations" not in self.features:
            return made
        odd = {"odd": {"toleration-seconds": "soon"}} if self.random.random() < 0.3 else {}
        return made + [
            builders.priority_class(name, 0, annotations={f"{TOLERATION}{key}": text for key, text in said.items()})
            for name, said in {**TOLERATING, **odd}.items()
        ]

    def tolerating(self) -> Dict:
        """What a pod says that may tolerate preemption, and since when it runs; now and then nobody knows."""
        name = self.random.choice([*TOLERATING, *TOLERATING, "low", "middle", "low", "middle", "odd"])
        return {"priorityClassName": name if name != "odd" or self.random.random() < 0.5 else "low"}

    def scheduled(self) -> Dict:
        since = f"2026-01-01T11:{self.random.randint(45, 59)}:00Z"
        known = self.random.random() < 0.85
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
        return {"conditions": [condition]} if known else {}

    def budgets(self) -> list[Dict]:
        if "budgets" not in self.features:
            return []
        return [
            builders.budget(f"budget-{app}", {"app": app}, allowed=self.random.randint(0, 2))
            for app in self.random.sample(["web", "db"], self.random.randint(1, 2))
        ]

    def node(self, name: str) -> Dict:
        taint = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
        return builders.node(
            name,
            cpu=str(self.random.choice([2, 4, 4, 6])),
            labels={HOST: name, RACK: self.random.choice("ab")},
            taints=[taint] if self.chance("taints", 0.3) else None,
            requests={"memory": str(self.random.randint(2, 4)), "pods": self.random.choice(["3", "110"])},
        )

    def group(self, name: str, priority: int) -> tuple[Dict, Dict]:
        """A group in either shape, and what its pods say to be in it."""
        mode = self.random.choice(["all", "all", "single", None])
        if self.chance("workloads", 0.6):
            class_name = next(key for key, value in CLASSES.items() if value == priority)
            spec: Dict = {"priorityClassName": class_name, "podGroups": [_inline("workers", 1, mode)]}
            if self.random.random() < 0.2:
                spec["preemptionPriorityClassName"] = "high"
            item = builders.manifest(
                "scheduling.k8s.io/v1alpha1", "Workload", builders.metadata(name, "default"), spec=spec
            )
            return item, {"workloadRef": {"name": name, "podGroup": "workers"}}
        item = builders.pod_group(name, gang=self.random.choice([None, 1, 2]), priority=priority)
        item["spec"].pop("disruptionMode")
        if mode is not None:
            item["spec"]["disruptionMode"] = {mode: {}}
        return item, {"schedulingGroup": {"podGroupName": name}, "priority": priority}

    def residents(self, node: Dict, groups: list[tuple[Dict, Dict]]) -> list[Dict]:
        random = self.random
        offered = node["status"]["allocatable"]
        left = {"cpu": int(offered["cpu"]) * 2, "memory": int(offered["memory"]), "pods": int(offered["pods"])}
        made: list[Dict] = []
        for number in range(random.randint(1, 5)):
            asked = {"cpu": random.choice([1, 2, 2, 3, 4]), "memory": self.memory(), "pods": 1}
            if all(left[key] >= asked[key] for key in asked):
                left = {key: left[key] - asked[key] for key in left}
                made.append(self.resident(f"{node['metadata']['name']}-{number}", node, asked, groups))
        return made

    def memory(self) -> int:
        return self.random.choice([0, 1, 2]) if "memory" in self.features else 0

    def resident(self, name: str, node: Dict, asked: Dict, groups: list[tuple[Dict, Dict]]) -> Dict:
        random = self.random
        spec: Dict = {"priority": self.other()}
        if groups and random.random() < 0.5:
            spec |= random.choice(groups)[1]
        if self.chance("divergence", 0.3):
            spec["priority"] = self.other()
        if self.chance("repel", 0.3):
            spec["affinity"] = avoiding({"job": "job"}, random.choice([HOST, HOST, RACK]))
        status = self.scheduled() if "tolerations" in self.features else None
        if self.chance("tolerations", 0.6):
            spec |= self.tolerating()
        return builders.pod(
            name,
            status=status,
            node=node["metadata"]["name"],
            labels={"app": random.choice(["web", "db"])} if random.random() < 0.8 else None,
            started=f"2026-01-01T{random.randint(0, 11):02}:{random.randint(0, 59):02}:00Z",
            containers=[container(asked)],
            spec=spec,
        )

    def gang(self, nodes: list[str]) -> list[Dict]:
        random = self.random
        size = random.randint(1, 4)
        least = random.randint(1, size) if "few" in self.features else size
        if "workloads" in self.features:
            name = next(key for key, value in CLASSES.items() if value == self.priority)
            spec: Dict = {"priorityClassName": name, "podGroups": [_inline("workers", least, "all")]}
            meta = builders.metadata("job", "default")
            item = builders.manifest("scheduling.k8s.io/v1alpha1", "Workload", meta, spec=spec)
            within: Dict = {"workloadRef": {"name": "job", "podGroup": "workers"}}
        else:
            item = builders.pod_group("job", gang=least, whole=True, priority=self.priority)
            within = {"schedulingGroup": {"podGroupName": "job"}, "priority": self.priority}
            if "racks" in self.features:
                item["spec"]["schedulingConstraints"] = {"topology": [{"key": RACK}]}
        return [item, *self.members(size, within, nodes)]

    def members(self, size: int, within: Dict, nodes: list[str]) -> list[Dict]:
        random = self.random
        asked = {"cpu": random.choice([2, 3, 4, 6]), "memory": self.memory()}
        common: Dict = dict(within)
        if self.chance("avoid", 0.7):
            common["affinity"] = avoiding({"job": "job"}, HOST)
        if self.chance("taints", 0.5):
            common["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        made = []
        for number in range(size):
            if self.chance("mixed", 0.5):
                asked = {"cpu": random.choice([1, 2, 4]), "memory": self.memory()}
            pin = {"nodeSelector": {HOST: random.choice(nodes)}} if self.chance("pins", 0.7) else {}
            spec = {**common, **pin}
            made.append(builders.pod(f"job-{number}", labels={"job": "job"}, containers=[container(asked)], spec=spec))
        return made


def container(asked: Dict) -> Dict:
    """Half cores, so that sizes do not always add up."""
    return builders.container(cpu=f"{asked['cpu'] * 500}m", requests={"memory": str(asked["memory"])})


def avoiding(labels: dict[str, str], key: str) -> Dict:
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]}}


def _inline(name: str, least: int, mode: str | None) -> Dict:
    gang: Dict = {"minCount": least}
    if mode is not None:
        gang["preemptionMode"] = "PodGroup" if mode == "all" else "Pod"
    return {"name": name, "policy": {"gang": gang}}


def world(seed: int, features: tuple[str, ...] = FEATURES) -> tuple[list[Dict], str]:
    random = Random(seed)  # noqa: S311 - nothing here is secret
    share = random.choice([0.15, 0.4, 0.8])
    return Maker(random, frozenset(name for name in features if random.random() < share)).world()


def random_gangs(features: tuple[str, ...] = FEATURES) -> st.SearchStrategy[tuple[list[Dict], str]]:
    """All objects of a world, and the gang that is to be placed. Only the seed is hypothesis's choice."""
    return st.integers(0, 2**32 - 1).map(lambda seed: world(seed, features))
