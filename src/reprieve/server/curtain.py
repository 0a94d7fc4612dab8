"""What somebody reads who may not see all namespaces: others are there, and have no names.

Every sentence, and every answer about decisions, writes a unit as `KIND/NAMESPACE/NAME`; nothing else is written so. In
what is answered to whoever may not see the namespace, `Pod/other/secret-plan` is "a pod in another namespace,
priority 100". Who may see everything gets what there is, and pays nothing.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

from starlette.responses import Response

from reprieve.access.identities import Identity
from reprieve.manifests.kinds import NAMESPACED, RESOURCES
from reprieve.model.names import parts_of
from reprieve.server.answers import JSON, Streamed
from reprieve.stores.protocol import Peeking, Store
from reprieve.texts import access as texts

_KINDS = "|".join(kind for kind, namespaced in NAMESPACED.items() if namespaced)
_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_UNIT = re.compile(rf"\b(?:{_KINDS})/({_NAME})/{_NAME}(?:/{_NAME})*".encode())


class Curtain:
    """Between one reader and what it may not see."""

    def __init__(self, identity: Identity, store: Store) -> None:
        self._seen = frozenset(name.encode() for name in identity.namespaces)
        self._store = store

    def before(self, answer: Response) -> Response:
        """An answer as this reader gets it. What jobs wrote is theirs, and not looked through."""
        if not (answer.media_type or "").startswith(JSON):
            return answer
        if isinstance(answer, Streamed):
            answer.body_iterator = self._lines(cast("AsyncIterator[bytes]", answer.body_iterator))
            return answer
        content = self.hide(bytes(answer.body))
        if content != answer.body:
            answer.body = content
            answer.headers["content-length"] = str(len(content))
        return answer

    async def _lines(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Watches send whole lines, so that no name is in two parts."""
        try:
            async for part in parts:
                yield self.hide(part)
        finally:
            if isinstance(parts, AsyncGenerator):
                await parts.aclose()

    def hide(self, content: bytes) -> bytes:
        return _UNIT.sub(self._words, content)

    def _words(self, found: re.Match[bytes]) -> bytes:
        if found[1] in self._seen:
            return found[0]
        kind, namespace, name = parts_of(found[0].decode())
        return texts.somebody_else(kind, self._priority(kind, namespace, name)).encode()

    def _priority(self, kind: str, namespace: str, name: str) -> int | None:
        """As it is now; who is gone has none."""
        if not isinstance(self._store, Peeking):
            return None
        for resource in RESOURCES.values():
            record = self._store.peek(resource, name, namespace) if resource.kind == kind else None
            priority = (record.data.get("spec") or {}).get("priority") if record is not None else None
            if isinstance(priority, int):
                return priority
        return None
