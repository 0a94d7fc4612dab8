"""The quota tree, worked out anew from the manifests each time it is asked: slow, and short enough to be believed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Dict = dict[str, Any]
Key = tuple[str, str]


class Node:
    """A queue or a cohort, as its manifest says."""

    def __init__(self, name: str, *, queue: bool, spec: Dict | None = None) -> None:
        self.name = name
        self.queue = queue
        self.spec = spec or {}
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.quotas: dict[Key, tuple[int, int | None, int | None]] = {}
        for group in self.spec.get("resourceGroups", []):
            for flavor in group["flavors"]:
                for item in flavor["resources"]:
                    limits = (item.get("borrowingLimit"), item.get("lendingLimit"))
                    borrowing, lending = (None if limit is None else int(limit) for limit in limits)
                    self.quotas[flavor["name"], item["name"]] = (int(item["nominalQuota"]), borrowing, lending)

    @property
    def path(self) -> list[Node]:
        """Itself and all above it."""
        return [self, *(self.parent.path if self.parent else [])]

    @property
    def below(self) -> list[Node]:
        """Itself and all below it."""
        return [self, *(node for child in self.children for node in child.below)]

    def declared(self) -> set[Key]:
        """What it, or a node below it, has quota for."""
        return {key for node in self.below for key in node.quotas}

    def quota(self, key: Key) -> int:
        """Its own nominal quota, and what its children lend."""
        own = self.quotas.get(key, (0, None, None))[0]
        return own + sum(child.quota(key) - child.kept(key) for child in self.children)

    def kept(self, key: Key) -> int:
        lending = self.quotas.get(key, (0, None, None))[2]
        return 0 if lending is None else max(0, self.quota(key) - lending)


class Workload:
    """An admitted workload."""

    def __init__(self, item: Dict) -> None:
        meta, status = item["metadata"], item["status"]
        conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
        self.unit = f"Workload/{meta['namespace']}/{meta['name']}"
        self.queue: str = status["admission"]["clusterQueue"]
        self.priority: int = item["spec"]["priority"]
        self.created: str = meta["creationTimestamp"]
        self.reserved: str = conditions["QuotaReserved"]["lastTransitionTime"]
        self.evicted = "Evicted" in conditions
        self.usage: dict[Key, int] = {}
        asked = {pods.get("name", "main"): pods.get("count", 1) for pods in item["spec"].get("podSets", [])}
        done = {pods["name"]: pods["count"] for pods in status.get("reclaimablePods", [])}
        for assigned in status["admission"]["podSetAssignments"]:
            name = assigned.get("name", "main")
            given = assigned.get("count", asked.get(name, 1))
            still = min(given, max(0, asked.get(name, given) - done.get(name, 0)))
            for resource, flavor in assigned["flavors"].items():
                amount = int(assigned["resourceUsage"][resource])
                if still < given:
                    amount = amount * still // given  # what has done its work uses nothing
                self.usage[flavor, resource] = self.usage.get((flavor, resource), 0) + amount


class Tree:
    """All nodes and all admitted workloads."""

    def __init__(self, objects: Iterable[Dict]) -> None:
        objects = list(objects)
        self.nodes: dict[tuple[str, str], Node] = {}
        for item in objects:
            if item["kind"] in ("ClusterQueue", "Cohort"):
                queue, name = item["kind"] == "ClusterQueue", item["metadata"]["name"]
                self.nodes[item["kind"], name] = Node(name, queue=queue, spec=item.get("spec"))
        for node in list(self.nodes.values()):
            above = node.spec.get("cohortName" if node.queue else "parentName")
            if above:
                node.parent = self.nodes["Cohort", above]
                node.parent.children.append(node)
        admitted = [item for item in objects if item["kind"] == "Workload" and item.get("status", {}).get("admission")]
        self.workloads = [Workload(item) for item in admitted]
        self.extra: dict[str, dict[Key, int]] = {}
        """What queues use beside their workloads."""

    def queue(self, name: str) -> Node:
        return self.nodes["ClusterQueue", name]

    def roots(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.parent is None]

    def usage(self, node: Node, key: Key) -> int:
        if node.queue:
            own = sum(item.usage.get(key, 0) for item in self.workloads if item.queue == node.name)
            return own + self.extra.get(node.name, {}).get(key, 0)
        return sum(max(0, self.usage(child, key) - child.kept(key)) for child in node.children)

    def over(self, node: Node, key: Key, more: int = 0) -> bool:
        return self.usage(node, key) + more > node.quota(key)

    def available(self, node: Node, key: Key) -> int:
        used, kept = self.usage(node, key), node.kept(key)
        if node.parent is None:
            return node.quota(key) - used
        above = self.available(node.parent, key)
        borrowing = node.quotas.get(key, (0, None, None))[1]
        if borrowing is not None:
            above = min(above, node.quota(key) - kept - max(0, used - kept) + borrowing)
        return max(0, kept - used) + above

    def most(self, node: Node, key: Key) -> int:
        """What the node could use at most of an empty tree."""
        if node.parent is None:
            return node.quota(key)
        reachable = node.kept(key) + self.most(node.parent, key)
        borrowing = node.quotas.get(key, (0, None, None))[1]
        return reachable if borrowing is None else min(reachable, node.quota(key) + borrowing)
