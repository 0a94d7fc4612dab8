"""Creating, replacing, patching and deleting. The store decides; here is only what the request says."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from reprieve.manifests.kinds import PODS
from reprieve.manifests.resource import Resource
from reprieve.server import bodies, warnings
from reprieve.server.answers import json_answer, success, warned
from reprieve.server.list_pages import ListPart
from reprieve.server.permissions import find, with_plane_words, written
from reprieve.server.queries import PROPAGATIONS
from reprieve.server.reading import list_metadata, raw_list, selected, shown
from reprieve.server.requests import Call
from reprieve.stores.api.patches import MEDIA_TYPES, patch_type
from reprieve.stores.errors import BadRequest, NotFound
from reprieve.stores.portions import Portions
from reprieve.stores.protocol import PatchType, Propagation, Store
from reprieve.stores.records import Record
from reprieve.texts import server as texts

_LONGEST_GRACE = 2**31 - 1
_AT_A_TIME = 20
"""Objects that one request deletes without a break."""


async def create(call: Call) -> Response:
    data = bodies.of_target(await bodies.read_object(call.request), call.target)
    headers = warned([*call.check_fields(data), *warnings.of_write(call, data)])
    record = await written(call, lambda store: store.create(call.target.resource, data))
    return shown(call, record, 201, headers)


async def replace(call: Call) -> Response:
    target = call.target
    data = bodies.of_target(await bodies.read_object(call.request), target)
    headers = warned([*call.check_fields(data), *warnings.of_write(call, data)])
    data = await with_plane_words(call, data)
    record = await written(call, lambda store: store.replace(target.resource, data, subresource=target.subresource))
    return shown(call, record, 200, headers)


async def patch(call: Call) -> Response:
    target = call.target
    kind, patch = await _read_patch(call)
    headers = warned([*call.check_fields(patch), *warnings.of_write(call, patch)] if kind == "apply" else [])
    created = kind == "apply" and await find(call.store, target.resource, target.name, target.namespace) is None
    if created and target.subresource:
        raise NotFound(texts.NO_SUCH_PATH)
    record = await written(
        call,
        lambda store: store.patch(
            *(target.resource, target.name, target.namespace),
            *(patch, kind),
            subresource=target.subresource,
            api_version=target.api_version,
        ),
    )
    return shown(call, record, 201 if created else 200, headers)


async def _read_patch(call: Call) -> tuple[PatchType, Any]:
    declared = bodies.media_type(call.request, tuple(MEDIA_TYPES))
    kind = patch_type(declared)
    patch = await bodies.decode(await bodies.read_body(call.request), declared, bodies.PATCHED)
    if kind != "apply":
        return kind, patch
    if not call.query.text("fieldManager"):
        raise BadRequest(texts.FIELD_MANAGER)
    patch = bodies.as_object(patch)
    return kind, bodies.of_target(patch, call.target)


class DeleteRequest(NamedTuple):
    """How something is to be deleted, and where: in the store, or in a rehearsal of it."""

    store: Store
    grace: int | None
    propagation: Propagation
    uid: str
    version: int | None

    async def delete(self, resource: Resource, name: str, namespace: str, uid: str = "") -> Record:
        store, grace, propagation, own, version = self
        return await store.delete(
            resource, name, namespace, grace=grace, propagation=propagation, uid=own or uid, version=version
        )


async def delete(call: Call) -> Response:
    target = call.target
    options = await read_delete_options(call)
    place = target.resource, target.name, target.namespace
    record = await options.delete(*place)
    headers = warned(await warnings.of_deletion(call, [record]))
    left = None if target.resource == PODS else await find(options.store, *place)
    if target.resource == PODS or (left is not None and left.uid == record.uid):
        return shown(call, record, headers=headers)
    return json_answer(success(target.resource.plural, target.resource.group, record.name, record.uid), 200, headers)


async def delete_collection(call: Call) -> Response:
    """Delete all that is selected; what went by itself in the meantime is no mistake."""
    options = await read_delete_options(call)
    listing = await selected(call)
    deleted: list[Record] = []
    portions = Portions(_AT_A_TIME)
    for record in listing.records:
        if portions.full(record):
            await asyncio.sleep(0)
        try:
            deleted.append(await options.delete(record.resource, record.name, record.namespace, record.uid))
        except NotFound:
            continue
    metadata = list_metadata(ListPart([], listing.version, "", 0), counted=False)
    return raw_list(call, metadata, deleted, warned(await warnings.of_deletion(call, deleted)))


async def read_delete_options(call: Call) -> DeleteRequest:
    """From the body where there is one, and from the query."""
    return delete_options(call, await bodies.read_object(call.request, optional=True))


def delete_options(call: Call, body: dict[str, Any]) -> DeleteRequest:
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise BadRequest(texts.wrong_kind(str(body["kind"]), "DeleteOptions"))
    found = body.get("preconditions") or {}
    if not isinstance(found, dict):
        raise BadRequest(texts.wrong_field("preconditions", "an object"))
    uid, version = preconditions(found, "preconditions")
    return DeleteRequest(_store_for(call, body), _grace(call, body), _propagation(call, body), uid, version)


def _propagation(call: Call, body: dict[str, Any]) -> Propagation:
    asked: Any = call.query.choice("propagationPolicy") or body.get("propagationPolicy")
    if not asked and (call.query.flag("orphanDependents") or body.get("orphanDependents") is True):
        return "Orphan"
    if asked and asked not in PROPAGATIONS:
        raise BadRequest(texts.wrong_field("propagationPolicy", f"one of {', '.join(PROPAGATIONS)}"))
    found: Propagation = asked or "Background"
    return found


def _store_for(call: Call, body: dict[str, Any]) -> Store:
    if body.get("dryRun") not in (None, [], ["All"]):
        raise BadRequest(texts.wrong_field("dryRun", '["All"]'))
    return call.rehearsing() if body.get("dryRun") else call.store


def _grace(call: Call, body: dict[str, Any]) -> int | None:
    asked = call.query.number("gracePeriodSeconds")
    if asked is not None:
        return asked
    grace = body.get("gracePeriodSeconds")
    valid = isinstance(grace, int) and not isinstance(grace, bool) and 0 <= grace <= _LONGEST_GRACE
    if grace is not None and not valid:
        raise BadRequest(texts.wrong_field("gracePeriodSeconds", f"a whole number from 0 to {_LONGEST_GRACE}"))
    return grace


def preconditions(found: Mapping[str, Any], field: str) -> tuple[str, int | None]:
    """Of which object and of which version of it something is meant."""
    uid, version = found.get("uid") or "", found.get("resourceVersion") or ""
    if not isinstance(uid, str) or not isinstance(version, str) or (version and not version.isdecimal()):
        raise BadRequest(texts.wrong_field(field, "a uid and a resourceVersion, both text"))
    return uid, int(version) if version else None
