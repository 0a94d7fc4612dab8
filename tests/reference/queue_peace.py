"""How often pods in queues may preempt each other before they come to rest, read plainly off the manifests.

Every pod claims the lowest queue on its path that guarantees any of what it asks for. What a queue has of its guarantee
is what is used, and no more than the guarantee.

1. No preemption lowers that for any queue. One that takes from outside the queue it claims adds to it, of each type
   that is claimed: the smallest request at least, or else the guarantee is full for good.
2. One that takes from within adds a pod that claims this queue, and takes pods that claim one further down: such a pod
   goes again only for somebody who claims a queue above, or takes from outside.
3. Whatever else evicts somebody, a DaemonSet or a lowered maximum, may undo all of that once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from reprieve.model.resources import Resources
from tests.builders.pods import Dict


class Asking(NamedTuple):
    """So many pods of one kind, in a queue."""

    queue: str
    request: Resources
    pods: int


def most_preemptions(configuration: Dict, asking: Iterable[Asking], evictions: int = 0) -> int:
    """For these pods, however they are tried; `evictions` are those that no pod in a queue has claimed."""
    guarantees = _guarantees(configuration)
    asking = list(asking)
    smallest: dict[str, int] = {}
    for one in asking:
        for name, units in one.request.items():
            if units:
                smallest[name] = min(units, smallest.get(name, units))
    outside: dict[str, int] = {}
    for queue, guaranteed in guarantees.items():
        times = sum(ceil(units / smallest[name]) for name, units in guaranteed.items() if name in smallest)
        outside[queue] = times * (1 + evictions)
    taken = 1 + evictions + sum(outside.values())
    within: dict[str, int] = {}
    for queue in sorted(guarantees, key=lambda queue: queue.count(".")):
        pods = sum(one.pods for one in asking if _claimed(one, guarantees) == queue)
        above = sum(count for other, count in within.items() if queue.startswith(f"{other}."))
        within[queue] = pods * (taken + above)
    return sum(outside.values()) + sum(within.values())


def _claimed(one: Asking, guarantees: dict[str, Resources]) -> str:
    steps = one.queue.split(".")
    path = [".".join(steps[:length]) for length in range(len(steps), 0, -1)]
    return next((queue for queue in path if any(one.request.of(name) for name in guarantees[queue])), "")


def _guarantees(configuration: Dict) -> dict[str, Resources]:
    found: dict[str, Resources] = {}

    def read(queue: Dict, parent: str) -> None:
        path = f"{parent}.{queue['name']}" if parent else queue["name"]
        said = queue.get("resources", {}).get("guaranteed", {})
        found[path] = Resources.parse({"cpu" if name == "vcore" else name: value for name, value in said.items()})
        for child in queue.get("queues", []):
            read(child, path)

    read(json.loads(configuration["data"]["queues.yaml"])["partitions"][0]["queues"][0], "")
    return found
