"""A store that can do what `Store` asks for and nothing else, as one in another process would."""

from __future__ import annotations

from typing import Any, cast

from reprieve.stores.protocol import Store

_METHODS = ("list", "watch", "get", "create", "replace", "patch", "delete", "bind", "evict")


class _Bare:
    def __init__(self, store: Any) -> None:
        vars(self).update({name: getattr(store, name) for name in _METHODS})


def bare(store: Store) -> Store:
    return cast(Store, _Bare(store))
