"""Policies that have followed every change of a world decide as those do that find it as it is now.

The scheduler follows its world for months; `plan` reads it once. Random worlds of all five policies turn into others,
object by object: each is deleted, comes back, or becomes the one of its name in another world. `FOLLOWED_WORLDS` says
for how many worlds, `FOLLOWED_SEED` where to begin.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from reprieve.configuration import Settings, configure
from reprieve.engine.plan import Plan
from reprieve.manifests.karmada import HOLLOW_ANNOTATION
from reprieve.manifests.loading import load_objects
from reprieve.policies.registry import Policies
from reprieve.world import World, microseconds
from tests.builders.pods import node, pod, pod_group
from tests.reasons.worlds import GATES, NOW, POLICIES, Dict, world
from tests.reference.cluster import moment

WORLDS = int(os.environ.get("FOLLOWED_WORLDS", "12"))
FIRST = int(os.environ.get("FOLLOWED_SEED", "0"))
CHANGES = 24
TOGETHER = 3
"""So many changes at most between two decisions."""
NOON = microseconds(moment(NOW))


def _told(item: Dict) -> Dict:
    """What other clusters than hollow ones have reported, and which bindings they knew by then, no object tells."""
    if item["kind"] != "Cluster":
        return item
    annotations = {**item["metadata"].get("annotations", {}), HOLLOW_ANNOTATION: "true"}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


def _key(item: Dict) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


class Changing:
    """A world that becomes another one, and policies that follow it."""

    def __init__(self, policy: str, seed: int) -> None:
        self._random = Random(f"{policy}{seed}")  # noqa: S311 - nothing here is secret
        first, second = world(policy, seed), world(policy, seed + 1_000_000)
        self._known = [{_key(item): _told(item) for item in made.objects} for made in (first, second)]
        self.objects = dict(self._known[0])
        self.settings: Settings = configure(first.config, GATES)
        self._world = World(load_objects(self.objects.values()).objects)
        self.policies = Policies(self._world, self.settings, NOON)

    def change(self) -> None:
        for _ in range(self._random.randint(1, TOGETHER)):
            which = self._random.choice(self._known)
            key = self._random.choice(sorted(which))
            if key in self.objects and self._random.random() < 0.5:
                for manifest in load_objects([self.objects.pop(key)]).objects:
                    self._world.delete(type(manifest), manifest.name, manifest.namespace, called=manifest.kind)
            else:
                self.objects[key] = which[key]
                for manifest in load_objects([which[key]]).objects:
                    self._world.put(manifest)

    def answers(self) -> dict[str, Any]:
        return _answers(self.policies)

    def answers_of_newcomers(self) -> dict[str, Any]:
        objects = [self.objects[key] for key in sorted(self.objects)]
        return _answers(Policies(World(load_objects(objects).objects), self.settings, NOON))


def _answers(policies: Policies) -> dict[str, Any]:
    """What is decided for everybody who waits, and in which order they wait."""
    waiting = {ledger: policies.pending(ledger) for ledger in policies.ledgers()}
    decided: dict[str, Any] = {
        str(one.unit): _said(policies.decide(one, NOON)) for several in waiting.values() for one in several
    }
    return {"order": {name: [one.unit for one in several] for name, several in waiting.items()}, **decided}


def _said(plan: Plan) -> Dict:
    return {
        "outcome": plan.outcome,
        "where": (plan.domain, sorted(plan.placement.items())),
        "victims": sorted((victim.unit, repr(victim.reason), victim.pdb_violation) for victim in plan.victims),
        "waits": sorted(plan.waiting_for),
        "message": plan.message,
    }


@pytest.mark.parametrize("seed", range(FIRST, FIRST + WORLDS))
@pytest.mark.parametrize("policy", POLICIES)
def test_who_has_followed_every_change_decides_as_a_newcomer_does(policy: str, seed: int) -> None:
    changing = Changing(policy, seed)
    changing.answers()
    for number in range(CHANGES):
        changing.change()
        kept, new = changing.answers(), changing.answers_of_newcomers()
        assert kept == new, (policy, seed, number)


@pytest.mark.parametrize("kept_away", ["another", "body"])
@pytest.mark.parametrize("scoring", ["MostAllocated", "LeastAllocated"])
def test_who_kept_others_away_and_is_gone_has_no_say_in_where_a_gang_goes(kept_away: str, scoring: str) -> None:
    """Whether that is a member of the gang or not."""
    labels = {"first": {"part": "head"}, "second": {"part": "body"}, "third": {"part": "body"}}
    members = [pod(name, cpu="1", labels=each, group="gang") for name, each in labels.items()]
    objects = [node("n0", cpu="3"), node("n1", cpu="3"), pod_group("gang", gang=3), *members]
    apart = {"labelSelector": {"matchLabels": {"part": kept_away}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    made = World(load_objects(objects).objects)
    policies = Policies(made, configure({"scoring": scoring}, GATES), NOON)
    before = _answers(policies)
    (loner,) = load_objects([pod("loner", node="n0", cpu="1", spec={"affinity": affinity})]).objects
    made.put(loner)
    _answers(policies)
    made.delete(type(loner), "loner", "default")
    assert _answers(policies) == before
