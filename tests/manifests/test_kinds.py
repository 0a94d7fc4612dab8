"""The table of kinds: what its rows have to keep to, and how they are found."""

from __future__ import annotations

from collections import Counter

import pytest

from reprieve.manifests.kinds import KINDS, QUOTA_WORKLOADS, READERS, RESOURCES, WORKLOADS, find_resource, resource_of
from reprieve.manifests.resource import Resource

ROWS = pytest.mark.parametrize("row", RESOURCES.values(), ids=str)
_STABILITY = ("", "beta", "alpha")


def _rank(version: str) -> tuple[int, list[int]]:
    """`v1` comes before `v1beta2`, and that before `v1beta1` and `v1alpha3`."""
    word = version.strip("v0123456789")
    return _STABILITY.index(word), [-int(number) for number in version.removeprefix("v").split(word or None)]


@ROWS
def test_the_preferred_version_is_the_newest(row: Resource) -> None:
    assert list(row.versions) == sorted(row.versions, key=_rank)


@ROWS
def test_every_version_has_a_reader_and_leads_back_to_its_row(row: Resource) -> None:
    for version, written in row.types.items():
        assert READERS[row.in_version(version), row.kind].written is written
        assert resource_of(row.in_version(version), row.kind) is row
    assert resource_of(row.in_version("v7"), row.kind) is None


@ROWS
def test_a_row_is_found_by_all_its_names_with_its_group(row: Resource) -> None:
    for word in (row.plural, row.kind, row.kind.upper(), *row.short_names):
        found = find_resource(f"{word}.{row.group}" if row.group else word)
        assert found is row


@ROWS
def test_defaults_and_columns_are_of_what_the_type_has(row: Resource) -> None:
    """A default for a field that nobody has would be written into every object, and never read."""
    assert set(row.defaults) <= {"spec", *row.newest.__struct_encode_fields__}
    assert len({column.name for column in row.columns}) == len(row.columns)


def test_no_short_name_means_two_kinds() -> None:
    names = Counter(name for row in RESOURCES.values() for name in {*row.short_names, row.plural})
    assert [name for name, times in names.items() if times > 1] == ["workloads"]


@pytest.mark.parametrize("word", ["workload", "Workloads", "wl"])
def test_a_workload_is_the_one_that_waits_in_queues_unless_said_otherwise(word: str) -> None:
    assert find_resource(word) is QUOTA_WORKLOADS
    assert find_resource("workloads.scheduling") is WORKLOADS


@pytest.mark.parametrize("word", ["", "podz", "pods.batch", "s"])
def test_what_nobody_is_called(word: str) -> None:
    assert find_resource(word) is None


def test_a_kind_has_or_has_no_namespace_in_all_groups() -> None:
    """Units are written without their group: `Workload/default/a`."""
    assert len({(row.kind, row.namespaced) for row in RESOURCES.values()}) == len(KINDS)
