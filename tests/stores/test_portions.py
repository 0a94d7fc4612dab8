"""After so many objects, or so many bytes of them, others have their turn."""

from __future__ import annotations

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.stores.portions import Portions
from reprieve.stores.records import Record


def record(size: int) -> Record:
    raw = b'{"metadata": {"name": "a"}, "data": {"a": "' + b"x" * size + b'"}}'
    return Record(CONFIG_MAPS, raw, namespace="default", name="a", uid="a", version=1)


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [
        ([10] * 7, [3, 6]),
        ([70_000] * 3, [1, 2, 3]),
        ([10, 70_000, 10, 10, 10], [2, 5]),
        ([40_000] * 4, [2, 4]),
    ],
)
def test_a_portion_ends_with_the_third_object_or_with_the_one_that_makes_it_large(
    sizes: list[int], ends: list[int]
) -> None:
    portions = Portions(3)
    assert [number for number, size in enumerate(sizes, 1) if portions.full(record(size))] == ends
