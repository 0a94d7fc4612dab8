"""The lane of what is placed on nodes: pods alone and groups of pods, by the pod, podgroup and queue policies.

1. However many pods of a group change together, the group is queued once.
2. A group is tried again when itself changes, and when a pod leaves it: it may have been refused because of that one.
3. A claim, or anything else about volumes, that has changed: whoever has such a claim is tried at once.
"""

from collections.abc import Callable
from typing import Any

from reprieve.engine.holds import hold_of
from reprieve.manifests.kinds import (
    BUDGETS,
    CLUSTER_PROPAGATION_POLICIES,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.propagation import selected_by
from reprieve.manifests.resizing import slots_held
from reprieve.manifests.resource import Resource
from reprieve.manifests.yunikorn import APPLICATION, QueueConfiguration
from reprieve.model.names import Key, kind_of
from reprieve.policies.queue.pods import named_queue
from reprieve.policies.queue.users import user_of
from reprieve.scheduler.lanes import Helps, Lane, Services
from reprieve.scheduler.mirror import Seen, alike
from reprieve.scheduler.pods.alike import AlikePods
from reprieve.scheduler.pods.applications import ApplicationMembers
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.resume import ResumePods
from reprieve.scheduler.pods.room import NodeRoom
from reprieve.scheduler.pods.turn import PlacePods
from reprieve.scheduler.pods.wakeups import PodWakeups
from reprieve.stores.records import Record
from reprieve.texts import events as loop

_GROUPING = ("PodGroup", "CompositePodGroup", "Workload")
_SCHEDULING = "scheduling.k8s.io"


class PodLane(Lane):
    """Puts pods and groups into the queue as they come, and wakes them."""

    kinds = frozenset({"Pod", "PodGroup", "CompositePodGroup", "Workload", APPLICATION})
    reads = frozenset({PROPAGATION_POLICIES.group})

    def __init__(self, services: Services) -> None:
        self._world = services.world
        self._queue = services.queue
        self._history = services.context.log.history
        self._pending = PendingUnits(services.policies, services.names, services.context.clock)
        self._queue.stand_by(self._pending.rank)
        room = NodeRoom(services.policies, services.context.clock)
        evictions = self._evictions = PodEvictions(services.context, services.policies.respects_budgets)
        effects = PodEffects(services.context, evictions)
        self._alike = AlikePods(services.queue, self._pending, room)
        self._place = PlacePods(services, self._pending, effects, evictions, room, self._alike)
        self._resume = ResumePods(services, self._pending, effects, evictions, room)
        self._wakeups = PodWakeups(self._pending, services.policies, room, self._alike)
        self._applications = ApplicationMembers(services)
        self._changed: dict[str, None] = {}
        """Units that have changed, to be queued at the end of the batch."""
        self._placed: dict[str, None] = {}
        """Groups of which pods got their places: the oldest of those that wait is another one now."""
        self._queues: tuple[QueueConfiguration, ...] = ()
        self._by_resource: dict[Resource, Callable[[Seen], None]] = {
            PODS: self._pod,
            NODES: self._node,
            BUDGETS: self._looked_at,
            PRIORITY_CLASSES: self._class,
            NAMESPACES: self._looked_at,
            PROPAGATION_POLICIES: self._propagation,
            CLUSTER_PROPAGATION_POLICIES: self._propagation,
            VOLUME_CLAIMS: self._volume_claim,
            VOLUMES: self._volumes,
            STORAGE_CLASSES: self._volumes,
            CSI_NODES: self._volumes,
        }

    async def turn(self, unit: str) -> None:
        if await self._somebody_gave_up(unit):
            return self._place.again(unit)
        if self._is_woken_in_vain(unit):
            self._alike.sleeps_on(unit)
            return self._queue.sleep_on(unit)
        if self._gives_up(unit):
            await self._one_by_one(unit)
        await self._place.turn(unit)
        return None

    def _is_woken_in_vain(self, unit: str) -> bool:
        """Whether a unit was woken for room that others have taken by now: it would be refused as before."""
        nodes = self._wakeups.room_for(unit)
        return bool(nodes) and self._queue.was_woken(unit) and not self._wakeups.is_room(unit, nodes)

    def _gives_up(self, unit: str) -> bool:
        return kind_of(unit) == APPLICATION and self._pending.application(unit) is None

    async def _somebody_gave_up(self, than: str) -> bool:
        """Whether other applications start pod by pod from now on: some of these pods may come before this unit."""
        late = [unit for unit in self._applications.in_time() if unit != than and unit in self._pending]
        given_up = [unit for unit in late if self._gives_up(unit)]
        for unit in given_up:
            await self._one_by_one(unit)
        return bool(given_up)

    async def _one_by_one(self, unit: str) -> None:
        """An application that has started, or gave up to start as a whole: each pod has its own turn."""
        pods = self._pending.pods(unit)
        await self._applications.gave_up(unit, pods)
        for facts in pods:
            self._regroup(facts.key)
            self._push(self._pending.unit_of(facts))
            self._changed.pop(self._pending.unit_of(facts), None)

    async def resume(self) -> None:
        await self._resume.run()

    async def react(self, seen: Seen) -> None:
        if seen.resource in self._by_resource:
            self._by_resource[seen.resource](seen)
            await self._evictions.clean_up()
        elif seen.resource.kind in _GROUPING and seen.resource.group == _SCHEDULING:
            self._group(seen)

    def settle(self) -> None:
        configured = tuple(self._world.all(QueueConfiguration))
        if configured != self._queues:
            self._queues = configured
            for key in [facts.key for facts in self._world.pending()]:
                self._regroup(key)  # another policy may decide for it now, or none
            self._changed |= dict.fromkeys(self._pending)  # each has another rank now, and is worth a try
        for key in self._applications.regrouped():
            self._regroup(key)
            self._changed |= dict.fromkeys(self._pending.units_with(key))
        for unit in list(self._changed):
            self._push(unit)
            del self._changed[unit]
        for unit in self._placed:
            if unit in self._pending:
                self._queue.rank(unit, *self._pending.rank(unit))
        self._placed.clear()
        for unit in self._wakeups.next_in_line():
            self._push(unit)
        if self._wakeups.something:
            self._queue.somebody_has_less()

    def _push(self, unit: str) -> None:
        if unit in self._pending:
            self._queue.push(unit, *self._pending.rank(unit))

    def stirred(self) -> bool:
        return self._wakeups.something

    def whom_it_helps(self) -> Helps:
        return self._wakeups.whom_it_helps()

    # Changes

    def _pod(self, seen: Seen) -> None:
        key = seen.record.key
        self._applications.seen(seen)
        before, after = self._pending.update(key)
        if after and (after != before or asks_anew(seen)):
            self._changed[after] = None
        if before and (before not in self._pending or _another(seen)):
            self._evictions.abandon(before)
        if before and before not in self._pending:
            self._queue.delete(before)
            self._alike.gone(before)
            self._wakeups.room_for(before)
        elif before and before != after:
            (self._placed if self._pending.has_place(key) else self._changed)[before] = None
        self._places(seen)
        if after and not before:
            self._history.note(seen.record.unit, "queued", loop.found_pending(seen.record.unit), uid=seen.record.uid)

    def _propagation(self, seen: Seen) -> None:
        """Pods that a policy selects are for member clusters; those that it no longer selects wait here again."""
        policies = [record.manifest for record in (seen.old, seen.new) if record is not None]
        if not any(selector.kind == PODS.kind for policy in policies for selector in policy.spec.resource_selectors):
            return
        for key, facts in list(self._world.pods.items()):
            if facts.pending and any(selected_by(policy, facts.pod) for policy in policies):
                before, after = self._pending.update(key)
                if after:
                    self._changed[after] = None
                if before and before not in self._pending:
                    self._queue.delete(before)

    def _places(self, seen: Seen) -> None:
        """Where there is more room than before, and who is seen by others in another place or light."""
        old, new = node_of(seen.old), node_of(seen.new)
        promised, promised_now = nomination_of(seen.old), nomination_of(seen.new)
        left = {old, promised} - {new, promised_now, ""}
        for node in left:
            self._wakeups.freed(node)
        if left and seen.old is not None:
            self._release_claims(seen.old)
        if seen.old is not None and new == promised != "" and _reserves(seen.old):
            self._wakeups.freed(new)  # what was held against everybody is now one pod among others
        if new and new == old:
            self._resized(new, seen)
        for node in {new, promised_now} - {old, promised, ""}:
            self._wakeups.taken(node)
        different = looks_different(seen)
        if (left or different) and seen.old is not None and keeps_away(seen.old):
            self._wakeups.everybody()
        if new and (new != old or different):
            self._wakeups.neighbours(new)

    def _resized(self, node: str, seen: Seen) -> None:
        """A pod may take more or less of its node than before, while it runs there."""
        assert seen.old is not None and seen.new is not None  # noqa: S101, PT018
        before, after = slots_held(seen.old.manifest), slots_held(seen.new.manifest)
        if before != after:
            (self._wakeups.taken if before.maximum(after) == after else self._wakeups.freed)(node)

    def _release_claims(self, record: Record) -> None:
        """What only one pod may have is free again, wherever the next one is to run."""
        names = [
            volume.persistent_volume_claim.claim_name
            for volume in record.manifest.spec.volumes
            if volume.persistent_volume_claim is not None
        ]
        for name in names:
            self._changed |= dict.fromkeys(self._pending.with_claims(record.namespace, name))

    def _node(self, seen: Seen) -> None:
        if seen.new is None:
            self._wakeups.lost(seen.record.name)
        elif seen.old is None or offers(seen.old) != offers(seen.new):
            self._wakeups.freed(seen.record.name)
            if seen.old is not None and seen.old.manifest.metadata.labels != seen.new.manifest.metadata.labels:
                self._wakeups.everybody()  # who keeps others away there keeps them away from another place now

    def _looked_at(self, _: Seen) -> None:
        self._wakeups.everybody()

    def _class(self, _: Seen) -> None:
        """Groups only name theirs: each may have another rank now. And whoever is on a node may tolerate less."""
        self._wakeups.everybody()
        self._changed |= dict.fromkeys(unit for unit in self._pending if kind_of(unit) != PODS.kind)

    def _volume_claim(self, seen: Seen) -> None:
        namespace, name = seen.record.key
        self._changed |= dict.fromkeys(self._pending.with_claims(namespace, name))

    def _volumes(self, _: Seen) -> None:
        self._changed |= dict.fromkeys(self._pending.with_claims())

    def _group(self, seen: Seen) -> None:
        """Its own units; where it is decided over in another way, its pods on nodes may be easier to preempt, too."""
        if seen.old is not None and seen.new is not None:
            if alike(seen.old.manifest, seen.new.manifest):
                return
            self._wakeups.everybody()
        units = self._pending.of_group(seen.resource.kind, *seen.record.key)
        self._changed |= dict.fromkeys(units)
        for key in [facts.key for unit in units for facts in self._pending.pods(unit)]:
            self._regroup(key)

    def _regroup(self, key: Key) -> None:
        """A pod may be scheduled with others now, or by itself, because of what has become of the groups it is in."""
        before, after = self._pending.update(key)
        if after and after != before:
            self._changed[after] = None
        if before and before not in self._pending:
            self._queue.delete(before)


# What of a pod or node counts for others who wait


def _another(seen: Seen) -> bool:
    """Whether it is another pod of the same name."""
    return seen.old is not None and seen.new is not None and seen.old.uid != seen.new.uid


def node_of(record: Record | None) -> str:
    """The node that a pod takes room on."""
    if record is None or record.manifest.finished:
        return ""
    name: str = record.manifest.spec.node_name
    return name


def nomination_of(record: Record | None) -> str:
    """The node on which a pod that waits is promised a place; one that leaves will not take it."""
    if record is None:
        return ""
    pod = record.manifest
    if pod.finished or pod.terminating or pod.spec.node_name:
        return ""
    name: str = pod.status.nominated_node_name
    return name


def _reserves(record: Record) -> bool:
    hold = hold_of(record.manifest.metadata.annotations)
    return hold is not None and hold.reserves


def looks_different(seen: Seen) -> bool:
    """Whether others see something else in a pod than before: its labels, whose it is, or that it leaves."""
    if seen.old is None or seen.new is None:
        return False
    old, new = seen.old.manifest, seen.new.manifest
    return bool(old.terminating != new.terminating) or _says_another(old.metadata, new.metadata)


def keeps_away(record: Record) -> bool:
    """Whether a pod keeps others away that do not mind the pods around them themselves."""
    affinity = record.manifest.spec.affinity
    return affinity is not None and affinity.pod_anti_affinity is not None and bool(affinity.pod_anti_affinity.required)


def asks_anew(seen: Seen) -> bool:
    """Whether a pod that waits asks for something else now; what the scheduler writes in its status is no reason."""
    if seen.old is None or seen.new is None:
        return True
    old, new = seen.old.manifest, seen.new.manifest
    return bool(old.spec != new.spec) or _says_another(old.metadata, new.metadata)


def _says_another(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether a pod says something else of itself that decisions go by; mostly it says nothing else at all."""
    same = old.labels == new.labels and old.annotations == new.annotations
    return not same and _says(old) != _says(new)


def _says(meta: ObjectMeta) -> tuple[Any, ...]:
    return meta.labels, user_of(meta), named_queue(meta)


def offers(record: Record) -> tuple[object, ...]:
    """What a node offers to pods."""
    node = record.manifest
    return node.allocatable, node.metadata.labels, node.spec
