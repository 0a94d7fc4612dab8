"""Random worlds of all five policies in which many are spared, for many reasons.

The worlds of the other laws, with what they lack: victims that leave, classes that tolerate, queues that are closed,
groups between single pods, bindings that are being deleted. A world is made from its policy and a number.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tests.builders import pods as builders
from tests.builders.queues import in_queue
from tests.generators import groups, worlds
from tests.generators.queues import Features, queue_world
from tests.generators.quota import RandomQuota
from tests.reasons import federations

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
EARLIER = "2026-01-01T11:59:30Z"
GATES = {
    "GenericWorkload": True,
    "PodGroupPreemptionPolicy": True,
    "PriorityBasedScheduling": True,
    "PriorityBasedPreemptiveScheduling": True,
}
TOLERATION = "preemption-toleration.scheduling.x-k8s.io/"


class World(NamedTuple):
    """All that `plan` is given."""

    policy: str
    objects: list[Dict]
    preemptor: str
    config: Dict = {}


def world(policy: str, seed: int) -> World:
    return _MAKERS[policy](seed, Random(f"{policy}{seed}"))  # noqa: S311 - nothing here is secret


def _pod(seed: int, random: Random) -> World:
    made = worlds.RandomWorld(seed)
    return World("pod", made.objects, made.preemptor, {"pdb": random.choice(["BestEffort", "Respect"])})


def _podgroup(seed: int, random: Random) -> World:
    objects, preemptor = groups.world(seed)
    if random.random() < 0.3:
        _leaving(objects, random)
    if random.random() < 0.4:
        _tolerant(objects, random)
    return World("podgroup", objects, preemptor, {"pdb": random.choice(["BestEffort", "Respect"])})


def _running(objects: list[Dict]) -> list[Dict]:
    return [item for item in objects if item["kind"] == "Pod" and item["spec"].get("nodeName")]


def _waiting(objects: list[Dict]) -> list[Dict]:
    return [item for item in objects if item["kind"] == "Pod" and not item["spec"].get("nodeName")]


def _some(items: list[Dict], random: Random, most: int) -> list[Dict]:
    return random.sample(items, min(len(items), random.randint(1, most)))


def _leaving(objects: list[Dict], random: Random) -> None:
    """Some have been preempted and still leave; whoever waits is nominated somewhere."""
    nodes = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    told = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    for item in _some(_running(objects), random, 3):
        item["metadata"]["deletionTimestamp"] = EARLIER
        item["status"]["conditions"] = [told]
    for item in _waiting(objects):
        item["status"]["nominatedNodeName"] = random.choice(nodes)


def _tolerant(objects: list[Dict], random: Random) -> None:
    """A class that tolerates, and one that nobody knows."""
    said = {"minimum-preemptable-priority": random.choice(["10", "11", "20"])}
    said["toleration-seconds"] = random.choice(["-1", "600", "43200"])
    annotations = {f"{TOLERATION}{key}": value for key, value in said.items()}
    objects.append(builders.priority_class("tolerant", 0, annotations=annotations))
    for item in _running(objects):
        if random.random() < 0.5:
            item["spec"]["priorityClassName"] = random.choice(["tolerant", "tolerant", "tolerant", "unknown"])


# Queues


def _queue(seed: int, random: Random) -> World:
    objects = queue_world(seed, Features())
    running, asking = _running(objects), _waiting(objects)[0]
    if random.random() < 0.15:
        _leaving(objects, random)
    if random.random() < 0.2:
        for item in _some(running, random, 3):
            item["spec"]["schedulerName"] = "reprieve"
    if random.random() < 0.2:
        objects.append(builders.pod_group("team", gang=1, whole=random.random() < 0.8, priority=0))
        for item in _some(running, random, 3):
            item["spec"]["schedulingGroup"] = {"podGroupName": "team"}
    if random.random() < 0.15:
        for item in _some(running, random, 3):
            item["spec"]["containers"][0]["resources"]["requests"] = {"memory": "64Mi"}
    if random.random() < 0.08:
        node = random.choice([item["metadata"]["name"] for item in objects if item["kind"] == "Node"])
        daemon = in_queue("ask-0", asking["metadata"]["labels"]["queue"], daemon_on=node)
        asking["spec"]["affinity"] = daemon["spec"]["affinity"]
        asking["metadata"]["ownerReferences"] = daemon["metadata"]["ownerReferences"]
    _settings(objects, random)
    return World("queue", objects, "Pod/default/ask-0")


def _settings(objects: list[Dict], random: Random) -> None:
    """Now and then preemption is off, or a queue waits long before it preempts."""
    chance = random.random()
    if chance < 0.05:
        queues = QueueFile(objects)
        queues.partition["preemption"] = {"enabled": False}
        queues.save()
    elif chance < 0.1:
        queues = QueueFile(objects)
        for item in queues.all():
            item.setdefault("properties", {})["preemption.delay"] = "60m"
        queues.save()


class QueueFile:
    """The queues of a world, to be read and changed."""

    def __init__(self, objects: list[Dict]) -> None:
        self._map = next(item for item in objects if item["metadata"]["name"] == "yunikorn-configs")
        self._whole = json.loads(self._map["data"]["queues.yaml"])
        self.partition: Dict = self._whole["partitions"][0]
        self.root: Dict = self.partition["queues"][0]

    def save(self) -> None:
        self._map["data"]["queues.yaml"] = json.dumps(self._whole)

    def all(self) -> Iterator[Dict]:
        """Every queue, root too."""
        found = [self.root]
        for item in found:
            found += item.get("queues", ())
        yield from found

    def path(self, name: str) -> list[Dict]:
        """The queues from root down to one of that name, as far as they are there."""
        found = [self.root]
        for part in name.split(".")[1:]:
            below = [item for item in found[-1].get("queues", ()) if item["name"] == part]
            if not below:
                break
            found += below
        return found


# Quota and federation


def _quota(seed: int, random: Random) -> World:
    made = RandomQuota(seed)
    objects, config = made.objects, dict(made.config)
    preemptor = "Workload/default/pending-0"
    own = next(item for item in objects if item["metadata"]["name"] == "pending-0")
    others = [
        item
        for item in objects
        if item["kind"] == "ClusterQueue" and item["metadata"]["name"] != own["spec"]["queueName"]
    ]
    if others and random.random() < 0.2:
        random.choice(others)["spec"]["stopPolicy"] = random.choice(["Hold", "HoldAndDrain"])
    if random.random() < 0.1:
        config["quota"] = {"waitBeforePreemptionSeconds": 86400}
    for item in objects:
        if item["kind"] == "Workload" and "status" in item and random.random() < 0.03:
            done = {"type": "Finished", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": NOW}
            item["status"]["conditions"].append(done)
    return World("quota", objects, preemptor, config)


def _federation(seed: int, random: Random) -> World:  # noqa: ARG001 - the stream is seeded with the number
    return World("federation", federations.federation(random), "ResourceBinding/default/high")


_MAKERS = {"pod": _pod, "podgroup": _podgroup, "queue": _queue, "quota": _quota, "federation": _federation}
POLICIES = tuple(_MAKERS)


def copied(made: World) -> World:
    return made._replace(objects=copy.deepcopy(made.objects))
