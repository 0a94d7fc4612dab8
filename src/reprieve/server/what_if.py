"""What would be decided now, and what a change would make different: over all that is stored, by the settings and the
clock of the control plane. Nothing is changed."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from starlette.responses import Response

from reprieve.access.identities import ANYBODY, Identity
from reprieve.access.rights import check_sees
from reprieve.live_planning import load_records, with_given
from reprieve.manifests.kinds import RESOURCES, UNDECIDED_OVER
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects
from reprieve.manifests.problems import InvalidInput
from reprieve.model.names import parts_of
from reprieve.model.patience import OutOfPatience, go_on
from reprieve.planning.change import change_from
from reprieve.planning.comparison import Comparison
from reprieve.planning.questions import Unsupported, moment_of
from reprieve.planning.result import Result
from reprieve.server import bodies
from reprieve.server.answers import Timeout, raw_answer
from reprieve.server.guard import identity_of
from reprieve.server.heavy_work import planned
from reprieve.server.plane import Plane
from reprieve.server.queries import Query
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
_MOST = bodies.Most(300_000, 800_000)
"""What is to be thought of: a whole cluster."""
LONGEST = 60
"""Seconds after which nobody waits for an answer any more."""
_NOTHING = bodies.Sent(b"", "")
_MOST_TOLD = 200
"""Mistakes that are told of it."""
Decide = Callable[[list[Record], datetime], Result | Comparison]


async def plan(plane: Plane, request: AnyRequest) -> Response:
    """The decision for one unit, or for all that wait, with what the request adds to what is stored."""
    sent = await bodies.read_sent(request) if request.method == "POST" else _NOTHING
    async with request.app.state.plans.one():
        body = await _object_in(sent, optional=True)
        return await _planned(plane, request, body)


async def _planned(plane: Plane, request: AnyRequest, body: dict[str, Any]) -> Response:
    query = query_of(request)
    asked = {name: body.get(name) or query.text(name) for name in _TEXTS}
    for name, right in _TEXTS.items():
        if not isinstance(asked[name], str):
            raise BadRequest(texts.wrong_field(name, right))
    manifests, look = _list(body, "manifests"), query.choice("fieldValidation") != "Ignore"
    identity = identity_of(request.scope)
    if asked["for"]:
        check_sees(identity, parts_of(asked["for"]).namespace)

    def decide(stored: list[Record], moment: datetime) -> Result:
        given = load_objects(manifests, name="request", look=look)
        return _plan(plane, stored, given, asked["for"], moment)

    return await _answer(plane, asked["now"], decide, _seconds(query), identity)


async def compare(plane: Plane, request: AnyRequest) -> Response:
    """What is different with a change."""
    sent = await bodies.read_sent(request)
    async with request.app.state.plans.one():
        body = await _object_in(sent)
        return await _compared(plane, body, _seconds(query_of(request)))


async def _object_in(sent: bodies.Sent, *, optional: bool = False) -> dict[str, Any]:
    """What is sent is only taken apart when it is its turn: then it takes many times the room."""
    if optional and not sent.content.strip():
        return {}
    return bodies.as_object(await bodies.decode(*sent, _MOST))


async def _compared(plane: Plane, body: dict[str, Any], seconds: int) -> Response:
    manifests, settings, deleted = (_list(body, name) for name in _LISTS)
    now = body.get("now") or ""
    if not isinstance(now, str):
        raise BadRequest(texts.wrong_field("now", _TIME))
    if not all(isinstance(name, str) for name in deleted):
        raise BadRequest(texts.wrong_field("delete", _LISTS["delete"]))

    def decide(stored: list[Record], moment: datetime) -> Comparison:
        return plane.compare(load_records(stored), change_from(manifests, settings, deleted), moment)

    return await _answer(plane, now, decide, seconds)


def _list(body: dict[str, Any], name: str) -> list[Any]:
    given = body.get(name) or []
    if not isinstance(given, list):
        raise BadRequest(texts.wrong_field(name, _LISTS[name]))
    return given


def _seconds(query: Query) -> int:
    return query.number("timeoutSeconds", least=1, most=LONGEST) or LONGEST


async def _answer(plane: Plane, now: str, decide: Decide, seconds: int, identity: Identity = ANYBODY) -> Response:
    records = [
        record
        for resource in RESOURCES.values()
        if resource not in UNDECIDED_OVER
        for record in (await plane.store.list(resource)).records
    ]
    try:
        moment = moment_of(now) if now else plane.clock()
        # Records never change, so that another thread may read them while the control plane goes on.
        content = await planned(lambda: _encoded(_told(decide(records, moment).to_dict(), identity)), seconds)
    except OutOfPatience as error:
        raise Timeout(texts.planned_too_long(seconds)) from error
    except InvalidInput as error:
        problems = error.problems[:_MOST_TOLD]
        causes = [("FieldValueInvalid", str(problem), problem.field) for problem in problems]
        raise Invalid(str(InvalidInput(problems)), causes=causes) from error
    except Unsupported as error:
        raise Invalid(str(error)) from error
    return raw_answer(content)


def _told(answer: dict[str, Any], identity: Identity) -> dict[str, Any]:
    """Of decisions, those about units that somebody may see."""
    if identity.sees_all:
        return answer
    seen = [each for each in answer["decisions"] if identity.sees(parts_of(each["preemptor"]).namespace)]
    return {**answer, "decisions": seen}


def _encoded(answer: dict[str, Any]) -> bytes:
    """Item by item: in between others have their turn."""
    fields = (msgspec.json.encode(name) + b":" + b"".join(_field(value)) for name, value in answer.items())
    return b"{" + b",".join(fields) + b"}"


def _field(value: Any) -> Iterator[bytes]:
    if not isinstance(value, list):
        yield msgspec.json.encode(value)
        return
    yield b"["
    for number, item in enumerate(value):
        go_on()
        yield b"," if number else b""
        yield msgspec.json.encode(item)
    yield b"]"


def _plan(plane: Plane, records: list[Record], given: Loaded, preemptor: str, now: datetime) -> Result:
    planner = plane.planner(with_given(records, given), now)
    return planner.single(preemptor) if preemptor else planner.cycle()
