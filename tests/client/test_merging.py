"""The three-way merge of `apply`: what is gone from the manifest goes, what others set stays."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.client.applying import merged
from reprieve.manifests.kinds import PODS
from reprieve.manifests.resource import Field
from reprieve.stores.api.patches import merge_patch
from reprieve.stores.writing import merge_patch_between

POD = Field(fields=PODS.merge_keys)
ONE = {"name": "one", "image": "a"}
FILLED = {"name": "one", "image": "a", "pull": "Always"}
TWO = {"name": "two", "image": "b"}


@pytest.mark.parametrize(
    ("before", "now", "there", "want"),
    [
        pytest.param({}, {"a": 1}, {"b": 2}, {"b": 2, "a": 1}, id="what others set stays"),
        pytest.param({"a": 1}, {}, {"a": 1, "b": 2}, {"b": 2}, id="what is no longer applied goes"),
        pytest.param({"a": 1}, {"a": 3}, {"a": 2}, {"a": 3}, id="what is applied wins over a change in between"),
        pytest.param(
            {"m": {"a": 1, "b": 1}},
            {"m": {"a": 1}},
            {"m": {"a": 1, "b": 1, "c": 1}},
            {"m": {"a": 1, "c": 1}},
            id="deep down too",
        ),
        pytest.param({}, {"a": None}, {"a": 1}, {}, id="null removes"),
        pytest.param(
            {},
            {"l": [{"x": 1}]},
            {"l": [{"x": 1, "y": 2}]},
            {"l": [{"x": 1, "y": 2}]},
            id="what the server filled in stays",
        ),
        pytest.param(
            {"l": [{"x": 1, "y": 2}]},
            {"l": [{"x": 1}]},
            {"l": [{"x": 1, "y": 2}]},
            {"l": [{"x": 1}]},
            id="in lists what was applied goes",
        ),
        pytest.param({}, {"l": [1, 3]}, {"l": [1, 2]}, {"l": [1, 3]}, id="other lists are replaced"),
    ],
)
def test_three_ways_make_one(before: Any, now: Any, there: Any, want: Any) -> None:
    assert merged(before, now, there) == want
    assert merge_patch(there, merge_patch_between(there, want)) == want


@pytest.mark.parametrize(
    ("before", "now", "there", "want"),
    [
        pytest.param([], [ONE], [FILLED], [FILLED], id="one of a name is merged"),
        pytest.param([ONE, TWO], [ONE], [FILLED, TWO], [FILLED], id="one that is no longer applied goes"),
        pytest.param([ONE], [ONE], [FILLED, TWO], [FILLED, TWO], id="one that others added stays"),
        pytest.param([ONE], [TWO, ONE], [FILLED], [TWO, FILLED], id="a new one comes where it is written"),
    ],
)
def test_containers_are_merged_by_name(before: Any, now: Any, there: Any, want: Any) -> None:
    def pod(containers: Any) -> dict[str, Any]:
        return {"spec": {"containers": containers}}

    assert merged(pod(before), pod(now), pod(there), POD) == pod(want)


def test_finalizers_are_a_set_to_which_others_add() -> None:
    def of(*names: str) -> dict[str, Any]:
        return {"metadata": {"finalizers": list(names)}}

    assert merged(of("mine", "old"), of("mine"), of("old", "mine", "theirs"), POD) == of("mine", "theirs")


def test_a_list_that_is_merely_reordered_is_not_mixed() -> None:
    there = {"l": [{"x": 1, "default": 1}, {"x": 2, "default": 2}]}
    assert merged({}, {"l": [{"x": 2}, {"x": 1}]}, there) == {"l": [{"x": 2}, {"x": 1}]}


def test_nothing_changed_is_an_empty_patch() -> None:
    there = {"a": {"b": [1, {"c": 2}]}, "d": None}
    assert merge_patch_between(there, there) == {}
