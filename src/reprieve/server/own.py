"""What Reprieve adds to Kubernetes' API: its health, its figures, and the decisions that were made."""

from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, Metric, generate_latest
from prometheus_client.registry import Collector
from starlette.responses import Response

from reprieve.access.identities import Identity
from reprieve.access.rights import check_sees
from reprieve.manifests.kinds import KINDS, written_name
from reprieve.model.names import parts_of
from reprieve.server.answers import json_answer, text_answer
from reprieve.server.guard import identity_of
from reprieve.server.heavy_work import in_thread
from reprieve.server.plane import HistoryReader, Plane
from reprieve.server.queries import Query
from reprieve.server.requests import AnyRequest, query_of, segments_of
from reprieve.stores.errors import BadRequest, NotFound, Unavailable
from reprieve.stores.protocol import Troubled
from reprieve.texts import server as texts

MOST = 1000
_USUAL = 50


async def healthz(_: Plane, request: AnyRequest) -> Response:
    """Whether it lives."""
    return _health(request, ("ping", ""))


async def readyz(plane: Plane, request: AnyRequest) -> Response:
    """Whether it has seen everything once and decides."""
    trouble = plane.store.trouble if isinstance(plane.store, Troubled) else ""
    return _health(request, ("ping", ""), ("sync", "" if plane.ready else texts.NOT_READY), ("disk", trouble))


def _health(request: AnyRequest, *checks: tuple[str, str]) -> Response:
    """Checks, each with what is wrong."""
    fine = not any(wrong for _, wrong in checks)
    if not query_of(request).flag("verbose") and fine:
        return text_answer("ok")
    lines = [f"[{'-' if wrong else '+'}]{name} {wrong or 'ok'}" for name, wrong in checks]
    return text_answer("\n".join([*lines, "check passed" if fine else "check failed", ""]), 200 if fine else 503)


class _Taken(Collector):
    """Figures as they were at one moment."""

    def __init__(self, registry: Collector) -> None:
        self._figures = list(registry.collect())

    def collect(self) -> list[Metric]:
        return self._figures


async def metrics(plane: Plane, _: AnyRequest) -> Response:
    """Figures are taken at once, and written in a thread: with a thousand queues that is a megabyte of text."""
    # The framework adds the character set itself.
    media_type = CONTENT_TYPE_LATEST.partition("; charset")[0]
    return Response(await in_thread(generate_latest, _Taken(plane.metrics_registry)), media_type=media_type)


# What was decided, and what happened


async def explain(plane: Plane, request: AnyRequest) -> Response:
    unit, uid = _seen_unit(request), query_of(request).text("uid")
    told = _history(plane).explain(unit, uid)
    if not any(told.get(part) for part in ("story", "decision", "preempted", "attempts", "others", "earlier")):
        raise NotFound(texts.nothing_known(unit))
    return json_answer(told)


async def attempts(plane: Plane, request: AnyRequest) -> Response:
    """What a unit was tried as, in the order of time, each with the runs whose logs are known."""
    unit = _seen_unit(request)
    found = _history(plane).attempts(unit)
    if not found:
        raise NotFound(texts.nothing_known(unit))
    told = [{**each, "runs": msgspec.to_builtins(plane.runs(each["uid"]))} for each in found]
    return json_answer({"unit": unit, "attempts": told})


async def units(plane: Plane, request: AnyRequest) -> Response:
    """The units that are called so, of any kind and in any namespace, also those that are gone."""
    name = query_of(request).text("name")
    if not name:
        raise BadRequest(texts.wrong_field("name", "the name of an object"))
    identity = identity_of(request.scope)
    found = [unit for unit in _history(plane).called(name) if identity.sees(parts_of(unit).namespace)]
    return json_answer({"units": found})


async def story(plane: Plane, request: AnyRequest) -> Response:
    unit, limit = _seen_unit(request), _limit(query_of(request))
    return json_answer({"unit": unit, "story": _history(plane).story(unit, limit)})


async def decisions(plane: Plane, request: AnyRequest) -> Response:
    """The last ones; those about others only where they cost somebody its place who may be seen."""
    query = query_of(request)
    limit, unit, identity = _limit(query), query.text("unit"), identity_of(request.scope)
    if unit:
        check_sees(identity, parts_of(unit).namespace)
    found = _history(plane).decisions(unit, limit)
    return json_answer({"decisions": [made for made in found if unit or _sees(identity, made["preemptor"])]})


async def decision(plane: Plane, request: AnyRequest) -> Response:
    identity = segments_of(request)[-1]
    number = int(identity) if identity.isascii() and identity.isdecimal() and len(identity) <= 18 else 0
    found = _history(plane).decision(number) if number else None
    asks = identity_of(request.scope)
    told = found is not None and any(_sees(asks, unit) for unit in _parties(found))
    if found is None or not told:
        raise NotFound(texts.no_decision(identity))
    return json_answer(found)


def _parties(decision: dict[str, Any]) -> list[str]:
    """Who decided, and whom it cost a place."""
    return [decision["preemptor"], *(victim["unit"] for victim in decision["plan"].get("victims") or ())]


def _sees(identity: Identity, unit: str) -> bool:
    return identity.sees(parts_of(unit).namespace)


async def shadow(plane: Plane, request: AnyRequest) -> Response:
    """How often another scheduler decided as this one in shadow would have, and where it did not."""
    return json_answer(_history(plane).agreement(_limit(query_of(request))))


def _seen_unit(request: AnyRequest) -> str:
    """The unit that a path names, if who asks may see it."""
    unit = _unit(request)
    check_sees(identity_of(request.scope), parts_of(unit).namespace)
    return unit


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
