"""What the controllers that make pods have in common: how a pod is made, how it stands, which ones go first."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import msgspec

from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import CLUSTER_PROPAGATION_POLICIES, PODS, PROPAGATION_POLICIES
from reprieve.manifests.propagation import PolicySelectors, selected_by
from reprieve.model.backoff import Backoff
from reprieve.model.clock import moment_of
from reprieve.model.conditions import condition_of, has_condition
from reprieve.stores.caches import Cache
from reprieve.stores.errors import StoreError
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving, owner_reference, together
from reprieve.texts import controllers as texts

AT_ONCE = 250
"""Pods, or Jobs of a JobSet, that one look at an owner makes or deletes at most. Then it is looked at again, as it is
by then."""
MOST_WAITING = 5_000
"""Pods of one owner that may wait for a node. Those beyond it are made when some of them have got one: however many are
asked for, what exists is bounded by what there is room for."""
PROPAGATION = PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES
_BACK_OFF = Backoff(first=10.0, longest=360.0)


def phase_of(pod: Record) -> str:
    phase: str = pod.data.get("status", {}).get("phase", "Pending")
    return phase


def is_finished(pod: Record) -> bool:
    return phase_of(pod) in ("Succeeded", "Failed")


def has_succeeded(pod: Record) -> bool:
    return phase_of(pod) == "Succeeded"


def is_active(pod: Record) -> bool:
    """Whether it runs, or is still to run."""
    return not is_finished(pod) and not is_leaving(pod)


def is_ready(pod: Record) -> bool:
    return has_condition(pod.data, "Ready")


def ready_since(pod: Record) -> datetime | None:
    ready = condition_of(pod.data, "Ready")
    since = ready.get("lastTransitionTime") if ready.get("status") == "True" else None
    return moment_of(since) if since else None


def was_disrupted(pod: Record) -> bool:
    """Whether it had to make way: that is no failure of its own."""
    return has_condition(pod.data, "DisruptionTarget")


def standing(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its controller cares for."""
    held = pod.metadata.get("finalizers"), pod.metadata.get("ownerReferences")
    return phase_of(pod), is_leaving(pod), is_ready(pod), was_disrupted(pod), restarts(pod), *held


def container_statuses(pod: Record) -> list[dict[str, Any]]:
    """What is known of all its containers, those that come first among them."""
    status = pod.data.get("status", {})
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def restarts(pod: Record) -> int:
    """How often its containers were started again."""
    return sum(container.get("restartCount", 0) for container in container_statuses(pod))


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
    due = max(map(finished_at, failed)) + timedelta(seconds=_BACK_OFF.wait(failures))
    return max(0.0, (due - now).total_seconds())


def makeable(active: Iterable[Record], missing: int) -> int:
    """How many of the pods that are missing may exist now, beside those that do."""
    waiting = sum(not pod.data["spec"].get("nodeName") for pod in active)
    return max(0, min(missing, MOST_WAITING - waiting))


def first_to_go(pod: Record) -> tuple[Any, ...]:
    """The order in which surplus pods are deleted: without a node, pending, not ready; then the youngest."""
    waits = not pod.data["spec"].get("nodeName"), phase_of(pod) != "Running", not is_ready(pod)
    return tuple(not each for each in waits), -moment_of(pod.metadata["creationTimestamp"]).timestamp(), pod.name


def hash_of(template: Mapping[str, Any]) -> str:
    """What tells pods of one template from those of another: the same template has the same."""
    written = msgspec.json.encode(template, order="deterministic")
    return hashlib.sha256(written).hexdigest()[:10]


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


class TemplateController(BaseController):
    """A controller of templates; those that a propagation policy selects are for member clusters, and left alone."""

    async def create_pods(self, owner: Record, pods: Iterable[Mapping[str, Any]]) -> None:
        """Create pods together: one, then two, four and so on, so that what would be refused is not tried in crowds.
        Their owner is told why that cannot be done."""
        left, batch = iter(pods), 1
        try:
            while some := list(islice(left, batch)):
                await together(self.create(PODS, pod) for pod in some)
                batch *= 2
        except StoreError as error:
            await self.tell(owner, "FailedCreate", texts.cannot_create_pods(error), kind="Warning")
            raise

    def watch_policies(self, templates: Cache) -> None:
        """Follow the policies too: a template that is selected, or no longer, is looked at again."""

        def keys(policy: Record) -> list[tuple[str, str]]:
            selection = PolicySelectors(policy.manifest)
            return [template.key for template in templates if selection.means(template.manifest)]

        for resource in PROPAGATION:
            self.watch(resource, keys)

    def is_federated(self, template: Record) -> bool:
        policies = (policy for resource in PROPAGATION for policy in self._caches[resource])
        return any(selected_by(policy.manifest, template.manifest) for policy in policies)
