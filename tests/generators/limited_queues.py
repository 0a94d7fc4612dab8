"""Small random worlds in which queues limit users, groups and applications; nodes have room for everybody."""

from __future__ import annotations

import json
from random import Random

from tests.builders.pods import Dict, node
from tests.builders.queues import in_queue, queues, tree

USERS = {"sue": ["dev", "all"], "bob": ["ops", "all"], "eve": ["guests"]}


def limited_world(seed: int) -> list[Dict]:
    """A configuration, a node, pods that run and pods that wait."""
    random = Random(seed)  # noqa: S311 - not a secret
    leaves = [_queue(random, name) for name in ("a", "b")]
    top = _limited(random, tree("top", *leaves))
    made = queues(top, _queue(random, "c"), root=_limited(random, {}))
    running = [_pod(random, f"runs-{number}", "n1") for number in range(random.randint(0, 3))]
    waiting = [_pod(random, f"waits-{number}") for number in range(random.randint(3, 9))]
    return [made, node("n1", cpu="100", memory="100Gi"), *running, *waiting]


def _queue(random: Random, name: str) -> Dict:
    return _limited(random, tree(name))


def _limited(random: Random, queue: Dict) -> Dict:
    limits = []
    for which, names in (("users", list(USERS)), ("groups", ["dev", "ops", "all", "guests"])):
        random.shuffle(names)
        limits += [{which: [name], **_bound(random)} for name in names[: random.choice([0, 0, 1, 2])]]
        if random.random() < 0.3 and (which == "users" or any("groups" in limit for limit in limits)):
            limits.append({which: ["*"], **_bound(random)})
    more: Dict = {"limits": limits} if limits else {}
    if random.random() < 0.3:
        more["maxapplications"] = random.randint(1, 3)
    return {**queue, **more}


def _bound(random: Random) -> Dict:
    bound: Dict = {}
    if random.random() < 0.6:
        bound["maxresources"] = {random.choice(["vcore", "pods"]): str(random.randint(1, 5))}
    if random.random() < 0.4 or not bound:
        bound["maxapplications"] = random.randint(1, 3)
    return bound


def _pod(random: Random, name: str, where: str | None = None) -> Dict:
    user = random.choice(list(USERS))
    info = {"yunikorn.apache.org/user.info": json.dumps({"user": user, "groups": USERS[user]})}
    queue = random.choice(["root.top.a", "root.top.b", "root.c"])
    return in_queue(
        name,
        queue,
        app=f"{user}-{random.randint(1, 3)}",
        minutes=random.randint(1, 60),
        cpu=str(random.randint(1, 2)),
        node=where,
        annotations=info if random.random() < 0.9 else None,
    )
