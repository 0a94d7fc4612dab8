"""What must hold in the store at any moment, and what must hold when everything has come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTERS,
    CONFIG_MAPS,
    JOBS,
    NODES,
    POD_GROUPS,
    PODS,
    QUOTA_WORKLOADS,
    REPLICA_SETS,
    RESOURCES,
)
from reprieve.manifests.resource import Resource
from reprieve.model.resources import NOTHING, Resources
from reprieve.stores.records import Listing, Record


class Listed(Protocol):
    """Whoever can say what is stored: the store itself, its file, or a server."""

    async def list(self, resource: Resource) -> Listing: ...


_COHORT = Resources({"cpu": 8000})


class Books:
    """What has been seen so far, over all restarts."""

    def __init__(self, diary: Path) -> None:
        self._diary = diary
        self._node_of: dict[str, str] = {}

    async def broken(self, store: Listed) -> list[str]:
        """The laws that do not hold now."""
        return [
            *[line async for line in self._lost(store)],
            *[line async for line in self._bound_twice(store)],
            *[line async for line in _crowded_nodes(store)],
            *[line async for line in _overdrawn_quota(store)],
            *[line async for line in _crowded_clusters(store)],
        ]

    async def _lost(self, store: Listed) -> Any:
        """Everything that was acknowledged is there, unless somebody has asked for its deletion since."""
        have, asked, count = self._read()
        there = {
            (resource.full_name, record.namespace or "-", record.name): record.uid
            for resource in RESOURCES.values()
            for record in (await store.list(resource)).records
        }
        for key, uid in have.items():
            if key not in asked and there.get(key) != uid:
                yield f"{'/'.join(key)} was acknowledged and is {'gone' if key not in there else 'another one'}"
        ledgers = [record for record in (await store.list(CONFIG_MAPS)).records if record.name == "ledger"]
        stands = max((int((record.data.get("data") or {}).get("count", "0")) for record in ledgers), default=0)
        if stands < count:
            yield f"the ledger was acknowledged at {count} and stands at {stands}"

    def _read(self) -> tuple[dict[tuple[str, str, str], str], set[tuple[str, str, str]], int]:
        have, asked, count = {}, set(), 0
        for line in self._diary.read_text().splitlines() if self._diary.exists() else ():
            word, *parts = line.split(" ")
            if word == "count":
                count = max(count, int(parts[0]))  # of several who count, one may be told later than the next
            elif word == "have":
                have[parts[0], parts[1], parts[2]] = parts[3]
            else:
                asked.add((parts[0], parts[1], parts[2]))
        return have, asked, count

    async def _bound_twice(self, store: Listed) -> Any:
        for record in (await store.list(PODS)).records:
            node = record.data["spec"].get("nodeName", "")
            before = self._node_of.setdefault(record.uid, node) or node
            if before != node:
                yield f"{record.unit} was on {before} and is on {node or 'none'}"
            self._node_of[record.uid] = node


async def _crowded_nodes(store: Listed) -> Any:
    used: dict[str, Resources] = {}
    for record in (await store.list(PODS)).records:
        node = record.data["spec"].get("nodeName", "")
        if node and not record.manifest.finished:
            used[node] = used.get(node, NOTHING) + record.manifest.spec.containers[0].resources.requests
    for record in (await store.list(NODES)).records:
        amount = used.get(record.name, NOTHING).of("cpu")
        if amount > record.manifest.allocatable.of("cpu"):
            yield f"node {record.name} holds {amount} of {record.manifest.allocatable.of('cpu')}"


async def _overdrawn_quota(store: Listed) -> Any:
    used = NOTHING
    for record in (await store.list(QUOTA_WORKLOADS)).records:
        status = record.manifest.status
        if status.admission is not None and not _is(record, "Finished"):
            done = {item.name: item.count for item in status.reclaimable_pods}
            for assignment in status.admission.pod_set_assignments:
                count = assignment.count or 1
                each = {name: units // count for name, units in assignment.resource_usage.items()}
                used += Resources(each) * (count - done.get(assignment.name, 0))
    if used.of("cpu") > _COHORT.of("cpu"):
        yield f"the cohort uses {used.of('cpu')} of {_COHORT.of('cpu')}"


async def _crowded_clusters(store: Listed) -> Any:
    used: Counter[str] = Counter()
    jobs = {record.name: record for record in (await store.list(JOBS)).records}
    for record in (await store.list(BINDINGS)).records:
        spec = record.manifest.spec
        template = jobs.get(spec.resource.name)
        if template is None or _is(template, "Complete"):
            continue
        each = spec.replica_requirements.resource_request.of("cpu") if spec.replica_requirements else 0
        for target in spec.clusters:
            used[target.name] += each * target.replicas
        for task in spec.graceful_eviction_tasks:
            used[task.from_cluster] += each * (task.replicas or 0)
    for record in (await store.list(CLUSTERS)).records:
        if used[record.name] > 3000:
            yield f"cluster {record.name} holds {used[record.name]} of 3000"


async def unsettled(store: Listed) -> list[str]:
    """What is wrong when nothing happens any more: every Job that still exists has ended, everybody else runs."""
    return [
        *[line async for line in _open_jobs(store)],
        *[line async for line in _half_gangs(store)],
        *[line async for line in _missing_replicas(store)],
    ]


async def _open_jobs(store: Listed) -> Any:
    for record in (await store.list(JOBS)).records:
        if not _is(record, "Complete"):
            yield f"{record.unit} is not complete"


async def _half_gangs(store: Listed) -> Any:
    members: dict[str, list[Record]] = {}
    for record in (await store.list(PODS)).records:
        group = (record.data["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
        if group:
            members.setdefault(group, []).append(record)
    for record in (await store.list(POD_GROUPS)).records:
        pods = members.get(record.name, [])
        placed = sum(bool(pod.data["spec"].get("nodeName")) for pod in pods)
        if pods and 0 < placed < record.manifest.policy.min_count:
            yield f"{record.unit} has {placed} of {record.manifest.policy.min_count} placed"


async def _missing_replicas(store: Listed) -> Any:
    for record in (await store.list(REPLICA_SETS)).records:
        if record.data.get("status", {}).get("readyReplicas", 0) < record.data["spec"]["replicas"]:
            yield f"{record.unit} has {record.data.get('status')}"


def _is(record: Record, condition: str) -> bool:
    conditions: Iterator[dict[str, Any]] = iter(record.data.get("status", {}).get("conditions") or ())
    return any(item["type"] == condition and item["status"] == "True" for item in conditions)
