"""A change that is only thought of: objects that come or replace others, objects that go, settings said anew.

1. A document of the same identity replaces the one that is there, as a whole. What a server writes and the document
   does not say (uid, creation, status) stays.
2. A budget whose spec is another is counted anew, as the disruption controller would.
3. Units carry the priority that admission has written on them; a class that changes reaches only those that come later.
4. A document with neither apiVersion nor kind holds settings: what it says replaces what was set, gates one by one.

5. Bindings are as the detector would write them for the policies that are there then (`Entry.follows`).

What is looked at is never changed: a change is made to another world, which begins as a copy.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from reprieve.configuration import Settings, changed, configure
from reprieve.manifests.core import ConfigMap, PodDisruptionBudget
from reprieve.manifests.documents import Document, decode_or_problem, find_files, read_file
from reprieve.manifests.identity import LoadedObject, is_list
from reprieve.manifests.kinds import find_resource
from reprieve.manifests.kueue import WorkloadPriorityClass
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_documents
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.problems import InvalidInput, Origin, Problem
from reprieve.manifests.resource import group_of
from reprieve.manifests.scheduling import PriorityClass
from reprieve.manifests.yunikorn import CONFIG_MAP, DEFAULTS_MAP, QUEUES_FILE, QueueConfiguration, queues_key
from reprieve.planning.budgets import counted
from reprieve.planning.questions import DELETE, asked_of, no_such_unit
from reprieve.policies.entry import Asked
from reprieve.policies.registry import Policies
from reprieve.world import World

_SETTINGS = frozenset(field.encode_name for field in msgspec.structs.fields(Settings))
_RESOLVED_ONCE = (PriorityClass, WorkloadPriorityClass)
_OF_THE_SERVER = ("uid", "creation_timestamp", "resource_version")


class ProposedChange(NamedTuple):
    """What is to be tried out."""

    loaded: Loaded
    settings: tuple[Mapping[str, Any], ...] = ()
    deleted: tuple[Asked, ...] = ()
    manifests: tuple[Any, ...] = ()
    """The documents that hold objects, as they are: to be sent to a server."""
    without_status: frozenset[Origin] = frozenset()
    """Where objects stand that say nothing of their status: theirs is for a server to write."""

    def apply(self, world: World, policies: Policies) -> World:
        """The world as it would be. Raises `InvalidInput` where something is to go that is not there."""
        after = world.fork()
        going = [item for asked in self.deleted for item in _found(world, asked)]
        if any(isinstance(item, _RESOLVED_ONCE) for item in (*self.loaded.objects, *going)):
            for entry in policies:
                for item in entry.carried():
                    after.put(item)
        for item in going:
            _remove(after, item)
        for each in self.loaded.entries:
            _put(world, after, each, keeps_status=each.origin in self.without_status)
        for item in self._budgets(world):
            found = after.get(PodDisruptionBudget, item.name, item.namespace)
            after.put(counted(after, found or item))
        return after

    def configured(self, settings: Settings) -> Settings:
        for data in self.settings:
            settings = changed(settings, data)
        return settings

    def _budgets(self, world: World) -> Iterator[PodDisruptionBudget]:
        """Those that say something else than before, and not how many may go."""
        for each in self.loaded.entries:
            item = each.manifest
            if isinstance(item, PodDisruptionBudget) and each.origin in self.without_status:
                before = world.get(PodDisruptionBudget, item.name, item.namespace)
                if before is None or before.spec != item.spec:
                    yield item


def read_change(paths: Iterable[str], deleted: Iterable[str] = ()) -> ProposedChange:
    """A change from files; mistakes are raised all at once, with file, document and field."""
    files, problems = find_files(paths)
    if problems:
        raise InvalidInput(problems)
    return change_of((document for file in files for document in read_file(file)), deleted)


def change_from(manifests: Iterable[Any], settings: Iterable[Any], deleted: Iterable[str]) -> ProposedChange:
    """A change from plain data."""
    documents = (Document(Origin("request", number), data) for number, data in enumerate([*manifests, *settings], 1))
    return change_of(documents, deleted)


def change_of(documents: Iterable[Document], deleted: Iterable[str] = ()) -> ProposedChange:
    objects: list[Document] = []
    settings: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    for document in documents:
        data = document.data if document.raw is None else decode_or_problem(document.raw)
        if isinstance(data, dict) and _holds_settings(data):
            problems += _wrong_settings(data, document.origin)
            settings.append(data)
        else:
            objects.append(document)
    loaded = load_documents(objects)
    problems += [problem for problem in loaded.errors if problem.stage == "read"]
    if problems:
        raise InvalidInput(problems)
    plain = {document.origin: data for document in objects if (data := document.plain()) is not None}
    silent = (origin for place, data in plain.items() for origin in _without_status(place, data))
    going = tuple(asked_of(unit, about=DELETE) for unit in deleted)
    return ProposedChange(loaded, tuple(settings), going, tuple(plain.values()), frozenset(silent))


def _without_status(origin: Origin, data: Any) -> Iterator[Origin]:
    """Where an object stands, or each item of a list, that does not speak of its status."""
    if isinstance(data, dict) and is_list(data.get("kind")) and isinstance(data.get("items"), list):
        for number, item in enumerate(data["items"], 1):
            yield from _without_status(Origin(origin.file, origin.document, number), item)
    elif isinstance(data, dict) and "status" not in data:
        yield origin


def _holds_settings(data: Mapping[str, Any]) -> bool:
    typed = {"apiVersion", "kind", "partitions"}
    return typed.isdisjoint(data) and not _SETTINGS.isdisjoint(data)


def _wrong_settings(data: Mapping[str, Any], origin: Origin) -> tuple[Problem, ...]:
    try:
        configure(data, file=origin.file, document=origin.document)
    except InvalidInput as error:
        return error.problems
    return ()


def _found(world: World, asked: Asked) -> list[Any]:
    """What a deletion names: one object; of the two kinds `Workload` the one that waits in queues, if it is there."""
    found = world.find(asked.kind, asked.name, asked.namespace)
    if not found:
        raise no_such_unit(asked.unit, world.names(asked.kind), about=DELETE)
    resource = find_resource(asked.kind)
    meant = [item for item in found if resource is not None and group_of(item.api_version) == resource.group]
    return (meant or found)[:1]


def _remove(world: World, item: Any) -> None:
    world.delete(type(item), item.name, item.namespace, called=item.kind)
    if isinstance(item, ConfigMap) and item.name == CONFIG_MAP:
        world.delete(QueueConfiguration, QUEUES_FILE)


def _put(before: World, after: World, each: LoadedObject, *, keeps_status: bool) -> None:
    item = each.manifest
    if isinstance(item, ConfigMap) and item.name == CONFIG_MAP:
        after.delete(QueueConfiguration, QUEUES_FILE)
    if isinstance(item, QueueConfiguration) and each.owner.endswith(f"/{DEFAULTS_MAP}") and _has_own_queues(before):
        return  # what users say of queues stands before the defaults
    old = before.get(type(item), item.name, item.namespace, called=item.kind)
    whole = old is None or isinstance(item, QueueConfiguration)
    after.put(item if whole else _with_what_stays(item, old, keeps_status=keeps_status))


def _has_own_queues(world: World) -> bool:
    return any(item.name == CONFIG_MAP and queues_key(item.data) in item.data for item in world.all(ConfigMap))


def _with_what_stays(item: Any, old: Any, *, keeps_status: bool) -> Any:
    """An object with what its server has written on the one that it replaces, where it does not say so itself."""
    empty = ObjectMeta()
    kept = {
        name: getattr(old.metadata, name)
        for name in _OF_THE_SERVER
        if getattr(item.metadata, name) == getattr(empty, name)
    }
    parts = {"metadata": msgspec.structs.replace(item.metadata, **kept)}
    if keeps_status and hasattr(old, "status"):
        parts["status"] = old.status
    return msgspec.structs.replace(item, **parts)
