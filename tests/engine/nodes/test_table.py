"""A policy that has followed every change gives the same plans as one that starts from what is there now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.core import Node, PodDisruptionBudget
from reprieve.manifests.loading import load_objects
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PriorityClass
from reprieve.policies.pod import PodPolicy
from reprieve.world import World, microseconds
from tests.generators.worlds import FEATURES, NOW, Dict, Maker
from tests.reference.cluster import moment

EXAMPLES = int(os.environ.get("TABLE_EXAMPLES", "25"))
STEPS = 20
NOON = microseconds(moment(NOW))
MINUTE = 60_000_000
KINDS: dict[str, type[Any]] = {
    "Pod": Pod,
    "Node": Node,
    "PriorityClass": PriorityClass,
    "PodDisruptionBudget": PodDisruptionBudget,
}
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


def assert_same_from_scratch(world: World, policy: PodPolicy, manifests: Iterable[Dict], now: int) -> None:
    """Every pending pod, one after the other: the policy that was kept against a new one."""
    objects = typed(*manifests)
    for facts in list(world.pending()):
        fresh = World(objects)
        want = decide(PodPolicy(NodeLedger(fresh, SETTINGS)), fresh.pods[facts.key], now)
        assert identity(decide(policy, facts, now)) == identity(want), facts.unit
    assert silent_on_each(policy._ledger) == silent_on_each(NodeLedger(World(objects), SETTINGS))


def silent_on_each(ledger: NodeLedger) -> dict[str, tuple[int, int]]:
    """On each node that is there, how many pods do not say how much cpu, or memory, they need."""
    ledger.sync()
    table = ledger.table
    places = {name: table.where(name) for name in table.names}
    return {name: tuple(table.silent[:, node].tolist()) for name, node in places.items() if node is not None}


class Life:
    """Random things that happen to a world."""

    def __init__(self, random: Random) -> None:
        self.random = random
        share = random.choice([0.0, 0.2, 0.5])
        features = {name for name in FEATURES if random.random() < share} or {"classes", "cordons"}
        self.maker = Maker(random, frozenset(features))
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
        assert self.world.delete(KINDS[key[0]], key[2], key[1])

    def like_the_preemptor(self, name: str) -> Dict:
        """The same shape under another name: it shares what is kept for the shape."""
        model = next(item for key, item in self.manifests.items() if key[0] == "Pod" and key[2] == "p")
        status = {"nominatedNodeName": self.random.choice(self.nodes)} if self.random.random() < 0.5 else {}
        return {**model, "metadata": {**model["metadata"], "name": name}, "status": status}

    def step(self) -> None:
        """One thing happens; what is more frequent in life is here, too."""
        come, go = self.a_pod_comes, self.a_pod_goes
        happenings = (
            come,
            come,
            come,
            go,
            go,
            self.a_node_comes,
            self.a_node_goes,
            self.touch_a_node,
            self.touch_a_pod,
        )
        self.random.choice((*happenings, self.somebody_is_nominated, self.one_of_its_like_comes, self.rules_change))()

    def a_pod_comes(self) -> None:
        """Or it is replaced under its name; its node need not be there yet."""
        name = f"{self.random.choice(self.nodes)}-{self.random.randint(0, 6)}"
        self.put(self.maker.running(name, self.random.choice(self.nodes), self.maker.amounts()))

    def a_pod_goes(self) -> None:
        self.delete_one("Pod")

    def a_node_comes(self) -> None:
        self.put(self.maker.node(self.random.choice(self.nodes)))

    def a_node_goes(self) -> None:
        self.delete_one("Node")

    def somebody_is_nominated(self) -> None:
        self.put(self.maker.nominee(f"nominee{self.random.randint(0, 2)}", self.nodes))

    def one_of_its_like_comes(self) -> None:
        self.put(self.like_the_preemptor(f"like{self.random.randint(0, 1)}"))

    def rules_change(self) -> None:
        others = [*self.maker.classes(), *self.maker.budgets(), *self.maker.spaces()]
        for item in self.random.sample(others, min(len(others), 1)):
            self.put(item)
        if self.random.random() < 0.3:
            self.delete_one(self.random.choice(["PriorityClass", "PodDisruptionBudget"]))

    def touch_a_node(self) -> None:
        """Cordoned, tainted or resized, and otherwise the same."""
        random = self.random
        nodes = [self.manifests[key] for key in sorted(self.manifests) if key[0] == "Node"]
        for node in random.sample(nodes, min(len(nodes), 1)):
            other = self.maker.node(node["metadata"]["name"])
            part = random.choice(["spec", "status"])
            spec = {"unschedulable": not node.get("spec", {}).get("unschedulable", False)}
            self.put({**node, part: spec if part == "spec" else other[part]})

    def touch_a_pod(self) -> None:
        """It is told to leave, or says something else of itself, where it is and as large as it is."""
        random = self.random
        keys = [key for key in sorted(self.manifests) if key[0] == "Pod" and key[2] != "p"]
        for pod in (self.manifests[key] for key in random.sample(keys, min(len(keys), 1))):
            other = self.maker.running(pod["metadata"]["name"], "", {})["metadata"]
            part = random.choice([{"deletionTimestamp": NOW}, {"labels": other.get("labels", {})}, {"annotations": {}}])
            self.put({**pod, "metadata": {**pod["metadata"], **part}})

    def delete_one(self, kind: str) -> None:
        keys = sorted(key for key in self.manifests if key[0] == kind and key[2] != "p")
        if keys:
            self.delete(self.random.choice(keys))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_following_changes_equals_starting_anew(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - nothing here is secret
    life = Life(random)
    policy = PodPolicy(NodeLedger(life.world, SETTINGS))
    now = NOON
    for _ in range(STEPS):
        for _ in range(random.choice([1, 1, 1, 3])):
            life.step()
        now = (
            NOON + random.randint(-90, 30) * MINUTE
            if random.random() < 0.1
            else now + random.choice([0, 1, 5]) * MINUTE
        )
        assert_same_from_scratch(life.world, policy, life.manifests.values(), now)
