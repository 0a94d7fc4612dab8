"""Small random worlds in which an application with task groups is to start, among pods of other queues."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.builders.pods import Dict, node
from tests.builders.queues import in_queue, queues, tree

APPLICATION = "gang"
GROUPS = "yunikorn.apache.org/task-groups"
GROUP = "yunikorn.apache.org/task-group-name"
PARAMETERS = "yunikorn.apache.org/schedulingPolicyParameters"


def task_groups(*groups: tuple[str, int, str]) -> str:
    """The annotation: each group with its name, its minimum and the cpu of one member."""
    said = [{"name": name, "minMember": least, "minResource": {"cpu": cpu}} for name, least, cpu in groups]
    return json.dumps(said)


def member(group: str, said: str, **annotations: str) -> dict[str, str]:
    return {GROUP: group, GROUPS: said, **annotations}


def task_group_world(seed: int) -> list[Dict]:
    """A configuration, nodes, pods that run in other queues, and some of the pods of an application."""
    random = Random(seed)  # noqa: S311 - not a secret
    leaves = [_queue(random, name) for name in ("mine", "other", "third")]
    if random.random() < 0.4:
        leaves = [leaves[0], _bounded(random, tree("team", *leaves[1:]))]
    names = ["root.other", "root.third"] if len(leaves) == 3 else ["root.team.other", "root.team.third"]
    nodes = {f"n{number}": random.randint(2, 6) for number in range(1, random.randint(2, 4))}
    pods = [pod for name, cpu in nodes.items() for pod in _running(random, name, cpu, names)]
    made = [node(name, cpu=str(cpu), memory="100Gi") for name, cpu in nodes.items()]
    return [queues(*leaves), *made, *pods, *_application(random)]


def _queue(random: Random, name: str) -> Dict:
    return _bounded(random, tree(name, preemption_delay="1s"))


def _bounded(random: Random, queue: Dict) -> Dict:
    bounds: Dict = {}
    if random.random() < 0.7:
        bounds["guaranteed"] = {"vcore": str(random.randint(1, 6))}
    if random.random() < 0.2:
        bounds["max"] = {"vcore": str(random.randint(6, 9))}
    return {**queue, "resources": bounds}


def _running(random: Random, name: str, room: int, names: list[str]) -> list[Dict]:
    found: list[Dict] = []
    while room > 0 and random.random() < 0.9:
        cpu = min(room, random.randint(1, 3))
        room -= cpu
        at: Any = {"cpu": str(cpu), "node": name, "minutes": random.randint(1, 60)}
        found.append(in_queue(f"{name}-{len(found)}", random.choice(names), app=f"{name}-{len(found)}", **at))
    return found


def _application(random: Random) -> list[Dict]:
    groups = [(name, random.randint(1, 3), str(random.randint(1, 3))) for name in ("lead", "work")]
    groups = groups[: random.choice([1, 2])]
    said = task_groups(*groups)
    pods = [
        in_queue(
            f"{name}-{number}",
            "root.mine",
            app=APPLICATION,
            minutes=5 + random.random(),
            cpu=cpu,
            annotations=member(name, said),
        )
        for name, least, cpu in groups
        for number in range(random.randint(0, least + 1))
    ]
    first = in_queue("first", "root.mine", app=APPLICATION, minutes=7, cpu="1", annotations={GROUPS: said})
    return pods or [first]
