"""What a question names: a unit, a moment. And what is said when there is no such thing."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import KINDS, NAMESPACED, find_resource
from reprieve.manifests.problems import InvalidInput, Origin, Problem, ReprieveError, did_you_mean, found
from reprieve.manifests.yunikorn import APPLICATION, QUEUE
from reprieve.model.names import parts_of
from reprieve.policies.entry import Asked
from reprieve.texts import questions as texts

UnitAsked = str | Mapping[str, Any]
# What a question is made of, as Python calls it; the command line has its own words for them.
PREEMPTOR, NOW, WHY_NOT, DELETE = "preemptor", "now", "why_not", "delete"

_SHAPE = "it must be KIND/NAMESPACE/NAME, such as Pod/default/a"


class Unsupported(ReprieveError):
    """No policy decides for what is asked about."""


def question(message: str, allowed: str = "", *, about: str = PREEMPTOR) -> InvalidInput:
    """A question that has no answer."""
    return InvalidInput([Problem(origin=Origin(about, 0), message=message, allowed=allowed)])


def moment_of(now: str | datetime | None) -> datetime:
    """The clock of a decision, in UTC; the system's when none is given."""
    if now is None:
        return datetime.now(UTC)
    try:
        given = msgspec.convert(now, datetime)
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (msgspec.ValidationError, OverflowError):
        shown = found(now if isinstance(now, (str, int, float)) else str(now))
        raise question(shown, "it must be a time such as 2026-01-01T12:00:00Z", about=NOW) from None


def asked_of(unit: UnitAsked, *, about: str = PREEMPTOR) -> Asked:
    """The unit that is asked about: `KIND/NAMESPACE/NAME`, or a mapping as in case files."""
    if isinstance(unit, Mapping):
        return _of_mapping(unit)
    parts = unit.split("/") if isinstance(unit, str) else []
    if not 2 <= len(parts) <= 5 or not parts[0] or not parts[-1]:
        raise question(f"{found(unit)}, which names no unit", _SHAPE, about=about)
    kind = _kind_of(parts[0], about)
    if len(parts) == 2:
        parts.insert(1, _namespace_of(kind))
    return Asked(kind, parts[1], "/".join(parts[2:]))


def _of_mapping(unit: Mapping[str, Any]) -> Asked:
    kind, name = unit.get("kind"), unit.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise question("it needs a kind and a name")
    kind = _kind_of(kind, PREEMPTOR)
    if unit.get("podGroup"):
        name = f"{name}/{unit['podGroup']}"
    return Asked(kind, str(unit.get("namespace", _namespace_of(kind))), name, str(unit.get("apiVersion", "")))


def _kind_of(word: str, about: str) -> str:
    """A kind as `kubectl` would take it: in any case, singular or plural, or by its short name. Queues of YuniKorn's
    configuration and applications are no objects, and are named as decisions name them; `queue` is short for a
    LocalQueue."""
    if word in (QUEUE, APPLICATION):
        return word
    resource = find_resource(word)
    if resource is None:
        raise question(f"{found(word)}, which is not a kind that is read", did_you_mean(word, KINDS), about=about)
    return resource.kind


def _namespace_of(kind: str) -> str:
    return DEFAULT_NAMESPACE if NAMESPACED.get(kind) or kind == APPLICATION else ""


def no_such_unit(unit: str, known: Iterable[str], *, about: str = PREEMPTOR) -> InvalidInput:
    """There is no such unit; perhaps there is one of that name in another namespace, or a similar one."""
    known = list(known)
    same_name = [other for other in known if parts_of(other).name == parts_of(unit).name]
    hint = f'did you mean "{same_name[0]}"?' if same_name else did_you_mean(unit, known)
    return question(texts.no_such_unit(unit), hint, about=about)
