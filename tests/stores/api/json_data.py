"""Random plain JSON data, with few names, so that documents and patches meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "d/e", "f~g", "", "$patch", "containers", "metadata", "spec", "name"])
PLAIN_NAMES = st.sampled_from(["a", "b", "c", "d/e", "f~g", ""])
SCALARS = st.sampled_from([True, False, 0, 1, -1, 1.5, "", "x", "y"])


def documents(
    names: st.SearchStrategy[str] = PLAIN_NAMES, scalars: st.SearchStrategy[Any] = SCALARS, *, lists: bool = True
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of objects, lists and scalars."""

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        objects = st.dictionaries(names, inner, max_size=3)
        return objects | st.lists(inner, max_size=3) if lists else objects

    return st.dictionaries(names, st.recursive(scalars, larger, max_leaves=8), max_size=4)


ANYTHING = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
