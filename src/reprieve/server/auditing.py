"""What is told to the audit log: changes, by whoever made them, and refusals."""

from starlette.types import Message, Scope, Send

from reprieve.access.audit import AuditLog
from reprieve.server.guard import IDENTITY

_REFUSED = (401, 403)
_UNKNOWN = "?"


def audited(audit: AuditLog | None, scope: Scope, send: Send) -> Send:
    """To send an answer, and to note it. A token that is in the path has been taken out before, or was nobody's."""
    if audit is None:
        return send

    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            _note(audit, scope, message["status"])
        await send(message)

    return noted


def _note(audit: AuditLog, scope: Scope, code: int) -> None:
    identity = scope.get(IDENTITY)
    user = identity.name if identity is not None else _UNKNOWN
    path = scope["path"] if identity is not None or not scope["path"].startswith("/bearer/") else "/bearer/..."
    if code in _REFUSED:
        audit.refused(user, scope["method"], path, code)
    elif scope["method"] != "GET":
        audit.done(user, scope["method"], path, code)
