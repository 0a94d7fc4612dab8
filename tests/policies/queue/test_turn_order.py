"""Sort policies: in which order queues and applications take turns, and that a plan and a control plane agree on it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from reprieve import plan
from tests.builders.pods import Dict, node
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.reference.turn_order import PlainOrder

WORLDS = 150


def order(*objects: Dict) -> list[str]:
    return [unit.rpartition("/")[2] for unit in plan([*objects], now=NOW).order]


def pods(queue: str, number: int, **fields: Any) -> list[Dict]:
    name = fields.pop("name", queue.rpartition(".")[2])
    first = fields.pop("minutes", 60)
    return [in_queue(f"{name}-{place}", queue, minutes=first - place, **fields) for place in range(number)]


def test_queues_take_turns_by_what_they_have_of_their_guarantees() -> None:
    made = queues(tree("a", cpu=4), tree("b", cpu=2))
    taken = order(made, node("n1", cpu="100"), *pods("root.a", 4), *pods("root.b", 2, minutes=30))
    assert taken == ["a-0", "b-0", "a-1", "a-2", "b-1", "a-3"]


def test_without_a_guarantee_the_maximum_counts_and_without_both_what_all_nodes_have() -> None:
    made = queues(tree("a", most={"vcore": "10"}), tree("b"))
    taken = order(made, node("n1", cpu="20"), *pods("root.a", 2), *pods("root.b", 4, minutes=30))
    assert taken == ["a-0", "b-0", "b-1", "a-1", "b-2", "b-3"]


def test_what_runs_already_counts() -> None:
    made = queues(tree("a"), tree("b"))
    runs = in_queue("runs", "root.a", node="n1", cpu="2")
    taken = order(made, node("n1", cpu="100"), runs, *pods("root.a", 1), *pods("root.b", 2, minutes=30))
    assert taken == ["b-0", "b-1", "a-0"]


def test_priority_decides_before_shares() -> None:
    made = queues(tree("a"), tree("b"))
    taken = order(made, node("n1", cpu="100"), *pods("root.a", 2, priority=5), *pods("root.b", 2))
    assert taken == ["a-0", "a-1", "b-0", "b-1"]


@pytest.mark.parametrize("policy", ["fifo", "FIFO", "stateaware", None])
def test_by_age_the_oldest_application_goes_first_with_all_it_asks_for(policy: str | None) -> None:
    more: Dict = {"application_sort_policy": policy} if policy else {}
    made = queues(tree("a", **more))
    first = pods("root.a", 2, name="x", app="x", minutes=60)
    second = pods("root.a", 2, name="y", app="y", minutes=50)
    late = pods("root.a", 1, name="x-late", app="x", minutes=10)
    assert order(made, node("n1", cpu="100"), *first, *second, *late) == ["x-0", "x-1", "x-late-0", "y-0", "y-1"]


def test_by_shares_applications_take_turns() -> None:
    made = queues(tree("a", application_sort_policy="fair"))
    first, second = pods("root.a", 3, name="x", app="x"), pods("root.a", 2, name="y", app="y", minutes=30)
    assert order(made, node("n1", cpu="100"), *first, *second) == ["x-0", "y-0", "x-1", "y-1", "x-2"]


def test_priorities_decide_last_where_root_says_so() -> None:
    made = queues(tree("a"), root={"properties": {"application.sort.priority": "disabled"}})
    items = [in_queue("low", "root.a", priority=1, minutes=50), in_queue("high", "root.a", priority=9, minutes=40)]
    items += [in_queue("old", "root.a", priority=0, app="old", minutes=60)]
    assert order(made, node("n1", cpu="100"), *items) == ["old", "high", "low"]


def test_who_gets_room_that_is_short_is_who_has_less() -> None:
    made = queues(tree("a"), tree("b"))
    items = [*pods("root.a", 4), *pods("root.b", 4, minutes=30)]
    assert plan([made, node("n1", cpu="4"), *items], now=NOW).admitted == [
        f"Pod/default/{name}" for name in ("a-0", "b-0", "a-1", "b-1")
    ]


def _world(seed: int) -> list[Dict]:
    random = Random(seed)  # noqa: S311 - not a secret

    def queue(name: str, *children: Dict) -> Dict:
        more: Dict = {"application_sort_policy": "fair"} if not children and random.random() < 0.3 else {}
        most = {"vcore": str(random.randint(50, 90))} if random.random() < 0.3 else None
        return tree(name, *children, cpu=random.choice([None, None, 2, 5, 9]), most=most, **more)

    root: Dict = {"properties": {"application.sort.priority": "disabled"}} if random.random() < 0.2 else {}
    made = queues(queue("t", queue("a"), queue("b")), queue("c"), queue("d"), root=root)
    leaves = ["root.t.a", "root.t.b", "root.c", "root.d"]

    def one(name: str, where: str | None) -> Dict:
        return in_queue(
            name,
            random.choice(leaves),
            app=random.choice("xyz"),
            minutes=random.randint(1, 30),
            cpu=str(random.randint(1, 3)),
            memory=random.choice(["1Gi", "4Gi"]),
            priority=random.choice([0, 0, 0, 1]),
            node=where,
        )

    running = [one(f"runs-{number}", "n1") for number in range(random.randint(0, 5))]
    return [made, node("n1", cpu="100", memory="200Gi"), *running, *(one(f"p{number}", None) for number in range(12))]


@pytest.mark.parametrize("batch", range(2))
def test_in_random_worlds_turns_are_as_everybody_compared_anew_says(batch: int) -> None:
    for seed in range(batch * WORLDS, batch * WORLDS + WORLDS):
        objects = _world(seed)
        assert order(*objects) == PlainOrder(objects).turns(), seed
