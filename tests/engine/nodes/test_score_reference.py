"""Scores of nodes against the plainest possible kube-scheduler, over random clusters with wishes of all kinds."""

from __future__ import annotations

import os
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.scoring import score
from reprieve.manifests.loading import load_objects
from reprieve.world import World
from tests.builders import pods as builders
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.generators.pod_terms import HOST, SELECTORS, ZONE, Dict, Wishes
from tests.reference.cluster import REQUIRED, read
from tests.reference.scores import PREFERRED, scores

EXAMPLES = int(os.environ.get("SCORE_EXAMPLES", "300"))
IMAGES = ["registry:5000/web", "registry:5000/web:v2", "db:latest", "tool"]
MIB = 2**20
ALL = frozenset(("affinity", "anti-affinity", "spread", "namespaces"))


class Maker(Wishes):
    """Clusters in which pods have preferences, and nodes that would rather not."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed), ALL)  # noqa: S311 - nothing here is secret

    def cluster(self) -> tuple[list[Dict], Dict, list[str]]:
        """All objects, the pod that comes, and the nodes that it fits on."""
        random = self.random
        names = [f"n{number}" for number in range(random.randint(1, 6))]
        spaces = [builders.manifest("v1", "Namespace", builders.metadata("other", labels={"team": "r"}))]
        team = builders.pod_group("team", gang=1, whole=True, priority=0)
        pods = [self.pod(f"r{number}", random.choice(names)) for number in range(random.randint(0, 12))]
        coming = self.pod("p", "")
        fitting = sorted(random.sample(names, random.randint(1, len(names))))
        return [*map(self.node, names), *spaces, team, *pods, coming], coming, fitting

    def node(self, name: str) -> Dict:
        random = self.random
        labels = {HOST: name, "generation": random.choice("123")}
        if random.random() < 0.8:
            labels[ZONE] = random.choice("ab")
        effects = ["PreferNoSchedule", "PreferNoSchedule", "NoSchedule"]
        taints = [
            {"key": "dedicated", "value": random.choice("xy"), "effect": random.choice(effects)}
            for _ in range(random.choice([0, 0, 1, 2]))
        ]
        sizes = {"cpu": str(random.randint(2, 9)), "memory": f"{random.randint(1, 9)}Gi", "pods": "110"}
        made = builders.node(name, labels=labels, taints=taints or None, requests=sizes)
        made["status"]["images"] = [self.image() for _ in range(random.choice([0, 0, 1, 3]))]
        return made

    def image(self) -> Dict:
        """Nodes write tags out; an image may have several names, and be of another size elsewhere."""
        random = self.random
        names = [image if ":" in image.rsplit("/", maxsplit=1)[-1] else f"{image}:latest" for image in IMAGES]
        sizes = [5, 30, 400, 900, 3000]
        return {"names": random.sample(names, random.randint(0, 2)), "sizeBytes": random.choice(sizes) * MIB + 7}

    def pod(self, name: str, node: str) -> Dict:
        random = self.random
        asked = {"cpu": f"{random.choice([100, 250, 700])}m", "memory": f"{random.choice([64, 300])}Mi"}
        asked = {key: value for key, value in asked.items() if random.random() < 0.7}
        spec: Dict = {"affinity": self.preferences()} if random.random() < 0.7 else {}
        if not node:
            spec["topologySpreadConstraints"] = [self.constraint() for _ in range(random.choice([0, 1, 1, 2]))]
            spec["tolerations"] = [{"key": "dedicated", "operator": "Equal", "value": random.choice("xyz")}]
            if random.random() < 0.3:
                spec = {**SELECTORS[0], **spec}
        if node and random.random() < 0.2:
            spec["schedulingGroup"] = {"podGroupName": "team"}
        labels = {"app": random.choice(["web", "db"]), "tier": random.choice("12")}
        leaving = "2026-01-01T11:59:00Z" if node and random.random() < 0.15 else None
        containers = [{**builders.container(requests=asked), "image": random.choice(IMAGES)}]
        containers += [{"name": "beside", "image": random.choice(IMAGES)}] * random.choice([0, 0, 1])
        spec["initContainers"] = [{"name": "first", "image": random.choice(IMAGES)}] * random.choice([0, 0, 1])
        spec["volumes"] = [{"name": "v", "image": {"reference": random.choice(IMAGES)}}] * random.choice([0, 0, 1])
        return builders.pod(
            name,
            node=node or None,
            namespace="default" if "schedulingGroup" in spec else random.choice(["default", "default", "other"]),
            labels=labels,
            deleted=leaving,
            containers=containers,
            spec=spec,
        )

    def preferences(self) -> Dict:
        random = self.random
        made: Dict = {}
        for kind in ("podAffinity", "podAntiAffinity"):
            wanted = [
                {"weight": random.choice([1, 30, 100]), "podAffinityTerm": self.term()}
                for _ in range(random.choice([0, 1, 2]))
            ]
            made[kind] = {PREFERRED: wanted} if wanted else {}
        if random.random() < 0.3:
            made["podAffinity"][REQUIRED] = [self.term()]
        expression = {"key": "generation", "operator": "In", "values": [random.choice("123")]}
        made["nodeAffinity"] = {
            PREFERRED: [{"weight": random.choice([5, 50]), "preference": {"matchExpressions": [expression]}}]
        }
        return made

    def constraint(self) -> Dict:
        return {**super().constraint(), "maxSkew": self.random.randint(1, 3), "whenUnsatisfiable": "ScheduleAnyway"}


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_scores_are_those_of_the_reference(seed: int) -> None:
    objects, coming, names = Maker(seed).cluster()
    loaded = load_objects(objects)
    assert not loaded.errors, loaded.errors
    world = World(loaded.objects)
    ledger = NodeLedger(world, Settings(feature_gates=GANGS_AND_BINDINGS))
    ledger.sync()
    facts = world.pods[coming["metadata"]["namespace"], "p"]
    nodes = np.array([ledger.index(name) for name in names], dtype=np.int64)
    got = score(ledger.table, ledger.labels, facts, nodes, "LeastAllocated").tolist()
    assert dict(zip(names, got, strict=True)) == scores(read(objects), coming, names)
