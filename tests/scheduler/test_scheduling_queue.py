"""The scheduling queue: its order, its three parts, and what moves a unit between them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.scheduler.scheduling_queue import LONGEST_UNSCHEDULABLE, SchedulingQueue


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def key(name: str) -> str:
    return f"ResourceBinding/default/{name}"


def queue_of(*names: tuple[str, int]) -> tuple[SchedulingQueue, Clock]:
    """Pushed in this order, a second apart."""
    clock = Clock()
    queue = SchedulingQueue(clock)
    for name, priority in names:
        queue.push(key(name), priority)
        clock.now += 1
    return queue, clock


def drain(queue: SchedulingQueue) -> list[str]:
    taken = []
    while (found := queue.pop()) is not None:
        taken.append(found.rpartition("/")[2])
        queue.done(found)
    return taken


def popped(queue: SchedulingQueue) -> str:
    found = queue.pop()
    assert found is not None
    return found.rpartition("/")[2]


def test_the_highest_priority_comes_first_then_whoever_came_first() -> None:
    queue, _ = queue_of(("a", 0), ("b", 5), ("c", 5), ("d", -1))
    assert drain(queue) == ["b", "c", "a", "d"]


def test_cluster_scoped_bindings_wait_in_the_same_queue() -> None:
    queue, _ = queue_of(("a", 0))
    queue.push("ClusterResourceBinding//b", 1)
    assert drain(queue) == ["b", "a"]


def test_a_binding_is_queued_only_once_and_keeps_its_turn() -> None:
    queue, _ = queue_of(("a", 0), ("b", 0), ("a", 0))
    assert len(queue) == 2
    assert drain(queue) == ["a", "b"]


def test_a_waiting_binding_whose_priority_changes_moves_up_but_keeps_its_time() -> None:
    queue, _ = queue_of(("a", 0), ("b", 5), ("a", 5))
    assert drain(queue) == ["a", "b"]


def test_pushed_while_it_is_worked_on_it_is_queued_again_afterwards_with_a_new_time() -> None:
    queue, _ = queue_of(("a", 0), ("b", 0))
    assert popped(queue) == "a"
    queue.push(key("a"), 0)
    assert queue.size("active") == 1
    queue.done(key("a"))
    assert drain(queue) == ["b", "a"]


@pytest.mark.parametrize("end", [SchedulingQueue.failed, SchedulingQueue.unschedulable])
def test_pushed_while_it_is_worked_on_it_is_tried_again_at_once_even_after_a_failure(
    end: Callable[[SchedulingQueue, str], None],
) -> None:
    queue, _ = queue_of(("a", 0))
    popped(queue)
    queue.push(key("a"), 0)
    end(queue, key("a"))
    assert drain(queue) == ["a"]


def test_back_off_doubles_up_to_ten_seconds_and_starts_anew_after_success() -> None:
    queue, clock = queue_of(("a", 0))
    for want in (1, 2, 4, 8, 10, 10):
        popped(queue)
        queue.failed(key("a"))
        assert queue.pop() is None
        assert queue.ready_in() == want
        clock.now += want
    assert drain(queue) == ["a"]
    queue.push(key("a"), 0)
    popped(queue)
    queue.failed(key("a"))
    assert queue.ready_in() == 1


def test_back_off_is_kept_by_its_end_and_returns_by_priority() -> None:
    queue, clock = queue_of(("low", 0), ("high", 5))
    for _ in range(2):
        name = popped(queue)
        queue.failed(key(name))
    assert queue.size("backOff") == 2
    clock.now += 1
    assert drain(queue) == ["high", "low"]


def test_unschedulable_ones_return_after_five_minutes() -> None:
    queue, clock = queue_of(("a", 0))
    popped(queue)
    queue.unschedulable(key("a"))
    assert queue.ready_in() == LONGEST_UNSCHEDULABLE
    clock.now += LONGEST_UNSCHEDULABLE - 1
    assert queue.pop() is None
    clock.now += 1
    assert drain(queue) == ["a"]


@pytest.mark.parametrize("late", [1e-9, 0.002])
def test_those_who_return_at_one_moment_return_together_whenever_they_were_told_of_it(late: float) -> None:
    """The clocks differ by a little more each time that they are read: so did the moment, and the first to wake was not
    the most important."""
    clock, wall = Clock(), Clock()
    queue = SchedulingQueue(clock, wall)
    for name, priority in (("high", 9), ("low", 1)):
        queue.push(key(name), priority)
    for name, behind in (("high", 0.0), ("low", late)):
        wall.now = behind
        assert popped(queue) == name
        queue.unschedulable(key(name), until=40.0)
    clock.now = 40.0 - late
    assert drain(queue) == ["high", "low"]


def test_something_that_could_help_moves_those_it_helps_by_priority() -> None:
    queue, clock = queue_of(("a", 0), ("b", 1), ("c", 2))
    for _ in range(3):
        queue.unschedulable(key(popped(queue)))
    clock.now += 5
    assert queue.move(lambda found: found.rpartition("/")[2] != "c") == 2
    assert drain(queue) == ["b", "a"]
    assert queue.size("unschedulable") == 1


def test_what_found_no_place_is_tried_at_once_when_something_could_help_however_often_it_was_in_vain() -> None:
    queue, clock = queue_of(("a", 0))
    for _ in range(20):
        popped(queue)
        queue.unschedulable(key("a"))
        clock.now += 0.001
        queue.move()
        assert queue.size("active") == 1


def test_among_equals_the_older_one_comes_first_whenever_it_entered() -> None:
    queue, _ = queue_of()
    queue.push("young", 1, (20, "young"))
    queue.push("old", 1, (10, "old"))
    queue.push("b", 1, (15, "b"))
    queue.push("a", 1, (15, "a"))
    assert [queue.pop() for _ in range(4)] == ["old", "a", "b", "young"]


def test_a_change_takes_a_binding_out_of_any_part() -> None:
    queue, _ = queue_of(("a", 0), ("b", 0))
    popped(queue)
    queue.failed(key("a"))
    popped(queue)
    queue.unschedulable(key("b"))
    queue.push(key("a"), 0)
    queue.push(key("b"), 3)
    assert drain(queue) == ["b", "a"]


def test_what_is_deleted_is_never_taken() -> None:
    queue, _ = queue_of(("a", 0), ("b", 0))
    queue.delete(key("a"))
    queue.delete(key("gone"))
    assert len(queue) == 1
    assert drain(queue) == ["b"]
    assert queue.ready_in() is None


def test_deleted_while_it_is_worked_on_it_does_not_come_back() -> None:
    queue, _ = queue_of(("a", 0))
    popped(queue)
    queue.delete(key("a"))
    queue.failed(key("a"))
    queue.done(key("a"))
    assert queue.pop() is None


def test_void_tickets_do_not_pile_up() -> None:
    queue, _ = queue_of(("a", 0))
    for priority in range(1_000):
        queue.push(key("a"), priority)
    assert sum(len(heap) for heap in queue._heaps.values()) < 200
    assert drain(queue) == ["a"]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["push", "pop", "failed", "unschedulable", "done", "move", "delete", "wait"]),
        st.integers(0, 4),
        st.integers(-2, 2),
    ),
    max_size=60,
)


class Model:
    """What the queue promises, without heaps: who waits, who is worked on, who is queued again afterwards."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.queue = SchedulingQueue(self.clock)
        self.waiting: set[str] = set()
        self.working: set[str] = set()
        self.again: set[str] = set()

    def push(self, name: str, priority: int) -> None:
        self.queue.push(name, priority)
        (self.again if name in self.working else self.waiting).add(name)

    def pop(self, *_: object) -> None:
        found = self.queue.pop()
        if found is not None:
            self.waiting.remove(found)
            self.working.add(found)

    def end(self, step: str, name: str) -> None:
        getattr(self.queue, step)(name)
        if name in self.working:
            self.working.remove(name)
            if step != "done" or name in self.again:
                self.waiting.add(name)
            self.again.discard(name)

    def delete(self, name: str, _: int) -> None:
        self.queue.delete(name)
        for held in (self.waiting, self.working, self.again):
            held.discard(name)

    def move(self, *_: object) -> None:
        self.queue.move()

    def wait(self, *_: object) -> None:
        self.clock.now += 7


