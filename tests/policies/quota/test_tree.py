"""The quota tree, whatever cohorts say of each other: admission may never have seen them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from random import Random

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kueue import DEEPEST_COHORTS, ClusterQueue, ClusterQueueSpec, Cohort, CohortSpec
from reprieve.manifests.meta import ObjectMeta
from reprieve.policies.quota.tree import plant
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World


def _cohort(name: str, parent: str) -> Cohort:
    return Cohort(metadata=ObjectMeta(name=name), spec=CohortSpec(parent_name=parent))


def _queue(cohort: str) -> ClusterQueue:
    return ClusterQueue(metadata=ObjectMeta(name="q"), spec=ClusterQueueSpec(cohort_name=cohort))


@pytest.mark.parametrize("seed", range(5))
def test_cohorts_that_stand_too_deep_are_cut_off(seed: int) -> None:
    names = [f"c{number}" for number in range(1_500)]
    Random(seed).shuffle(names)  # noqa: S311
    cohorts = [_cohort(name, parent) for name, parent in zip(names, [*names[1:], ""], strict=True)]
    queue = plant(World([*cohorts, _queue(names[0])]))["q"]
    assert 0 < len(list(queue.path())) <= DEEPEST_COHORTS
    assert queue.root.height <= DEEPEST_COHORTS


def test_as_many_as_may_be_stand_above_each_other() -> None:
    cohorts = [_cohort(f"c{number}", f"c{number + 1}") for number in range(DEEPEST_COHORTS - 1)]
    queue = plant(World([*cohorts, _queue("c0")]))["q"]
    assert [node.name for node in queue.path()] == [f"c{number}" for number in range(DEEPEST_COHORTS)]


def test_circles_are_cut_open() -> None:
    queue = plant(World([_cohort("a", "b"), _cohort("b", "c"), _cohort("c", "b"), _queue("a")]))["q"]
    assert [node.name for node in queue.path()] == ["a", "b", "c"]


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
def test_a_tree_that_was_replaced_is_gone_at_once() -> None:
    world = World([_cohort("a", "b"), _cohort("b", ""), _queue("a")])
    quota = QuotaWorld(world, Settings())
    before = [weakref.ref(node) for node in (quota.queues["q"], *quota.queues["q"].path())]
    world.put(_cohort("c", "b"))
    quota.sync()
    assert [node() for node in before] == [None, None, None]


@pytest.mark.usefixtures("no_garbage_collection")
def test_who_knows_a_queue_of_a_tree_that_was_replaced_can_still_tell_where_it_stood() -> None:
    world = World([_cohort("a", "b"), _cohort("b", ""), _queue("a")])
    quota = QuotaWorld(world, Settings())
    queue = quota.queues["q"]
    world.put(_cohort("c", "b"))
    quota.sync()
    assert quota.queues["q"] is not queue
    assert [node.name for node in queue.path()] == ["a", "b"]
