"""How objects are written: what is sent is made whole, admitted, and committed; and how they end.

Data that comes in is copied once. From then on it is this module's own, and changed in place.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reprieve.manifests.conversion import convert, keep_unsaid
from reprieve.manifests.kinds import NAMESPACES, PODS, PRIORITY_CLASSES, WORKLOADS
from reprieve.manifests.priorities import BUILT_IN
from reprieve.manifests.problems import Finding, found
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.stores.api import incoming
from reprieve.stores.api.admission import LOOKED_AT, AdmissionChecks, read, read_raw
from reprieve.stores.api.defaults import fill_in, first_status
from reprieve.stores.api.immutable_fields import check_update
from reprieve.stores.api.incoming import Data, Identities, decode, encode
from reprieve.stores.api.mutations import (
    HAVE_PRIORITIES,
    ask_for_unsaid,
    follow_queue,
    keep_priority,
    keep_recorded,
    mutate,
    record_priorities,
    resolve_priority,
)
from reprieve.stores.api.resource_quotas import NamespaceQuotas
from reprieve.stores.embedded.commits import Journal
from reprieve.stores.embedded.deletion import is_over, mark_deleted
from reprieve.stores.errors import BadRequest, already_exists, forbidden, invalid, not_found, wrong_uid, wrong_version
from reprieve.stores.protocol import Propagation
from reprieve.stores.records import EventType, Record, WatchEvent

_TRIES = 8
ALWAYS_THERE = ("default", "kube-system", "kube-public")
_TERMINATING = ("NamespaceTerminating", "the namespace is being deleted", "metadata.namespace")


class Writer:
    def __init__(self, journal: Journal, clock: Clock, seed: int | None = None) -> None:
        self.journal = journal
        self.clock = clock
        # What was given before a restart is not given again after it.
        self._identities = Identities(None if seed is None else seed + (journal.version << 64))
        self._admission = AdmissionChecks(each for kind in LOOKED_AT for each in journal.of_kind(kind).records())
        self._quotas = NamespaceQuotas(lambda kind, namespace: journal.of_kind(kind).records(namespace))

    # What is there

    def existing(self, resource: Resource, name: str, namespace: str = "") -> Record:
        record = self.journal.of_kind(resource).get(namespace if resource.namespaced else "", name)
        if record is None:
            raise not_found(resource, name)
        return record

    def expected(self, resource: Resource, name: str, namespace: str, version: int | None, uid: str) -> Record:
        """The object, as long as it is the one that is meant."""
        record = self.existing(resource, name, namespace)
        if uid and uid != record.uid:
            raise wrong_uid(resource, name, uid, record.uid)
        if version is not None and version != record.version:
            raise wrong_version(resource, name, version, record.version)
        return record

    # New objects

    async def ready_for(self, resource: Resource, namespace: str) -> None:
        """Before a pod is made: know what quotas of its namespace have left. Over many pods that takes a while."""
        if resource is PODS:
            await self._quotas.count(namespace)

    def create(self, resource: Resource, data: Mapping[str, Any]) -> Record:
        new = incoming.own_copy(resource, data)
        metadata = new["metadata"]
        namespace = incoming.namespace_in(resource, metadata)
        self._check_namespace(resource, namespace, self._give_name(resource, metadata, namespace))
        wrong = incoming.misread(metadata)
        incoming.begin(new, self._identities.uid(), self.clock())
        self._complete(resource, new, wrong)
        record = self.draft("ADDED", resource, new)
        self._quotas.check(record)
        self.commit([WatchEvent("ADDED", record)])
        return record

    def _give_name(self, resource: Resource, metadata: Data, namespace: str) -> str:
        """The name it has or is given; empty: it asks for none, and is refused when all else has been looked at."""
        kind_objects = self.journal.of_kind(resource)
        name, base = incoming.name_in(resource, metadata), metadata.get("generateName", "")
        if name or not base or not isinstance(base, str):
            if kind_objects.get(namespace, name) is not None:
                raise already_exists(resource, name)
            return name
        for _ in range(_TRIES):
            name = self._identities.name(base)
            if kind_objects.get(namespace, name) is None:
                metadata["name"] = name
                return name
        raise already_exists(resource, name)

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        found = self.existing(NAMESPACES, namespace)
        if found.manifest.metadata.deletion_timestamp is not None:
            why = f"the namespace {namespace} is being deleted, and nothing new can be made in it"
            raise forbidden(resource, name, why, [_TERMINATING])

    def _complete(self, resource: Resource, new: Data, wrong: list[Finding]) -> None:
        """A new object with all that users need not say; `wrong` is what is known to be so already."""
        typed = self._admission.read_new(resource, new, wrong)
        mutate(new)
        if resource is PODS:
            ask_for_unsaid(new, self._admission.neighbours)
        fill_in(resource, new, typed.written)
        if resource in HAVE_PRIORITIES:
            resolve_priority(resource, new, typed.written.spec, self._admission.neighbours)
        if resource.status:
            first_status(resource, new, typed.written)
        if resource is WORKLOADS:
            record_priorities(new, typed.manifest, self._admission.neighbours)

    # Changes

    def replace(self, resource: Resource, data: Mapping[str, Any], subresource: str = "") -> Record:
        new = incoming.own_copy(resource, data)
        name = incoming.name_in(resource, new["metadata"])
        if not name:
            raise BadRequest(f"a {resource.kind} can only be replaced by name, and metadata.name is missing")
        old = self.existing(resource, name, incoming.namespace_in(resource, new["metadata"]))
        return self.update(old, lambda _: new, subresource, new["apiVersion"])

    def update(
        self, old: Record, change: Callable[[Data], Mapping[str, Any]], subresource: str = "", api_version: str = ""
    ) -> Record:
        """The object as the change makes it; `change` may share what it is given, but not alter it.

        It is given the object in the version that is asked for, and what it makes of it is kept in its own again.
        """
        resource = old.resource
        before: Data = decode(old.raw)
        seen = convert(resource, before, api_version or before["apiVersion"])
        sent = incoming.own_copy(resource, incoming.merge(resource, seen, change(seen), subresource))
        new = _as_kept(resource, sent, seen, before["apiVersion"])
        asked = new["metadata"].get("resourceVersion")
        if asked and asked != before["metadata"]["resourceVersion"]:
            raise wrong_version(resource, old.name, asked, old.version)
        incoming.follow(resource, new, before)
        if not isinstance(new.get("status", {}), dict):
            raise invalid(resource, old.name, [Finding("$.status", found(new["status"]), "it must be an object")])
        keep_recorded(resource, new, before)
        if subresource != "status":
            keep_priority(resource, new, before)
            follow_queue(new)
            fill_in(resource, new, read(resource, new).written)
            if new.get("spec") != before.get("spec"):
                # What was made before a default existed has it too, so that nobody is taken for having set it.
                whole: Data = decode(old.raw)
                fill_in(resource, whole, old.manifest)
                check_update(resource, new, whole)
        return self.change(old, new, before)

    def change(self, old: Record, new: Data, before: Data) -> Record:
        """Write what has changed; when nothing has, nothing happens; what is over ends here."""
        if new == before:
            return old
        if "spec" in new and new["spec"] != before.get("spec"):
            new["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
        # A pod's status says nothing that admission minds, and it is what is written most.
        known = old.resource is PODS and new["spec"] == before["spec"] and new["metadata"] == before["metadata"]
        return self.write("DELETED" if is_over(new) else "MODIFIED", old.resource, new, old, check=not known)

    # The end

    def delete(self, old: Record, grace: int | None, propagation: Propagation) -> Record:
        if (old.resource is NAMESPACES and old.name in ALWAYS_THERE) or (
            old.resource is PRIORITY_CLASSES and old.name in BUILT_IN
        ):
            raise forbidden(old.resource, old.name, "it belongs to the system and cannot be deleted")
        new: Data = decode(old.raw)
        mark_deleted(new, grace, propagation, self.clock())
        if is_over(new):
            return self.write("DELETED", old.resource, new, old)
        # Whatever is wrong with an object, it can be deleted.
        return self.write("MODIFIED", old.resource, new, old, check=False) if new != decode(old.raw) else old

    def remove_all(self, records: Iterable[Record]) -> None:
        """End objects at once and together, whatever they say."""
        drafts = (
            self.draft("DELETED", old.resource, decode(old.raw), old, ahead=ahead)
            for ahead, old in enumerate(records, 1)
        )
        self.commit([WatchEvent("DELETED", draft) for draft in drafts])

    # Into the journal

    def write(
        self, kind: EventType, resource: Resource, data: Data, old: Record | None = None, *, check: bool = True
    ) -> Record:
        """Admit one object and commit it."""
        record = self.draft(kind, resource, data, old, check=check)
        self.commit([WatchEvent(kind, record)])
        return record

    def draft(
        self,
        kind: EventType,
        resource: Resource,
        data: Data,
        old: Record | None = None,
        *,
        ahead: int = 1,
        check: bool = True,
    ) -> Record:
        """An object at the version that is so far ahead, admitted but not yet written."""
        version = self.journal.version + ahead
        metadata = data["metadata"]
        metadata["resourceVersion"] = str(version)
        raw = encode(data)
        typed = read_raw(resource, raw, data)
        if check and kind != "DELETED":
            self._admission.check(resource, typed, old)
        place = {"namespace": metadata.get("namespace", ""), "name": metadata["name"], "uid": metadata["uid"]}
        return Record(resource, raw, **place, version=version, manifest=typed.manifest)

    def commit(self, events: list[WatchEvent]) -> None:
        self.journal.commit(events)
        for event in events:
            self._admission.follow(event)
            self._quotas.follow(event)


def _as_kept(resource: Resource, sent: Data, seen: Data, api_version: str) -> Data:
    """What was sent, in the version that the object is kept in."""
    if sent["apiVersion"] != seen["apiVersion"]:
        raise BadRequest(f"{sent['apiVersion']} was sent where {seen['apiVersion']} is asked for")
    if sent["apiVersion"] == api_version:
        return sent
    read(resource, sent)  # what is wrong with it is told in the words of its sender
    return convert(resource, keep_unsaid(sent, seen), api_version)


class Rehearsal(Writer):
    """A writer without consequences: it shares all that another one knows, and stops where that one would commit."""

    def __init__(self, writer: Writer) -> None:
        vars(self).update(vars(writer))

    def commit(self, events: list[WatchEvent]) -> None:
        """Nothing becomes of it."""
