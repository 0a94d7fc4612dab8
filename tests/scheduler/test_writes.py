"""Decisions that are on their way: once for a unit, only so many at once, and what the store refuses is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.writes import Writes
from reprieve.stores.errors import Conflict, StoreError, Unavailable

Work = Callable[[], Awaitable[None]]


def virtually(story: Callable[[], Awaitable[Any]]) -> Any:
    async def main(_: Clock) -> Any:
        return await story()

    return run_virtually(main)


def takes(seconds: float, done: list[str], name: str = "done", fails: StoreError | None = None) -> Work:
    async def work() -> None:
        await asyncio.sleep(seconds)
        if fails is not None:
            raise fails
        done.append(name)

    return work


def test_one_at_once_is_waited_for_and_its_failure_is_whoever_writes() -> None:
    async def story() -> None:
        writes, done = Writes(), list[str]()
        await writes.carry_out(["a"], takes(1, done), takes(0, done, "taken back"))
        assert (done, writes.in_parallel) == (["done"], False)
        with pytest.raises(Conflict):
            await writes.carry_out(["a"], takes(1, done, fails=Conflict("no")), takes(0, done, "taken back"))
        assert done == ["done"]

    virtually(story)


def test_a_unit_is_busy_until_what_was_decided_has_arrived() -> None:
    async def story() -> None:
        writes, done = Writes(4), list[str]()
        await writes.carry_out(["a", "b", "a"], takes(1, done), takes(0, done))
        assert [writes.busy(unit) for unit in "abc"] == [True, True, False]
        writes.afterwards("b", lambda: done.append("again"))
        await writes.finish()
        assert [writes.busy(unit) for unit in "ab"] == [False, False]
        assert done == ["done", "again"]

    virtually(story)


def test_who_is_concerned_twice_is_busy_until_both_have_arrived() -> None:
    async def story() -> None:
        writes, done = Writes(8), list[str]()
        await writes.carry_out(["a", "b"], takes(1, done), takes(0, done))
        await writes.carry_out(["c", "b"], takes(3, done), takes(0, done))
        writes.afterwards("b", lambda: done.append("again"))
        await asyncio.sleep(2)
        assert (writes.busy("a"), writes.busy("b"), done) == (False, True, ["done"])
        await writes.finish()
        assert done == ["done", "done", "again"]

    virtually(story)


def test_only_so_many_are_on_their_way() -> None:
    async def story() -> list[int]:
        writes, done, most = Writes(3), list[str](), list[int]()
        for number in range(10):
            await writes.carry_out([str(number)], takes(1, done, str(number)), takes(0, done))
            most.append(len(writes))
        await writes.finish()
        assert done == [str(number) for number in range(10)]
        return most

    assert max(virtually(story)) <= 2  # a third one may begin, and whoever began it waits until there is room


def test_what_is_refused_is_taken_back_and_counted_until_somebody_asks() -> None:
    async def story() -> None:
        writes, done = Writes(4), list[str]()
        for _ in range(2):
            await writes.carry_out(["a", "b"], takes(1, done, fails=Conflict("no")), takes(0, done, "taken back"))
            await writes.finish()
        assert done == ["taken back"] * 2
        assert (writes.failures("a"), writes.failures("a"), writes.failures("b")) == (2, 0, 0)
        await writes.carry_out(["a"], takes(1, done, fails=Conflict("no")), takes(0, done))
        await writes.finish()
        assert writes.failures("a") == 3  # that somebody has heard of the others makes it no better

    virtually(story)


def test_what_arrives_makes_good_for_what_failed_before() -> None:
    async def story() -> None:
        writes, done = Writes(4), list[str]()
        await writes.carry_out(["a"], takes(1, done, fails=Conflict("no")), takes(0, done))
        await writes.finish()
        await writes.carry_out(["a"], takes(1, done), takes(0, done))
        await writes.finish()
        assert writes.failures("a") == 0

    virtually(story)


def test_a_unit_stays_busy_while_it_is_taken_back_and_longer_where_it_may_still_arrive() -> None:
    async def story() -> None:
        loop, writes, done = asyncio.get_running_loop(), Writes(4), list[str]()
        began = loop.time()
        await writes.carry_out(["a"], takes(1, done, fails=Unavailable("cut")), takes(2, done, "taken back"))
        writes.afterwards("a", lambda: done.append(f"again after {loop.time() - began:.0f}"))
        await asyncio.sleep(3.5)
        assert writes.busy("a")
        await writes.finish()
        assert done == ["taken back", "again after 4"]

    virtually(story)


def test_what_nobody_expected_is_taken_back_as_well(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        writes, done = Writes(4), list[str]()

        async def breaks() -> None:
            raise ZeroDivisionError

        await writes.carry_out(["a"], breaks, takes(0, done, "taken back"))
        await writes.finish()
        assert (done, writes.busy("a")) == (["taken back"], False)

    virtually(story)
    assert "a could not be scheduled and is tried again" in caplog.text
