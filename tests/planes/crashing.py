"""A store that fails after the n-th write, as if the process had died right then: that write is done, no other is."""

from __future__ import annotations

from typing import Any

from reprieve.stores.protocol import Store

_WRITES = ("create", "replace", "patch", "delete", "bind", "evict")


class Crash(BaseException):
    """The process is gone. Nobody catches this."""


class CrashingStore:
    """Passes everything on; after `writes` of them it raises `Crash`, and from then on whatever is asked."""

    def __init__(self, store: Store, writes: int) -> None:
        self._store = store
        self.left = writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in _WRITES:
            return found

        async def counted(*args: Any, **options: Any) -> Any:
            if self.left <= 0:
                raise Crash
            result = await found(*args, **options)
            self.left -= 1
            if self.left <= 0:
                raise Crash
            return result

        return counted
