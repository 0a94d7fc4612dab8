"""Laws of strategic merge patches, over random documents and lists of containers."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reprieve.manifests.kinds import PODS
from reprieve.stores.api.patches import merge_patch
from reprieve.stores.api.strategic import strategic_merge
from tests.stores.api.json_data import SCALARS, documents
from tests.stores.api.test_strategic import container, order, pod

Dict = dict[str, Any]

NAMES = st.sampled_from("abcdef")


@st.composite
def lists_of_containers(draw: st.DrawFn, names: st.SearchStrategy[str] = NAMES) -> list[Dict]:
    chosen = draw(st.lists(names, unique=True, max_size=6))
    return [container(name, image=draw(st.sampled_from("123"))) for name in chosen]


@given(documents(lists=False), documents(scalars=SCALARS | st.none(), lists=False))
def test_without_lists_it_is_a_merge_patch(document: Dict, patch: Dict) -> None:
    assert strategic_merge(document, patch, PODS) == merge_patch(document, patch)


@given(lists_of_containers(), lists_of_containers())
def test_merging_twice_is_merging_once(current: list[Dict], patch: list[Dict]) -> None:
    once = strategic_merge(pod(*current), pod(*patch), PODS)
    assert strategic_merge(once, pod(*patch), PODS) == once


@given(lists_of_containers(), lists_of_containers())
def test_nobody_is_lost_and_nobody_is_there_twice(current: list[Dict], patch: list[Dict]) -> None:
    before = copy.deepcopy((current, patch))
    merged = strategic_merge(pod(*current), pod(*patch), PODS)["spec"]["containers"]
    want = {item["name"]: item for item in [*current, *patch]}
    assert sorted(merged, key=lambda item: str(item["name"])) == [want[name] for name in sorted(want)]
    assert (current, patch) == before


@given(lists_of_containers(), lists_of_containers())
def test_items_stand_in_the_order_of_the_patch_and_others_as_before(current: list[Dict], patch: list[Dict]) -> None:
    merged = [item["name"] for item in strategic_merge(pod(*current), pod(*patch), PODS)["spec"]["containers"]]
    patched = [item["name"] for item in patch]
    assert [name for name in merged if name in patched] == patched
    others = [item["name"] for item in current if item["name"] not in patched]
    assert [name for name in merged if name not in patched] == others


@given(lists_of_containers(), lists_of_containers())
def test_a_difference_with_an_order_gives_the_other_list(before: list[Dict], after: list[Dict]) -> None:
    """What kubectl works out: deletions, everything that is new or changed, and the order of all."""
    gone = [{"$patch": "delete", "name": name} for name in names(before) - names(after)]
    patch = {"spec": {"containers": [*(item for item in after if item not in before), *gone], **order(*listed(after))}}
    assert strategic_merge(pod(*before), patch, PODS)["spec"]["containers"] == after


def listed(containers: list[Dict]) -> list[str]:
    return [item["name"] for item in containers]


def names(containers: list[Dict]) -> set[str]:
    return set(listed(containers))
