"""What stands where in a manifest: the type at a path, in words, and with something valid to put there."""

from functools import cache
from typing import Any

from msgspec import inspect

from reprieve.model.resources import Quantity

_TIME = "2026-01-01T12:00:00Z"

Path = tuple[str | int, ...]
_type_info = cache(inspect.type_info)


def type_at(root: Any, path: Path) -> Any:
    """The type that stands at `path`, or None when the path leaves what is typed."""
    node: Any = _type_info(root)
    for step in path:
        node = plain(node)
        if isinstance(node, inspect.StructType):
            node = next((item.type for item in node.fields if item.encode_name == step), None)
        elif isinstance(node, inspect.VarTupleType):
            node = node.item_type
        elif isinstance(node, inspect.DictType):
            node = node.value_type
        else:
            return node  # below a quantity or a resource list there is nothing typed
    return node


def plain(node: Any) -> Any:
    """A type without its `| None`."""
    if isinstance(node, inspect.UnionType):
        rest = [option for option in node.types if not isinstance(option, inspect.NoneType)]
        return rest[0] if len(rest) == 1 else node
    return node


def describe(kind: Any) -> str:
    """What a field must be, in words."""
    node = plain(kind)
    match node:
        case inspect.StrType(pattern=pattern):
            return "text" if pattern is None else "a percentage such as 50%"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return _describe_int(node)
        case inspect.DateTimeType():
            return f"a time such as {_TIME}"
        case inspect.VarTupleType():
            return _describe_list(node)
        case inspect.LiteralType():
            return "one of " + ", ".join(sorted(str(option) or '""' for option in node.values))
        case inspect.CustomType(cls=cls):
            return "a quantity such as 500m or 2Gi" if cls is Quantity else "names and quantities, such as {cpu: 500m}"
        case inspect.UnionType():
            return " or ".join(describe(option) for option in node.types if not isinstance(option, inspect.NoneType))
        case inspect.DictType():
            return "names and values, such as {name: value}"
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


def sample(kind: Any) -> Any:
    """Something valid of a type."""
    node = plain(kind)
    match node:
        case inspect.StrType():
            return "1"
        case inspect.BoolType():
            return False
        case inspect.IntType():
            return node.ge or 0
        case inspect.DateTimeType():
            return _TIME
        case inspect.VarTupleType():
            return [sample(node.item_type)] * (node.min_length or 0)
        case inspect.LiteralType():
            return node.values[0]
        case inspect.CustomType(cls=cls):
            return "0" if cls is Quantity else {}
        case inspect.UnionType():
            return sample(node.types[0])
        case inspect.StructType():
            return {item.encode_name: sample(item.type) for item in node.fields if item.required}
        case _:
            return {}
