"""Random objects of a kind in a version, as plain data: made from the very types that they are read as."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from reprieve.manifests.resource import Resource
from reprieve.manifests.shapes import plain
from reprieve.model.resources import Quantity

WORDS = st.sampled_from(["a", "b", "c-1"])
AMOUNTS = st.sampled_from(["0", "1", "500m", "2Gi", "1e3", 3])
TIME = "2026-01-01T12:00:00Z"


def objects(resource: Resource, version: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object that can be read, with fields that no decision reads beside those that some do."""
    written = inspect.type_info(resource.types[version])
    assert isinstance(written, inspect.StructType)
    parts = {item.encode_name: values(item.type) for item in written.fields if item.encode_name != "metadata"}
    required = {item.encode_name for item in written.fields if item.required}
    return st.builds(
        lambda said, metadata: {
            **said,
            "apiVersion": resource.in_version(version),
            "kind": resource.kind,
            "metadata": metadata,
        },
        st.fixed_dictionaries(
            {name: part for name, part in parts.items() if name in required},
            optional={name: part for name, part in parts.items() if name not in required},
        ),
        st.fixed_dictionaries({"name": WORDS}, optional={"annotations": st.dictionaries(WORDS, WORDS, min_size=1)}),
    )


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: C901 - one case for each kind of type
    node = plain(kind)
    match node:
        case inspect.StrType(pattern=None):
            return WORDS
        case inspect.StrType():
            return st.just("50%")
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(node.ge if node.ge is not None else -5, (node.ge or 0) + 5)
        case inspect.DateTimeType():
            return st.just(TIME)
        case inspect.LiteralType():
            return st.sampled_from(sorted(map(str, node.values)))
        case inspect.CustomType(cls=cls):
            return AMOUNTS if cls is Quantity else st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS)
        case inspect.VarTupleType():
            least = node.min_length or 0
            return st.lists(values(node.item_type), min_size=least, max_size=max(least, min(node.max_length or 2, 2)))
        case inspect.DictType():
            return st.dictionaries(WORDS, values(node.value_type), max_size=2)
        case inspect.UnionType():
            return st.one_of([values(each) for each in node.types if not isinstance(each, inspect.NoneType)])
        case inspect.StructType():
            return _struct(node)
        case _:
            return WORDS


def _struct(node: inspect.StructType) -> st.SearchStrategy[dict[str, Any]]:
    if node.cls.__name__ == "PodSpec":
        return st.just({"containers": [{"name": "main"}], "restartPolicy": "Never"})
    required = {item.encode_name: values(item.type) for item in node.fields if item.required}
    optional = {item.encode_name: values(item.type) for item in node.fields if not item.required}
    return st.fixed_dictionaries(required, optional={**optional, "unreadByAnybody": WORDS})
