"""What a store refuses, and why: the same words and codes as a Kubernetes API server.

StoreError
├── BadRequest (400)          what was sent makes no sense
├── Forbidden (403)           an admission rule says no
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
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from reprieve.manifests.problems import ReprieveError


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
        causes: Iterable[tuple[str, str, str]] = (),
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.group, self.kind, self.name = group, kind, name
        self.causes = tuple(causes)
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        """The body that a Kubernetes API server would answer with."""
        details: dict[str, Any] = {
            key: value for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind)) if value
        }
        if self.causes:
            details["causes"] = [
                {key: value for key, value in zip(("reason", "message", "field"), cause, strict=True) if value}
                for cause in self.causes
            ]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }


class BadRequest(StoreError):
    code, reason = 400, "BadRequest"


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
