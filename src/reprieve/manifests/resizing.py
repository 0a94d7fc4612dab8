"""What a pod takes of its node while it is resized there: its node may take its time, or not be able to at all."""

from collections.abc import Mapping

from msgspec.structs import replace

from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements, pod_slots
from reprieve.model.resources import Resources


def slots_held(pod: Pod) -> Resources:
    """What a pod takes of its node. While it is resized there, that is the most of what it asks for, of what its node
    has set aside for it, and of what it runs with; what the node can never give it (`Infeasible`) does not count."""
    asked = pod_slots(pod.spec)
    known = {each.name: each for each in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    if not known or not _is_resized(pod.spec, known):
        return asked
    given = pod_slots(_with(pod.spec, {name: each.allocated_resources for name, each in known.items()}))
    held = given.maximum(pod_slots(_with(pod.spec, {name: each.resources.requests for name, each in known.items()})))
    return held if _is_infeasible(pod) else held.maximum(asked)


def _is_resized(spec: PodSpec, known: Mapping[str, ContainerStatus]) -> bool:
    return any(
        amounts and amounts != container.resources.effective
        for container in (*spec.containers, *spec.init_containers)
        if (status := known.get(container.name)) is not None
        for amounts in (status.allocated_resources, status.resources.requests)
    )


def _with(spec: PodSpec, amounts: Mapping[str, Resources]) -> PodSpec:
    """As if its containers asked for this, as far as it is said."""

    def given(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        asked = ((each, amounts.get(each.name) or each.resources.effective) for each in containers)
        return tuple(replace(each, resources=ResourceRequirements(requests=held)) for each, held in asked)

    return replace(spec, containers=given(spec.containers), init_containers=given(spec.init_containers))


def _is_infeasible(pod: Pod) -> bool:
    pending = find_condition(pod.status.conditions, "PodResizePending")
    return pending is not None and pending.reason == "Infeasible"
