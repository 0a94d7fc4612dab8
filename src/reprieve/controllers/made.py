"""What controllers would make of objects that are new: pods of Jobs, Deployments and their like, Workloads of Jobs in
queues. For whoever asks what an object would come to; nothing is written.

1. An object that is there already gets what it is missing, no more.
2. A Job in a queue waits for quota: it comes to its Workload, and to no pods.
3. Pods have no names before they are made: they are numbered.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reprieve.controllers.pods import daemon_nodes, jobs, templates
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.owners import class_named, rank_of
from reprieve.manifests.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    LOCAL_QUEUES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    REPLICA_SETS,
    STATEFUL_SETS,
    WORKLOAD_PRIORITY_CLASSES,
)
from reprieve.stores.records import Record

Data = dict[str, Any]
_OWNED = (PODS, REPLICA_SETS, QUOTA_WORKLOADS)
_SCALED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS)


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    controller: bool = False


class _Metadata(msgspec.Struct, frozen=True):
    owners: tuple[_Owner, ...] = msgspec.field(default=(), name="ownerReferences")


class _Owned(msgspec.Struct):
    metadata: _Metadata = _Metadata()


_OWNERS = msgspec.json.Decoder(_Owned)


def _owners(record: Record) -> list[_Owner]:
    """What controls an object. There may be very many objects: nothing else of them is read."""
    return [owner for owner in _OWNERS.decode(record.raw).metadata.owners if owner.controller]


class Surroundings:
    """The objects beside which something new is made, found by what they are."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_resource: dict[Any, list[Record]] = {}
        self._owned: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            self._by_resource.setdefault(record.resource, []).append(record)
            for owner in _owners(record) if record.resource in _OWNED else ():
                self._owned.setdefault((owner.kind, record.namespace, owner.name), []).append(record)

    def all(self, resource: Any) -> list[Record]:
        return self._by_resource.get(resource, [])

    def owned(self, owner: Record, resource: Any) -> list[Record]:
        """What an object controls, and what that controls in turn: the pods of a Deployment."""
        direct = self._owned.get((owner.resource.kind, owner.namespace, owner.name), [])
        below = [found for each in direct if each.resource == REPLICA_SETS for found in self.owned(each, resource)]
        return [*(each for each in direct if each.resource == resource), *below]


def made_of(owner: Record, around: Surroundings) -> list[Data]:
    """What its controllers would make of an object now."""
    if owner.resource == JOBS:
        queued = bool(shapes.queue_of(owner)) and bool(around.all(LOCAL_QUEUES))
        return _workload(owner, around) if queued else _named(_pods_of_job(owner, around), around)
    if owner.resource in _SCALED:
        return _named(_replicas(owner, around), around)
    if owner.resource == DAEMON_SETS:
        return _named(_one_each(owner, around), around)
    return []


def _pods_of_job(job: Record, around: Surroundings) -> list[Data]:
    return jobs.pods_to_come(job, around.owned(job, PODS))


def _replicas(owner: Record, around: Surroundings) -> list[Data]:
    active = sum(templates.is_active(pod) for pod in around.owned(owner, PODS))
    missing: int = owner.data["spec"].get("replicas", 1) - active
    return [templates.make_pod(owner, owner.data["spec"]["template"], labels={}) for _ in range(missing)]


def _one_each(daemon_set: Record, around: Surroundings) -> list[Data]:
    """For the nodes that take one and have none."""
    nodes = daemon_nodes.takers(daemon_set, around.all(NODES))
    served = {daemon_nodes.node_of(pod) for pod in around.owned(daemon_set, PODS)}
    wanting = [name for name, taker in nodes.items() if taker.wants and name not in served]
    revision = templates.hash_of(daemon_set.data["spec"]["template"])
    return [daemon_nodes.pod_for(daemon_set, name, revision) for name in wanting]


def _workload(job: Record, around: Surroundings) -> list[Data]:
    """None where it has one, or where its class is missing: then nobody knows how it ranks."""
    if around.owned(job, QUOTA_WORKLOADS):
        return []
    wanted = class_named(job, job.data["spec"]["template"]["spec"])
    rank = rank_of(*wanted, around.all(WORKLOAD_PRIORITY_CLASSES), around.all(PRIORITY_CLASSES))
    return [shapes.job_workload(job, rank)] if rank is not None else []


def _named(pods: list[Data], around: Surroundings) -> list[Data]:
    taken = {pod.key for pod in around.all(PODS)}
    return [_with_name(pod, name) for pod, name in zip(pods, _free_names(pods, taken), strict=False)]


def _free_names(pods: list[Data], taken: set[tuple[str, str]]) -> Iterator[str]:
    number = 0
    for pod in pods:
        metadata = pod["metadata"]
        while (metadata["namespace"], f"{metadata['generateName']}{number}") in taken:
            number += 1
        yield f"{metadata['generateName']}{number}"
        number += 1


def _with_name(pod: Data, name: str) -> Data:
    return {**pod, "metadata": {**pod["metadata"], "name": name}}
