"""Pods in queues that are only thought of: what a server would do with them, and the Workloads they would get.

1. A pod with the label of a queue is held by a gate until its Workload is admitted, and so it is no pod to be placed.
2. One pod has a Workload of its own. Of a group there is one as soon as all pods are there that its annotation counts;
   pods of the same shape are one pod set.
3. Pods that do not name the same queue and the same number, or have more than eight shapes, are no group: nothing is
   asked for, and the answer says so, as it says of a group that is not complete.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from reprieve.engine.claims import Claim, GroupDisagrees, GroupIncomplete, GroupTooVaried
from reprieve.manifests import kueue
from reprieve.manifests.meta import ObjectMeta, OwnerReference
from reprieve.manifests.pods import Pod, PodTemplate, SchedulingGate
from reprieve.manifests.priorities import parse_integer
from reprieve.model.names import Key, UnitName, unit_name
from reprieve.world import World

_MAIN = "main"
_MOST_POD_SETS = 8
_SHAPE = ("node_selector", "affinity", "tolerations", "runtime_class_name", "priority", "topology_spread_constraints")


def new_pods(world: World) -> list[Pod]:
    """Pods in queues that no server has made: they are not on a node, and nobody owns them."""
    pods = (facts.pod for facts in world.pods.values() if not facts.node)
    return [pod for pod in pods if pod.metadata.labels.get(kueue.QUEUE_NAME_LABEL) and _is_new(pod.metadata)]


def _is_new(metadata: ObjectMeta) -> bool:
    return not (metadata.uid or metadata.creation_timestamp or metadata.owner_references)


def workload_of(namespace: str, name: str, labels: Mapping[str, str]) -> UnitName:
    """The Workload that a pod in a queue comes to."""
    return unit_name("Workload", namespace, labels.get(kueue.GROUP_LABEL) or kueue.workload_name("pod", name, ""))


def held(pod: Pod) -> Pod:
    """The pod as a server would make it."""
    gates = pod.spec.scheduling_gates
    if any(gate.name == kueue.ADMISSION_GATE for gate in gates):
        return pod
    gate = SchedulingGate(name=kueue.ADMISSION_GATE)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=(*gates, gate)))


def workloads_of(pods: Iterable[Pod]) -> Iterator[kueue.QuotaWorkload]:
    for (_, name), members in _together(pods).items():
        if _refusal(members) is None:
            yield _workload(name, members[: _total(members[0])])


def unmade(world: World) -> Iterator[tuple[UnitName, Claim]]:
    """Groups whose pods are held and that have no Workload, each with the reason for it."""
    pods = (facts.pod for facts in world.pods.values() if not facts.node)
    waiting = (pod for pod in pods if _group(pod) and _is_held(pod) and not pod.finished and not pod.terminating)
    for (namespace, name), members in sorted(_together(waiting).items()):
        why = _refusal(members)
        if why is not None and world.get(kueue.QuotaWorkload, name, namespace) is None:
            yield unit_name("Workload", namespace, name), why


def _is_held(pod: Pod) -> bool:
    gates = (gate.name for gate in pod.spec.scheduling_gates)
    return kueue.ADMISSION_GATE in gates and bool(pod.metadata.labels.get(kueue.QUEUE_NAME_LABEL))


def _together(pods: Iterable[Pod]) -> dict[Key, list[Pod]]:
    """Those that share a Workload, by its namespace and name."""
    groups: dict[Key, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.namespace, pod.name)):
        groups.setdefault((pod.namespace, _group(pod) or kueue.workload_name("pod", pod.name, "")), []).append(pod)
    return groups


def _refusal(members: list[Pod]) -> Claim | None:
    """Why pods have no Workload yet, or none at all."""
    total = _total(members[0])
    same = {(pod.metadata.labels[kueue.QUEUE_NAME_LABEL], _total(pod)) for pod in members}
    if len(same) > 1 or total is None:
        return GroupDisagrees()
    if len(members) < total:
        return GroupIncomplete(there=len(members), total=total)
    shapes = len({_shape(pod) for pod in members[:total]})
    return GroupTooVaried(shapes=shapes, most=_MOST_POD_SETS) if shapes > _MOST_POD_SETS else None


def _group(pod: Pod) -> str:
    return pod.metadata.labels.get(kueue.GROUP_LABEL, "")


def _total(pod: Pod) -> int | None:
    if not _group(pod):
        return 1
    total = parse_integer(pod.metadata.annotations.get(kueue.TOTAL_COUNT, ""), 32)
    return total if total is not None and total > 0 else None


def _workload(name: str, pods: list[Pod]) -> kueue.QuotaWorkload:
    first = pods[0].metadata
    owners = tuple(OwnerReference(kind="Pod", name=pod.name) for pod in pods)
    metadata = ObjectMeta(name=name, namespace=pods[0].namespace, owner_references=owners)
    label = first.labels.get(kueue.PRIORITY_CLASS_LABEL, "")
    of_pod = kueue.PriorityClassReference(kind="PriorityClass", name=pods[0].spec.priority_class_name)
    reference = kueue.PriorityClassReference(kind="WorkloadPriorityClass", name=label) if label else of_pod
    spec = kueue.QuotaWorkloadSpec(
        pod_sets=tuple(_pod_sets(pods)), queue_name=first.labels[kueue.QUEUE_NAME_LABEL], priority_class_ref=reference
    )
    return kueue.QuotaWorkload(metadata=metadata, spec=spec)


def _pod_sets(pods: list[Pod]) -> Iterator[kueue.PodSet]:
    shapes: dict[str, list[Pod]] = {}
    for pod in pods:
        shapes.setdefault(_shape(pod) if _group(pod) else _MAIN, []).append(pod)
    for name, same in shapes.items():
        template = PodTemplate(metadata=same[0].metadata, spec=same[0].spec)
        yield kueue.PodSet(name=name, count=len(same), template=template)


def _shape(pod: Pod) -> str:
    """Pods with the same shape ask for the same of the same nodes."""
    spec = pod.spec
    containers = [(each.resources, each.ports) for each in (*spec.containers, *spec.init_containers)]
    shape: Any = [getattr(spec, name) for name in _SHAPE]
    return hashlib.sha256(repr((shape, containers)).encode()).hexdigest()[:8]
