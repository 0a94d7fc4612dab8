"""Getting and listing: stored bytes go out as they are, unless another version or a table is asked for."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.json import encode
from starlette.responses import Response

from reprieve.server import tables, warnings
from reprieve.server.answers import AnswerForm, Timeout, raw_answer, warned
from reprieve.server.heavy_work import in_thread
from reprieve.server.list_pages import ListPart, after, read_token
from reprieve.server.queries import LARGEST, Query
from reprieve.server.requests import Call
from reprieve.server.slices import AT_A_TIME, list_answer
from reprieve.stores.api.selectors import select
from reprieve.stores.errors import BadRequest, Expired
from reprieve.stores.records import Listing, Record
from reprieve.texts import server as texts


async def get(call: Call) -> Response:
    target = call.target
    return shown(call, await call.store.get(target.resource, target.name, target.namespace))


def shown(call: Call, record: Record, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    return raw_answer(encoded(call, record), code, headers)


def encoded(call: Call, record: Record, *, headings: bool = True) -> bytes:
    """One object in the form that is wanted; of a table, `headings` may be left out."""
    match call.form:
        case AnswerForm.TABLE:
            metadata = {"resourceVersion": str(record.version)}
            return encode(_table(call, [record], metadata, headings=headings))
        case AnswerForm.METADATA:
            return encode(tables.partial(record.in_version(call.target.api_version)))
        case AnswerForm.OBJECTS:
            return record.in_version(call.target.api_version).raw


def _table(call: Call, records: list[Record], metadata: dict[str, Any], *, headings: bool = True) -> dict[str, Any]:
    include = call.query.choice("includeObject")
    shape: dict[str, Any] = {"include": include, "metadata": metadata, "headings": headings}
    now = call.plane.clock()
    return tables.table(call.target.resource, records, now, api_version=call.target.api_version, **shape)


async def list_objects(call: Call) -> Response:
    """All that is asked for, or a part of it."""
    limit = call.query.number("limit") or LARGEST
    headers = warned(await warnings.of_table(call)) if call.form is AnswerForm.TABLE else {}
    token_text = call.query.text("continue")
    if not token_text:
        return _listed(call, call.pages.first(_at_version(call.query, await selected(call)), limit), headers)
    if call.query.text("resourceVersion") not in ("", "0"):
        raise BadRequest(texts.CONTINUE_WITH_VERSION)
    token = read_token(token_text)
    rest = call.pages.rest(token)
    return _listed(call, call.pages.first(after(await selected(call), token) if rest is None else rest, limit))


async def selected(call: Call) -> Listing:
    """All objects that the request is about, by namespace and name."""
    target, query = call.target, call.query
    labels, fields = query.text("labelSelector"), query.text("fieldSelector")
    if target.name:
        fields = ",".join(part for part in (fields, f"metadata.name={target.name}") if part)
    found = await call.store.list(target.resource, target.namespace)
    records = found.records
    if labels or fields:
        matching = select(records, target.resource, labels, fields)
        records = await in_thread(list, matching) if len(records) > AT_A_TIME else list(matching)
    return Listing(records, found.version)


def _at_version(query: Query, listing: Listing) -> Listing:
    """The list, if it is of a version that the request takes: only the last one is kept."""
    asked = query.number("resourceVersion")
    match = query.choice("resourceVersionMatch")
    if asked is None and match:
        raise BadRequest(texts.MATCH_WITHOUT_VERSION)
    if asked is not None and asked > listing.version:
        raise Timeout(texts.too_large_version(asked, listing.version), retry_after=1)
    if asked is not None and match == "Exact" and asked != listing.version:
        raise Expired(texts.too_old_version(asked, listing.version))
    return listing


def _listed(call: Call, part: ListPart, headers: Mapping[str, str] | None = None) -> Response:
    """A list, in the form that is wanted."""
    selects = call.query.text("labelSelector") or call.query.text("fieldSelector")
    metadata = list_metadata(part, counted=not selects)
    match call.form:
        case AnswerForm.TABLE:
            head = {key: value for key, value in _table(call, [], metadata).items() if key != "rows"}
            include, now = call.query.choice("includeObject"), call.plane.clock()
            row = partial(tables.row, api_version=call.target.api_version, now=now, include=include)
            return list_answer(
                head, "rows", part.records, lambda record: encode(row(record)), call.turns, dict(headers or {})
            )
        case AnswerForm.METADATA:
            head = {"kind": "PartialObjectMetadataList", "apiVersion": tables.META, "metadata": metadata}
            return list_answer(head, "items", part.records, lambda record: encoded(call, record), call.turns)
        case AnswerForm.OBJECTS:
            return raw_list(call, metadata, part.records)


def list_metadata(part: ListPart, *, counted: bool) -> dict[str, Any]:
    """How many are left is told only where no selector might have to be asked for it."""
    metadata: dict[str, Any] = {"resourceVersion": str(part.version)}
    if part.token:
        metadata["continue"] = part.token
        if counted:
            metadata["remainingItemCount"] = part.left
    return metadata


def raw_list(
    call: Call, metadata: dict[str, Any], records: Sequence[Record], headers: Mapping[str, str] | None = None
) -> Response:
    """A list whose items are not decoded and encoded again."""
    api_version = call.target.api_version
    head = {"kind": f"{call.target.resource.kind}List", "apiVersion": api_version, "metadata": metadata}
    return list_answer(
        head, "items", records, lambda record: record.in_version(api_version).raw, call.turns, dict(headers or {})
    )
