"""A disruption budget as its controller would count it: how many of the pods it covers may be disrupted now."""

import msgspec

from reprieve.manifests.core import Controller, PodDisruptionBudget, PodDisruptionBudgetSpec, desired_healthy
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.world import World


def counted(world: World, budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """The budget with the numbers that follow from its spec and the pods of a world."""
    selector = budget.spec.selector
    pods = [
        facts.pod
        for facts in world.pods.values()
        if facts.key[0] == budget.namespace
        and not facts.pod.finished
        and selector is not None
        and selector.matches(facts.pod.metadata.labels)
    ]
    expected = _expected(world, budget.spec, pods)
    desired = desired_healthy(budget.spec, expected)
    disrupted = budget.status.disrupted_pods
    healthy = sum(_ready(pod) and not pod.terminating and pod.name not in disrupted for pod in pods)
    status = msgspec.structs.replace(
        budget.status,
        disruptions_allowed=max(0, healthy - desired) if expected else 0,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
    )
    return msgspec.structs.replace(budget, status=status)


def _ready(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, "Ready")
    return condition is not None and condition.status == "True"


def _expected(world: World, spec: PodDisruptionBudgetSpec, pods: list[Pod]) -> int:
    """Each controller counts once, with what it is to have; a pod without one counts for itself."""
    if spec.max_unavailable is None and not str(spec.min_available).endswith("%"):
        return len(pods)
    return sum(dict(_scale(world, pod) for pod in pods).values())


def _scale(world: World, pod: Pod) -> tuple[str, int]:
    """The topmost controller of a pod that says how many there are to be, and how many."""
    found = (f"Pod/{pod.name}", 1)
    owned: Pod | Controller = pod
    while (above := _owner(world, owned)) is not None:
        found, owned = (f"{above.kind}/{above.name}", above.spec.replicas), above
    return found


def _owner(world: World, owned: Pod | Controller) -> Controller | None:
    for reference in owned.metadata.owner_references:
        found: Controller | None = world.get(Controller, reference.name, owned.namespace, called=reference.kind)
        if found is not None and found.kind != "DaemonSet":
            return found
    return None
