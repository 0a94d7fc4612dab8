"""What Reprieve adds to Kubernetes' API: its health, its figures, and its decisions, made and to be made."""

import asyncio
from datetime import datetime
from typing import Any

from litestar import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from reprieve.manifests.kinds import EVENTS, KINDS, RESOURCES, written_name
from reprieve.manifests.loading import Loaded, load_objects, load_text
from reprieve.manifests.problems import InvalidInput
from reprieve.planning.planner import usable
from reprieve.planning.questions import Unsupported, moment_of
from reprieve.planning.result import Result
from reprieve.server import bodies
from reprieve.server.answers import json_answer, text_answer
from reprieve.server.plane import HistoryReader, Plane
from reprieve.server.queries import Query
from reprieve.server.requests import AnyRequest, query_of, segments_of
from reprieve.stores.errors import BadRequest, Invalid, NotFound, Unavailable
from reprieve.stores.records import Record
from reprieve.texts import server as texts

MOST = 1000
_USUAL = 50
_FIELDS = {"for": "text", "now": "a time such as 2026-01-01T12:00:00Z"}


async def healthz(_: Plane, request: AnyRequest) -> Response[bytes]:
    """Whether it lives."""
    return _health(request, ("ping", True))


async def readyz(plane: Plane, request: AnyRequest) -> Response[bytes]:
    """Whether it has seen everything once and decides."""
    return _health(request, ("ping", True), ("sync", plane.ready))


def _health(request: AnyRequest, *checks: tuple[str, bool]) -> Response[bytes]:
    fine = all(good for _, good in checks)
    if not query_of(request).flag("verbose") and fine:
        return text_answer("ok")
    lines = [f"[{'+' if good else '-'}]{name} {'ok' if good else texts.NOT_READY}" for name, good in checks]
    return text_answer("\n".join([*lines, "check passed" if fine else "check failed", ""]), 200 if fine else 503)


async def metrics(plane: Plane, _: AnyRequest) -> Response[bytes]:
    # The framework adds the character set itself.
    media_type = CONTENT_TYPE_LATEST.partition("; charset")[0]
    return Response(generate_latest(plane.metrics_registry), media_type=media_type)


# What was decided, and what happened


async def explain(plane: Plane, request: AnyRequest) -> Response[bytes]:
    unit = _unit(request)
    told = _history(plane).explain(unit)
    if not (told.get("story") or told.get("decision") or told.get("preempted")):
        raise NotFound(texts.nothing_known(unit))
    return json_answer(told)


async def story(plane: Plane, request: AnyRequest) -> Response[bytes]:
    unit, limit = _unit(request), _limit(query_of(request))
    return json_answer({"unit": unit, "story": _history(plane).story(unit, limit)})


async def decisions(plane: Plane, request: AnyRequest) -> Response[bytes]:
    query = query_of(request)
    limit = _limit(query)
    return json_answer({"decisions": _history(plane).decisions(query.text("unit"), limit)})


async def decision(plane: Plane, request: AnyRequest) -> Response[bytes]:
    identity = segments_of(request)[-1]
    number = int(identity) if identity.isascii() and identity.isdecimal() and len(identity) <= 18 else 0
    found = _history(plane).decision(number) if number else None
    if found is None:
        raise NotFound(texts.no_decision(identity))
    return json_answer(found)


def _unit(request: AnyRequest) -> str:
    """The unit that a path names: KIND/NAMESPACE/NAME, or KIND/NAME where there is no namespace."""
    segments = segments_of(request)[1:]
    parts = [segments[0], "", segments[1]] if len(segments) == 2 else segments
    if not 3 <= len(parts) <= 4 or parts[0] not in KINDS or not all(parts[2:]):
        raise NotFound(texts.no_such_unit("/".join(segments)))
    kind, namespace, *name = parts
    return written_name(kind, namespace, "/".join(name))


def _limit(query: Query) -> int:
    return query.number("limit", least=1, most=MOST) or _USUAL


def _history(plane: Plane) -> HistoryReader:
    if plane.history is None:
        raise Unavailable(texts.NO_HISTORY)
    return plane.history


# What would be decided now, over all that is stored and whatever the request adds to it


async def plan(plane: Plane, request: AnyRequest) -> Response[bytes]:
    query = query_of(request)
    body = await bodies.read_object(request, optional=True) if request.method == "POST" else {}
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


def _load(stored: list[bytes]) -> Loaded:
    return load_text(b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(stored) + b"]}", name="cluster")


def _together(stored: Loaded, given: Loaded) -> Loaded:
    both = Loaded()
    both.entries = [*stored.entries, *given.entries]
    both.problems = [*stored.problems, *given.problems]
    return usable(both)
