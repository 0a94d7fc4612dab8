"""A DaemonSet's pod takes nobody from its node who is not needed: random worlds, by a checker that knows manifests."""

from __future__ import annotations

import os
from random import Random

from tests.builders.pods import Dict, node, priority_class
from tests.builders.queues import OPTED_OUT, decide, in_queue, queues, tree, victims
from tests.reference.required_node import RequiredNode

WORLDS = int(os.environ.get("REQUIRED_NODE_WORLDS", "300"))
CLASSES = {"low": 1, "mid": 5, "high": 9, "mid-keep": 5}


def _node(cpu: str, memory: str = "9Gi", pods: str = "20") -> Dict:
    made = node("n1", cpu=cpu, memory=memory)
    made["status"]["allocatable"]["pods"] = pods
    return made


def _world(seed: int) -> list[Dict]:
    random = Random(seed)  # noqa: S311 - not a secret
    slots = random.choice([3, 4, 5, 20])
    made = _node(str(random.randint(4, 9)), f"{random.randint(4, 9)}Gi", str(slots))
    counted = random.random() < 0.5
    classes = [
        priority_class(name, value, annotations=OPTED_OUT if name.endswith("keep") else {})
        for name, value in CLASSES.items()
    ]
    running = [_pod(random, number) for number in range(random.randint(1, min(slots, 7)))]
    parts: Dict = {"priority_class": "high", "daemon_on": "n1", "minutes": 1.0}
    ask = in_queue(
        "ask", "root.a", app="ds", cpu=str(random.randint(2, 6)), memory=f"{random.randint(1, 5)}Gi", **parts
    )
    return [queues(tree("a", pods=2 if counted else None), tree("b")), made, *classes, *_that_fit(made, running), ask]


def _pod(random: Random, number: int) -> Dict:
    name = random.choice(list(CLASSES))
    app = random.choice(["x", "y", "z"])
    asked: Dict = {"cpu": str(random.randint(0, 3)), "memory": f"{random.randint(0, 3)}Gi"}
    fixed: Dict = {"daemon_on": "n1"} if random.random() < 0.1 else {}
    at: Dict = {"node": "n1", "minutes": float(random.randint(2, 60)), "priority_class": name}
    return in_queue(f"runs-{number}", random.choice(["root.a", "root.b"]), app=app, **at, **asked, **fixed)


def _that_fit(where: Dict, pods: list[Dict]) -> list[Dict]:
    """As many of them as the node holds."""
    left = {
        "cpu": int(where["status"]["allocatable"]["cpu"]),
        "memory": int(where["status"]["allocatable"]["memory"][0]),
    }
    found = []
    for pod in pods:
        asked = pod["spec"]["containers"][0]["resources"]["requests"]
        needs = {"cpu": int(asked["cpu"]), "memory": int(asked["memory"].removesuffix("Gi"))}
        if all(left[name] >= units for name, units in needs.items()):
            left = {name: units - needs[name] for name, units in left.items()}
            found.append(pod)
    return found


def test_nobody_goes_who_is_not_needed_on_the_node() -> None:
    several = 0
    for seed in range(WORLDS):
        objects = _world(seed)
        laws, made = RequiredNode(objects), decide(objects)
        if made.outcome == "Preempt":
            several += len(made.victims) > 1
            assert laws.broken_on("ask", "n1", victims(made)) == [], seed
        elif made.outcome == "Unschedulable":
            assert not laws.could("ask", "n1"), (seed, made.message)
    assert several > WORLDS // 20, "worlds in which one pod is always enough prove nothing"


def test_of_two_that_are_asked_the_one_that_is_not_needed_after_all_stays() -> None:
    small = in_queue("small", "root.a", node="n1", cpu="1", app="s", minutes=5)
    first = in_queue("first", "root.a", node="n1", cpu="0", app="s", minutes=50)
    large = in_queue("large", "root.a", node="n1", cpu="3", app="s", minutes=10)
    ask = in_queue("ask", "root.a", app="ds", cpu="3", daemon_on="n1")
    made = decide(queues(tree("a")), node("n1", cpu="4"), first, small, large, ask)
    assert victims(made) == ["large"], "small is younger and was asked first, and would not have been enough"


def test_where_a_node_takes_no_more_pods_whoever_is_there_can_make_way() -> None:
    idle = in_queue("idle", "root.a", node="n1", cpu="0", app="s", minutes=5)
    first = in_queue("first", "root.a", node="n1", cpu="1", app="s", minutes=50)
    ask = in_queue("ask", "root.a", app="ds", cpu="1", daemon_on="n1")
    made = decide(queues(tree("a")), _node("4", pods="2"), first, idle, ask)
    assert victims(made) == ["idle"]
