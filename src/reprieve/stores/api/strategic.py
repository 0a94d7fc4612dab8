"""Kubernetes' strategic merge patch: a merge patch that knows which lists are merged, and by which key.

1. Objects are merged field by field; null removes a field.
2. A list with a merge key is merged item by item: an item that is there is merged, another one is added.
3. Merged items stand in the order of the patch, or that of `$setElementOrder/FIELD`; items that only the document has
   keep their place among those it had before; items that only the patch has come before them.
4. Any other list is replaced.
5. `$patch: replace` takes an object as the patch has it, or the list that it is an item of; `$patch: delete` removes an
   item or empties an object; `$patch: merge` is what happens anyway.
6. `$deleteFromPrimitiveList/FIELD` removes values from a list; `$retainKeys` removes the fields that it does not name.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from reprieve.manifests.problems import join_path, one_of, show
from reprieve.manifests.resource import SET, Field, Fields, Resource
from reprieve.stores.api.json_patch import BadPatch
from reprieve.stores.errors import TooLarge

_DIRECTIVE, _RETAIN = "$patch", "$retainKeys"
_ORDER, _REMOVE = "$setElementOrder/", "$deleteFromPrimitiveList/"
_DIRECTIVES = ("replace", "delete", "merge")
MOST_MERGED = 10_000
"""Items of one list that are merged, and of its order: each is looked up again and again."""
# Tells items apart by type too: the port 1 is not the port "1".
Identity = tuple[str, Any]
Path = tuple[str, ...]
_ORDINARY = Field()


def strategic_merge(document: Any, patch: Mapping[str, Any], resource: Resource) -> dict[str, Any]:
    """The document with the patch merged into it; what the patch leaves alone is shared with it, not copied."""
    return _merge(document if isinstance(document, Mapping) else {}, patch, resource.merge_keys, ("$",))


def _merge(current: Mapping[str, Any], patch: Mapping[str, Any], fields: Fields, path: Path) -> dict[str, Any]:
    if not any(name.startswith("$") for name in patch):
        return _merge_plainly(current, patch, fields, path)
    directive = _directive(patch, path)
    if directive == "delete":
        return {}
    merged = {} if directive == "replace" else _retained(current, patch, path)
    for name in _named(patch):
        value = _field(merged.get(name), patch, name, fields.get(name, _ORDINARY), (*path, name))
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _merge_plainly(current: Mapping[str, Any], patch: Mapping[str, Any], fields: Fields, path: Path) -> dict[str, Any]:
    """The same without directives, as the project's own patches are."""
    merged = dict(current)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict | list):
            merged[name] = _field(merged.get(name), patch, name, fields.get(name, _ORDINARY), (*path, name))
        else:
            merged[name] = value
    return merged


def _written(path: Path) -> str:
    return reduce(join_path, path[1:], path[0])


def _directive(patch: Mapping[str, Any], path: Path) -> str | None:
    directive = patch.get(_DIRECTIVE)
    if directive is not None and directive not in _DIRECTIVES:
        raise BadPatch(f"{_written(path)}: {_DIRECTIVE} is {show(directive)}; {one_of(_DIRECTIVES)}")
    return directive


