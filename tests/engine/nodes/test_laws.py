"""The laws of preemption: bad things that never happen, in any world."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reprieve
from reprieve.configuration import Settings
from reprieve.engine.nodes.inter_pod import concerned
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.preemption import decide
from reprieve.manifests.loading import load_objects
from reprieve.planning.result import Decision
from reprieve.policies.pod import ALL_NODES, PodPolicy
from reprieve.world import World, microseconds
from tests.generators.worlds import FEATURES, NOW, Dict, RandomWorld, random_worlds
from tests.reference.cluster import moment, priority_of, read, unit_of
from tests.reference.decision import Decision as Reference

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "150"))
RESOURCES_ONLY = ("nominated", "classes", "budgets", "labels", "taints", "cordons", "namespaces", "containers")
WORLDS = random_worlds()

laws = settings(max_examples=EXAMPLES)


def decided(objects: list[Dict], preemptor: str, **config: Any) -> Decision:
    return reprieve.plan(objects, preemptor=preemptor, now=NOW, config=config).decision


def victims_of(decision: Decision) -> set[str]:
    return {victim["unit"] for victim in decision.victims}


def without(objects: list[Dict], units: set[str]) -> list[Dict]:
    return [item for item in objects if item["kind"] != "Pod" or unit_of(item) not in units]


def reference(objects: list[Dict], preemptor: str) -> Reference:
    pod = next(item for item in objects if item["kind"] == "Pod" and unit_of(item) == preemptor)
    return Reference(read(objects), pod, moment(NOW), respect=False)


@laws
@given(WORLDS)
def test_nobody_of_equal_or_higher_priority_makes_way(world: RandomWorld) -> None:
    objects, preemptor = world.objects, world.preemptor
    decision = decided(objects, preemptor)
    priorities = {unit_of(item): priority_of(read(objects), item) for item in objects if item["kind"] == "Pod"}
    everybody = {unit for cost in decision.candidates.values() for unit in cost["victims"]}
    assert all(priorities[unit] < priorities[preemptor] for unit in everybody | victims_of(decision))


@laws
@given(random_worlds(*RESOURCES_ONLY))
def test_no_victim_could_have_stayed_where_only_resources_count(world: RandomWorld) -> None:
    objects, preemptor = world.objects, world.preemptor
    decision = decided(objects, preemptor)
    for victim in victims_of(decision):
        left = without(objects, victims_of(decision) - {victim})
        assert not fits_on(left, preemptor, decision.domain or "")


@laws
@given(random_worlds(*(name for name in FEATURES if name != "terminating")))
def test_the_preemptor_fits_once_its_victims_are_gone(world: RandomWorld) -> None:
    """Not where pods are leaving: kube-scheduler does not count them for spreading, and still takes them off."""
    objects, preemptor = world.objects, world.preemptor
    decision = decided(objects, preemptor)
    if decision.outcome == "Preempt":
        assert fits_on(without(objects, victims_of(decision)), preemptor, decision.domain or "")


def fits_on(objects: list[Dict], preemptor: str, node: str) -> bool:
    """Whether the filters of the reference let it pass on that node as it is."""
    question = reference(objects, preemptor)
    return question.filtered(node, question.cluster.running.get(node, [])) == "passes"


@laws
@given(WORLDS)
def test_a_plan_is_only_made_when_nothing_fits_without_one(world: RandomWorld) -> None:
    objects, preemptor = world.objects, world.preemptor
    decision = decided(objects, preemptor)
    nodes = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    assert (decision.outcome == "Fits") == any(fits_on(objects, preemptor, node) for node in nodes)
    assert bool(decision.victims) == (decision.outcome == "Preempt")


@laws
@given(WORLDS, st.integers(0, 2**32 - 1))
def test_permuting_the_input_changes_nothing(world: RandomWorld, seed: int) -> None:
    objects, preemptor = world.objects, world.preemptor
    shuffled = Random(seed).sample(objects, len(objects))  # noqa: S311 - nothing here is secret
    assert unordered(objects, preemptor) == unordered(shuffled, preemptor)


def unordered(objects: list[Dict], preemptor: str) -> Dict:
    """The whole answer, with its lists that are sets in one order. Warnings name the place in the input."""
    answer = reprieve.plan(objects, preemptor=preemptor, now=NOW).to_dict()
    answer.pop("warnings")
    for decision in answer["decisions"]:
        decision["spared"].sort(key=str)
    return answer


@laws
@given(WORLDS)
def test_after_a_decision_the_ledger_is_what_it_was_before(world: RandomWorld) -> None:
    objects, preemptor = world.objects, world.preemptor
    ledger = NodeLedger(World(entry.manifest for entry in load_objects(objects).entries), Settings(validate=True))
    before = ledger.table.fingerprint()
    facts = next(facts for facts in ledger.world.pods.values() if facts.unit == preemptor)
    plan = decide(PodPolicy(ledger), facts, microseconds(moment(NOW)))
    assert plan.details is not None
    assert ledger.table.fingerprint() == before


@laws
@given(WORLDS)
def test_what_nodes_that_look_alike_are_told_together_each_is_told_by_itself(world: RandomWorld) -> None:
    objects = [*world.objects, *twins(world.objects)]
    ledger = NodeLedger(World(entry.manifest for entry in load_objects(objects).entries), Settings())
    policy = PodPolicy(ledger)
    facts = next(facts for facts in ledger.world.pods.values() if facts.unit == world.preemptor)
    view = policy.view(facts, microseconds(moment(NOW)))
    policy.search(view, ALL_NODES, policy.rules(view))
    assert view.search is not None
    nodes = np.arange(ledger.table.size)
    alone = [(node, claim) for node in nodes.tolist() for claim in view.search.obstacles(np.array([node]))]
    assert list(view.search.obstacle_on_each(nodes)) == alone


def twins(objects: list[Dict]) -> list[Dict]:
    """Every node once more, with pods like those that run there."""
    nodes = [item for item in objects if item["kind"] == "Node"]
    pods = [item for item in objects if item["kind"] == "Pod" and item["spec"].get("nodeName")]
    there = [{**pod, "spec": {**pod["spec"], "nodeName": f"{pod['spec']['nodeName']}-twin"}} for pod in pods]
    return [
        {**item, "metadata": {**item["metadata"], "name": f"{item['metadata']['name']}-twin"}}
        for item in (*nodes, *there)
    ]


@laws
@given(WORLDS)
def test_who_leaves_takes_as_much_room_as_who_stays_for_whoever_does_not_mind(world: RandomWorld) -> None:
    """What `NodeRoom.minds_leaving` says of a pod, so that nobody has to be put back to ask where it fits."""
    fits = []
    for objects in (world.objects, [*map(leaving, world.objects)]):
        ledger = NodeLedger(World(entry.manifest for entry in load_objects(objects).entries), Settings())
        facts = next(facts for facts in ledger.world.pods.values() if facts.unit == world.preemptor)
        view = PodPolicy(ledger).view(facts, microseconds(moment(NOW)))
        if facts.claims or concerned(ledger.table, facts):
            return
        fits.append(dict(zip(ledger.table.names, view.nodes.fits.tolist(), strict=True)))
    assert fits[0] == fits[1]


def leaving(item: Dict) -> Dict:
    """Who runs is told to go."""
    if item["kind"] != "Pod" or not item["spec"].get("nodeName"):
        return item
    return {**item, "metadata": {**item["metadata"], "deletionTimestamp": NOW}}


@laws
@given(random_worlds("budgets", "labels", "namespaces", "nominated"))
def test_respected_budgets_are_never_broken(world: RandomWorld) -> None:
    objects, preemptor = world.objects, world.preemptor
    decision = decided(objects, preemptor, pdb="Respect")
    gone = [item for item in objects if item["kind"] == "Pod" and unit_of(item) in victims_of(decision)]
    assert not reference(objects, preemptor).breaks(gone)


@laws
@given(random_worlds("budgets", "labels"))
def test_respecting_budgets_never_finds_a_way_that_best_effort_does_not(world: RandomWorld) -> None:
    respectful, best_effort = (decided(world.objects, world.preemptor, pdb=pdb) for pdb in ("Respect", "BestEffort"))
    assert best_effort.candidates == respectful.candidates
    if respectful.outcome == "Preempt":
        assert best_effort.outcome == "Preempt"
    if best_effort.outcome == "Preempt" and not any(victim["pdbViolation"] for victim in best_effort.victims):
        assert respectful.victims == best_effort.victims
