"""Merge patches, and which patch is meant by which media type."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, get_args

import pytest
from hypothesis import given

from reprieve.manifests.kinds import CLUSTER_QUEUES, CLUSTERS, PODS
from reprieve.manifests.resource import Resource
from reprieve.stores.api.json_patch import BadPatch, PatchFailed
from reprieve.stores.api.patches import MEDIA_TYPES, UnsupportedPatch, apply_patch, merge_patch, patch_type
from reprieve.stores.protocol import PatchType
from tests.stores.api.json_data import ANYTHING, SCALARS, documents

Dict = dict[str, Any]

# Documents, patches and results of RFC 7386, and a few more.
MERGES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
    ({"a": 1}, {"a": [None, {"b": None}]}, {"a": [None, {"b": None}]}),
]


@pytest.mark.parametrize(("document", "patch", "want"), MERGES)
def test_a_merge_patch(document: Any, patch: Any, want: Any) -> None:
    assert merge_patch(document, patch) == want


WITH_NULLS = documents(scalars=SCALARS | SCALARS.map(lambda _: None))


@given(documents(), WITH_NULLS)
def test_merging_twice_is_merging_once(document: Dict, patch: Dict) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(documents(), WITH_NULLS)
def test_a_merge_changes_nothing_that_it_is_given(document: Dict, patch: Dict) -> None:
    before = copy.deepcopy((document, patch))
    merge_patch(document, patch)
    assert (document, patch) == before


@given(documents())
def test_a_patch_that_says_nothing_changes_nothing(document: Dict) -> None:
    assert merge_patch(document, {}) == document


def difference(before: Any, after: Any) -> Any:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    changed = {name: difference(before.get(name), value) for name, value in after.items()}
    return dict.fromkeys(before.keys() - after.keys()) | changed


@given(documents(), documents())
def test_a_difference_that_is_merged_gives_the_other_document(before: Dict, after: Dict) -> None:
    assert merge_patch(before, difference(before, after)) == after


# Media types


def test_every_patch_type_has_its_media_type() -> None:
    assert set(MEDIA_TYPES.values()) == set(get_args(PatchType))


def test_case_and_parameters_of_a_media_type_do_not_matter() -> None:
    assert patch_type("Application/Merge-Patch+JSON; charset=utf-8") == "merge"


def test_another_media_type_is_refused_with_those_that_are_allowed() -> None:
    with pytest.raises(UnsupportedPatch) as failure:
        patch_type("application/json")
    assert failure.value.code == 415
    assert failure.value.message == (
        'the media type of the patch is "application/json"; allowed: application/json-patch+json, '
        "application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"
    )


CONDITIONS = {"status": {"conditions": [{"type": "A", "status": "True"}]}}
ONE_MORE = {"status": {"conditions": [{"type": "B", "status": "True"}]}}


@pytest.mark.parametrize(
    ("kind", "patch", "want"),
    [
        ("json", [{"op": "add", "path": "/status/conditions/0/status", "value": "False"}], {"A": "False"}),
        ("merge", ONE_MORE, {"B": "True"}),
        ("strategic", ONE_MORE, {"B": "True", "A": "True"}),
        ("apply", ONE_MORE, {"B": "True", "A": "True"}),
    ],
)
def test_each_type_of_patch_treats_a_list_in_its_own_way(kind: PatchType, patch: Any, want: dict[str, str]) -> None:
    patched = apply_patch(CONDITIONS, patch, kind, PODS)
    assert {item["type"]: item["status"] for item in patched["status"]["conditions"]} == want


@pytest.mark.parametrize("resource", [CLUSTER_QUEUES, CLUSTERS])
def test_custom_resources_take_no_strategic_patch(resource: Resource) -> None:
    with pytest.raises(UnsupportedPatch) as failure:
        apply_patch(CONDITIONS, ONE_MORE, "strategic", resource)
    assert failure.value.code == 415
    assert failure.value.message == (
        f"{resource.full_name} takes no strategic merge patch; allowed: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml"
    )


def test_custom_resources_are_applied_with_their_conditions_merged() -> None:
    patched = apply_patch(CONDITIONS, ONE_MORE, "apply", CLUSTER_QUEUES)
    assert [item["type"] for item in patched["status"]["conditions"]] == ["B", "A"]


def test_what_is_applied_for_the_first_time_is_made_without_its_nulls() -> None:
    sent = {
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {"containers": [{"name": "c", "image": None}]},
    }
    made = apply_patch(None, sent, "apply", PODS)
    assert made == {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}


def test_a_null_that_is_applied_removes_nothing() -> None:
    document = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert apply_patch(document, {"metadata": {"creationTimestamp": None}}, "apply", PODS) == document


@pytest.mark.parametrize("kind", ["json", "merge", "strategic"])
def test_only_apply_makes_an_object(kind: PatchType) -> None:
    with pytest.raises(PatchFailed, match="only an apply patch makes a new object"):
        apply_patch(None, {}, kind, PODS)


@pytest.mark.parametrize("kind", ["merge", "strategic", "apply"])
@pytest.mark.parametrize("patch", [None, 1, "text", [{"op": "remove", "path": "/a"}]])
def test_a_patch_of_fields_must_be_an_object(kind: PatchType, patch: Any) -> None:
    with pytest.raises(BadPatch, match=f"a {kind} patch is an object with the fields to change"):
        apply_patch({}, patch, kind, PODS)


def test_an_object_has_to_remain_an_object() -> None:
    with pytest.raises(PatchFailed, match="the patch leaves 5; an object has to remain an object"):
        apply_patch({"a": 1}, [{"op": "replace", "path": "", "value": 5}], "json", PODS)


def nested(levels: int) -> Dict:
    made: Dict = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize("kind", ["merge", "strategic", "apply"])
def test_a_patch_that_is_nested_too_deeply(kind: PatchType) -> None:
    with pytest.raises(BadPatch, match="nested too deeply"):
        apply_patch({}, nested(50_000), kind, PODS)


def test_operations_that_nest_too_deeply() -> None:
    deep = [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 1000)]
    with pytest.raises(BadPatch, match="nested too deeply; allowed: 200 levels"):
        apply_patch({}, deep, "json", PODS)
    assert apply_patch({}, deep[:150], "json", PODS) == nested(150)


@pytest.mark.parametrize("kind", get_args(PatchType))
@given(document=documents(), patch=ANYTHING)
def test_whatever_is_sent_there_is_an_object_or_an_answer(kind: PatchType, document: Dict, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    with contextlib.suppress(BadPatch, PatchFailed):
        assert isinstance(apply_patch(document, patch, kind, PODS), dict)
    assert (document, patch) == before
