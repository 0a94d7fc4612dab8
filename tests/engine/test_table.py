"""A policy that has followed every change gives the same plans as one that starts from what is there now."""

from __future__ import annotations

import os
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.objects.core import Node
from reprieve.objects.loading import load_objects
from reprieve.objects.meta import Manifest
from reprieve.objects.pods import Pod
from reprieve.objects.scheduling import PriorityClass
from reprieve.policies.pod import PodPolicy
from reprieve.world import World, microseconds
from tests.builders import budget, node, pod, priority_class
from tests.random_worlds import FEATURES, NOW, Dict, Maker
from tests.reference.cluster import moment

EXAMPLES = int(os.environ.get("TABLE_EXAMPLES", "60"))
STEPS = 25
NOON = microseconds(moment(NOW))
SECOND = 1_000_000
SETTINGS = Settings(validate=True)


def typed(*manifests: Dict) -> list[Manifest]:
    return [entry.manifest for entry in load_objects(manifests).entries]


def identity(plan: Plan) -> dict[str, Any]:
    """All that a plan says, in an order that does not depend on the order in which things came."""
    details = plan.details
    return {
        "outcome": plan.outcome,
        "domain": plan.domain,
        "victims": plan.victims,
        "waiting": plan.waiting_for,
        "criterion": plan.criterion,
        "message": plan.message,
        "candidates": details.candidates,
        "obstacles": details.obstacles,
        "spared": sorted(map(repr, details.spared)),
    }


def assert_same_from_scratch(policy: PodPolicy, now: int) -> None:
    """Every pending pod, one after the other: the policy that was kept against a new one."""
    world = policy.world
    for facts in list(world.pending()):
        fresh = World(item for kind in list(world._objects) for item in world.all(kind))
        want = PodPolicy(fresh, SETTINGS).decide(fresh.pods[facts.key], now)
        assert identity(policy.decide(facts, now)) == identity(want), facts.unit


class Life:
    """Random things that happen to a world."""

    def __init__(self, random: Random) -> None:
        self.random = random
        share = random.choice([0.0, 0.2, 0.5])
        self.maker = Maker(random, frozenset(name for name in FEATURES if random.random() < share))
        objects, _ = self.maker.world()
        self.manifests = {self.key(item): item for item in objects}
        self.nodes = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"] + ["n9"]
        self.world = World(typed(*objects))
        for number in range(2):
            self.put(self.like_the_preemptor(f"like{number}"))

    def key(self, item: Dict) -> tuple[str, str, str]:
        return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]

    def put(self, item: Dict) -> None:
        self.manifests[self.key(item)] = item
        for manifest in typed(item):
            self.world.put(manifest)

    def delete(self, key: tuple[str, str, str]) -> None:
        del self.manifests[key]
        kinds: dict[str, type[Any]] = {"Pod": Pod, "Node": Node, "PriorityClass": PriorityClass}
        kind = kinds.get(key[0]) or next(kind for kind in self.world._objects if kind.__name__ == key[0])
        assert self.world.delete(kind, key[2], key[1])

    def like_the_preemptor(self, name: str) -> Dict:
        """The same shape under another name: it shares what is kept for the shape."""
        model = next(item for key, item in self.manifests.items() if key[0] == "Pod" and key[2] == "p")
        status = {"nominatedNodeName": self.random.choice(self.nodes)} if self.random.random() < 0.5 else {}
        return {**model, "metadata": {**model["metadata"], "name": name}, "status": status}

    def step(self) -> None:
        random, maker = self.random, self.maker
        match random.randint(0, 9):
            case 0 | 1 | 2:
                name = f"{random.choice(self.nodes)}-{random.randint(0, 6)}"
                self.put(maker.running(name, random.choice(self.nodes), maker.amounts()))
            case 3 | 4:
                self.delete_one("Pod")
            case 5:
                self.put(maker.node(random.choice(self.nodes)))
            case 6:
                self.delete_one("Node")
            case 7:
                self.put(maker.nominee(f"nominee{random.randint(0, 2)}", self.nodes))
            case 8:
                self.put(self.like_the_preemptor(f"like{random.randint(0, 1)}"))
            case 9:
                others = [*maker.classes(), *maker.budgets(), *maker.spaces()]
                for item in random.sample(others, min(len(others), 1)):
                    self.put(item)
                if random.random() < 0.3:
                    self.delete_one("PriorityClass")

    def delete_one(self, kind: str) -> None:
        keys = sorted(key for key in self.manifests if key[0] == kind and key[2] != "p")
        if keys:
            self.delete(self.random.choice(keys))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_following_changes_equals_starting_anew(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - nothing here is secret
    life = Life(random)
    policy = PodPolicy(life.world, SETTINGS)
    now = NOON
    for _ in range(STEPS):
        for _ in range(random.choice([1, 1, 1, 3])):
            life.step()
        now += random.choice([0, 0, 1, 300, 1800, -900]) * SECOND
        assert_same_from_scratch(policy, now)
