"""What controllers would make of objects that are new: pods of Jobs, Deployments and their like, Workloads of Jobs in
queues. For whoever asks what an object would come to; nothing is written.

1. An object that is there already gets what it is missing, no more.
2. What is in a queue waits for quota: a Job, a JobSet or a StatefulSet comes to its Workload, a Deployment to one for
   each pod, and to no pods.
3. Pods have no names before they are made: they are numbered.
4. No more pods than its controllers would let wait at a time.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from reprieve.controllers.pods import daemon_nodes, job_sets, jobs, stateful_sets, templates
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.owners import class_named, rank_of
from reprieve.manifests import kueue
from reprieve.manifests.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOB_SETS,
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
_OWNED = (PODS, REPLICA_SETS, JOBS, QUOTA_WORKLOADS)
_BETWEEN = (REPLICA_SETS, JOBS)
_SCALED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS)
_HAVE_WORKLOADS = (JOBS, JOB_SETS, STATEFUL_SETS)


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    controller: bool = False


class _WithOwners(msgspec.Struct, frozen=True):
    owners: tuple[_Owner, ...] = msgspec.field(default=(), name="ownerReferences")


class _Owned(msgspec.Struct):
    metadata: _WithOwners = _WithOwners()


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
        below = [found for each in direct if each.resource in _BETWEEN for found in self.owned(each, resource)]
        return [*(each for each in direct if each.resource == resource), *below]


def made_of(owner: Record, around: Surroundings) -> list[Data]:
    """What its controllers would make of an object now."""
    queued = bool(shapes.queue_of(owner)) and bool(around.all(LOCAL_QUEUES))
    if queued and owner.resource in _HAVE_WORKLOADS:
        return _workload(owner, around)
    if owner.resource == JOBS:
        return _named(_pods_of_job(owner, around), around)
    if owner.resource == JOB_SETS:
        return _pods_of_job_set(owner, around)
    if owner.resource in _SCALED:
        pods = _named(_replicas(owner, around), around)
        return _workloads_of_pods(owner, pods, around) if queued and owner.resource == DEPLOYMENTS else pods
    if owner.resource == DAEMON_SETS:
        return _named(_one_each(owner, around), around)
    return []


def _pods_of_job(job: Record, around: Surroundings) -> list[Data]:
    return jobs.pods_to_come(job, around.owned(job, PODS))


def _pods_of_job_set(job_set: Record, around: Surroundings) -> list[Data]:
    """Of all its Jobs, those that are to come included."""
    turn = job_sets.JobSetTurn(job_set, around.owned(job_set, JOBS))
    missing = islice(turn.missing(), templates.MOST_WAITING) if turn.over() is None else ()
    every = chain(turn.unfinished(), map(_as_record, missing))
    pods = (pod for job in every for pod in _named(_pods_of_job(job, around), around))
    return list(islice(pods, templates.MOST_WAITING))


def _as_record(data: Data) -> Record:
    metadata = data["metadata"]
    raw = msgspec.json.encode(data)
    return Record(JOBS, raw, namespace=metadata["namespace"], name=metadata["name"], uid=metadata["name"], version=0)


def _replicas(owner: Record, around: Surroundings) -> list[Data]:
    if owner.resource == STATEFUL_SETS:
        there = {pod.name for pod in around.owned(owner, PODS) if templates.is_active(pod)}
        first = stateful_sets.first_ordinal(owner)
        wanted = range(first, first + owner.data["spec"].get("replicas", 1))
        missing = (ordinal for ordinal in wanted if f"{owner.name}-{ordinal}" not in there)
        return [stateful_sets.pod_for(owner, ordinal) for ordinal in islice(missing, templates.MOST_WAITING)]
    active = [pod for pod in around.owned(owner, PODS) if templates.is_active(pod)]
    number = templates.makeable(active, owner.data["spec"].get("replicas", 1) - len(active))
    return [templates.make_pod(owner, owner.data["spec"]["template"], labels={}) for _ in range(number)]


def _one_each(daemon_set: Record, around: Surroundings) -> list[Data]:
    """For the nodes that take one and have none."""
    nodes = daemon_nodes.takers(daemon_set, around.all(NODES))
    served = {daemon_nodes.node_of(pod) for pod in around.owned(daemon_set, PODS)}
    wanting = [name for name, taker in nodes.items() if taker.wants and name not in served]
    revision = templates.hash_of(daemon_set.data["spec"]["template"])
    return [daemon_nodes.pod_for(daemon_set, name, revision) for name in wanting]


def _workload(owner: Record, around: Surroundings) -> list[Data]:
    """None where it has one, or where its class is missing: then nobody knows how it ranks."""
    pod_sets = _pod_sets(owner)
    if around.owned(owner, QUOTA_WORKLOADS) or not any(each["count"] for each in pod_sets):
        return []
    rank = _rank(owner, pod_sets[0]["template"]["spec"], around)
    if rank is None:
        return []
    if owner.resource == JOB_SETS:
        return [shapes.job_set_workload(owner, pod_sets, rank)]
    make = shapes.job_workload if owner.resource == JOBS else shapes.stateful_set_workload
    return [make(owner, rank)]


def _pod_sets(owner: Record) -> list[Data]:
    if owner.resource == JOB_SETS:
        return [shapes.replicated_job_pods(each) for each in owner.data["spec"].get("replicatedJobs") or ()]
    return [shapes.job_pod_set(owner) if owner.resource == JOBS else shapes.stateful_set_pods(owner)]


def _rank(owner: Record, pod_spec: Data, around: Surroundings) -> Data | None:
    wanted = class_named(owner, pod_spec)
    return rank_of(*wanted, around.all(WORKLOAD_PRIORITY_CLASSES), around.all(PRIORITY_CLASSES))


def _workloads_of_pods(deployment: Record, pods: list[Data], around: Surroundings) -> list[Data]:
    """One for each pod that is to come."""
    rank = _rank(deployment, deployment.data["spec"]["template"]["spec"], around)
    if rank is None:
        return []
    template = shapes.pod_set_of(shapes.MAIN, 1, deployment.data["spec"]["template"])
    names = [kueue.workload_name("pod", pod["metadata"]["name"], deployment.uid) for pod in pods]
    return [shapes.owned(shapes.make_workload(name, deployment, [template], rank), deployment) for name in names]


def _named(pods: list[Data], around: Surroundings) -> list[Data]:
    taken = {pod.key for pod in around.all(PODS)}
    return [_with_name(pod, name) for pod, name in zip(pods, _free_names(pods, taken), strict=False)]


def _free_names(pods: list[Data], taken: set[tuple[str, str]]) -> Iterator[str]:
    number = 0
    for pod in pods:
        metadata = pod["metadata"]
        if "name" in metadata:  # it has one of its own: that of a StatefulSet
            yield metadata["name"]
            continue
        while (metadata["namespace"], f"{metadata['generateName']}{number}") in taken:
            number += 1
        yield f"{metadata['generateName']}{number}"
        number += 1


def _with_name(pod: Data, name: str) -> Data:
    return {**pod, "metadata": {**pod["metadata"], "name": name}}
