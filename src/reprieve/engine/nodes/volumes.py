"""What the volumes of a pod ask of nodes, and what of a pod this scheduler does not honour.

1. A claim that is bound keeps its pod to the nodes where its volume can be used: by the volume's node affinity and, of
   older volumes, by the zone and region in its labels. No preemption changes that.
2. A claim that is missing, leaving or not bound, or for one pod and in use: the pod is left alone until that changes.
   Choosing a volume together with a node (WaitForFirstConsumer) is for kube-scheduler; so are devices by resource
   claims, and disks that pods name themselves.
3. Nodes that limit how many volumes of a driver they take are out for a pod that needs one: nobody counts them here.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import Feature, NotHonoured
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.reach import REACHED
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.pods import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from reprieve.manifests.storage import (
    FIRST_CONSUMER,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from reprieve.world import PodFacts, World

VOLUME_AFFINITY, VOLUME_LIMIT, NOT_HONOURED = 8, 9, 10
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_OLD_ZONES = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")


class VolumeNeeds(NamedTuple):
    """What a pod's volumes ask for."""

    obstacle: NotHonoured | None = None
    """Why it is left alone, wherever it could go."""
    selectors: tuple[NodeSelector, ...] = ()
    """Where each of its volumes can be used."""
    zones: tuple[NodeSelectorRequirement, ...] = ()
    drivers: frozenset[str] = frozenset()
    shared: bool = False
    """Whether other pods, by coming or going, change any of this."""


_NOTHING = VolumeNeeds()


def storage_shape(facts: PodFacts) -> object:
    """Pods of which this is the same ask for the same."""
    if not _asks(facts):
        return ()
    spec = facts.pod.spec
    others = tuple((each.name, each.csi) for each in spec.volumes if each.csi is not None or each.names_disk)
    return facts.key[0], facts.claims, others, spec.resource_claims


def _asks(facts: PodFacts) -> bool:
    spec = facts.pod.spec
    return bool(facts.claims or spec.resource_claims or any(each.csi or each.names_disk for each in spec.volumes))


def volume_needs(world: World, facts: PodFacts) -> VolumeNeeds:
    """What a pod asks of nodes by its volumes, as things are."""
    if not _asks(facts):
        return _NOTHING
    claims = [_Claim(world, facts, name) for name in facts.claims]
    shared = any(claim.for_one_pod for claim in claims)
    obstacle = next(_obstacles(facts, claims), None)
    if obstacle is not None:
        return VolumeNeeds(obstacle, shared=shared)
    volumes = [claim.volume for claim in claims if claim.volume is not None]
    inline = (volume.csi.driver for volume in facts.pod.spec.volumes if volume.csi is not None)
    return VolumeNeeds(
        selectors=tuple(volume.selector for volume in volumes if volume.selector is not None),
        zones=tuple(zone for volume in volumes for zone in _zones(volume)),
        drivers=frozenset({*inline, *(volume.driver for volume in volumes)} - {""}),
        shared=shared,
    )


def _obstacles(facts: PodFacts, claims: list["_Claim"]) -> Iterator[NotHonoured]:
    spec = facts.pod.spec
    if spec.resource_claims:
        yield NotHonoured(feature="ResourceClaims", name=", ".join(claim.name for claim in spec.resource_claims))
    yield from (NotHonoured(feature="DiskNamed", name=volume.name) for volume in spec.volumes if volume.names_disk)
    for claim in claims:
        yield from claim.obstacles()


