"""JSON Patch (RFC 6902): a list of operations, all of which apply or none.

A patch that is malformed is `BadPatch`; one that makes sense but not for this document, because something is not there
or a `test` fails, is `PatchFailed`. Kubernetes tells the two apart with its answers 400 and 422.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.problems import did_you_mean, one_of, show
from reprieve.stores.errors import BadRequest, Invalid, TooLarge

MOST_OPERATIONS = 10_000
# What `copy` may add to a document, in bytes of JSON: a few operations that each double it would fill any memory.
MOST_COPIED = 3 * 1024 * 1024
MOST_MOVED = 10_000_000
"""How many items of lists may move: those behind one that is put in or taken out, times the number of the operation."""
MOST_STEPS = 100_000
"""How many steps all pointers have together: each is taken apart, and followed."""
# Operation by operation a JSON patch could make deeper data than anybody reads or writes.
DEEPEST = 200
TOO_DEEP = f"the patch makes the object nested too deeply; allowed: {DEEPEST} levels"
_NEEDS = {"add": "value", "replace": "value", "test": "value", "remove": "", "move": "from", "copy": "from"}
_LONGEST_INDEX = 10
_PARTS = (dict, list)
_MOST_NAMES = 100


class BadPatch(BadRequest):
    """A patch that no document could be changed with; says what would be right."""


class PatchFailed(Invalid):
    """A patch that makes sense, but not for this document; nothing of it was applied."""


class Operation(NamedTuple):
    """One operation, checked, with its pointers taken apart.

    `source` is where a value is taken from or looked at: what `from` says, or the path itself where there is no from.
    """

    number: int
    op: str
    path: str
    steps: list[str]
    source: list[str]
    value: Any = None

    def failed(self, message: str) -> PatchFailed:
        return PatchFailed(f"{_place(self.number, self.op, self.path)}: {message}")


def json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations; it and the operations stay as they are."""
    if not isinstance(operations, list):
        right = 'a JSON patch is a list of operations, such as [{"op": "remove", "path": "/a"}]'
        raise BadPatch(f"{right}; this is {show(operations)}")
    if len(operations) > MOST_OPERATIONS:
        raise TooLarge(f"a JSON patch has at most {MOST_OPERATIONS} operations; this one has {len(operations)}")
    _check_steps(operations)
    checked = [_checked(number, operation) for number, operation in enumerate(operations, 1)]
    # The document is a field of something, so that an operation on all of it is like any other.
    root = {"": copied(document)}
    allowance = MOST_COPIED
    for operation in checked:
        if operation.op == "copy":
            allowance -= len(msgspec.json.encode(_source(root, operation)))
            if allowance < 0:
                beyond = f"operation {operation.number} goes beyond"
                raise TooLarge(f"a JSON patch copies at most {MOST_COPIED} bytes; {beyond}")
        _OPERATIONS[operation.op](root, operation)
    return root[""]


def copied(value: Any) -> Any:
    """Plain JSON data that shares nothing with the original. Most of it is numbers and texts, which need no copy."""
    if isinstance(value, Mapping):
        return {name: copied(inner) if isinstance(inner, _PARTS) else inner for name, inner in value.items()}
    if isinstance(value, list):
        return [copied(inner) if isinstance(inner, _PARTS) else inner for inner in value]
    return value