def _retained(current: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if _RETAIN not in patch:
        return dict(current)
    kept = {name for name in _list_of(patch, _RETAIN, path) if isinstance(name, str)}
    for name, value in patch.items():
        if value is not None and not name.startswith("$") and name not in kept:
            raise BadPatch(
                f"{_written((*path, name))}: set, but {_RETAIN} does not name it; it must name all that is set"
            )
    return {name: value for name, value in current.items() if name in kept}


def _named(patch: Mapping[str, Any]) -> Iterable[str]:
    """The fields that a patch says something about, each once."""
    plain = (name for name in patch if name not in (_DIRECTIVE, _RETAIN))
    return dict.fromkeys(name.removeprefix(_ORDER).removeprefix(_REMOVE) for name in plain)


def _field(current: Any, patch: Mapping[str, Any], name: str, field: Field, path: Path) -> Any:
    value = patch.get(name)
    directed = _ORDER + name in patch or _REMOVE + name in patch
    if isinstance(value, list) or (directed and name not in patch):
        removed = _list_of(patch, _REMOVE + name, path)
        order = _list_of(patch, _ORDER + name, path)
        return _list(current, value, order, removed, field, path)
    if isinstance(value, Mapping):
        return _merge(current if isinstance(current, Mapping) and not field.replaced else {}, value, field.fields, path)
    return value


def _list_of(patch: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    values = patch.get(name, [])
    if not isinstance(values, list):
        raise BadPatch(f"{_written(path)}: {name} is {show(values)}; it must be a list")
    return values


# Lists


def _list(
    current: Any, patch: list[Any] | None, order: list[Any], removed: list[Any], field: Field, path: Path
) -> list[Any] | None:
    if not isinstance(current, list):
        if patch is None and current is not None:
            raise BadPatch(f"{_written(path)}: is {show(current)}, and the patch orders or removes items of a list")
        if patch is None:
            return None
        current = []
    if removed:
        gone = {_identity(value, SET) for value in removed} - {None}
        current = [item for item in current if _identity(item, SET) not in gone]
    key = _key(field, order)
    if key is None or any(_replaces(item) for item in patch or ()):
        return current if patch is None else [_cleaned(item, field, path) for item in patch if not _replaces(item)]
    if (number := len(patch or ()) + len(order)) > MOST_MERGED:
        raise TooLarge(
            f"{_written(path)}: has {number} items, with those of its order; at most {MOST_MERGED} are merged"
        )
    items = _Items(key, field, path)
    return items.ordered(current, items.merged(current, patch or []), patch or [], order)


def _key(field: Field, order: Sequence[Any]) -> str | None:
    """The merge key. Whoever sends an order knows the list as one that is merged, and its items say by what."""
    if field.key is not None or not order:
        return field.key
    first = order[0]
    if isinstance(first, Mapping):
        return next(iter(first), None) if len(first) == 1 else None
    return SET


def _replaces(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get(_DIRECTIVE) == "replace"


def _cleaned(item: Any, field: Field, path: Path) -> Any:
    """An item of a list that replaces another, without what is only meant for merging."""
    return _merge({}, item, field.fields, path) if isinstance(item, Mapping) and field.key is not None else item


def _identity(item: Any, key: str) -> Identity | None:
    value = item if key == SET else item.get(key) if isinstance(item, Mapping) else None
    return (type(value).__name__, value) if isinstance(value, str | int | float) else None


class _Items:
    """The items of one list, and what tells them apart."""

    def __init__(self, key: str, field: Field, path: Path) -> None:
        self._key = key
        self._field = field
        self._path = path

    def merged(self, current: list[Any], patch: list[Any]) -> list[Any]:
        """The items of the document, merged with those of the patch, then the new ones."""
        wanted = [(self._required(item, number), item) for number, item in enumerate(patch)]
        gone = {identity for identity, item in wanted if self._deletes(item)}
        merged = [item for item in current if _identity(item, self._key) not in gone]
        places: dict[Identity | None, int] = {}
        for place, item in enumerate(merged):
            places.setdefault(_identity(item, self._key), place)
        for identity, item in wanted:
            if self._deletes(item):
                continue
            if identity in places:
                merged[places[identity]] = self._one(merged[places[identity]], item)
            else:
                places[identity] = len(merged)
                merged.append(self._one({}, item))
        return merged

    def ordered(self, current: list[Any], merged: list[Any], patch: list[Any], order: list[Any]) -> list[Any]:
        """Rule 3: two lists, each in its own order, become one."""
        before = self._ranks(current)
        ranks = self._ranks(order) if order else self._ranks([item for item in patch if not self._deletes(item)])
        if order:
            self._check_order(patch, ranks)
        theirs = [item for item in merged if _identity(item, self._key) not in ranks]
        ours = [item for item in merged if _identity(item, self._key) in ranks]
        ours.sort(key=lambda item: ranks[_identity(item, self._key)])
        result: list[Any] = []
        taken = 0
        for item in ours:
            place = before.get(_identity(item, self._key), -1)
            while taken < len(theirs) and before[_identity(theirs[taken], self._key)] < place:
                result.append(theirs[taken])
                taken += 1
            result.append(item)
        return result + theirs[taken:]

    def _ranks(self, items: Iterable[Any]) -> dict[Identity | None, int]:
        ranks: dict[Identity | None, int] = {}
        for rank, item in enumerate(items):
            ranks.setdefault(_identity(item, self._key), rank)
        return ranks

    def _check_order(self, patch: list[Any], ranks: dict[Identity | None, int]) -> None:
        last = -1
        for number, item in enumerate(patch):
            if self._deletes(item):
                continue
            rank = ranks.get(_identity(item, self._key), -1)
            if rank < last or rank < 0:
                why = "comes in another order than" if rank >= 0 else "is missing in"
                place = f"{_written(self._path)}[{number}]"
                raise BadPatch(f"{place}: {why} {_ORDER.removesuffix('/')}; it must name all, in this order")
            last = rank

    def _required(self, item: Any, number: int) -> Identity:
        identity = _identity(item, self._key)
        if identity is None:
            right = f'each item needs a "{self._key}", by which it is merged' if self._key else "each must be a text"
            raise BadPatch(f"{_written(self._path)}[{number}]: is {show(item)}; {right}")
        return identity

    def _deletes(self, item: Any) -> bool:
        return isinstance(item, Mapping) and _directive(item, self._path) == "delete"

    def _one(self, current: Any, item: Any) -> Any:
        return _merge(current, item, self._field.fields, self._path) if isinstance(item, Mapping) else item
