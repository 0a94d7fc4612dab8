"""Topologies, decided over random worlds, against what their documentation says (`tests/reference/topology.py`)."""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
import pytest

from reprieve.configuration import Settings
from reprieve.engine.claims import TopologyShort
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.kueue_topology import Domain, TopologyAssignment, assignment_data
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.builders.pods import Dict, manifest
from tests.builders.quota import queue, workload
from tests.builders.topology import HOSTNAME, asking, node, topology
from tests.reference.topology import Data, Leaf, fits, free_leaves, held, most, victims, without, wrong_with

WORLDS = int(os.environ.get("REPRIEVE_TOPOLOGY_WORLDS", "400"))
LEVELS = (["block", "rack", HOSTNAME], ["rack", HOSTNAME], ["block", "rack"], [HOSTNAME])


class Scene:
    """A random cluster with workloads in it, and one that asks; all of it as manifests."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - worlds, no secrets
        self.levels = self.random.choice(LEVELS)
        self.objects: list[Dict] = [*topology("default", *self.levels)]
        self.objects += queue("team", {"default": {"cpu": 500}}, within="LowerPriority")
        for number in range(self.random.randint(1, 8)):
            self.objects.append(self._node(number))
        for number in range(self.random.randint(0, 3)):
            self.objects.append(self._pod(number))
        self.empty = free_leaves(self.objects, self.objects[1], self.levels)
        self.admitted = [each for number in range(self.random.randint(0, 5)) if (each := self._resident(number))]
        self.ask = self._ask()
        cpu, pods, wish, depth = self.ask
        wanted: Any = True if wish == "unconstrained" else self.levels[depth - 1]
        self.objects.append(asking(workload("asks", "team", cpu=cpu, count=pods, priority=5), **{wish: wanted}))

    def _node(self, number: int) -> Dict:
        where = {"block": f"b{self.random.randint(1, 2)}", "rack": f"r{self.random.randint(1, 2)}"}
        made = node(f"n{number}", cpu=self.random.randint(1, 6), pods=self.random.randint(2, 6), **where)
        if self.random.random() < 0.1:
            made["spec"] = {"unschedulable": True}
        if self.random.random() < 0.1:
            made["status"]["conditions"][0]["status"] = "Unknown"
        if self.random.random() < 0.1:
            made["metadata"]["labels"]["pool"] = "other"
        return made

    def _pod(self, number: int) -> Dict:
        container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
        spec = {"nodeName": f"n{self.random.randint(0, 7)}", "containers": [container]}
        return manifest("v1", "Pod", {"name": f"daemon-{number}", "namespace": "default"}, spec=spec)

    def _resident(self, number: int) -> Data | None:
        """A workload that is there, wherever there is room for it."""
        left = without(self.empty, [place for each in self.residents() for place in each["places"]])
        cpu = self.random.randint(1, 2)
        room = {leaf: count for leaf, count in held(left, cpu).items() if count}
        if not room:
            return None
        chosen = self.random.sample(sorted(room), self.random.randint(1, min(2, len(room))))
        places = [(leaf, cpu, self.random.randint(1, room[leaf])) for leaf in chosen]
        priority = self.random.choice([0, 1, 2, 5, 9])
        pods = sum(count for _, _, count in places)
        reserved = f"2026-01-01T10:{number:02}:00Z"
        made = workload(f"w{number}", "team", on="default", cpu=cpu, count=pods, priority=priority, reserved=reserved)
        levels = self.levels[-1:] if self.levels[-1] == HOSTNAME else self.levels
        named = [(leaf[-len(levels) :], count) for leaf, _, count in places]
        made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = assignment_data(levels, named)
        made["metadata"]["uid"] = f"w{number}"
        self.objects.append(made)
        below = priority < 5
        found = {"name": f"w{number}", "priority": priority, "reserved": reserved, "places": places, "below": below}
        self._known = [*self.residents(), found]
        return found

    def residents(self) -> list[Data]:
        return getattr(self, "_known", [])

    def _ask(self) -> tuple[int, int, str, int]:
        wish = self.random.choice(["required", "required", "preferred", "unconstrained"])
        depth = len(self.levels) if wish == "unconstrained" else self.random.randint(1, len(self.levels))
        return self.random.randint(1, 3), self.random.randint(1, 7), wish, depth

    def policy(self, *more: Dict) -> QuotaPolicy:
        world = World(load_objects([*self.objects, *more]).objects)
        return QuotaPolicy(QuotaWorld(world, Settings(validate=True)))

    def plan(self) -> Plan:
        policy = self.policy()
        facts = policy.quota.find(("default", "asks"))
        assert facts is not None
        return decide(policy, PendingWorkload(facts), 0)

    def leaves(self, plan: Plan) -> dict[Leaf, int]:
        """Where it was placed, by all levels."""
        placed = plan.terms.placed["main"]
        known = {leaf[-len(placed.levels) :]: leaf for leaf in self.empty}
        return {known[values]: count for values, count in placed.domains}


@pytest.mark.parametrize("part", range(4))
def test_decisions_are_those_of_the_documentation(part: int) -> None:
    outcomes = {"Fits": 0, "Preempt": 0, "Unschedulable": 0}
    for seed in range(part, WORLDS, 4):
        scene = Scene(seed)
        plan = scene.plan()
        outcomes[plan.outcome] += 1
        want = victims(scene.empty, scene.residents(), scene.ask)
        left = without(scene.empty, [place for each in scene.residents() for place in each["places"]])
        if want is None:
            assert plan.outcome == "Unschedulable", seed
            claim = next(claim for claim in plan.claims if isinstance(claim, TopologyShort))
            there = scene.empty if claim.idle else left
            assert (claim.needed, claim.most) == (scene.ask[1], most(there, scene.ask)), (seed, plan.message)
            assert claim.idle is not fits(scene.empty, *scene.ask), (seed, plan.message)
        elif not want:
            assert plan.outcome == "Fits", seed
            assert not wrong_with(left, scene.leaves(plan), scene.ask), (
                seed,
                wrong_with(left, scene.leaves(plan), scene.ask),
            )
        else:
            assert plan.outcome == "Preempt", (seed, plan.message)
            assert sorted(victim.unit.split("/")[-1] for victim in plan.victims) == want, seed
    assert all(outcomes.values()), outcomes


@pytest.mark.parametrize("part", range(2))
def test_nobody_of_a_cycle_is_sent_where_somebody_else_is_or_will_be(part: int) -> None:
    """Several queues on one topology: what the heads of one cycle get together is there."""
    admitted = 0
    for seed in range(10_000 + part, 10_000 + WORLDS // 2, 2):
        scene = Scene(seed)
        more: list[Dict] = []
        asks = {"asks": scene.ask}
        for number in range(3):
            name = f"other-{number}"
            cpu, pods, wish, depth = asks[name] = scene._ask()
            wanted: Any = True if wish == "unconstrained" else scene.levels[depth - 1]
            cohort = scene.random.choice([None, "one", "two"])
            more += queue(
                name, {"default": {"cpu": scene.random.choice([2, 500])}}, cohort=cohort, within="LowerPriority"
            )
            more.append(asking(workload(name, name, cpu=cpu, count=pods, priority=4), **{wish: wanted}))
        left = without(scene.empty, [place for each in scene.residents() for place in each["places"]])
        for plan in cycle(scene.policy(*more)):
            if plan.outcome == "Fits":
                admitted += 1
                cpu, pods, wish, depth = asks[plan.preemptor.split("/")[-1]]
                placed = scene.leaves(plan)
                counts = held(left, cpu)
                assert all(count <= counts[leaf] for leaf, count in placed.items()), seed
                assert fits(left, cpu, pods, wish, depth), seed
                if wish == "required":
                    assert len({leaf[:depth] for leaf in placed}) == 1, seed
                left = without(left, [(leaf, cpu, count) for leaf, count in placed.items()])
    assert admitted > WORLDS // 8


def test_an_assignment_is_the_same_in_both_forms() -> None:
    for seed in range(50):
        shuffled = random.Random(seed)  # noqa: S311 - worlds, no secrets
        names = [f"pool-{shuffled.randint(1, 30)}" for _ in range(shuffled.randint(1, 6))]
        want: list[Domain] = [((f"b{number % 2}", name), shuffled.randint(1, 3)) for number, name in enumerate(names)]
        made = msgspec.convert(assignment_data(["block", "rack"], want), TopologyAssignment)
        assert made.all_domains() == want
