"""In which order pods in queues have their turns, and that nobody is placed and evicted in one cycle."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reprieve import plan
from reprieve.planning.result import Result
from tests.builders.pods import Dict, node, pod
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.generators.queue_rivals import rivalry
from tests.generators.queues import Features, queue_world
from tests.policies.queue.test_peace import pods_of


def _cycle(*objects: Dict) -> Result:
    return plan(list(objects), now=NOW)


def _order(*objects: Dict) -> list[str]:
    return [unit.rpartition("/")[2] for unit in _cycle(*objects).order]


def test_an_offset_moves_a_queue_forward() -> None:
    made = queues(tree("plain"), tree("urgent", priority_offset=10))
    pods = [in_queue("high", "root.plain", priority=5), in_queue("low", "root.urgent", priority=0)]
    assert _order(made, node("n1"), *pods) == ["low", "high"]


def test_behind_a_priority_fence_the_offset_stands_for_all_and_priorities_count_inside() -> None:
    made = queues(tree("plain"), tree("fenced", priority_policy="fence", priority_offset=3))
    pods = [
        in_queue("inside-low", "root.fenced", priority=1, minutes=50),
        in_queue("inside-high", "root.fenced", priority=100, minutes=10),
        in_queue("above", "root.plain", priority=4),
        in_queue("below", "root.plain", priority=2),
    ]
    assert _order(made, node("n1"), *pods) == ["above", "inside-high", "inside-low", "below"]


def test_offsets_add_up_from_the_leaf_to_root() -> None:
    made = queues(tree("a", tree("aa", priority_offset=2), priority_offset=2), tree("b", priority_offset=3))
    pods = [in_queue("b", "root.b", priority=0, minutes=50), in_queue("aa", "root.a.aa", priority=0, minutes=10)]
    assert _order(made, node("n1"), *pods) == ["aa", "b"]


def test_pods_outside_the_queues_count_with_their_own_priority() -> None:
    made = queues(tree("urgent", priority_offset=10))
    outside = pod("outside", cpu="1", priority=8, spec={"schedulerName": "reprieve"})
    pods = [outside, in_queue("first", "root.urgent", priority=0), in_queue("last", "root.urgent", priority=-5)]
    assert _order(made, node("n1"), *pods) == ["first", "outside", "last"]


def test_the_older_of_two_equals_goes_first_however_deep_they_are() -> None:
    made = queues(tree("a", tree("aa", tree("aaa"))), tree("b"))
    pods = [in_queue("young", "root.b", minutes=5), in_queue("old", "root.a.aa.aaa", minutes=50)]
    assert _order(made, node("n1"), *pods) == ["old", "young"]


# One cycle


def test_who_could_take_a_place_from_another_gets_it_instead() -> None:
    made = queues(tree("prod", cpu=1), tree("test"))
    older, younger = in_queue("test-1", "root.test", minutes=60), in_queue("prod-1", "root.prod", minutes=5)
    result = _cycle(made, node("n1", cpu="1"), older, younger)
    assert [(made.preemptor, made.outcome, made.victims) for made in result.decisions] == [
        ("Pod/default/prod-1", "Fits", []),
        ("Pod/default/test-1", "Unschedulable", []),
    ]
    assert (result.admitted, result.left) == (["Pod/default/prod-1"], ["Pod/default/test-1"])


def test_a_pod_outside_the_queues_takes_its_place_at_once() -> None:
    made = queues(tree("urgent", priority_offset=1000))
    outside = pod("outside", cpu="1", priority=100, spec={"schedulerName": "reprieve"})
    result = _cycle(made, node("n1", cpu="1"), in_queue("inside", "root.urgent", priority=0), outside)
    assert result.admitted == ["Pod/default/outside"]
    assert [made.outcome for made in result.decisions] == ["Fits", "Unschedulable"]


def _contradictions(result: Result) -> list[str]:
    gone = {victim["unit"] for made in result.decisions for victim in made.victims}
    units = [made.preemptor for made in result.decisions]
    twice = [first for first, second in pairwise(sorted(units)) if first == second]
    return [*sorted(gone & set(result.admitted)), *twice]


@pytest.mark.parametrize("batch", range(4))
def test_no_cycle_places_and_evicts_the_same_pod(batch: int) -> None:
    for seed in range(batch * 40, batch * 40 + 40):
        made = rivalry(seed)
        nodes = [node(name, cpu=str(cpu), memory=f"{memory}Gi") for name, (cpu, memory) in made.nodes.items()]
        assert _contradictions(_cycle(made.configuration, *nodes, *pods_of(made.rivals))) == [], seed
        assert _contradictions(_cycle(*queue_world(seed, Features(pending=6)))) == [], seed
