"""Topologies, decided over random worlds, against what their documentation says (`tests/reference/topology.py`)."""

from __future__ import annotations

import os
import random
from collections import Counter

import msgspec
import pytest

import reprieve
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
from tests.builders.pods import Dict
from tests.builders.quota import queue, workload
from tests.builders.topology import asking
from tests.generators.topology import Cluster
from tests.reasons.worlds import World as Given
from tests.reference.topology import (
    Leaf,
    fits,
    flavor_of,
    held,
    most,
    victims,
    without,
    wrong_with,
)
from tests.truth import law

WORLDS = int(os.environ.get("REPRIEVE_TOPOLOGY_WORLDS", "400"))
BY_DESIGN = Settings(validate=True, search="Design")
BEST = Settings(validate=True, search="Best")


def policy_over(objects: list[Dict], by: Settings) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(load_objects(objects).objects), by))


class Scene(Cluster):
    """One of these clusters, decided over."""

    def policy(self, *more: Dict, by: Settings = BY_DESIGN) -> QuotaPolicy:
        return policy_over([*self.objects, *more], by)

    def plan(self, by: Settings = BY_DESIGN) -> Plan:
        policy = self.policy(by=by)
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
            best = scene.plan(BEST)
            assert best.outcome == "Preempt", (seed, best.message)
            assert len(best.victims) <= len(want), seed
    assert all(outcomes.values()), outcomes


def test_what_is_said_of_places_is_so() -> None:
    told = Counter[str]()
    for seed in range(20_000, 20_000 + WORLDS // 2):
        scene = Scene(seed)
        given = Given("quota", scene.objects, "Workload/default/asks")
        result = reprieve.plan(scene.objects, preemptor=given.preemptor)
        decision = result.to_dict()["decisions"][0]
        if decision["outcome"] != "Fits":
            assert list(law.untrue(given, decision)) == [], seed
            told.update(law.told(decision))
            assert result.domains == {}
            continue
        placed = result.domains[given.preemptor]["main"]
        known = {leaf[-len(placed["levels"]) :]: leaf for leaf in scene.empty}
        leaves = {known[tuple(each["values"])]: each["count"] for each in placed["domains"]}
        left = without(scene.empty, [place for each in scene.residents() for place in each["places"]])
        assert not wrong_with(left, leaves, scene.ask), seed
        for each in placed["domains"][:3]:
            assert f"{'/'.join(each['values'])} ({each['count']})" in decision["message"], decision["message"]
    assert told["TopologyShort"] > 5, told


@pytest.mark.parametrize("part", range(2))
def test_where_the_domains_of_a_flavor_are_full_the_next_one_is_tried(part: int) -> None:
    chosen = Counter[tuple[str, str]]()
    for seed in range(part, WORLDS // 2, 2):
        scenes = [Scene(seed)]
        scenes.append(Scene(seed + 5_000, "spare", scenes[0].levels))
        both = {scene.pool: {"cpu": 500} for scene in scenes}
        objects = [
            each for scene in scenes for each in scene.objects if each["kind"] not in ("ClusterQueue", "LocalQueue")
        ]
        asks = [each for each in objects if each["metadata"]["name"] == "asks"]
        objects.remove(asks[1])
        objects += queue("team", both, within="LowerPriority")
        want = flavor_of([each.empty for each in scenes], [each.residents() for each in scenes], scenes[0].ask)
        policy = policy_over(objects, BY_DESIGN)
        facts = policy.quota.find(("default", "asks"))
        assert facts is not None
        plan = decide(policy, PendingWorkload(facts), 0)
        if want is None:
            assert plan.outcome == "Unschedulable", (seed, plan.message)
            continue
        number, leaving = want
        assert plan.outcome == ("Preempt" if leaving else "Fits"), (seed, plan.message)
        assert plan.terms.assignment.chosen()["main"]["cpu"] == scenes[number].pool, (seed, plan.message)
        assert sorted(victim.unit.split("/")[-1] for victim in plan.victims) == leaving, seed
        chosen[scenes[number].pool, plan.outcome] += 1
    assert len(chosen) == 4, chosen


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
            cpu, pods = (asks.setdefault(name, scene._ask()))[:2]
            cohort = scene.random.choice([None, "one", "two"])
            more += queue(
                name, {"default": {"cpu": scene.random.choice([2, 500])}}, cohort=cohort, within="LowerPriority"
            )
            request = scene.request(asks[name])
            more.append(asking(workload(name, name, cpu=cpu, count=pods, priority=4), **request))
        left = without(scene.empty, [place for each in scene.residents() for place in each["places"]])
        for plan in cycle(scene.policy(*more)):
            if plan.outcome == "Fits":
                admitted += 1
                ask = asks[plan.preemptor.split("/")[-1]]
                cpu, _, wish, depth, size, slice_depth = ask
                placed = scene.leaves(plan)
                counts = held(left, cpu)
                assert all(count <= counts[leaf] for leaf, count in placed.items()), seed
                assert fits(left, *ask), seed
                slices = Counter[Leaf]()
                for leaf, count in placed.items():
                    slices[leaf[:slice_depth]] += count
                assert not any(count % size for count in slices.values()), seed
                if wish == "required":
                    assert len({leaf[:depth] for leaf in placed}) == 1, seed
                left = without(left, [(leaf, cpu, count) for leaf, count in placed.items()])
    assert admitted > WORLDS // 10


def test_an_assignment_is_the_same_in_both_forms() -> None:
    for seed in range(50):
        shuffled = random.Random(seed)  # noqa: S311 - worlds, no secrets
        names = [f"pool-{shuffled.randint(1, 30)}" for _ in range(shuffled.randint(1, 6))]
        want: list[Domain] = [((f"b{number % 2}", name), shuffled.randint(1, 3)) for number, name in enumerate(names)]
        made = msgspec.convert(assignment_data(["block", "rack"], want), TopologyAssignment)
        assert made.all_domains() == want
