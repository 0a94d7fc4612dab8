"""The laws of before and after, over random worlds of all five policies.

1. No change, no difference.
2. A change and its inverse give the same differences, the other way round.
3. What is compared of those who wait is what `plan` decides for them.
4. Whoever is preempted may be preempted: a victim of a decision is open to an asker of the preemptor's priority.

`CHANGE_WORLDS` says how many times as many worlds are looked at.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from reprieve.configuration import Settings, configure
from reprieve.engine.reasons import QuotaTaken
from reprieve.manifests.documents import Document
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects
from reprieve.manifests.problems import Origin
from reprieve.planning.change import ProposedChange, change_of
from reprieve.planning.comparison import DIFFERENCES, Comparison
from reprieve.planning.pictures import Picture
from reprieve.planning.planner import decide
from reprieve.planning.questions import moment_of
from reprieve.planning.what_if import what_if
from reprieve.policies.registry import Policies
from reprieve.world import World, microseconds
from tests.reasons.worlds import GATES, NOW, POLICIES, Dict, world

TIMES = float(os.environ.get("CHANGE_WORLDS", "1"))
WORLDS = int(60 * TIMES)
CONFIGURATION = (
    *("PriorityClass", "PodDisruptionBudget", "ConfigMap", "PodGroup", "Node", "Namespace"),
    *("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue", "WorkloadPriorityClass"),
    *("PropagationPolicy", "Cluster"),
)
OPPOSITES = list(zip(DIFFERENCES[::2], DIFFERENCES[1::2], strict=True))
each_policy = pytest.mark.parametrize("policy", POLICIES)


def settled(objects: list[Dict], settings: Settings) -> Loaded:
    """A world as a server has it: admission has written priorities on all that have only named a class."""
    loaded = load_objects(objects)
    policies = Policies(World(loaded.objects), settings, microseconds(moment_of(NOW)))
    carried = {_key(item): item for entry in policies for item in entry.carried()}
    loaded.entries = [_with(entry, carried.get(_key(entry.manifest), entry.manifest)) for entry in loaded.entries]
    return loaded


def _key(item: Any) -> tuple[Any, ...]:
    return type(item), item.kind, item.namespace, item.name


def _with(entry: LoadedObject, manifest: Any) -> LoadedObject:
    return msgspec.structs.replace(entry, manifest=manifest)


def only(*entries: LoadedObject) -> ProposedChange:
    loaded = Loaded()
    loaded.entries = list(entries)
    return ProposedChange(loaded)


def compared(loaded: Loaded, change: ProposedChange, settings: Settings) -> Comparison:
    return what_if(loaded, change, settings, moment_of(NOW))


def without(loaded: Loaded, unit: str) -> Loaded:
    rest = Loaded()
    rest.entries = [entry for entry in loaded.entries if entry.unit != unit]
    return rest


def mirrored(one: Comparison, other: Comparison) -> None:
    """Each kind of difference is the other's opposite. What is said of those who wait is said of the later world."""
    for first, second in OPPOSITES:
        for ours, theirs in ((first, second), (second, first)):
            assert _told(one, ours) == _told(other, theirs), (ours, theirs)


def _told(made: Comparison, kind: str) -> Counter[str]:
    plain = msgspec.to_builtins(getattr(made, kind))
    about_later = kind.endswith(("starts", "preempts", "waits", "unschedulable"))
    return Counter(str({**item, "message": ""} if about_later else item) for item in plain)


def changes(policy: str, seed: int) -> Iterator[tuple[Loaded, str, Settings]]:
    """A world, and an object of its configuration."""
    made = world(policy, seed)
    settings = configure(made.config, GATES)
    loaded = settled(made.objects, settings)
    units = sorted({entry.unit for entry in loaded.entries if entry.unit.split("/")[0] in CONFIGURATION})
    if units:
        yield loaded, Random(f"{policy}{seed}").choice(units), settings  # noqa: S311 - nothing here is secret


@each_policy
def test_no_change_no_difference(policy: str) -> None:
    for seed in range(WORLDS):
        made = world(policy, seed)
        settings = configure(made.config, GATES)
        loaded = load_objects(made.objects)
        for change in (only(), only(*load_objects(made.objects).entries)):
            found = compared(loaded, change, settings)
            assert not found.difference, (seed, found)
            assert set(found.changed.values()) <= {"unchanged"}


@each_policy
def test_a_change_that_is_taken_back_is_seen_the_other_way_round(policy: str) -> None:
    different = 0
    for seed in range(WORLDS):
        for loaded, unit, settings in changes(policy, seed):
            going = [entry for entry in loaded.entries if entry.unit == unit]
            there = compared(loaded, change_of((), [unit]), settings)
            back = compared(without(loaded, unit), only(*going), settings)
            mirrored(there, back)
            different += there.difference
    assert different > WORLDS / 20, "the law would hold for want of examples"


@each_policy
def test_settings_that_are_set_back_are_seen_the_other_way_round(policy: str) -> None:
    switched = {"pdb": "Respect", "featureGates": dict.fromkeys(GATES, False), "fairSharing": {"enable": True}}
    usual: Dict = {"pdb": "BestEffort", "featureGates": GATES, "fairSharing": {"enable": False}}
    for seed in range(WORLDS // 2):
        loaded = settled(world(policy, seed).objects, configure(usual))
        there = compared(loaded, _settings(switched), configure(usual))
        mirrored(there, compared(loaded, _settings(usual), configure(switched)))


def _settings(data: Dict) -> ProposedChange:
    return change_of([Document(Origin("settings", 1), data)])


@each_policy
def test_what_is_compared_is_what_a_plan_decides(policy: str) -> None:
    now = moment_of(NOW)
    for seed in range(2 * WORLDS):
        made = world(policy, seed)
        loaded, settings = load_objects(made.objects), configure(made.config, GATES)
        picture = Picture(World(loaded.objects, now), settings, microseconds(now))
        picture.decide()
        planned = decide(loaded, settings=settings, now=now)
        victims = {one.preemptor: [victim["unit"] for victim in one.victims] for one in planned.decisions}
        assert set(picture.starts) == set(planned.admitted), seed
        assert {unit: picture.victims(unit) for unit in picture.plans} == victims, seed


@each_policy
def test_whoever_is_preempted_may_be_preempted(policy: str) -> None:
    now = microseconds(moment_of(NOW))
    victims = 0
    for seed in range(2 * WORLDS):
        made = world(policy, seed)
        policies = Policies(World(load_objects(made.objects).objects), configure(made.config, GATES), now)
        exposed = open_to(policies, now)
        for ledger in policies.ledgers():
            for one in policies.pending(ledger):
                for victim in policies.decide(one, now).victims:
                    # Shares are compared at the moment: they change when others have left before.
                    if not (isinstance(victim.reason, QuotaTaken) and victim.reason.kind == "InCohortFairSharing"):
                        victims += 1
                        assert victim.unit in exposed[ledger, one.priority], (seed, one.unit, victim)
    assert victims > WORLDS / 10, "the law would hold for want of examples"


def open_to(policies: Policies, now: int) -> dict[tuple[str, int], set[str]]:
    """By ledger and the priority of an asker: everybody whom no rule protects from it."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for entry in policies:
        exposure = entry.exposure(now)
        for asker, row in zip(exposure.askers, exposure.protected, strict=True):
            found[entry.ledger, asker.priority].update(exposure.units[place] for place in (row == 0).nonzero()[0])
    return found
