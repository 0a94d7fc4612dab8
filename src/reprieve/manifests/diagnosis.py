"""Why data is not what its kind should be: every mistake, each with its field, the value, and what would be right.

msgspec stops at the first mistake and names the field. So each mistake found is replaced with something valid, and
the data is tried again, until nothing is left to say. Only data that failed once comes here.
"""

import copy
import re
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import inspect

from reprieve.manifests.meta import Reader
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, nearest, one_of, show
from reprieve.manifests.shapes import Path, describe, plain, sample, type_at
from reprieve.manifests.unread import known_names
from reprieve.model.resources import QuantityError

_AT = re.compile(r" - at `(?:key` in `)?(?P<path>\$[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_MOST_FINDINGS = 40
_MANY_VALUES = 20_000
_PARTS = (dict, list)


def drop_nulls(data: Any, done: dict[int, Any] | None = None) -> Any:
    """Data without the fields that are null: to Kubernetes they are not set at all.

    What YAML's aliases share stays shared, or a small file could unfold to fill the memory.
    """
    done = {} if done is None else done
    if not isinstance(data, _PARTS):
        return data
    if id(data) not in done:
        if isinstance(data, dict):
            clean: Any = {
                key: drop_nulls(value, done) if isinstance(value, _PARTS) else value
                for key, value in data.items()
                if value is not None
            }
        else:
            clean = [drop_nulls(value, done) if isinstance(value, _PARTS) else value for value in data]
        done[id(data)] = clean
    return done[id(data)]


def diagnose(data: Any, reader: Reader) -> list[Finding]:
    """All that is wrong with `data` as what `reader` reads."""
    return mended(data, reader)[0]


def mended(data: Any, reader: Reader) -> tuple[list[Finding], Any]:
    """All that is wrong, and the data with something valid in its place; None where that cannot be had."""
    with suppress(msgspec.ValidationError):
        return [], reader.convert(data)
    if _is_large(data):
        return [_first(data, reader)], None
    data = copy.deepcopy(data)
    findings: list[Finding] = []
    while len(findings) < _MOST_FINDINGS:
        try:
            return findings, reader.convert(data)
        except msgspec.ValidationError as error:
            path, missing = _locate(error, data, reader)
            findings.append(_explained(error, path, missing, data, reader))
            if not _mend(data, path, type_at(reader.written, path), error):
                break
    return findings, None


def _is_large(data: Any) -> bool:
    """Whether there is more in it than is copied, and read again for each mistake."""
    number, left = 0, [data]
    while left and number <= _MANY_VALUES:
        here = left.pop()
        number += len(here)
        left += [each for each in (here.values() if isinstance(here, dict) else here) if isinstance(each, _PARTS)]
    return number > _MANY_VALUES


def _first(data: Any, reader: Reader) -> Finding:
    try:
        reader.convert(data)
    except msgspec.ValidationError as error:
        return _explained(error, *_locate(error, data, reader), data, reader)
    raise AssertionError("nothing is wrong with it")


# Where


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
    """The steps of a path; where msgspec only says `[...]`, the key has to be looked for."""
    path: Path = ()
    for step in _STEP.finditer(text):
        if step["any"]:
            path = (*path, _failing_key(data, path, reader, message))
        else:
            path = (*path, step["name"] if step["name"] is not None else int(step["index"]))
    return path


def _failing_key(data: Any, path: Path, reader: Reader, message: str) -> str:
    """The key at which msgspec stopped: it goes in order, so it is in the first half of those left where that fails."""
    items = list(_get(data, path).items())

    def fails(some: list[tuple[Any, Any]]) -> bool:
        try:
            reader.convert(_replaced(data, path, dict(some)))
        except msgspec.ValidationError as error:
            return str(error) == message
        return False

    while len(items) > 1:
        first, second = items[: len(items) // 2], items[len(items) // 2 :]
        items = first if fails(first) else second
    return str(items[0][0])


def _replaced(data: Any, path: Path, value: Any) -> Any:
    """Data with another value at `path`; what does not lie on the way is shared."""
    if not path:
        return value
    changed: Any = copy.copy(data)
    changed[path[0]] = _replaced(data[path[0]], path[1:], value)
    return changed


def _get(data: Any, path: Path) -> Any:
    for step in path:
        try:
            data = data[step]
        except (LookupError, TypeError):
            return None
    return data


# What, and what instead


def _explained(error: msgspec.ValidationError, path: Path, missing: bool, data: Any, reader: Reader) -> Finding:
    kind = type_at(reader.written, path)
    if missing:
        return _explain_missing(path, kind, _get(data, path[:-1]), reader)
    return _explain(error, path, kind, _get(data, path))


def _place(path: Path) -> str:
    place = "$"
    for step in path:
        place = f"{place}[{step}]" if isinstance(step, int) else join_path(place, step)
    return place


def _explain(error: msgspec.ValidationError, path: Path, kind: Any, value: Any) -> Finding:
    place = _place(path)
    cause = error.__cause__
    if isinstance(cause, QuantityError):
        return Finding(place, f"{cause.problem}: {found(value)}", f"allowed: {cause.allowed}")
    node = plain(kind)
    if isinstance(node, inspect.LiteralType):
        options = sorted(str(option) for option in node.values)
        return Finding(place, found(value), one_of(options), _meant(value, options))
    counted = isinstance(value, list) and value and isinstance(node, inspect.VarTupleType)
    what = f"found a list of {len(value)}" if counted else found(value)
    return Finding(place, what, f"it must be {describe(node)}", _quotes(node, value))


def _meant(value: Any, options: list[str]) -> str:
    """The option that was meant; in another API its name may be part of this one (`Any`, `ReclaimFromAny`)."""
    text = show(value) if isinstance(value, bool) else value
    near = did_you_mean(text, options)
    if near or not isinstance(text, str) or len(text) < 3:
        return near
    related = [option for option in options if option and (text in option or option in text)]
    return f'did you mean "{related[0]}"?' if len(related) == 1 else ""


def _explain_missing(path: Path, kind: Any, siblings: Any, reader: Reader) -> Finding:
    """A field that is not there, unless it is there in another spelling."""
    owner = plain(type_at(reader.written, path[:-1]))
    known = known_names(owner) if isinstance(owner, inspect.StructType) else set()
    unknown = [name for name in siblings if name not in known] if isinstance(siblings, dict) else []
    near = nearest(str(path[-1]), unknown)
    suggestion = f"{show(near)} is no field here" if near else ""
    return Finding(_place(path), "missing", f"it must be {describe(kind)}", suggestion)


def _quotes(node: Any, value: Any) -> str:
    """YAML's most common surprise: what is in quotes is text, what is not may be something else."""
    options = node.types if isinstance(node, inspect.UnionType) else (node,)
    number = any(isinstance(option, inspect.IntType) for option in options)
    if isinstance(node, inspect.StrType) and isinstance(value, (bool, int)):
        return "put it in quotes"
    if isinstance(value, str) and (
        (number and re.fullmatch(r"-?[0-9]+", value))
        or (isinstance(node, inspect.BoolType) and value in ("true", "false"))
    ):
        return "write it without quotes"
    return ""


def _mend(data: Any, path: Path, kind: Any, error: msgspec.ValidationError) -> bool:
    """Put something valid where the mistake is, so that the next one shows."""
    parent: Any = _get(data, path[:-1])
    if not path or not isinstance(parent, (dict, list)):
        return False
    cause = error.__cause__
    if isinstance(cause, QuantityError) and cause.key is not None:
        cast(Any, parent).pop(path[-1])  # a resource list is valid without any one of its names
    else:
        cast(Any, parent)[path[-1]] = sample(kind)
    return True
