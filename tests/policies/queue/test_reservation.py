"""The chosen node is held for the preemptor, until it is there or gone."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from reprieve.engine.plan import Plan
from reprieve.manifests.pods import Pod
from reprieve.policies.on_nodes import commit_pods
from tests.builders.pods import node
from tests.builders.queues import NOON, at, decide_for, in_queue, policies_over, queues, tree
from tests.policies.queue.cycles import Cycles

PROD, TEST = "root.prod", "root.test"


@pytest.fixture
def cycles() -> Cycles:
    """A full node; the youngest pod of Test has been chosen to make way for `ask`, and is still leaving."""
    running = [in_queue(f"test-{number}", TEST, node="n1", minutes=30 - number) for number in range(4)]
    objects = [queues(tree("prod", cpu=2), tree("test")), node("n1", cpu="4"), *running, in_queue("ask", PROD)]
    cycles = Cycles(policies_over(objects))
    plan = decide(cycles, "ask")
    assert [victim.unit for victim in plan.victims] == ["Pod/default/test-3"]
    victim = cycles.world.pods["default", "test-3"].pod
    commit_pods(cycles.world, [cycles.world.pods["default", "ask"]], plan)
    leaving = msgspec.structs.replace(victim.metadata, deletion_timestamp=NOON + timedelta(seconds=30))
    cycles.world.put(msgspec.structs.replace(victim, metadata=leaving))
    cycles.recreate(victim)
    return cycles


def decide(cycles: Cycles, name: str) -> Plan:
    return decide_for(cycles.policies, name, at(10))


def test_the_preemptor_waits_for_its_victim_and_nobody_else_is_asked(cycles: Cycles) -> None:
    plan = decide(cycles, "ask")
    assert (plan.outcome, plan.waiting_for, plan.domain) == ("Wait", ["Pod/default/test-3"], "n1")


def test_a_restarted_victim_cannot_slip_back(cycles: Cycles) -> None:
    assert decide(cycles, "test-3+1").outcome == "Unschedulable"
    cycles.world.delete(Pod, "test-3", "default")
    assert decide(cycles, "test-3+1").outcome == "Unschedulable"


def test_the_preemptor_gets_the_node_that_was_held(cycles: Cycles) -> None:
    cycles.world.delete(Pod, "test-3", "default")
    plan = decide(cycles, "ask")
    assert (plan.outcome, plan.domain) == ("Fits", "n1")


def test_the_node_is_released_when_the_preemptor_is_gone(cycles: Cycles) -> None:
    cycles.world.delete(Pod, "test-3", "default")
    cycles.world.delete(Pod, "ask", "default")
    assert decide(cycles, "test-3+1").outcome == "Fits"


def test_once_the_preemptor_runs_nothing_moves_any_more(cycles: Cycles) -> None:
    cycles.world.delete(Pod, "test-3", "default")
    assert [plan.preemptor for plan in cycles.until_rest(5)] == ["Pod/default/ask"]


def test_other_pods_of_the_queue_do_not_claim_the_same_room_or_guarantee(cycles: Cycles) -> None:
    another(cycles, "ask-2")
    plan = decide(cycles, "ask-2")
    assert [victim.unit for victim in plan.victims] == ["Pod/default/test-2"]
    commit_pods(cycles.world, [cycles.world.pods["default", "ask-2"]], plan)
    another(cycles, "ask-3")
    assert "law 4" in decide(cycles, "ask-3").message


def another(cycles: Cycles, name: str) -> None:
    """One more pod like the preemptor, that nothing has been promised yet."""
    pod = cycles.world.pods["default", "ask"].pod
    cycles.world.put(Pod(metadata=msgspec.structs.replace(pod.metadata, name=name), spec=pod.spec))
