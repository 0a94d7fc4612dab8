"""Planning over what a store has, with manifests that are only thought of: for a control plane, and for any cluster.

Where controllers would make something of a manifest (pods of a Job, a Workload, a binding), `hypothetical` makes it,
and tells which units that are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import msgspec

from reprieve.configuration import Settings
from reprieve.controllers.made import Surroundings, made_of
from reprieve.manifests.identity import LoadedObject
from reprieve.manifests.kinds import (
    CLUSTER_PROPAGATION_POLICIES,
    PODS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
    QUOTA_WORKLOADS,
    resource_of,
    written_name,
)
from reprieve.manifests.kueue import QUEUE_NAME_LABEL
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects, load_stored
from reprieve.manifests.problems import Origin
from reprieve.planning.planner import usable
from reprieve.policies.federation.propagation_policies import select_policy
from reprieve.policies.federation.templates import make_binding
from reprieve.policies.quota.pods_in_queues import workload_of
from reprieve.scheduler.queues.configuration import in_force
from reprieve.stores.records import Record
from reprieve.world import World

STORED = "cluster"
"""What the origins of stored objects are called."""
_GIVEN, _MADE = "manifests", "made of the manifests"
_POLICIES = (PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES, PRIORITY_CLASSES)
Data = Mapping[str, Any]


class Hypothesis(NamedTuple):
    """A cluster as it would be with some manifests."""

    loaded: Loaded
    units: frozenset[str]
    """What the manifests come to that waits, or may wait, for a place: they themselves, and what is made of them."""


def hypothetical(records: Sequence[Record], manifests: Sequence[Data], settings: Settings) -> Hypothesis:
    """What a store has, with these manifests and all that controllers would make of them."""
    owners = [_as_record(data, records) for data in manifests]
    replaced = {(owner.resource.group, owner.unit) for owner in owners}
    kept = [record for record in records if (record.resource.group, record.unit) not in replaced]
    around = Surroundings([*kept, *owners])
    federation = World(load_records(each for each in (*kept, *owners) if each.resource in _POLICIES).objects)
    federated = [owner for owner in owners if _is_template(owner) and select_policy(federation, owner.manifest)]
    made = [data for owner in owners if owner not in federated for data in made_of(owner, around)]
    there = [pod for owner in owners for each in (PODS, QUOTA_WORKLOADS) for pod in around.owned(owner, each)]
    given = _given(manifests, made)
    given.entries += _bindings(federation, federated, settings)
    units = {*(entry.unit for entry in given.entries), *(record.unit for record in there)}
    queued = (one for one in owners if one.resource == PODS and one.labels.get(QUEUE_NAME_LABEL))
    units |= {workload_of(pod.namespace, pod.name, pod.labels) for pod in queued}
    return Hypothesis(with_given(records, given), frozenset(units))


def _as_record(data: Data, records: Iterable[Record]) -> Record:
    """An object as a store would have it; one that replaces another goes on as that."""
    resource, metadata = resource_of(data["apiVersion"], data["kind"]), data["metadata"]
    assert resource is not None  # noqa: S101 - whoever read it has refused all other kinds
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    unit = written_name(resource.kind, namespace, name)
    before = next((each for each in records if each.resource == resource and each.unit == unit), None)
    raw = msgspec.json.encode(data)
    uid = before.uid if before is not None else str(uuid5(NAMESPACE_URL, unit))
    return Record(resource, raw, namespace=namespace, name=name, uid=uid, version=0)


def _is_template(owner: Record) -> bool:
    return "template" in owner.data.get("spec", {})


def _given(manifests: Sequence[Data], made: Sequence[Data]) -> Loaded:
    given = load_objects(manifests, name=_GIVEN, look=False)
    more = load_objects(made, name=_MADE, look=False)
    given.entries += more.entries
    given.problems += more.problems
    return given


def _bindings(world: World, federated: Iterable[Record], settings: Settings) -> Iterator[LoadedObject]:
    for number, owner in enumerate(federated, 1):
        world.put(owner.manifest)
        binding = make_binding(world, settings, owner.manifest)
        if binding is not None:
            yield LoadedObject(binding, binding, Origin(_MADE, number))


def load_records(records: Iterable[Record]) -> Loaded:
    """What a store has, as manifests; of queues that were refused, those that are in force."""
    return load_stored((record.raw for record in in_force(records)), name=STORED)


def with_given(records: Sequence[Record], given: Loaded) -> Loaded:
    """What a store has, with these manifests in the place of those of the same name."""
    replaced = {entry.key for entry in given.entries}
    stored = load_records(record for record in records if (record.resource.group, record.unit) not in replaced)
    both = Loaded()
    both.entries = [*stored.entries, *_as_old_as_stored(given.entries, records)]
    both.problems = [*stored.problems, *given.problems]
    both.stored = stored.stored
    both.sources = given.sources
    return usable(both)


def _as_old_as_stored(given: Iterable[LoadedObject], records: Iterable[Record]) -> Iterator[LoadedObject]:
    """What replaces an object is that object, changed: it was made when that was. What is new counts as made now."""
    made = {(record.resource.group, record.unit): record for record in records}
    for entry in given:
        known, manifest = made.get(entry.key), entry.manifest
        if known is None or entry.owner or manifest.metadata.creation_timestamp is not None:
            yield entry
            continue
        created = known.manifest.metadata.creation_timestamp
        metadata = msgspec.structs.replace(manifest.metadata, creation_timestamp=created)
        yield msgspec.structs.replace(entry, manifest=msgspec.structs.replace(manifest, metadata=metadata))