class _Claim:
    """One claim of a pod, and the volume that it is bound to."""

    def __init__(self, world: World, facts: PodFacts, name: str) -> None:
        self._world = world
        self._facts = facts
        self._name = name
        self._found: PersistentVolumeClaim | None = world.get(PersistentVolumeClaim, name, facts.key[0])

    @property
    def for_one_pod(self) -> bool:
        return self._found is not None and self._found.for_one_pod

    @property
    def volume(self) -> PersistentVolume | None:
        if self._found is None or not self._found.bound:
            return None
        found: PersistentVolume | None = self._world.get(PersistentVolume, self._found.spec.volume_name)
        return found

    def obstacles(self) -> Iterator[NotHonoured]:
        claim = self._found
        if claim is None:
            yield self._because("ClaimMissing")
        elif claim.metadata.deletion_timestamp is not None:
            yield self._because("ClaimLeaving")
        elif self._of_another_pod(claim):
            yield self._because("ClaimNotOwned")
        elif not claim.bound:
            waits, name = self._waits_for_pod(claim)
            yield self._because("ClaimWaitsForPod" if waits else "ClaimUnbound", name)
        elif self.volume is None:
            yield self._because("VolumeMissing", claim.spec.volume_name)
        elif claim.for_one_pod:
            yield from (self._because("ClaimInUse", user) for user in self._users())

    def _because(self, feature: Feature, other: str = "") -> NotHonoured:
        return NotHonoured(feature=feature, name=self._name, other=other)

    def _of_another_pod(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a volume that gets a claim of its own finds somebody else's under that name."""
        pod = self._facts.pod
        own = {f"{pod.name}-{volume.name}" for volume in pod.spec.volumes if volume.ephemeral is not None}
        owners = (owner.uid for owner in claim.metadata.owner_references if owner.controller)
        return self._name in own and pod.metadata.uid not in owners

    def _waits_for_pod(self, claim: PersistentVolumeClaim) -> tuple[bool, str]:
        name = claim.spec.storage_class_name or ""
        found: StorageClass | None = self._world.get(StorageClass, name)
        return found is not None and found.volume_binding_mode == FIRST_CONSUMER, name

    def _users(self) -> Iterator[str]:
        """Who has a claim that only one pod may have: whoever has a place, and of its own group who comes before it."""
        mine = self._facts
        alike = (other for other in self._world.pods.values() if self._name in other.claims)
        for other in alike:
            here = other.key[0] == mine.key[0] and other.key != mine.key
            if here and (other.node or other.nominated or (other.pending and _goes_before(other, mine))):
                yield other.unit


def _goes_before(other: PodFacts, mine: PodFacts) -> bool:
    group = mine.pod.spec.scheduling_group or mine.pod.spec.workload_ref
    theirs = other.pod.spec.scheduling_group or other.pod.spec.workload_ref
    return group is not None and group == theirs and other.importance < mine.importance


def _zones(volume: PersistentVolume) -> Iterator[NodeSelectorRequirement]:
    """The zones and regions in a volume's labels; of several, any."""
    for key in (*_ZONES, *_OLD_ZONES):
        if key in volume.metadata.labels:
            values = tuple(volume.metadata.labels[key].split("__"))
            yield NodeSelectorRequirement(key=key, operator="In", values=values)


# On all nodes


def keep_to_volumes(reach: Ints, table: NodeTable, labels: NodeLabels, needs: VolumeNeeds) -> None:
    """Take out of reach the nodes where the volumes of a pod cannot be used."""
    if needs is _NOTHING:
        return
    if needs.obstacle is not None:
        reach[~table.gone[: table.size]] = NOT_HONOURED
        return
    reach[(reach == REACHED) & ~_usable(table, labels, needs)] = VOLUME_AFFINITY
    reach[(reach == REACHED) & _limited(table, needs.drivers)] = VOLUME_LIMIT


def _usable(table: NodeTable, labels: NodeLabels, needs: VolumeNeeds) -> Mask:
    mask = np.ones(table.size, dtype=np.bool_)
    for selector in needs.selectors:
        mask &= labels.selected(selector)
    for zone in needs.zones:
        mask &= _in_zone(labels, zone) | _nowhere(labels)
    return mask


def _in_zone(labels: NodeLabels, zone: NodeSelectorRequirement) -> Mask:
    """By the label that the volume has or, where a node does not have that, by the newer name of it."""
    here = labels.meant(NodeSelectorTerm(match_expressions=(zone,)))
    if zone.key not in _OLD_ZONES:
        return here
    newer = NodeSelectorRequirement(key=_ZONES[_OLD_ZONES.index(zone.key)], operator=zone.operator, values=zone.values)
    missing = np.asarray(labels.column(zone.key)[0] == 0)
    return np.asarray(here | (missing & labels.meant(NodeSelectorTerm(match_expressions=(newer,)))))


def _nowhere(labels: NodeLabels) -> Mask:
    """Nodes of a cluster that knows no zones."""
    return np.asarray(np.logical_and.reduce([labels.column(key)[0] == 0 for key in (*_ZONES, *_OLD_ZONES)]))


def _limited(table: NodeTable, drivers: frozenset[str]) -> Mask:
    mask = np.zeros(table.size, dtype=np.bool_)
    for item in table.world.all(CSINode) if drivers else ():
        node = table.index.get(item.name)
        if node is not None:
            mask[node] = any(driver.limited for driver in item.spec.drivers if driver.name in drivers)
    return mask
