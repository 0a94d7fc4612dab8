"""Random clusters with topologies: nodes in racks in blocks, workloads there already, and one that asks."""

from __future__ import annotations

import random
from typing import Any

from reprieve.manifests.kueue_topology import assignment_data
from tests.builders.pods import Dict, manifest
from tests.builders.quota import queue, workload
from tests.builders.topology import HOSTNAME, asking, node, topology
from tests.reference.topology import Ask, Data, free_leaves, held, without

LEVELS = (["block", "rack", HOSTNAME], ["rack", HOSTNAME], ["block", "rack"], [HOSTNAME])


class Cluster:
    """A random cluster with workloads in it, and one that asks; all of it as manifests."""

    def __init__(self, seed: int, pool: str = "default", levels: list[str] | None = None) -> None:
        self.random = random.Random(seed)  # noqa: S311 - worlds, no secrets
        self.pool, self.initial = pool, pool[0]
        self.levels = levels or self.random.choice(LEVELS)
        self.objects: list[Dict] = [*topology(pool, *self.levels)]
        self.objects += queue("team", {pool: {"cpu": 500}}, within="LowerPriority")
        for number in range(self.random.randint(1, 8)):
            self.objects.append(self._node(number))
        for number in range(self.random.randint(0, 3)):
            self.objects.append(self._pod(number))
        self.empty = free_leaves(self.objects, self.objects[1], self.levels)
        self.admitted = [each for number in range(self.random.randint(0, 5)) if (each := self._resident(number))]
        self.ask = self._ask()
        cpu, pods = self.ask[:2]
        asks = workload("asks", "team", cpu=cpu, count=pods, priority=5)
        asks["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
        self.objects.append(asking(asks, **self.request(self.ask)))

    def request(self, ask: Ask) -> dict[str, Any]:
        _, _, wish, depth, size, slice_depth = ask
        said: dict[str, Any] = {wish: True if wish == "unconstrained" else self.levels[depth - 1]}
        if size > 1:
            said |= {"podSetSliceRequiredTopology": self.levels[slice_depth - 1], "podSetSliceSize": size}
        return said

    def _node(self, number: int) -> Dict:
        where: Any = {"block": f"b{self.random.randint(1, 2)}", "rack": f"r{self.random.randint(1, 2)}"}
        sizes: Any = {"cpu": self.random.randint(1, 6), "pods": self.random.randint(2, 6)}
        made = node(f"{self.initial}{number}", pool=self.pool, **sizes, **where)
        if self.random.random() < 0.1:
            made["spec"] = {"unschedulable": True}
        if self.random.random() < 0.1:
            made["status"]["conditions"][0]["status"] = "Unknown"
        if self.random.random() < 0.1:
            made["metadata"]["labels"]["pool"] = "other"
        return made

    def _pod(self, number: int) -> Dict:
        container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
        spec = {"nodeName": f"{self.initial}{self.random.randint(0, 7)}", "containers": [container]}
        return manifest("v1", "Pod", {"name": f"daemon-{self.initial}{number}", "namespace": "default"}, spec=spec)

    def _resident(self, number: int) -> Data | None:
        """A workload that is there, wherever there is room for it."""
        left = without(self.empty, [place for each in self.residents() for place in each["places"]])
        cpu = self.random.randint(1, 2)
        room = {leaf: count for leaf, count in held(left, cpu).items() if count}
        if not room:
            return None
        chosen = self.random.sample(sorted(room), self.random.randint(1, min(2, len(room))))
        places = [(leaf, cpu, self.random.randint(1, room[leaf])) for leaf in chosen]
        priority = self.random.choice([0, 1, 2, 5, 9])
        pods = sum(count for _, _, count in places)
        reserved = f"2026-01-01T10:{number:02}:00Z"
        name = f"w{self.initial}{number}"
        made = workload(name, "team", on=self.pool, cpu=cpu, count=pods, priority=priority, reserved=reserved)
        levels = self.levels[-1:] if self.levels[-1] == HOSTNAME else self.levels
        named = [(leaf[-len(levels) :], count) for leaf, _, count in places]
        made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = assignment_data(levels, named)
        made["metadata"] |= {"uid": name, "creationTimestamp": reserved}
        self.objects.append(made)
        below = priority < 5
        found = {"name": name, "priority": priority, "reserved": reserved, "places": places, "below": below}
        self._known = [*self.residents(), found]
        return found

    def residents(self) -> list[Data]:
        return getattr(self, "_known", [])

    def _ask(self) -> Ask:
        wish = self.random.choice(["required", "required", "preferred", "unconstrained"])
        depth = len(self.levels) if wish == "unconstrained" else self.random.randint(1, len(self.levels))
        cpu, pods = self.random.randint(1, 3), self.random.randint(1, 7)
        if self.random.random() < 0.6:
            return cpu, pods, wish, depth, 1, len(self.levels)
        least = 1 if wish == "unconstrained" else depth
        size = self.random.randint(2, 3)
        whole = pods if self.random.random() < 0.1 else size * self.random.randint(1, 3)
        return cpu, whole, wish, depth, size, self.random.randint(least, len(self.levels))
