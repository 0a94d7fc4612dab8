"""What must never be otherwise on a control plane, looked at after every single write, and what must hold at rest.

`Eye` is told every version of every pod and quota workload. It complains when a node or a queue is ever given more than
it has, or a pod a second node, and it counts who had to make way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from reprieve.manifests.kinds import CLUSTER_QUEUES, COHORTS, NODES, PODS, QUOTA_WORKLOADS
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER, pod_slots
from reprieve.manifests.resource import Resource
from reprieve.model.resources import Resources
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import Record, WatchEvent
from tests.builders.federation import Witness
from tests.planes.running import condition

Usage = dict[tuple[str, str], int]


class Eye:
    """Sees everything from now on."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.faults: list[str] = []
        self.evictions: Counter[str] = Counter()
        """How often something had to make way: by the name of a pod's owner, a workload or a binding."""
        self.bindings = Witness(store)
        self._used: dict[str, dict[str, Resources]] = defaultdict(dict)
        self.homes: dict[str, str] = {}
        """The node of every pod that ever had one, by its uid."""
        self._told: set[tuple[str, str]] = set()
        self._queues: dict[str, Any] = {}
        self._cohorts: dict[str, Any] = {}
        self._workloads: dict[str, Any] = {}
        self._allocatable: dict[str, Resources] = {}
        self.disrupted_groups: set[str] = set()
        self._attach(store)

    def _attach(self, store: EmbeddedStore) -> None:
        for resource, see in self._eyes().items():
            watch = store.watch(resource, store.version)
            watch.feed = see  # type: ignore[method-assign,assignment]

    async def look_again(self, store: EmbeddedStore) -> None:
        """After a restart: what is there, and then everything from now on. Bindings are left to others."""
        self._used.clear()
        self._workloads.clear()
        for resource, see in self._eyes().items():
            for record in (await store.list(resource)).records:
                see(WatchEvent("ADDED", record))
        self._attach(store)

    def _eyes(self) -> dict[Resource, Callable[[WatchEvent], None]]:
        return {
            NODES: self._node,
            PODS: self._pod,
            CLUSTER_QUEUES: self._queue,
            COHORTS: self._cohort,
            QUOTA_WORKLOADS: self._workload,
        }

    # Nodes

    def _node(self, event: WatchEvent) -> None:
        self._allocatable[event.record.name] = event.record.manifest.allocatable

    def _pod(self, event: WatchEvent) -> None:
        record = event.record
        node = self._now_on(event)
        before = self.homes.get(record.uid, "")
        if before and node and node != before:
            self.faults.append(f"{record.unit} was on {before} and is on {node}")
        if before:
            self._used[before].pop(record.uid, None)
        if node:
            self.homes[record.uid] = node
            self._used[node][record.uid] = pod_slots(record.manifest.spec)
            self._check_node(node, record)
        self._count_pod(record)

    @staticmethod
    def _now_on(event: WatchEvent) -> str:
        manifest = event.record.manifest
        return "" if event.type == "DELETED" or manifest.finished else manifest.spec.node_name

    def _check_node(self, node: str, record: Record) -> None:
        total = Resources()
        for slots in self._used[node].values():
            total = total + slots
        if not total <= self._allocatable.get(node, Resources()):
            self.faults.append(f"{node} is over its capacity with {record.unit}: {total}")

    def _count_pod(self, record: Record) -> None:
        target = condition(record, "DisruptionTarget")
        if target.get("reason") == PREEMPTION_BY_SCHEDULER and (record.uid, "") not in self._told:
            self._told.add((record.uid, ""))
            owners = record.metadata.get("ownerReferences") or [{"name": record.name}]
            self.evictions[owners[0]["name"]] += 1
            group = record.data["spec"].get("schedulingGroup")
            if group:
                self.disrupted_groups.add(group["podGroupName"])

    # Quota

    def _queue(self, event: WatchEvent) -> None:
        self._queues[event.record.name] = event.record.data["spec"]

    def _cohort(self, event: WatchEvent) -> None:
        self._cohorts[event.record.name] = event.record.data.get("spec", {})

    def _workload(self, event: WatchEvent) -> None:
        record = event.record
        admission = record.data.get("status", {}).get("admission")
        gone = event.type == "DELETED" or condition(record, "Finished").get("status") == "True"
        self._workloads.pop(record.uid, None)
        if admission and not gone:
            self._workloads[record.uid] = (admission["clusterQueue"], usage_of(record.data["status"]))
            self._check_quota(record)
        evicted = condition(record, "Preempted")
        if evicted.get("status") == "True" and (record.uid, evicted["lastTransitionTime"]) not in self._told:
            self._told.add((record.uid, evicted["lastTransitionTime"]))
            self.evictions[record.name] += 1

    def _check_quota(self, record: Record) -> None:
        has: dict[str, Usage] = defaultdict(lambda: defaultdict(int))
        takes: dict[str, Usage] = defaultdict(lambda: defaultdict(int))
        for name, spec in self._cohorts.items():
            for key, (nominal, _) in _quotas(spec).items():
                has[self._root(name)][key] += nominal
        for name, spec in self._queues.items():
            root = self._root(spec.get("cohortName") or f"alone {name}")
            used = self._used_by(name)
            for key, (nominal, most) in _quotas(spec).items():
                has[root][key] += nominal
                takes[root][key] += used.get(key, 0)
                if most is not None and used.get(key, 0) > nominal + most:
                    self.faults.append(f"{name} is over its borrowing limit with {record.unit}")
        for root, amounts in takes.items():
            if any(amount > has[root][key] for key, amount in amounts.items()):
                self.faults.append(f"{root} is over its quota with {record.unit}: {dict(amounts)} of {dict(has[root])}")

    def _used_by(self, queue: str) -> Usage:
        used: Usage = defaultdict(int)
        for usage in (usage for name, usage in self._workloads.values() if name == queue):
            for key, amount in usage.items():
                used[key] += amount
        return used

    def _root(self, cohort: str) -> str:
        """The cohort at the top of a tree."""
        while above := self._cohorts.get(cohort, {}).get("parentName", ""):
            cohort = above
        return cohort


def usage_of(status: dict[str, Any]) -> Usage:
    """What a workload uses, by flavor and resource: nothing for pods that have done their work."""
    usage: Usage = defaultdict(int)
    done = {item["name"]: item["count"] for item in status.get("reclaimablePods") or ()}
    for group in status["admission"]["podSetAssignments"]:
        amounts, count = Resources.parse(group["resourceUsage"]), group.get("count") or 1
        for resource, flavor in group["flavors"].items():
            usage[flavor, resource] += amounts.of(resource) // count * (count - done.get(group["name"], 0))
    return usage


def _quotas(spec: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int | None]]:
    found = {}
    for group in spec.get("resourceGroups", ()):
        for flavor in group["flavors"]:
            for item in flavor["resources"]:
                nominal, limit = (_amount(item, name) for name in ("nominalQuota", "borrowingLimit"))
                found[flavor["name"], item["name"]] = (nominal or 0, limit)
    return found


def _amount(item: dict[str, Any], name: str) -> int | None:
    return Resources.parse({item["name"]: item[name]}).of(item["name"]) if name in item else None
