"""What Reprieve adds to Kubernetes' API: its health, its figures, and its decisions, made and to be made."""

from typing import Any

from litestar import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from reprieve.manifests.kinds import KINDS, written_name
from reprieve.server.answers import json_answer, text_answer
from reprieve.server.plane import HistoryReader, Plane
from reprieve.server.queries import Query
from reprieve.stores.errors import NotFound, Unavailable
from reprieve.texts import server as texts

MOST = 1000
_USUAL = 50


def health(plane: Plane, query: Query, *, ready: bool) -> Response[bytes]:
    """Whether it lives, or (`ready`) whether it has seen everything once and decides."""
    fine = plane.ready if ready else True
    checks = [("ping", True), *([("sync", plane.ready)] if ready else [])]
    if query.flag("verbose") or not fine:
        lines = [f"[{'+' if good else '-'}]{name} {'ok' if good else texts.NOT_READY}" for name, good in checks]
        text = "\n".join([*lines, "check passed" if fine else "check failed", ""])
    else:
        text = "ok"
    return text_answer(text, 200 if fine else 503)


def metrics(plane: Plane) -> Response[bytes]:
    # The framework adds the character set itself.
    media_type = CONTENT_TYPE_LATEST.partition("; charset")[0]
    return Response(generate_latest(plane.metrics_registry), media_type=media_type)


def unit_in(segments: list[str]) -> str:
    """The unit that a path names: KIND/NAMESPACE/NAME, or KIND/NAME where there is no namespace."""
    path = "/".join(segments)
    parts = [segments[0], "", segments[1]] if len(segments) == 2 else segments
    if not 3 <= len(parts) <= 4 or parts[0] not in KINDS or not all(parts[2:]):
        raise NotFound(texts.no_such_unit(path))
    kind, namespace, *name = parts
    return written_name(kind, namespace, "/".join(name))


def explain(plane: Plane, segments: list[str]) -> Response[bytes]:
    unit = unit_in(segments)
    told = history_of(plane).explain(unit)
    if not (told.get("story") or told.get("decision") or told.get("preempted")):
        raise NotFound(texts.nothing_known(unit))
    return json_answer(told)


def story(plane: Plane, query: Query, segments: list[str]) -> Response[bytes]:
    unit = unit_in(segments)
    limit = query.number("limit", least=1, most=MOST) or _USUAL
    return json_answer({"unit": unit, "story": history_of(plane).story(unit, limit)})


def decisions(plane: Plane, query: Query) -> Response[bytes]:
    limit = query.number("limit", least=1, most=MOST) or _USUAL
    return json_answer({"decisions": history_of(plane).decisions(query.text("unit"), limit)})


def decision(plane: Plane, identity: str) -> Response[bytes]:
    number = int(identity) if identity.isascii() and identity.isdecimal() and len(identity) <= 18 else 0
    found: dict[str, Any] | None = history_of(plane).decision(number) if number else None
    if found is None:
        raise NotFound(texts.no_decision(identity))
    return json_answer(found)


def history_of(plane: Plane) -> HistoryReader:
    if plane.history is None:
        raise Unavailable(texts.NO_HISTORY)
    return plane.history
