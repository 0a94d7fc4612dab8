"""Refusals in words: which object, what is wrong with the request, and what would be right."""

from collections.abc import Iterable
from typing import Any

from reprieve.manifests.problems import Finding
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import AlreadyExists, Conflict, Expired, Forbidden, Invalid, NotFound

Cause = tuple[str, str, str]


def _about(resource: Resource, name: str) -> dict[str, Any]:
    return {"group": resource.group, "kind": resource.plural, "name": name}


def not_found(resource: Resource, name: str) -> NotFound:
    return NotFound(f'{resource} "{name}" not found', **_about(resource, name))


def already_exists(resource: Resource, name: str) -> AlreadyExists:
    return AlreadyExists(f'{resource} "{name}" already exists', **_about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> Conflict:
    return Conflict(f'Operation cannot be fulfilled on {resource} "{name}": {why}', **_about(resource, name))


def wrong_version(resource: Resource, name: str, asked: object, found: int) -> Conflict:
    why = f"it has changed since version {asked} and is at {found} now; read it again and repeat the change"
    return conflict(resource, name, why)


def wrong_uid(resource: Resource, name: str, asked: str, found: str) -> Conflict:
    return conflict(resource, name, f"it is another object of that name: uid {found}, not {asked}")


def forbidden(resource: Resource, name: str, why: str, causes: Iterable[Cause] = ()) -> Forbidden:
    return Forbidden(f'{resource} "{name}" is forbidden: {why}', causes=causes, **_about(resource, name))


def too_old(since: int, oldest: int) -> Expired:
    return Expired(f"version {since} is too old: what happened since {oldest} is kept; list again")


def invalid(resource: Resource, name: str, findings: Iterable[Finding]) -> Invalid:
    """Everything that is wrong with an object, each with its field."""
    causes = [_cause(finding) for finding in findings]
    lines = [f"{field}: {message}" if field else message for _, message, field in causes]
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    label = {**_about(resource, name), "kind": resource.kind}
    return Invalid(f'{resource.kind} "{name}" is invalid: {text}', causes=causes, **label)


def _cause(finding: Finding) -> Cause:
    reason = "FieldValueRequired" if finding.message == "missing" else "FieldValueInvalid"
    message = "; ".join(part for part in (finding.message, finding.allowed, finding.suggestion) if part)
    return reason, message, finding.field.removeprefix("$").removeprefix(".")
