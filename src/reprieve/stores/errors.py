"""What a store refuses, and why: the same words and codes as a Kubernetes API server.

StoreError
├── BadRequest (400)          what was sent makes no sense
├── Unauthorized (401)        the server does not know who asks
├── Forbidden (403)           an admission rule says no, or whoever asks has no right to it
├── NotFound (404)
├── MethodNotAllowed (405)
├── AlreadyExists (409)
├── Conflict (409)            it has changed since; or it is another one of the same name
├── Expired (410)             the version asked for is too old: list again
├── TooLarge (413)
├── UnsupportedMediaType (415)
├── Invalid (422)             the object itself is wrong, with every cause
├── TooManyRequests (429)     a budget does not allow it now
└── Unavailable (503)         the store cannot be reached or is stopping: try again
    └── OutOfSpace (507)      the disk is full: only what ends objects is written
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, ClassVar

from reprieve.manifests.problems import Finding, ReprieveError
from reprieve.manifests.resource import Resource

_MOST_TOLD = 1_000
Cause = tuple[str, str, str]
"""Reason, message and field."""


class StoreError(ReprieveError):
    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        group: str = "",
        kind: str = "",
        name: str = "",
        causes: Iterable[Cause] = (),
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.group, self.kind, self.name = group, kind, name
        self.causes = tuple(causes)
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        """The body that a Kubernetes API server would answer with."""
        causes = [_said(zip(("reason", "message", "field"), cause, strict=True)) for cause in self.causes]
        about = {"name": self.name, "group": self.group, "kind": self.kind}
        details = _said({**about, "causes": causes, "retryAfterSeconds": self.retry_after}.items())
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        return {**status, "reason": self.reason, **({"details": details} if details else {}), "code": self.code}


def _said(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in items if value}


class BadRequest(StoreError):
    code, reason = 400, "BadRequest"


class Unauthorized(StoreError):
    code, reason = 401, "Unauthorized"


class Forbidden(StoreError):
    code, reason = 403, "Forbidden"


class NotFound(StoreError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(StoreError):
    code, reason = 405, "MethodNotAllowed"


class AlreadyExists(StoreError):
    code, reason = 409, "AlreadyExists"


class Conflict(StoreError):
    code, reason = 409, "Conflict"


class Expired(StoreError):
    code, reason = 410, "Expired"


class TooLarge(StoreError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(StoreError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(StoreError):
    code, reason = 422, "Invalid"


class TooManyRequests(StoreError):
    code, reason = 429, "TooManyRequests"


class Unavailable(StoreError):
    code, reason = 503, "ServiceUnavailable"


class OutOfSpace(Unavailable):
    code, reason = 507, "InsufficientStorage"


# In words: which object, what is wrong with the request, and what would be right


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


def not_admitted(resource: Resource, name: str, findings: Iterable[Finding]) -> Forbidden:
    """What an admission plugin has against a new object, each with its field."""
    causes = [_cause(finding) for finding in findings]
    return forbidden(resource, name, _lines(causes), causes)


def too_old(since: int, oldest: int) -> Expired:
    return Expired(f"version {since} is too old: what happened since {oldest} is kept; list again")


def invalid(resource: Resource, name: str, findings: Iterable[Finding]) -> Invalid:
    """Everything that is wrong with an object, each with its field; of very many the first."""
    causes = [_cause(finding) for finding in islice(findings, _MOST_TOLD)]
    label = {**_about(resource, name), "kind": resource.kind}
    return Invalid(f'{resource.kind} "{name}" is invalid: {_lines(causes)}', causes=causes, **label)


def _lines(causes: list[Cause]) -> str:
    lines = [f"{field}: {message}" if field else message for _, message, field in causes]
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"


def _cause(finding: Finding) -> Cause:
    reason = "FieldValueRequired" if finding.message == "missing" else "FieldValueInvalid"
    message = "; ".join(part for part in (finding.message, finding.allowed, finding.suggestion) if part)
    return reason, message, finding.field.removeprefix("$").removeprefix(".")
