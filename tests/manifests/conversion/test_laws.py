"""Over random objects of every kind with several versions: nothing is lost on the way to another version and back."""

from __future__ import annotations

import copy
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reprieve.manifests.conversion import KEPT_FIELDS, convert
from reprieve.manifests.kinds import CLUSTER_QUEUES, READERS, RESOURCES
from reprieve.manifests.resource import Resource
from tests.generators.objects_of_kinds import objects

PAIRS = [(row, one, other) for row in RESOURCES.values() for one, other in permutations(row.versions, 2)]
ALIKE = [(row, one, other) for row, one, other in PAIRS if row.types[one] is row.types[other]]


def named(value: Any) -> str:
    return value.full_name if isinstance(value, Resource) else str(value)


FEW = settings(max_examples=25, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
"""There are many pairs, and what a failure shows is small enough as it is."""


@pytest.mark.parametrize(("resource", "one", "other"), PAIRS, ids=named)
@FEW
@given(data=st.data())
def test_to_another_version_and_back_is_the_same_object(
    resource: Resource, one: str, other: str, data: st.DataObject
) -> None:
    own = data.draw(objects(resource, one))
    before = copy.deepcopy(own)
    there = convert(resource, own, resource.in_version(other))
    assert own == before, "what is converted is not changed"
    assert there["apiVersion"] == resource.in_version(other)
    assert convert(resource, there, resource.in_version(one)) == own


@pytest.mark.parametrize(("resource", "one", "other"), PAIRS, ids=named)
@FEW
@given(data=st.data())
def test_what_is_seen_in_another_version_can_be_read_there(
    resource: Resource, one: str, other: str, data: st.DataObject
) -> None:
    there = convert(resource, data.draw(objects(resource, one)), resource.in_version(other))
    old_lists = (there.get("spec", {}).get(name, ["one"]) for name in ("podGroups", "podGroupTemplates"))
    if resource.group == "scheduling.k8s.io" and not all(1 <= len(groups) <= 8 for groups in old_lists):
        return  # without templates, which admission refuses, or a tree with more of them than old versions list
    READERS[there["apiVersion"], resource.kind].convert(there)


@pytest.mark.parametrize(("resource", "one", "other"), PAIRS, ids=named)
@FEW
@given(data=st.data())
def test_it_goes_by_way_of_any_third_version(resource: Resource, one: str, other: str, data: st.DataObject) -> None:
    own = data.draw(objects(resource, one))
    third = resource.in_version(data.draw(st.sampled_from(resource.versions)))
    there = convert(resource, own, resource.in_version(other))
    beyond = convert(resource, there, third)
    back = convert(resource, convert(resource, beyond, there["apiVersion"]), own["apiVersion"])
    assert _without_kept(back) == _without_kept(own)


@pytest.mark.parametrize(("resource", "one", "other"), ALIKE, ids=named)
@FEW
@given(data=st.data())
def test_versions_that_are_spelled_alike_keep_nothing_apart(
    resource: Resource, one: str, other: str, data: st.DataObject
) -> None:
    own = data.draw(objects(resource, one))
    assert convert(resource, own, resource.in_version(other)) == {**own, "apiVersion": resource.in_version(other)}


def _without_kept(data: dict[str, Any]) -> dict[str, Any]:
    annotations = {name: text for name, text in data["metadata"].get("annotations", {}).items() if name != KEPT_FIELDS}
    return {**data, "metadata": {**data["metadata"], "annotations": annotations}}


def test_what_a_version_does_not_have_is_not_taken_for_what_another_one_has() -> None:
    kept = "kueue.x-k8s.io/v1beta2"
    old: dict[str, Any] = {"apiVersion": "kueue.x-k8s.io/v1alpha2", "kind": "ClusterQueue", "metadata": {"name": "a"}}
    found = convert(CLUSTER_QUEUES, {**old, "spec": {"cohort": "all", "resourceGroups": ["PodGroup"]}}, kept)
    assert found["spec"].get("cohortName") == "all"
    assert convert(CLUSTER_QUEUES, found, old["apiVersion"])["spec"]["cohort"] == "all"
