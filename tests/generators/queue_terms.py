"""What the configuration of queues and the pods in them may say besides guarantees: limits of users and groups,
placement rules, orders, classes that opt out, task groups."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any

from reprieve.scheduler.queues.configuration import read_queues
from tests.generators.task_groups import PARAMETERS, member, task_groups
from tests.planes.running import Dict

USERS = {"sue": ["dev", "all"], "bob": ["ops", "all"], "eve": []}
ALLOW = "yunikorn.apache.org/allow-preemption"
USER_INFO = "yunikorn.apache.org/user.info"


def with_terms(random: Random, configuration: Dict, leaves: list[str]) -> Dict:
    """A ConfigMap of queues with limits, placement rules and orders, now and then; one that is accepted: else there
    would be no queues in that life."""
    tries = (_with_terms(random, configuration, leaves) for _ in range(5))
    return next((made for made in tries if read_queues(made["data"]["queues.yaml"])[0] is not None), configuration)


def _with_terms(random: Random, configuration: Dict, leaves: list[str]) -> Dict:
    whole = json.loads(configuration["data"]["queues.yaml"])
    (partition,) = whole["partitions"]
    (root,) = partition["queues"]
    for queue in _all(root):
        if random.random() < 0.15:
            queue["limits"] = _limits(random)
        if random.random() < 0.1:
            queue["maxapplications"] = random.randint(1, 3)
        if not queue.get("queues") and random.random() < 0.3:
            queue.setdefault("properties", {})["application.sort.policy"] = random.choice(["fair", "fifo"])
    if random.random() < 0.3 and leaves:
        partition["placementrules"] = _rules(random, leaves)
    if random.random() < 0.2:
        partition["nodesortpolicy"] = {"type": random.choice(["fair", "binpacking"])}
    return {**configuration, "data": {"queues.yaml": json.dumps(whole)}}


def _all(queue: Dict) -> Iterable[Dict]:
    yield queue
    for child in queue.get("queues", []):
        yield from _all(child)


def _limits(random: Random) -> list[Dict]:
    who: Dict = random.choice([{"users": ["sue"]}, {"users": ["*"]}, {"groups": ["all"]}, {"groups": ["dev"]}])
    most: Dict = {"maxresources": {random.choice(["vcore", "pods"]): str(random.randint(1, 4))}}
    return [{**who, **(most if random.random() < 0.7 else {"maxapplications": random.randint(1, 2)})}]


def _rules(random: Random, leaves: list[str]) -> list[Dict]:
    fixed = {"name": "fixed", "value": random.choice(leaves)}
    ways: list[list[Dict]] = [
        [{"name": "provided", "create": True}],
        [{"name": "provided", "create": False}, fixed],
        [{"name": "provided", "filter": {"type": "allow", "users": ["sue", "bob"]}}, fixed],
        [{"name": "user", "create": True}],
        [{"name": "provided"}, {"name": "tag", "value": "namespace", "create": True}],
    ]
    return random.choice(ways)


def opting_out(random: Random, objects: Iterable[Dict]) -> None:
    """Some of the priority classes let their pods opt out of preemption."""
    for item in objects:
        if item["kind"] == "PriorityClass" and random.random() < 0.25:
            item["metadata"].setdefault("annotations", {})[ALLOW] = "false"


def said_by_pods(random: Random) -> dict[str, str]:
    """Whose a pod is; and what it says of preemption itself, which counts for nothing beside its class."""
    said: dict[str, str] = {}
    if random.random() < 0.6:
        user = random.choice(list(USERS))
        said[USER_INFO] = json.dumps({"user": user, "groups": USERS[user]})
    if random.random() < 0.1:
        said[ALLOW] = random.choice(["false", "true"])
    return said


def gang(random: Random, cpu: str, *, may_fail: bool) -> tuple[dict[str, str], int]:
    """The annotations of pods that start as a whole, and how many of them there are. `may_fail`: whoever makes them
    does not make them again for ever."""
    least, more = random.randint(1, 3), random.choice([0, 0, 0, 1, -1])
    groups: list[tuple[str, int, str]] = [("workers", least, cpu)]
    if random.random() < 0.2:
        groups.append(("helpers", 1, "1"))
    style = random.choice(["Soft", "Soft", "Hard"]) if may_fail else "Soft"
    said: Any = {PARAMETERS: f"placeholderTimeoutInSeconds={random.choice([15, 40])} gangSchedulingStyle={style}"}
    return member("workers", task_groups(*groups), **said), max(least + more, 1)
