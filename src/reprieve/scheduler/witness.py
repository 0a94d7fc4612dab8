"""Tells the history which objects there are, come and go: those that are decided about, and those that make them.

What is not there any more when a scheduler starts went while nobody looked.
"""

import asyncio
from collections.abc import Iterator

from reprieve.engine.nodes.units import workload_group_name
from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_BINDINGS,
    COMPOSITE_POD_GROUPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOB_SETS,
    JOBS,
    POD_GROUPS,
    PODS,
    QUOTA_WORKLOADS,
    REPLICA_SETS,
    STATEFUL_SETS,
    WORKLOADS,
)
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PodGroup
from reprieve.manifests.yunikorn import APPLICATION, TASK_GROUP_NAME
from reprieve.model.names import unit_name
from reprieve.policies.queue.pods import application_of
from reprieve.scheduler.history import History, Step
from reprieve.scheduler.mirror import Seen
from reprieve.stores.portions import Portions
from reprieve.stores.records import Record
from reprieve.texts import events as texts

_UNITS = (PODS, POD_GROUPS, COMPOSITE_POD_GROUPS, WORKLOADS, QUOTA_WORKLOADS, BINDINGS, CLUSTER_BINDINGS)
_MAKERS = (JOBS, JOB_SETS, REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS)
_AT_A_TIME = 100
_KNOWN = frozenset((*_UNITS, *_MAKERS))


class Witness:
    """Sees every change before anybody decides over it."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._began = False

    async def take(self, changes: list[Seen]) -> None:
        portions = Portions(_AT_A_TIME)
        for seen in changes:
            if seen.resource in _KNOWN:
                self._see(seen)
            if portions.full(seen.record):
                await asyncio.sleep(0)  # at the start everything is new
        if not self._began:
            self._began = True
            self._miss({seen.new.uid for seen in changes if seen.new is not None})

    def _see(self, seen: Seen) -> None:
        old, new = seen.old, seen.new
        if old is not None and (new is None or new.uid != old.uid):
            if seen.resource == PODS and not old.manifest.terminating:
                self._see_leaving(old)
            self._history.left(old.unit, old.uid, texts.gone(old.unit))
        if new is None:
            return
        if old is None or old.uid != new.uid or _belongs_to(old) != _belongs_to(new):
            self._history.met(new.unit, new.uid, _belongs_to(new))
        if seen.resource == PODS:
            self._see_pod(old, new)

    def _see_pod(self, old: Record | None, new: Record) -> None:
        if old is not None and _ended(old, new):
            step: Step = "succeeded" if new.manifest.status.phase == "Succeeded" else "failed"
            self._history.note(new.unit, step, texts.ended(new.unit, step, _how(new)), uid=new.uid)
        if new.manifest.terminating and (old is None or not old.manifest.terminating):
            self._see_leaving(new)

    def _see_leaving(self, pod: Record) -> None:
        """One that was told to go by somebody who did not say so here: a scheduler before this one, killed at that
        moment, or whoever takes the pods of a quota workload away that was told itself."""
        why = self._why_it_leaves(pod)
        if why and all(line["step"] != "evicted" for line in self._history.story(pod.unit, uid=pod.uid)):
            self._history.note(pod.unit, "evicted", why, uid=pod.uid)

    def _why_it_leaves(self, pod: Record) -> str:
        target = find_condition(pod.manifest.status.conditions, "DisruptionTarget")
        if target is not None and pod.manifest.terminating_by_preemption:
            return target.message
        workload = "" if pod.manifest.finished else self._history.evicted_with(pod.uid)
        return texts.left_with_workload(workload) if workload else ""

    def _miss(self, there: set[str]) -> None:
        for unit, uid in self._history.present():
            if uid not in there:
                self._history.left(unit, uid, texts.gone_meanwhile(unit))


def _belongs_to(record: Record) -> list[str]:
    """The uids of its owners, and the names of its groups."""
    manifest = record.manifest
    owners = [owner.uid for owner in manifest.metadata.owner_references]
    return [*owners, *_groups(manifest)]


def _groups(manifest: object) -> Iterator[str]:
    if isinstance(manifest, PodGroup) and manifest.parent:
        yield unit_name(COMPOSITE_POD_GROUPS.kind, manifest.namespace, manifest.parent)
    if isinstance(manifest, Pod):
        spec = manifest.spec
        if spec.workload_ref is not None:
            yield workload_group_name(manifest.namespace, spec.workload_ref)
            yield unit_name(WORKLOADS.kind, manifest.namespace, spec.workload_ref.name)
        if spec.scheduling_group is not None:
            yield unit_name(POD_GROUPS.kind, manifest.namespace, spec.scheduling_group.pod_group_name)
        if TASK_GROUP_NAME in manifest.metadata.annotations and application_of(manifest.metadata):
            yield unit_name(APPLICATION, manifest.namespace, application_of(manifest.metadata))


def _ended(old: Record, new: Record) -> bool:
    """Whether a pod has just ended by itself; one that was told to go does not."""
    pod: Pod = new.manifest
    return pod.finished and not old.manifest.finished and not pod.terminating


def _how(pod: Record) -> str:
    """Why a pod ended, as its status says: a reason of its own, else those of its containers that failed."""
    status = pod.data.get("status") or {}
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message', '')}".removesuffix(": ")
    containers = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    ends = [(each["name"], (each.get("state") or {}).get("terminated")) for each in containers]
    return ", ".join(texts.exit_code(name, end.get("exitCode", 0)) for name, end in ends if end and end.get("exitCode"))
