"""YuniKorn's REST API over its queues: `/ws/v1`, with its paths, its field names and its errors.

For those who have tools on it. It tells, and changes nothing: queues are changed where they are configured.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.responses import Response

from reprieve.planning.yunikorn_answers import YunikornAnswers
from reprieve.server.answers import json_answer
from reprieve.server.plane import Plane
from reprieve.server.requests import AnyRequest, query_of, segments_of
from reprieve.texts import server as texts

_ACTIVE, _COMPLETED, _REJECTED = "active", "completed", "rejected"
_STATES = (_ACTIVE, _REJECTED, _COMPLETED)
_STATUSES = ("new", "accepted", "running", "completing", "failing", "resuming")
_PARTITION = "/ws/v1/partition/{partition}"
Names = list[str]
"""What stands in a path between its fixed words."""
Ask = Callable[[YunikornAnswers, Names, AnyRequest], Any]


class Wrong(Exception):
    """What cannot be answered, in YuniKorn's form."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _partitions(plane: Plane) -> list[Any]:
    answers = plane.queues()
    return [answers.partition_info()] if answers is not None else []


async def partitions(plane: Plane, _: AnyRequest) -> Response:
    """All partitions; without a configuration there is none."""
    return json_answer(_partitions(plane)) if plane.ready else _error(Wrong(503, texts.NOT_READY))


async def _answer(ask: Ask, plane: Plane, request: AnyRequest) -> Response:
    """About one partition: `/ws/v1/partition/NAME/...`."""
    if not plane.ready:
        return _error(Wrong(503, texts.NOT_READY))
    _, _, _, partition, *rest = segments_of(request)
    answers = plane.queues()
    try:
        if answers is None or answers.partition != partition:
            raise Wrong(404, texts.no_partition(partition, answers.partition if answers is not None else ""))
        return json_answer(ask(answers, rest[1::2], request))
    except Wrong as error:
        return _error(error)


def _error(error: Wrong) -> Response:
    told = {"status_code": error.code, "message": str(error), "description": str(error)}
    return json_answer(told, error.code)


def _queues(answers: YunikornAnswers, _: Names, __: AnyRequest) -> Any:
    return answers.tree()


def _queue(answers: YunikornAnswers, names: Names, request: AnyRequest) -> Any:
    return _found(answers.queue(names[0], subtree="subtree" in request.query_params), texts.no_queue(names[0]))


def _nodes(answers: YunikornAnswers, _: Names, __: AnyRequest) -> Any:
    return answers.nodes()


def _node(answers: YunikornAnswers, names: Names, _: AnyRequest) -> Any:
    return _found(next((each for each in answers.nodes() if each["nodeID"] == names[0]), None), texts.no_node(names[0]))


def _of_queue(answers: YunikornAnswers, names: Names, _: AnyRequest) -> Any:
    return _found(answers.applications(queue=names[0]), texts.no_queue(names[0]))


def _of_queue_by_state(answers: YunikornAnswers, names: Names, request: AnyRequest) -> Any:
    if names[1].lower() != _ACTIVE:
        raise Wrong(400, texts.allowed_states((_ACTIVE,)))
    found = answers.applications(queue=names[0], state=_status(request))
    return _found(found, texts.no_queue(names[0]))


def _by_state(answers: YunikornAnswers, names: Names, request: AnyRequest) -> Any:
    state = names[0].lower()
    if state not in _STATES:
        raise Wrong(400, texts.allowed_states(_STATES))
    if state == _REJECTED:
        return []  # nobody is: who cannot be placed waits, and says why
    status = _status(request) if state == _ACTIVE else ""
    return answers.applications(active=state == _ACTIVE, state=status)


def _status(request: AnyRequest) -> str:
    status = query_of(request).text("status").lower()
    if status and status not in _STATUSES:
        raise Wrong(400, texts.allowed_statuses(_STATUSES))
    return status


def _application(answers: YunikornAnswers, names: Names, _: AnyRequest) -> Any:
    return _found(answers.application(names[0]), texts.no_application(names[0]))


def _application_of_queue(answers: YunikornAnswers, names: Names, _: AnyRequest) -> Any:
    if answers.queue(names[0], subtree=False) is None:
        raise Wrong(404, texts.no_queue(names[0]))
    return _found(answers.application(names[1], names[0]), texts.no_application(names[1]))


def _found(answer: Any, otherwise: str) -> Any:
    if answer is None:
        raise Wrong(404, otherwise)
    return answer


_ASKED: dict[str, Ask] = {
    "queues": _queues,
    "queue/{queue}": _queue,
    "queue/{queue}/applications": _of_queue,
    "queue/{queue}/applications/{state}": _of_queue_by_state,
    "queue/{queue}/application/{application}": _application_of_queue,
    "applications/{state}": _by_state,
    "application/{application}": _application,
    "nodes": _nodes,
    "node/{node}": _node,
}


def rows(plane: Plane) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Which path leads where."""
    about = [(f"{_PARTITION}/{path}", partial(_answer, ask, plane), ("GET",)) for path, ask in _ASKED.items()]
    return [("/ws/v1/partitions", partial(partitions, plane), ("GET",)), *about]


PATHS = ("/ws/v1/partitions", *(f"{_PARTITION}/{path}" for path in _ASKED))
