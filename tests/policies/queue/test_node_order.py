"""`nodesortpolicy`: which of the nodes that have room a pod in a queue goes to."""

from __future__ import annotations

import json

import pytest

from reprieve import plan
from tests.builders.pods import Dict, node
from tests.builders.queues import NOW, in_queue, queues, tree


def sorted_by(**policy: object) -> Dict:
    made = queues(tree("a"))
    text = json.loads(made["data"]["queues.yaml"])
    text["partitions"][0]["nodesortpolicy"] = policy
    return {**made, "data": {"queues.yaml": json.dumps(text)}}


def nodes() -> list[Dict]:
    """Of `cpu` most cpu is used and no memory (0.75 and 0), of `memory` the other way round (0.25 and 1/2)."""
    used = {"cpu": ("3", "0"), "memory": ("1", "4Gi"), "empty": ("0", "0")}
    made = [node(name, cpu="4", memory="8Gi") for name in used]
    return made + [
        in_queue(f"on-{name}", "root.a", node=name, cpu=cpu, memory=memory) for name, (cpu, memory) in used.items()
    ]


def where(configuration: Dict, *objects: Dict) -> str:
    made = plan([configuration, *objects, in_queue("ask", "root.a")], preemptor="Pod/default/ask", now=NOW)
    return made.decisions[0].placement["Pod/default/ask"]


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        ({"type": "fair"}, "empty"),
        ({"type": "Fair", "resourceweights": {"vcore": 1.0}}, "empty"),
        ({"resourceweights": {"memory": 1}}, "cpu"),
        ({"type": "binpacking"}, "cpu"),
        ({"type": "binpacking", "resourceweights": {"vcore": 1.0, "memory": 4.0}}, "memory"),
        ({"type": "binpacking", "resourceweights": {"vcore": 4.0, "memory": 1.0}}, "cpu"),
    ],
)
def test_the_emptiest_or_the_fullest_node_by_weights(policy: Dict, want: str) -> None:
    assert where(sorted_by(**policy), *nodes()) == want


def test_only_nodes_with_room_count() -> None:
    full = [node("full", cpu="1"), in_queue("fills", "root.a", node="full")]
    assert where(sorted_by(type="binpacking"), *full, node("free", cpu="2")) == "free"


def test_of_nodes_used_alike_the_first_by_name() -> None:
    assert where(sorted_by(type="binpacking"), node("b"), node("a")) == "a"
