"""What would be decided now, and what a change would make different: over all that is stored, by the settings and the
clock of the control plane. Nothing is changed."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from starlette.responses import Response

from reprieve.live_planning import load_records, with_given
from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects
from reprieve.manifests.problems import InvalidInput
from reprieve.planning.change import change_from
from reprieve.planning.comparison import Comparison
from reprieve.planning.questions import Unsupported, moment_of
from reprieve.planning.result import Result
from reprieve.server import bodies
from reprieve.server.answers import json_answer
from reprieve.server.plane import Plane
from reprieve.server.requests import AnyRequest, query_of
from reprieve.stores.errors import BadRequest, Invalid
from reprieve.stores.records import Record
from reprieve.texts import server as texts

_TIME = "a time such as 2026-01-01T12:00:00Z"
_TEXTS = {"for": "text", "now": _TIME}
_LISTS = {
    "manifests": "a list of objects",
    "settings": "a list of settings such as [{pdb: Respect}]",
    "delete": "a list of names such as [PriorityClass//high]",
}
Decide = Callable[[list[Record], datetime], Result | Comparison]


async def plan(plane: Plane, request: AnyRequest) -> Response:
    """The decision for one unit, or for all that wait, with what the request adds to what is stored."""
    query = query_of(request)
    body = await bodies.read_object(request, optional=True) if request.method == "POST" else {}
    asked = {name: body.get(name) or query.text(name) for name in _TEXTS}
    for name, right in _TEXTS.items():
        if not isinstance(asked[name], str):
            raise BadRequest(texts.wrong_field(name, right))
    manifests, look = _list(body, "manifests"), query.choice("fieldValidation") != "Ignore"

    def decide(stored: list[Record], moment: datetime) -> Result:
        given = load_objects(manifests, name="request", look=look)
        return _plan(plane, stored, given, asked["for"], moment)

    return await _answer(plane, asked["now"], decide)


async def compare(plane: Plane, request: AnyRequest) -> Response:
    """What is different with a change."""
    body = await bodies.read_object(request)
    manifests, settings, deleted = (_list(body, name) for name in _LISTS)
    now = body.get("now") or ""
    if not isinstance(now, str):
        raise BadRequest(texts.wrong_field("now", _TIME))
    if not all(isinstance(name, str) for name in deleted):
        raise BadRequest(texts.wrong_field("delete", _LISTS["delete"]))

    def decide(stored: list[Record], moment: datetime) -> Comparison:
        return plane.compare(load_records(stored), change_from(manifests, settings, deleted), moment)

    return await _answer(plane, now, decide)


def _list(body: dict[str, Any], name: str) -> list[Any]:
    given = body.get(name) or []
    if not isinstance(given, list):
        raise BadRequest(texts.wrong_field(name, _LISTS[name]))
    return given


async def _answer(plane: Plane, now: str, decide: Decide) -> Response:
    records = [
        record
        for resource in RESOURCES.values()
        if resource != EVENTS
        for record in (await plane.store.list(resource)).records
    ]
    try:
        moment = moment_of(now) if now else plane.clock()
        # Records never change, so that another thread may read them while the control plane goes on.
        made = await asyncio.to_thread(decide, records, moment)
    except InvalidInput as error:
        causes = [("FieldValueInvalid", str(problem), problem.field) for problem in error.problems]
        raise Invalid(str(error), causes=causes) from error
    except Unsupported as error:
        raise Invalid(str(error)) from error
    return json_answer(made.to_dict())


def _plan(plane: Plane, records: list[Record], given: Loaded, preemptor: str, now: datetime) -> Result:
    planner = plane.planner(with_given(records, given), now)
    return planner.single(preemptor) if preemptor else planner.cycle()
