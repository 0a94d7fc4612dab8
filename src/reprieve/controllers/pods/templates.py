"""What the controllers that make pods have in common: how a pod is made, how it stands, which ones go first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from reprieve.controllers.runner import Controller
from reprieve.model.clock import Clock
from reprieve.policies.federation.propagation_policies import selected_by
from reprieve.stores.caches import Cache
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.resources import PODS, named
from reprieve.stores.writing import find_condition, has_condition, is_leaving, moment_of, owner_reference

PROPAGATION_POLICIES = named("policy.karmada.io", "PropagationPolicy")
CLUSTER_PROPAGATION_POLICIES = named("policy.karmada.io", "ClusterPropagationPolicy")
_FIRST_DELAY, _LONGEST_DELAY = timedelta(seconds=10), timedelta(minutes=6)


def phase_of(pod: Record) -> str:
    phase: str = pod.data.get("status", {}).get("phase", "Pending")
    return phase


def is_finished(pod: Record) -> bool:
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Record) -> bool:
    """Whether it runs, or is still to run."""
    return not is_finished(pod) and not is_leaving(pod)


def is_ready(pod: Record) -> bool:
    return has_condition(pod, "Ready")


def ready_since(pod: Record) -> datetime | None:
    ready = find_condition(pod.data.get("status", {}).get("conditions") or [], "Ready")
    since = ready.get("lastTransitionTime") if ready is not None and ready["status"] == "True" else None
    return moment_of(since) if since else None


def was_disrupted(pod: Record) -> bool:
    """Whether it had to make way: that is no failure of its own."""
    return has_condition(pod, "DisruptionTarget")


def standing(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its controller cares for."""
    metadata = pod.metadata
    return (
        phase_of(pod),
        is_leaving(pod),
        is_ready(pod),
        was_disrupted(pod),
        restarts(pod),
        metadata.get("finalizers"),
        metadata.get("ownerReferences"),
    )


def restarts(pod: Record) -> int:
    """How often its containers were started again."""
    status = pod.data.get("status", {})
    statuses = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return sum(container.get("restartCount", 0) for container in statuses)


def finished_at(pod: Record) -> datetime:
    """When it ended, as well as can be told."""
    statuses = pod.data.get("status", {}).get("containerStatuses") or ()
    ends = (status.get("state", {}).get("terminated", {}).get("finishedAt") for status in statuses)
    told = [moment_of(end) for end in ends if end]
    return max(told, default=moment_of(pod.metadata["creationTimestamp"]))


def wait_after_failures(pods: Iterable[Record], failures: int, now: datetime) -> float:
    """Seconds to wait before a failed pod is replaced: longer with each failure, so that no loop is a fast one."""
    failed = [pod for pod in pods if phase_of(pod) == "Failed" and not was_disrupted(pod)]
    if not failed or not failures:
        return 0.0
    delay = min(_LONGEST_DELAY, _FIRST_DELAY * (1 << min(failures - 1, 10)))
    last: datetime = max(map(finished_at, failed))
    return max(0.0, (last + delay - now).total_seconds())


def first_to_go(pod: Record) -> tuple[Any, ...]:
    """The order in which surplus pods are deleted: without a node, pending, not ready; then the youngest."""
    waits = not pod.data["spec"].get("nodeName"), phase_of(pod) != "Running", not is_ready(pod)
    return tuple(not each for each in waits), -moment_of(pod.metadata["creationTimestamp"]).timestamp(), pod.name


def make_pod(
    owner: Record, template: Mapping[str, Any], *, labels: Mapping[str, str], finalizers: Iterable[str] = ()
) -> dict[str, Any]:
    """A pod from a template, owned; its name is made up by the store."""
    said = template.get("metadata", {})
    metadata: dict[str, Any] = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "labels": {**said.get("labels", {}), **labels},
        "ownerReferences": [owner_reference(owner)],
    }
    if said.get("annotations"):
        metadata["annotations"] = dict(said["annotations"])
    if finalizers := [*said.get("finalizers", ()), *finalizers]:
        metadata["finalizers"] = finalizers
    return {"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": metadata, "spec": dict(template["spec"])}


class TemplateController(Controller):
    """A controller of templates; those that a propagation policy selects are for member clusters, and left alone."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._policies: list[Cache] = []

    def watch_policies(self, *templates: Cache) -> None:
        """Follow the policies too: a template that is selected, or no longer, is looked at again."""

        def keys(policy: Record) -> list[tuple[str, str]]:
            every = (template for cache in templates for template in cache)
            return [template.key for template in every if selected_by(policy.manifest, template.manifest)]

        for resource in (PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES):
            self._policies.append(self.watch(resource, keys))

    def is_federated(self, template: Record) -> bool:
        return any(
            selected_by(policy.manifest, template.manifest) for policies in self._policies for policy in policies
        )