def equal(left: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


# Reading operations


def _check_steps(operations: list[Any]) -> None:
    said = [each.get(name) for each in operations if isinstance(each, Mapping) for name in ("path", "from")]
    steps = [pointer.count("/") for pointer in said if isinstance(pointer, str)]
    if max(steps, default=0) > DEEPEST:
        raise BadPatch(TOO_DEEP)
    if sum(steps) > MOST_STEPS:
        raise TooLarge(f"the pointers of a JSON patch have at most {MOST_STEPS} steps; these have {sum(steps)}")


def _checked(number: int, operation: Any) -> Operation:
    if not isinstance(operation, Mapping):
        raise BadPatch(f"operation {number}: an operation is an object with op and path; this is {show(operation)}")
    op: Any = operation.get("op")
    path: Any = operation.get("path")
    if not isinstance(op, str) or op not in _NEEDS:
        near = did_you_mean(op, _NEEDS)
        raise BadPatch(f"operation {number}: op is {show(op)}; {one_of(_NEEDS)}{'; ' + near if near else ''}")
    steps = list(_steps(_place(number, op), "path", path))
    needed = _NEEDS[op]
    if needed and needed not in operation:
        raise BadPatch(f'{_place(number, op, path)}: "{needed}" is missing; {op} needs it')
    if needed != "from":
        return Operation(number, op, path, steps, steps, operation.get("value"))
    source = list(_steps(_place(number, op, path), "from", operation["from"]))
    if op == "move" and len(source) < len(steps) and steps[: len(source)] == source:
        raise BadPatch(f"{_place(number, op, path)}: nothing can be moved into itself; from must not be a part of path")
    return Operation(number, op, path, steps, source)


def _steps(place: str, name: str, pointer: Any) -> Iterator[str]:
    if not isinstance(pointer, str):
        raise BadPatch(f'{place}: {name} is {show(pointer)}; it must be a text such as "/spec/nodeName"')
    if not pointer:
        return
    if not pointer.startswith("/"):
        raise BadPatch(f'{place}: {name} must start with "/"; did you mean {show("/" + pointer)}?')
    for step in pointer[1:].split("/"):
        if "~" in step.replace("~0", "").replace("~1", ""):
            raise BadPatch(f'{place}: {name} has a "~" that means nothing in {show(step)}; write ~0 for ~ and ~1 for /')
        yield step.replace("~1", "/").replace("~0", "~")


def _place(number: int, op: str, path: str | None = None) -> str:
    return f"operation {number} ({op})" if path is None else f"operation {number} ({op} {show(path)})"


# Following pointers


def _parent(root: dict[str, Any], operation: Operation, steps: list[str]) -> tuple[Any, str]:
    """What holds the last step of a pointer, and that step."""
    way = ["", *steps]
    node: Any = root
    for depth, step in enumerate(way[:-1]):
        node = node[_existing(node, step, operation, steps, max(0, depth - 1))]
    return node, way[-1]


def _existing(node: Any, step: str, operation: Operation, steps: list[str], depth: int) -> Any:
    """The key or index of something that has to be there, so many steps down."""
    if isinstance(node, dict):
        if step in node:
            return step
        near = did_you_mean(step, node) if len(node) <= _MOST_NAMES else ""
        raise operation.failed(f"there is no {show(step)} in {_named(steps[:depth])}{'; ' + near if near else ''}")
    return _index(node, step, operation, steps, depth, len(node) - 1 if isinstance(node, list) else 0)


def _index(node: Any, step: str, operation: Operation, steps: list[str], depth: int, last: int) -> int:
    if not isinstance(node, list):
        raise operation.failed(f"{_named(steps[:depth])} is {show(node)}, so that there is no {show(step)} in it")
    number = step.isascii() and step.isdigit() and (step == "0" or step[0] != "0")
    if number and len(step) <= _LONGEST_INDEX and int(step) <= last:
        return int(step)
    bounds = f"0 to {last}" if last >= 0 else "none, it is empty"
    why = "is out of bounds" if number else "is no index"
    raise operation.failed(f"{show(step)} {why} in {_named(steps[:depth])}; allowed: {bounds}")


def _named(way: list[str]) -> str:
    pointer = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in way)
    return show(pointer) if pointer else "the document"


def _source(root: dict[str, Any], operation: Operation) -> Any:
    node, step = _parent(root, operation, operation.source)
    return node[_existing(node, step, operation, operation.source, len(operation.source) - 1)]


# The operations


def _put(root: dict[str, Any], operation: Operation, value: Any) -> None:
    node, step = _parent(root, operation, operation.steps)
    if isinstance(node, dict):
        node[step] = value
    elif isinstance(node, list) and step == "-":
        node.append(value)
    else:
        last = len(node) if isinstance(node, list) else 0
        place = _index(node, step, operation, operation.steps, len(operation.steps) - 1, last)
        _check_moved(node, place, operation)
        node.insert(place, value)


def _check_moved(node: list[Any], place: int, operation: Operation) -> None:
    if operation.number * (len(node) - place) > MOST_MOVED:
        beyond = f"operation {operation.number} goes beyond"
        raise TooLarge(f"a JSON patch moves at most {MOST_MOVED} items of lists; {beyond}")


def _take(root: dict[str, Any], operation: Operation) -> Any:
    if not operation.source:
        raise operation.failed("the whole document cannot be removed; name a part of it")
    node, step = _parent(root, operation, operation.source)
    place = _existing(node, step, operation, operation.source, len(operation.source) - 1)
    if isinstance(node, list):
        _check_moved(node, place, operation)
    return node.pop(place)


def _replace(root: dict[str, Any], operation: Operation) -> None:
    node, step = _parent(root, operation, operation.steps)
    node[_existing(node, step, operation, operation.steps, len(operation.steps) - 1)] = copied(operation.value)


def _move(root: dict[str, Any], operation: Operation) -> None:
    if operation.source == operation.steps:
        _source(root, operation)
    elif not operation.steps:
        root[""] = _source(root, operation)
    else:
        _put(root, operation, _take(root, operation))


def _test(root: dict[str, Any], operation: Operation) -> None:
    there = _source(root, operation)
    if not equal(there, operation.value):
        raise operation.failed(f"the test fails: there is {show(there)}, and it expects {show(operation.value)}")


_OPERATIONS: dict[str, Callable[[dict[str, Any], Operation], object]] = {
    "add": lambda root, operation: _put(root, operation, copied(operation.value)),
    "copy": lambda root, operation: _put(root, operation, copied(_source(root, operation))),
    "move": _move,
    "remove": _take,
    "replace": _replace,
    "test": _test,
}
