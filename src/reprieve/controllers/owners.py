"""Everything that is, by the uids of its owners: who depends on what, whatever kind the two are."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.kinds import EVENTS, RESOURCES, resource_of
from reprieve.manifests.resource import Resource
from reprieve.stores.caches import Cache
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving, owner_references

OWNABLE: tuple[Resource, ...] = tuple(resource for resource in RESOURCES.values() if resource is not EVENTS)
"""Events are left out: there are many, nobody owns them, and they age by themselves."""
Key = tuple[Resource, str, str]


def key_of(record: Record) -> Key:
    return record.resource, record.namespace, record.name


def key_of_owner(reference: dict[str, Any], namespace: str) -> Key | None:
    """Where an owner is to be found; None: nobody here knows such a kind, or it could not be an owner."""
    resource = resource_of(reference.get("apiVersion", ""), reference.get("kind", ""))
    if resource is None or (resource.namespaced and not namespace):
        return None
    return resource, namespace if resource.namespaced else "", reference["name"]


class Owners:
    """The caches of all kinds together; each is indexed by `owner`."""

    def __init__(self) -> None:
        self.caches: dict[Resource, Cache] = {}

    def get(self, key: Key) -> Record | None:
        resource, namespace, name = key
        return self.caches[resource].get(name, namespace)

    def dependents(self, uid: str) -> Iterator[Record]:
        for cache in self.caches.values():
            yield from cache.by("owner", uid)

    def leaving_owners(self, record: Record) -> Iterator[Record]:
        """The owners of an object that are being deleted, and may wait for it."""
        for reference in owner_references(record):
            key = key_of_owner(reference, record.namespace)
            owner = self.get(key) if key is not None and key[0] in self.caches else None
            if owner is not None and is_leaving(owner) and owner.uid == reference["uid"]:
                yield owner


def ownership(record: Record) -> tuple[Any, ...]:
    """All about an object that decides what becomes of it and its dependents."""
    return record.uid, owner_references(record), finalizers_of(record), is_leaving(record)
