"""Whether somebody may do what a request asks for, before it is done.

What may not be asked for in an object is looked for in what would be written, defaults and patches included: the write
is rehearsed first. Only who may submit pays for that.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from reprieve.access.identities import Role
from reprieve.access.rights import Action, check
from reprieve.access.submissions import DEFAULT_CLASS, check_class, check_submission, plane_words
from reprieve.manifests.kinds import PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES
from reprieve.manifests.priorities import BUILT_IN, PriorityClasses
from reprieve.manifests.resource import Resource
from reprieve.server.requests import Call
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record

Write = Callable[[Store], Awaitable[Record]]
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def action_of(call: Call) -> Action:
    """The request in Kubernetes' words."""
    target, method = call.target, str(call.request.method)
    if method == "GET":
        verb = "watch" if call.query.flag("watch") else "get" if target.name else "list"
    elif method == "DELETE":
        verb = "delete" if target.name else "deletecollection"
    else:
        verb = _VERBS[method]
    return Action(verb, target.resource, target.namespace, target.name, target.subresource)


def check_call(call: Call) -> None:
    check(call.identity, action_of(call))


async def written(call: Call, write: Write) -> Record:
    """What a write comes to, if whoever asks may write that."""
    if call.identity.role is Role.submit:
        await _check(call, await write(call.rehearsing()))
    return await write(call.store)


async def _check(call: Call, after: Record) -> None:
    if after.resource is PRIORITY_CLASSES:
        check_class(call.identity, after)
        return
    values = await _class_values(call.plane.store)
    before = await find(call.plane.store, after.resource, after.name, after.namespace)
    check_submission(call.identity, after, before, lambda kind, name: values.get((kind, name)))


async def _class_values(store: Store) -> dict[tuple[Resource, str], int]:
    values = {(PRIORITY_CLASSES, name): each.value for name, each in BUILT_IN.items()}
    for kind in (PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES):
        values |= {(kind, record.name): record.manifest.value for record in (await store.list(kind)).records}
    classes = PriorityClasses(record.manifest for record in (await store.list(PRIORITY_CLASSES)).records)
    values[PRIORITY_CLASSES, DEFAULT_CLASS] = classes.resolve(DEFAULT_CLASS).value
    return values


async def find(store: Store, resource: Resource, name: str, namespace: str) -> Record | None:
    """The object, or None where there is none of that name."""
    try:
        return await store.get(resource, name, namespace)
    except NotFound:
        return None


async def with_plane_words(call: Call, data: dict[str, Any]) -> dict[str, Any]:
    """An object that is to be replaced, with what the control plane has noted on it: that is not shown whole to
    everybody, and nobody but the control plane changes it."""
    if call.identity.role is not Role.submit:
        return data
    before = await find(call.plane.store, call.target.resource, call.target.name, call.target.namespace)
    noted = plane_words({"annotations": before.metadata.get("annotations")}) if before is not None else {}
    if not noted:
        return data
    metadata = data["metadata"]
    return {**data, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **noted}}}