def test_who_was_woken_in_vain_sleeps_on_until_the_same_moment() -> None:
    queue, clock = queue_of(("a", 0))
    popped(queue)
    queue.unschedulable(key("a"), until=100)
    clock.now = 50
    queue.move()
    popped(queue)
    assert queue.was_woken(key("a"))
    queue.sleep_on(key("a"))
    assert (queue.part(key("a")), queue.ready_in()) == ("unschedulable", 50)
    clock.now = 100
    popped(queue)
    assert not queue.was_woken(key("a")), "its time has come: it is to be tried"


def test_sleeping_on_does_not_put_off_the_last_resort() -> None:
    queue, clock = queue_of(("a", 0))
    popped(queue)
    queue.unschedulable(key("a"))
    decided = clock.now
    for _ in range(3):
        clock.now += LONGEST_UNSCHEDULABLE / 4
        queue.move()
        popped(queue)
        queue.sleep_on(key("a"))
    clock.now = decided + LONGEST_UNSCHEDULABLE
    assert popped(queue) == "a"


@pytest.mark.parametrize("when", ["before its turn", "during its turn"])
def test_who_has_changed_is_tried_though_it_was_woken(when: str) -> None:
    queue, _ = queue_of(("a", 0))
    popped(queue)
    queue.unschedulable(key("a"))
    queue.move()
    if when == "before its turn":
        queue.push(key("a"))
    popped(queue)
    if when == "during its turn":
        queue.push(key("a"))
    assert not queue.was_woken(key("a"))


@given(STEPS)
def test_nothing_is_lost_or_doubled_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    """What was pushed and is neither done nor deleted comes out, once, in the end."""
    model = Model()
    for step, number, priority in steps:
        name = key(str(number))
        if step in ("failed", "unschedulable", "done"):
            model.end(step, name)
        else:
            getattr(model, step)(name, priority)
        assert len(model.queue) == len(model.waiting)
    model.clock.now += LONGEST_UNSCHEDULABLE + 20
    assert sorted(drain(model.queue)) == sorted(name.rpartition("/")[2] for name in model.waiting)
