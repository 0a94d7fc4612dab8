"""Small random clusters in which something interesting is likely to happen: nearly full, and full of rules.

A world takes only some of the features there are, so that each also meets the others alone.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.builders import pods as builders
from tests.generators.pod_terms import EFFECTS, HOST, SELECTORS, TOLERATIONS, ZONE, Wishes
from tests.reference.nodes import whole

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
GPU, PORTS = "example.com/gpu", (80, 80, 443)
ANNOTATION = "preemption-toleration.scheduling.x-k8s.io/"
PRIORITIES = (-10, -5, 0, 0, 5, 5, 10)
RESOURCES = ("cpu", "memory", GPU)
FEATURES = (
    "labels", "taints", "cordons", "budgets", "ports", "affinity", "anti-affinity", "spread", "nominated", "classes",
    "terminating", "namespaces", "containers", "selectors",
)  # fmt: skip


class Maker(Wishes):
    """Makes one world out of a stream of random numbers."""

    def __init__(self, random: Random, features: frozenset[str]) -> None:
        super().__init__(random, features)
        self.resources = random.sample(RESOURCES, random.randint(1, 3))
        self.namespaces = ["default", "other"] if "namespaces" in features else ["default"]
        self.size = random.randint(2, 6)

    def world(self) -> tuple[list[Dict], str]:
        """All objects, and the pod that is to be placed."""
        nodes = [self.node(f"n{number}") for number in range(self.random.randint(2, self.size + 2))]
        objects = [*self.classes(), *self.budgets(), *self.spaces(), *nodes]
        for node in nodes:
            objects += self.residents(node)
        names = [node["metadata"]["name"] for node in nodes]
        objects += [self.nominee(f"nominee{number}", names) for number in range(self.count("nominated", 4))]
        preemptor = self.preemptor("p", names)
        self.random.shuffle(objects)
        return [*objects, preemptor], f"Pod/{preemptor['metadata']['namespace']}/p"

    def count(self, feature: str, most: int) -> int:
        return self.random.randint(0, most) if feature in self.features else 0

    # Nodes and what belongs to nobody

    def node(self, name: str) -> Dict:
        random = self.random
        labels = {HOST: name}
        if random.random() < 0.9:
            labels[ZONE] = random.choice("ab" if self.size < 4 else "abc")
        if self.chance("selectors", 0.7):
            labels["generation"] = random.choice(["1", "2", "3", "1_0"])
        taints = [{"key": "dedicated", "value": random.choice("xy"), "effect": random.choice(EFFECTS)}]
        offered = {name: str(random.randint(1 if name == GPU else 2, self.size)) for name in self.resources}
        made = builders.node(
            name,
            labels=labels,
            taints=taints if self.chance("taints", 0.4) else None,
            unschedulable=True if self.chance("cordons", 0.2) else None,
            requests={**offered, "pods": str(random.choice([3, 4, 5, 110, 110]))},
        )
        if random.random() < 0.3:
            made["metadata"]["creationTimestamp"] = self.minute()
        return made

    def classes(self) -> list[Dict]:
        if "classes" not in self.features:
            return []
        random = self.random
        made = []
        for name, value in (("low", 0), ("lower", -5), ("middle", 5)):
            annotations = {}
            if random.random() < 0.6:
                annotations[f"{ANNOTATION}minimum-preemptable-priority"] = random.choice(["5", "10", "11", "20", "x"])
            if random.random() < 0.6:
                annotations[f"{ANNOTATION}toleration-seconds"] = random.choice(["-1", "0", "60", "600", "3600", "x"])
            made.append(builders.priority_class(name, value, annotations=annotations))
        never = builders.priority_class("never", 10, policy="Never", default=random.choice([None, None, True]))
        return [item for item in [*made, never] if random.random() < 0.9]

    def budgets(self) -> list[Dict]:
        made = []
        for number in range(self.count("budgets", 3)):
            item = builders.budget(
                f"budget{number}",
                self.labels() or {"app": "web"},
                allowed=self.random.randint(0, 2),
                namespace=self.random.choice(self.namespaces),
            )
            if self.random.random() < 0.15:
                item["spec"]["selector"] = {}
            if self.random.random() < 0.2:
                item["status"]["disruptedPods"] = {f"n{self.random.randint(0, 3)}-0": NOW}
            made.append(item)
        return made

    def spaces(self) -> list[Dict]:
        team = {"team": self.random.choice("rb")}
        return [
            builders.manifest("v1", "Namespace", builders.metadata(name, labels=team))
            for name in self.namespaces
            if self.random.random() < 0.8
        ]

    # Pods

    def residents(self, node: Dict) -> list[Dict]:
        """Pods until the node is nearly full; now and then one more than it can hold."""
        name = node["metadata"]["name"]
        left = whole(node["status"]["allocatable"])
        made: list[Dict] = []
        for number in range(self.random.randint(1, 7)):
            asked = self.amounts()
            amounts = whole(asked)
            if all(left[key] >= amounts[key] for key in amounts) or self.random.random() < 0.05:
                left = {key: left[key] - amounts.get(key, 0) for key in left}
                made.append(self.running(f"{name}-{number}", name, asked))
        return made

    def running(self, name: str, node: str, asked: Dict) -> Dict:
        random = self.random
        pod = self.pod(name, asked, node=node)
        if random.random() < 0.8:
            pod["status"]["startTime"] = self.minute()
        conditions = []
        if random.random() < 0.8:
            known = random.choice(["True", "True", "True", "False"])
            conditions.append({"type": "PodScheduled", "status": known, "lastTransitionTime": self.minute()})
        if self.chance("terminating", 0.4):
            pod["metadata"]["deletionTimestamp"] = self.minute()
        if self.chance("terminating", 0.5):
            reason = random.choice(["PreemptionByScheduler", "PreemptionByScheduler", "EvictionByEvictionAPI"])
            conditions.append({"type": "DisruptionTarget", "status": "True", "reason": reason})
        pod["status"]["conditions"] = conditions
        if random.random() < 0.03:
            pod["status"]["phase"] = "Succeeded"
        return pod

    def nominee(self, name: str, nodes: list[str]) -> Dict:
        return self.pod(name, self.amounts(), nominated=self.random.choice([*nodes, "gone"]))

    def preemptor(self, name: str, nodes: list[str]) -> Dict:
        """The pod that is to be placed: of high priority, hungry, and with wishes."""
        random = self.random
        hungry = {key: str(random.randint(1, self.size // 2)) for key in self.resources if random.random() < 0.7}
        pod = self.pod(name, hungry, wishes=0.6)
        pod["spec"]["priority"] = random.choice([0, 5, 10, 10, 10, 10, 10, 10])
        pod["spec"].pop("priorityClassName", None)
        if random.random() < 0.06:
            pod["spec"]["preemptionPolicy"] = "Never"
        if random.random() < (0.8 if "terminating" in self.features else 0.3):
            pod["status"]["nominatedNodeName"] = random.choice([*nodes, "gone"])
        return pod

    def pod(
        self, name: str, asked: Dict, *, wishes: float = 0.3, node: str | None = None, nominated: str | None = None
    ) -> Dict:
        random = self.random
        spec: Dict = {}
        named = self.chance("classes", 0.6)
        if named:
            spec["priorityClassName"] = random.choice(["low", "lower", "middle", "low", "lower", "middle", "unknown"])
        if not named or random.random() < 0.5:
            spec["priority"] = random.choice(PRIORITIES)
        if self.chance("taints", 0.5):
            spec["tolerations"] = [random.choice(TOLERATIONS)]
        if self.chance("selectors", 0.3):
            spec.update(random.choice(SELECTORS))
        spec["affinity"] = self.affinity(spec.pop("affinity", {}), wishes)
        if self.chance("spread", wishes):
            spec["topologySpreadConstraints"] = [self.constraint() for _ in range(random.randint(1, 2))]
        pod = builders.pod(
            name,
            namespace=random.choice(self.namespaces),
            labels=self.labels(),
            containers=[builders.container(requests=asked)],
            created=self.minute() if random.random() < 0.3 else None,
            spec=spec,
            node=node,
            nominated=nominated,
        )
        self.more_containers(pod)
        return pod

    def more_containers(self, pod: Dict) -> None:
        random, spec = self.random, pod["spec"]
        if self.chance("ports", 0.4):
            spec["containers"][0]["ports"] = [self.port()]
        if self.chance("containers", 0.3):
            policy = random.choice([None, "Always"])
            starting = builders.container("init", requests=self.amounts(), restart_policy=policy)
            if self.chance("ports", 0.5):
                starting["ports"] = [self.port()]
            spec["initContainers"] = [starting, builders.container("second", requests=self.amounts())]
        if self.chance("containers", 0.2):
            spec["overhead"] = {"cpu": "1"}

    def port(self) -> Dict:
        random = self.random
        number = random.choice(PORTS)
        address = {"hostIP": random.choice(["10.0.0.1", "10.0.0.2"])} if random.random() < 0.4 else {}
        protocol = random.choice(["TCP", "TCP", "UDP"])
        return {"containerPort": number, "hostPort": number, "protocol": protocol, **address}

    def amounts(self) -> Dict:
        return {name: str(self.random.choice([0, 1, 1, 2])) for name in self.resources if self.random.random() < 0.8}

    def labels(self) -> dict[str, str]:
        """In worlds without labels everybody is the same."""
        if "labels" not in self.features:
            return {"app": "web"}
        labels = {"app": self.random.choice(["web", "db"]), "tier": self.random.choice(["front", "back"])}
        return {key: value for key, value in labels.items() if self.random.random() < 0.8}

    def minute(self) -> str:
        return f"2026-01-01T{self.random.randint(10, 11)}:{self.random.choice([0, 15, 30, 50, 59]):02}:00Z"


class RandomWorld:
    """All objects of a world, and the pod that is to be placed. Shown by its seed, from which it can be made again."""

    def __init__(self, seed: int, features: tuple[str, ...] = FEATURES) -> None:
        self.seed = seed
        random = Random(seed)  # noqa: S311 - nothing here is secret
        share = random.choice([0.15, 0.4, 0.8])
        chosen = frozenset(name for name in features if random.random() < share)
        self.objects, self.preemptor = Maker(random, chosen).world()

    def __repr__(self) -> str:
        return f"RandomWorld({self.seed})"


def random_worlds(*features: str) -> st.SearchStrategy[RandomWorld]:
    """Worlds with any of these features, or of all there are.

    Only the seed is hypothesis's choice: its taste for extreme values would make most of these worlds dull.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: RandomWorld(seed, features or FEATURES))
