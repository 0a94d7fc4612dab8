"""Why data is not what its kind should be: every mistake, each with its field, the value, and what would be right.

msgspec stops at the first mistake and names the field. So each mistake found is replaced with something valid, and
the data is tried again, until nothing is left to say. Only data that failed once comes here.
"""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import inspect

from reprieve.objects.problems import Finding, did_you_mean, found, join_path, one_of
from reprieve.objects.registry import Reader
from reprieve.objects.unread import UNREAD
from reprieve.resources import Quantity, QuantityError

_AT = re.compile(r" - at `(?:key` in `)?(?P<path>\$[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_MOST_FINDINGS = 40
_TIME = "a time such as 2026-01-01T12:00:00Z"

Path = tuple[str | int, ...]


def drop_nulls(data: Any) -> Any:
    """Data without the fields that are null: to Kubernetes they are not set at all."""
    if isinstance(data, dict):
        return {key: drop_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [drop_nulls(value) for value in data]
    return data


def diagnose(data: Any, reader: Reader) -> list[Finding]:
    """All that is wrong with `data` as what `reader` reads."""
    data = copy.deepcopy(data)
    findings: list[Finding] = []
    while len(findings) < _MOST_FINDINGS:
        try:
            reader.convert(data)
            break
        except msgspec.ValidationError as error:
            path, missing = _locate(error, data, reader)
            kind = type_at(reader.written, path)
            value = None if missing else _get(data, path)
            findings.append(_explain(error, path, kind, value, missing=missing))
            if not _mend(data, path, kind, error):
                break
    return findings


def unknown_fields(data: Any, kind: Any, path: str = "$") -> list[Finding]:
    """Fields that no version of Kubernetes has here; those that exist but do not matter are known."""
    node = _plain(kind)
    if isinstance(node, inspect.StructType) and isinstance(data, dict):
        fields = {item.encode_name: item for item in node.fields}
        known = {*fields, *UNREAD.get(node.cls, ()), *(("apiVersion", "kind") if path == "$" else ())}
        findings: list[Finding] = []
        for name, value in data.items():
            place = join_path(path, name)
            if name in fields:
                findings += unknown_fields(value, fields[name].type, place)
            elif name not in known:
                findings.append(Finding(place, "unknown field", "", did_you_mean(name, known)))
        return findings
    if isinstance(node, inspect.VarTupleType) and isinstance(data, list):
        return [
            finding
            for index, item in enumerate(data)
            for finding in unknown_fields(item, node.item_type, f"{path}[{index}]")
        ]
    return []


@cache
def _type_info(root: Any) -> Any:
    return inspect.type_info(root)


def type_at(root: Any, path: Path) -> Any:
    """The type that stands at `path`, or None when the path leaves what is typed."""
    node: Any = _type_info(root)
    for step in path:
        node = _plain(node)
        if isinstance(node, inspect.StructType):
            node = next((item.type for item in node.fields if item.encode_name == step), None)
        elif isinstance(node, inspect.VarTupleType):
            node = node.item_type
        elif isinstance(node, inspect.DictType):
            node = node.value_type
        else:
            return node  # below a quantity or a resource list there is nothing typed
    return node


def _plain(node: Any) -> Any:
    """A type without its `| None`."""
    if isinstance(node, inspect.UnionType):
        rest = [option for option in node.types if not isinstance(option, inspect.NoneType)]
        return rest[0] if len(rest) == 1 else node
    return node


def _locate(error: msgspec.ValidationError, data: Any, reader: Reader) -> tuple[Path, bool]:
    """Where msgspec stopped, and whether that is a field that is not there."""
    at = _AT.search(str(error))
    path = _resolve(at["path"] if at else "$", data, reader, str(error))
    missing = _MISSING.match(str(error))
    if missing:
        return (*path, missing["field"]), True
    cause = error.__cause__
    if isinstance(cause, QuantityError) and cause.key is not None:
        return (*path, cause.key), False
    return path, False


def _resolve(text: str, data: Any, reader: Reader, message: str) -> Path:
    """The steps of a path; where msgspec only says `[...]`, the key is found by trying each alone."""
    path: Path = ()
    for step in _STEP.finditer(text):
        if step["any"]:
            keys = _get(data, path)
            path = (*path, next((key for key in keys if _fails_alone(data, path, key, reader, message)), "?"))
        else:
            path = (*path, step["name"] if step["name"] is not None else int(step["index"]))
    return path


def _fails_alone(data: Any, path: Path, key: str, reader: Reader, message: str) -> bool:
    trial = copy.deepcopy(data)
    _set(trial, path, {key: _get(data, path)[key]})
    try:
        reader.convert(trial)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


def _get(data: Any, path: Path) -> Any:
    for step in path:
        try:
            data = data[step]
        except (LookupError, TypeError):
            return None
    return data


def _set(data: Any, path: Path, value: Any) -> bool:
    parent: Any = _get(data, path[:-1])
    if not path or not isinstance(parent, (dict, list)):
        return False
    cast(Any, parent)[path[-1]] = value
    return True


def _explain(error: msgspec.ValidationError, path: Path, kind: Any, value: Any, *, missing: bool) -> Finding:
    place = "$"
    for step in path:
        place = f"{place}[{step}]" if isinstance(step, int) else join_path(place, step)
    cause = error.__cause__
    if isinstance(cause, QuantityError):
        return Finding(place, f"{cause.problem}: {found(cause.found)}", f"allowed: {cause.allowed}")
    if missing:
        return Finding(place, "missing", f"it must be {describe(kind)}")
    node = _plain(kind)
    if isinstance(node, inspect.LiteralType):
        options = sorted(str(option) for option in node.values)
        return Finding(place, found(value), one_of(options), did_you_mean(value, options))
    return Finding(place, found(value), f"it must be {describe(node)}", _quotes(node, value))


def _quotes(node: Any, value: Any) -> str:
    """YAML's most common surprise: what is in quotes is text, what is not may be something else."""
    if isinstance(node, inspect.StrType) and isinstance(value, (bool, int)):
        return "put it in quotes"
    if isinstance(node, (inspect.IntType, inspect.BoolType)) and isinstance(value, str):
        number = isinstance(node, inspect.IntType) and re.fullmatch(r"-?\d+", value)
        return "write it without quotes" if number or value in ("true", "false") else ""
    return ""


def describe(kind: Any) -> str:
    """What a field must be, in words."""
    node = _plain(kind)
    match node:
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return _describe_int(node)
        case inspect.DateTimeType():
            return _TIME
        case inspect.VarTupleType():
            return _describe_list(node)
        case inspect.LiteralType():
            return "one of " + ", ".join(sorted(str(option) or '""' for option in node.values))
        case inspect.CustomType(cls=cls):
            return "a quantity such as 500m or 2Gi" if cls is Quantity else "names and quantities, such as {cpu: 500m}"
        case inspect.UnionType():
            return " or ".join(describe(option) for option in node.types if not isinstance(option, inspect.NoneType))
        case _:
            return "an object"


def _describe_int(node: inspect.IntType) -> str:
    if node.ge is not None and node.le is not None:
        return f"a whole number from {node.ge} to {node.le}"
    return "a whole number"


def _describe_list(node: inspect.VarTupleType) -> str:
    if node.min_length and node.max_length:
        return f"a list of {node.min_length} to {node.max_length}"
    if node.min_length:
        return f"a list of at least {node.min_length}"
    return f"a list of at most {node.max_length}" if node.max_length else "a list"


def _mend(data: Any, path: Path, kind: Any, error: msgspec.ValidationError) -> bool:
    """Put something valid where the mistake is, so that the next one shows."""
    if isinstance(error.__cause__, QuantityError):
        return _set(data, path, "0")
    return _set(data, path, _sample(kind))


def _sample(kind: Any) -> Any:
    node = _plain(kind)
    match node:
        case inspect.StrType():
            return "1"
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return node.ge or 0
        case inspect.DateTimeType():
            return "2026-01-01T12:00:00Z"
        case inspect.VarTupleType():
            return [_sample(node.item_type)] * (node.min_length or 0)
        case inspect.LiteralType():
            return node.values[0]
        case inspect.CustomType(cls=cls):
            return "0" if cls is Quantity else {}
        case inspect.UnionType():
            return _sample(node.types[0])
        case inspect.StructType():
            return {item.encode_name: _sample(item.type) for item in node.fields if item.required}
        case _:
            return {}
