"""Nothing goes round in circles: the design's ReplicaSets, and random worlds, until nothing moves any more."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.pods import Dict, node
from tests.builders.queues import in_queue, policies_over, queues, tree
from tests.generators.queues import Features, queue_world
from tests.policies.queue.cycles import Cycles, preemptions

EXAMPLES = int(os.environ.get("QUEUE_RESTS", "200"))
MOST_CYCLES = 40
PROD, TEST = "root.parent.prod", "root.parent.test"


def replica_sets(*, prod: int, test: int, running: tuple[int, int], waiting: int, cpu: str = "1") -> Cycles:
    """Two siblings with their guarantees, on one full node of six cores; so many of each run, so many of Prod wait."""
    pods = [in_queue(f"prod-{n}", PROD, node="n1", cpu=cpu, minutes=50 - n) for n in range(running[0])]
    pods += [in_queue(f"test-{n}", TEST, node="n1", cpu=cpu, minutes=40 - n) for n in range(running[1])]
    pods += [in_queue(f"prod-{n}", PROD, cpu=cpu, minutes=5) for n in range(running[0], running[0] + waiting)]
    objects: list[Dict] = [queues(tree("parent", tree("prod", cpu=prod), tree("test", cpu=test))), node("n1", cpu="6")]
    return Cycles(policies_over([*objects, *pods]))


def test_flow_1_prod_takes_one_test_pod_and_both_then_wait() -> None:
    cycles = replica_sets(prod=3, test=2, running=(2, 4), waiting=3)
    moves = cycles.until_rest(10)
    assert [plan.victims[0].unit for plan in preemptions(moves)] == ["Pod/default/test-3"]
    assert (cycles.running(PROD), cycles.running(TEST)) == (3, 3)
    assert len(cycles.pending()) == 3


def test_flow_2_a_test_pod_whose_loss_would_leave_its_queue_below_stays() -> None:
    cycles = replica_sets(prod=4, test=3, running=(1, 2), waiting=2, cpu="2")
    assert cycles.until_rest(10) == []
    assert (cycles.running(PROD), cycles.running(TEST)) == (1, 2)


def test_flow_3_prod_goes_on_until_it_has_its_guarantee() -> None:
    cycles = replica_sets(prod=4, test=2, running=(2, 4), waiting=4)
    moves = cycles.until_rest(10)
    assert len(preemptions(moves)) == 2
    assert (cycles.running(PROD), cycles.running(TEST)) == (4, 2)


def test_in_one_cycle_what_one_pod_was_promised_is_not_claimed_by_the_next() -> None:
    cycles = replica_sets(prod=3, test=2, running=(2, 4), waiting=3)
    assert len(preemptions(cycles.step())) == 1


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32))
def test_a_system_with_recreated_pods_comes_to_rest(seed: int) -> None:
    policies = policies_over(queue_world(seed, Features(leaving=False, pending=4)))
    Cycles(policies).until_rest(MOST_CYCLES)
