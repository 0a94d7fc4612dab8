"""`/plan`: what would be decided now, over all that is stored and whatever the request adds to it."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from litestar import Response

from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.manifests.loading import Loaded, load_objects, load_text
from reprieve.manifests.problems import InvalidInput
from reprieve.planning.planner import usable
from reprieve.planning.questions import Unsupported, moment_of
from reprieve.planning.result import Result
from reprieve.server import bodies
from reprieve.server.answers import json_answer
from reprieve.server.plane import Plane
from reprieve.server.queries import Query
from reprieve.stores.errors import BadRequest, Invalid
from reprieve.stores.records import Record
from reprieve.texts import server as texts

_FIELDS = {"for": "text", "now": "a time such as 2026-01-01T12:00:00Z"}


async def plan_from_query(plane: Plane, query: Query) -> Response[bytes]:
    return await _answer(plane, [], query.text("for"), query.text("now"))


async def plan_from_body(plane: Plane, query: Query, request: bodies.AnyRequest) -> Response[bytes]:
    body = await bodies.read_object(request, optional=True)
    asked = {name: body.get(name) or query.text(name) for name in _FIELDS}
    for name, right in _FIELDS.items():
        if not isinstance(asked[name], str):
            raise BadRequest(texts.wrong_field(name, right))
    manifests = body.get("manifests") or []
    if not isinstance(manifests, list):
        raise BadRequest(texts.wrong_field("manifests", "a list of objects"))
    return await _answer(plane, manifests, asked["for"], asked["now"])


async def _answer(plane: Plane, manifests: list[Any], preemptor: str, now: str) -> Response[bytes]:
    records = [
        record
        for resource in RESOURCES.values()
        if resource != EVENTS
        for record in (await plane.store.list(resource)).records
    ]
    try:
        moment = moment_of(now) if now else plane.clock()
        # Records never change, so that another thread may read them while the control plane goes on.
        made = await asyncio.to_thread(_decide, plane, records, manifests, preemptor, moment)
    except InvalidInput as error:
        causes = [("FieldValueInvalid", str(problem), problem.field) for problem in error.problems]
        raise Invalid(str(error), causes=causes) from error
    except Unsupported as error:
        raise Invalid(str(error)) from error
    return json_answer(made.to_dict())


def _decide(plane: Plane, records: list[Record], manifests: list[Any], preemptor: str, now: datetime) -> Result:
    given = load_objects(manifests, name="request")
    replaced = {entry.key for entry in given.entries}
    stored = [record.raw for record in records if (record.resource.group, record.unit) not in replaced]
    planner = plane.planner(_together(_load(stored), given), now)
    return planner.single(preemptor) if preemptor else planner.cycle()


def _load(stored: Iterable[bytes]) -> Loaded:
    return load_text(b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(stored) + b"]}", name="cluster")


def _together(stored: Loaded, given: Loaded) -> Loaded:
    both = Loaded()
    both.entries = [*stored.entries, *given.entries]
    both.problems = [*stored.problems, *given.problems]
    return usable(both)
