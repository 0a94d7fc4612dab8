"""The Workloads of objects in queues that are only thought of: manifests that no server has made yet.

1. A Job, a JobSet or a StatefulSet has one for all its pods; a Deployment one for each of its pods; pods and groups of
   pods theirs (`pods_in_queues.py`).
2. It is made only where there are queues, and where nobody has made one. What has ended, or is a template for member
   clusters, has none; nor has what names a class that is missing: nobody knows how it ranks.
3. Its priority is that of the class that the label names, else that of its pods.

What a server has made gets its Workload from the controllers of quota, and is none of this.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from reprieve.manifests import kueue
from reprieve.manifests.core import Controller, Job, JobSpec
from reprieve.manifests.job_sets import JobSet
from reprieve.manifests.karmada import PropagationPolicy
from reprieve.manifests.kueue_annotations import carried_annotations
from reprieve.manifests.meta import ObjectMeta, OwnerReference, find_condition
from reprieve.manifests.pods import Pod
from reprieve.manifests.priorities import parse_integer
from reprieve.manifests.propagation import PolicySelectors, selected_by
from reprieve.policies.quota.pods_in_queues import held, new_pods, workloads_of
from reprieve.world import World

_MAIN = "main"
_MOST_PODS = 5_000
"""Of one Deployment: a server would not let more of them wait at a time either."""
_MOST_IN_ALL = 50_000
"""Workloads of all objects together: more of them would fill the memory, and nobody reads such a plan."""
_OVER = ("Complete", "Completed", "Failed")


def missing_workloads(world: World) -> Iterator[kueue.QuotaWorkload | Pod]:
    """And the pods that wait for them, held as a server would hold them."""
    if not world.number(kueue.LocalQueue):
        return
    yield from _of_pods(world)
    owned = {
        (owner.kind, workload.namespace, owner.name)
        for workload in world.all(kueue.QuotaWorkload)
        for owner in workload.metadata.owner_references
    }
    left = _MOST_IN_ALL
    for kind in (Job, JobSet, Controller):
        for owner in world.all(kind):
            asks = owner.kind in _MAKERS and bool(owner.metadata.labels.get(kueue.QUEUE_NAME_LABEL))
            if asks and (owner.kind, owner.namespace, owner.name) not in owned and _is_new(world, owner):
                for workload in islice(_workloads(world, owner), left):
                    left -= 1
                    yield workload


def _of_pods(world: World) -> Iterator[kueue.QuotaWorkload | Pod]:
    policies, known = list(world.all(PropagationPolicy)), list(world.all(kueue.QuotaWorkload))
    there = {(workload.namespace, workload.name) for workload in known}
    owned = {(one.namespace, owner.name) for one in known for owner in one.metadata.owner_references}
    new = (pod for pod in new_pods(world) if (pod.namespace, pod.name) not in owned)
    selections = [PolicySelectors(each) for each in policies]
    pods = [pod for pod in new if not any(selection.means(pod) for selection in selections)]
    yield from map(held, pods)
    for workload in workloads_of(pods):
        reference = workload.spec.priority_class_ref
        if (workload.namespace, workload.name) not in there and reference is not None and _is_known(world, reference):
            yield workload


def _is_new(world: World, owner: Any) -> bool:
    made = owner.metadata.uid or owner.metadata.creation_timestamp or owner.metadata.owner_references
    conditions = getattr(owner.status, "conditions", ())
    over = any((found := find_condition(conditions, kind)) and found.status == "True" for kind in _OVER)
    return not made and not over and not any(selected_by(each, owner) for each in world.all(PropagationPolicy))


def _workloads(world: World, owner: Any) -> Iterator[kueue.QuotaWorkload]:
    for name, pod_sets in _MAKERS[owner.kind](owner):
        reference = _class(owner, pod_sets)
        if pod_sets and _is_known(world, reference):
            yield _workload(name, owner, pod_sets, reference)


def _workload(
    name: str, owner: Any, pod_sets: tuple[kueue.PodSet, ...], reference: kueue.PriorityClassReference
) -> kueue.QuotaWorkload:
    metadata = ObjectMeta(
        name=name,
        namespace=owner.namespace,
        annotations=carried_annotations(owner.metadata.annotations),
        owner_references=(OwnerReference(kind=owner.kind, name=owner.name, controller=True),),
    )
    queue = owner.metadata.labels[kueue.QUEUE_NAME_LABEL]
    spec = kueue.QuotaWorkloadSpec(pod_sets=pod_sets, queue_name=queue, priority_class_ref=reference)
    return kueue.QuotaWorkload(metadata=metadata, spec=spec)


def _class(owner: Any, pod_sets: tuple[kueue.PodSet, ...]) -> kueue.PriorityClassReference:
    label = owner.metadata.labels.get(kueue.PRIORITY_CLASS_LABEL, "")
    if label:
        return kueue.PriorityClassReference(kind="WorkloadPriorityClass", name=label)
    name = pod_sets[0].template.spec.priority_class_name if pod_sets else ""
    return kueue.PriorityClassReference(kind="PriorityClass", name=name)


def _is_known(world: World, reference: kueue.PriorityClassReference) -> bool:
    if reference.kind == "PriorityClass":
        return world.classes.resolve(reference.name).found
    return world.get(kueue.WorkloadPriorityClass, reference.name) is not None


# What each kind asks for

Asked = tuple[str, tuple[kueue.PodSet, ...]]
"""The name of a Workload, and its pod sets."""


def _count(spec: JobSpec) -> int:
    return spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)


def _of_job(job: Job) -> Iterator[Asked]:
    count = _count(job.spec)
    least = parse_integer(job.metadata.annotations.get(kueue.MINIMUM_PARALLELISM, ""), 32)
    smaller = least if least is not None and 0 < least < count else None
    pods = kueue.PodSet(name=_MAIN, count=count, min_count=smaller, template=job.spec.template)
    yield kueue.workload_name("job", job.name, ""), (pods,)


def _of_job_set(job_set: JobSet) -> Iterator[Asked]:
    jobs = job_set.spec.replicated_jobs
    pods = (
        kueue.PodSet(
            name=each.name, count=each.replicas * _count(each.template.spec), template=each.template.spec.template
        )
        for each in jobs
    )
    yield kueue.workload_name("jobset", job_set.name, ""), tuple(pods)


def _of_stateful_set(stateful_set: Controller) -> Iterator[Asked]:
    spec = stateful_set.spec
    if spec.replicas:
        pods = kueue.PodSet(name=_MAIN, count=spec.replicas, template=spec.template)
        yield kueue.stateful_set_workload(stateful_set.name), (pods,)


def _of_deployment(deployment: Controller) -> Iterator[Asked]:
    pods = kueue.PodSet(name=_MAIN, count=1, template=deployment.spec.template)
    for number in range(min(deployment.spec.replicas, _MOST_PODS)):
        yield kueue.workload_name("pod", f"{deployment.name}-{number}", ""), (pods,)


_MAKERS: dict[str, Callable[[Any], Iterable[Asked]]] = {
    "Job": _of_job,
    "JobSet": _of_job_set,
    "StatefulSet": _of_stateful_set,
    "Deployment": _of_deployment,
}
