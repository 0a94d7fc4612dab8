"""JSON Patch: what each operation does, and what is said when it cannot."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.stores.api import json_patch as module
from reprieve.stores.api.json_patch import BadPatch, PatchFailed, json_patch
from reprieve.stores.errors import TooLarge
from tests.stores.api.json_data import ANYTHING, documents

Operations = list[dict[str, Any]]

APPLIED: list[tuple[str, Any, Operations, Any]] = [
    ("a member is added", {"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
    ("adding what is there replaces it", {"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
    ("an item is inserted", {"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
    ("an item is inserted at the end", {"a": [1]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
    ("an item is appended", {"a": [1]}, [{"op": "add", "path": "/a/-", "value": [2]}], {"a": [1, [2]]}),
    ("null is a value", {"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
    ("the whole document is replaced", {"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
    ("a member is removed", {"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
    ("an item is removed", {"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/1"}], {"a": [1, 3]}),
    ("a member is replaced", {"a": {"b": 1}}, [{"op": "replace", "path": "/a/b", "value": 2}], {"a": {"b": 2}}),
    ("an item is replaced", {"a": [1, 2]}, [{"op": "replace", "path": "/a/0", "value": 0}], {"a": [0, 2]}),
    ("a member is moved", {"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
    ("an item is moved", {"a": [1, 2, 3]}, [{"op": "move", "from": "/a/0", "path": "/a/2"}], {"a": [2, 3, 1]}),
    ("a part becomes the document", {"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": ""}], {"b": 1}),
    ("moving to the same place", {"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
    ("a member is copied", {"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    ("the document is copied", {"a": 1}, [{"op": "copy", "from": "", "path": "/b"}], {"a": 1, "b": {"a": 1}}),
    ("a slash in a name", {"a/b": 1}, [{"op": "remove", "path": "/a~1b"}], {}),
    ("a tilde in a name", {"a~b": 1}, [{"op": "remove", "path": "/a~0b"}], {}),
    ("a name that looks escaped", {"~1": 1, "/": 2}, [{"op": "remove", "path": "/~01"}], {"/": 2}),
    ("an empty name", {"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
    ("a number is a name in an object", {"a": {"0": 1}}, [{"op": "remove", "path": "/a/0"}], {"a": {}}),
    ("a test that holds", {"a": {"b": [1, "x"]}}, [{"op": "test", "path": "/a", "value": {"b": [1.0, "x"]}}], ...),
    ("unknown members mean nothing", {"a": 1}, [{"op": "remove", "path": "/a", "why": "because"}], {}),
    (
        "one after the other",
        {"a": [1]},
        [{"op": "add", "path": "/b", "value": {}}, {"op": "move", "from": "/a", "path": "/b/c"}],
        {"b": {"c": [1]}},
    ),
    (
        "what was copied is apart",
        {"a": {"x": 1}},
        [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "replace", "path": "/b/x", "value": 2}],
        {"a": {"x": 1}, "b": {"x": 2}},
    ),
]


@pytest.mark.parametrize(
    ("document", "operations", "want"), [case[1:] for case in APPLIED], ids=[c[0] for c in APPLIED]
)
def test_operations(document: Any, operations: Operations, want: Any) -> None:
    assert json_patch(document, operations) == (document if want is ... else want)


DOCUMENT = {"a": [1, 2], "spec": {"nodeName": "n1"}, "empty": [], "one": 1}
FAILED: list[tuple[dict[str, Any], str]] = [
    ({"op": "remove", "path": "/b"}, 'operation 1 (remove "/b"): there is no "b" in the document'),
    (
        {"op": "replace", "path": "/spec/nodename", "value": 1},
        'operation 1 (replace "/spec/nodename"): there is no "nodename" in "/spec"; did you mean "nodeName"?',
    ),
    ({"op": "add", "path": "/x/y", "value": 1}, 'operation 1 (add "/x/y"): there is no "x" in the document'),
    (
        {"op": "add", "path": "/a/3", "value": 1},
        'operation 1 (add "/a/3"): "3" is out of bounds in "/a"; allowed: 0 to 2',
    ),
    (
        {"op": "remove", "path": "/a/2"},
        'operation 1 (remove "/a/2"): "2" is out of bounds in "/a"; allowed: 0 to 1',
    ),
    (
        {"op": "remove", "path": "/empty/0"},
        'operation 1 (remove "/empty/0"): "0" is out of bounds in "/empty"; allowed: none, it is empty',
    ),
    ({"op": "remove", "path": "/a/-"}, 'operation 1 (remove "/a/-"): "-" is no index in "/a"; allowed: 0 to 1'),
    ({"op": "remove", "path": "/a/01"}, 'operation 1 (remove "/a/01"): "01" is no index in "/a"; allowed: 0 to 1'),
    ({"op": "remove", "path": "/a/-1"}, 'operation 1 (remove "/a/-1"): "-1" is no index in "/a"; allowed: 0 to 1'),
    ({"op": "remove", "path": "/a/٠"}, 'operation 1 (remove "/a/٠"): "٠" is no index in "/a"; allowed: 0 to 1'),
    (
        {"op": "add", "path": "/one/x", "value": 1},
        'operation 1 (add "/one/x"): "/one" is 1, so that there is no "x" in it',
    ),
    ({"op": "move", "from": "/b", "path": "/b"}, 'operation 1 (move "/b"): there is no "b" in the document'),
    ({"op": "copy", "from": "/b", "path": "/c"}, 'operation 1 (copy "/c"): there is no "b" in the document'),
    ({"op": "remove", "path": ""}, 'operation 1 (remove ""): the whole document cannot be removed; name a part of it'),
    (
        {"op": "test", "path": "/spec/nodeName", "value": "n2"},
        'operation 1 (test "/spec/nodeName"): the test fails: there is "n1", and it expects "n2"',
    ),
    (
        {"op": "test", "path": "/one", "value": True},
        'operation 1 (test "/one"): the test fails: there is 1, and it expects true',
    ),
]


@pytest.mark.parametrize(("operation", "want"), FAILED)
def test_what_does_not_apply_says_why(operation: dict[str, Any], want: str) -> None:
    with pytest.raises(PatchFailed) as failure:
        json_patch(DOCUMENT, [operation])
    assert str(failure.value) == want
    assert failure.value.code == 422


def test_an_index_with_very_many_digits_is_out_of_bounds() -> None:
    with pytest.raises(PatchFailed, match="out of bounds"):
        json_patch(DOCUMENT, [{"op": "remove", "path": "/a/" + "9" * 10_000}])


MALFORMED: list[tuple[Any, str]] = [
    (
        {"op": "add"},
        'a JSON patch is a list of operations, such as [{"op": "remove", "path": "/a"}]; this is an object',
    ),
    ([1], "operation 1: an operation is an object with op and path; this is 1"),
    ([{"path": "/a"}], "operation 1: op is null; allowed: add, replace, test, remove, move, copy"),
    (
        [{"op": "Remove", "path": "/a"}],
        'operation 1: op is "Remove"; allowed: add, replace, test, remove, move, copy; did you mean "remove"?',
    ),
    ([{"op": ["add"], "path": "/a"}], "operation 1: op is a list; allowed: add, replace, test, remove, move, copy"),
    ([{"op": "add"}], 'operation 1 (add): path is null; it must be a text such as "/spec/nodeName"'),
    ([{"op": "add", "path": "a"}], 'operation 1 (add): path must start with "/"; did you mean "/a"?'),
    (
        [{"op": "test", "path": "/a", "value": [1, 2]}, {"op": "add", "path": "/a~2"}],
        'operation 2 (add): path has a "~" that means nothing in "a~2"; write ~0 for ~ and ~1 for /',
    ),
    ([{"op": "add", "path": "/a"}], 'operation 1 (add "/a"): "value" is missing; add needs it'),
    ([{"op": "move", "path": "/a"}], 'operation 1 (move "/a"): "from" is missing; move needs it'),
    (
        [{"op": "copy", "path": "/a", "from": 1}],
        'operation 1 (copy "/a"): from is 1; it must be a text such as "/spec/nodeName"',
    ),
    (
        [{"op": "move", "path": "/a/0", "from": "/a"}],
        'operation 1 (move "/a/0"): nothing can be moved into itself; from must not be a part of path',
    ),
]


@pytest.mark.parametrize(("operations", "want"), MALFORMED)
def test_what_is_malformed_says_what_would_be_right(operations: Any, want: str) -> None:
    with pytest.raises(BadPatch) as failure:
        json_patch(DOCUMENT, operations)
    assert str(failure.value) == want
    assert failure.value.code == 400


def test_too_many_operations() -> None:
    operations = [{"op": "test", "path": "/one", "value": 1}] * (module.MOST_OPERATIONS + 1)
    assert json_patch(DOCUMENT, operations[1:]) == DOCUMENT
    with pytest.raises(TooLarge, match="at most 10000 operations; this one has 10001"):
        json_patch(DOCUMENT, operations)


def test_too_many_steps() -> None:
    operations = [{"op": "add", "path": "/a" * 100, "value": 1}] * (module.MOST_STEPS // 100 + 1)
    with pytest.raises(TooLarge, match="at most 100000 steps; these have 100100"):
        json_patch(DOCUMENT, operations)


def test_copies_that_double_the_document_are_stopped() -> None:
    operations = [{"op": "copy", "from": "", "path": f"/copy{number}"} for number in range(100)]
    with pytest.raises(TooLarge, match="a JSON patch copies at most 3145728 bytes"):
        json_patch(DOCUMENT, operations)


# Laws


def difference(before: Any, after: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Operations that make one document of another, worked out the simple way."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            inner = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                yield {"op": "remove", "path": inner}
            elif name not in before:
                yield {"op": "add", "path": inner, "value": after[name]}
            else:
                yield from difference(before[name], after[name], inner)
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(min(len(before), len(after))):
            yield from difference(before[place], after[place], f"{path}/{place}")
        yield from ({"op": "remove", "path": f"{path}/{len(after)}"} for _ in before[len(after) :])
        yield from ({"op": "add", "path": f"{path}/-", "value": value} for value in after[len(before) :])
    else:
        yield {"op": "replace", "path": path, "value": after}


@given(documents(), documents())
def test_a_difference_that_is_applied_gives_the_other_document(before: dict[str, Any], after: dict[str, Any]) -> None:
    operations = list(difference(before, after))
    assert json_patch(before, [*operations, {"op": "test", "path": "", "value": after}]) == after


PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "d~1e", ""]), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": PATHS},
        optional={"from": PATHS, "value": ANYTHING},
    ),
    max_size=5,
)


@given(documents(), OPERATIONS)
def test_nothing_that_is_given_changes_whether_it_applies_or_not(document: dict[str, Any], operations: Any) -> None:
    given_document, given_operations = copy.deepcopy(document), copy.deepcopy(operations)
    with contextlib.suppress(BadPatch, PatchFailed):
        _scribble(json_patch(document, operations))
    assert (document, operations) == (given_document, given_operations)


def _scribble(value: Any) -> None:
    """Change a result everywhere, which must be seen nowhere else."""
    for inner in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        _scribble(inner)
    if isinstance(value, dict | list):
        value.clear()


@given(ANYTHING | st.lists(ANYTHING, max_size=3))
def test_whatever_is_sent_there_is_an_answer(operations: Any) -> None:
    with contextlib.suppress(BadPatch, PatchFailed):
        assert json_patch(DOCUMENT, operations) == DOCUMENT


def test_a_patch_does_not_move_a_long_list_again_and_again() -> None:
    front = [{"op": "add", "path": "/a/0", "value": 0}] * 9_000
    began = time.process_time()
    with pytest.raises(TooLarge, match="moves at most 10000000 items of lists; operation 9 goes beyond"):
        json_patch({"a": [0] * 1_200_000}, front)
    with pytest.raises(TooLarge, match="moves at most"):
        json_patch({"a": [0] * 1_200_000}, [{"op": "remove", "path": "/a/0"}] * 9_000)
    assert time.process_time() - began < 0.5
    assert json_patch({"a": []}, [{"op": "add", "path": "/a/-", "value": 0}] * 9_000) == {"a": [0] * 9_000}
