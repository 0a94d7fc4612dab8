"""Virtual time passes only while nobody has anything to do, and everything that waits follows it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from reprieve.model.clock import START, Clock, Deadlock, precise_timestamp, run_virtually, system_clock, timestamp


def test_a_day_passes_at_once() -> None:
    async def main(clock: Clock) -> datetime:
        assert clock() == START
        await asyncio.sleep(86_400)
        return clock()

    assert run_virtually(main) == START + timedelta(days=1)


def test_everybody_wakes_in_the_order_of_their_moments() -> None:
    async def main(clock: Clock) -> list[tuple[str, float]]:
        woken: list[tuple[str, float]] = []

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append((name, (clock() - START).total_seconds()))

        await asyncio.gather(sleeper("late", 100), sleeper("early", 1), sleeper("middle", 10.5), sleeper("now", 0))
        return woken

    assert run_virtually(main) == [("now", 0.0), ("early", 1.0), ("middle", 10.5), ("late", 100.0)]


def test_work_takes_no_time() -> None:
    async def main(clock: Clock) -> float:
        began = clock()
        for _ in range(1000):
            await asyncio.sleep(0)
        time.sleep(0.01)
        return (clock() - began).total_seconds()

    assert run_virtually(main) == 0.0


def test_waiting_with_a_limit_ends_at_the_limit() -> None:
    async def main(clock: Clock) -> datetime:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 42)
        return clock()

    assert run_virtually(main) == START + timedelta(seconds=42)


def test_time_may_begin_at_another_moment() -> None:
    moment = datetime(2030, 5, 1, 12, tzinfo=UTC)

    async def main(clock: Clock) -> datetime:
        return clock()

    assert run_virtually(main, moment) == moment


def test_when_nothing_is_due_and_nobody_can_go_on_that_is_said() -> None:
    async def main(_: Clock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="nothing is due"):
        run_virtually(main)


def test_whatever_still_runs_at_the_end_is_cancelled() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(10**9)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def main(_: Clock) -> None:
        main.task = asyncio.create_task(forever())  # type: ignore[attr-defined]
        await asyncio.sleep(1)

    run_virtually(main)
    assert ended == ["cancelled"]


def test_what_the_program_raises_comes_out() -> None:
    async def main(_: Clock) -> None:
        await asyncio.sleep(1)
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        run_virtually(main)


def test_moments_are_written_as_kubernetes_does() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    assert timestamp(moment) == "2026-01-02T03:04:05Z"
    assert precise_timestamp(moment) == "2026-01-02T03:04:05.678901Z"
    elsewhere = moment.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert timestamp(elsewhere) == "2026-01-02T03:04:05Z"
    assert precise_timestamp(elsewhere) == "2026-01-02T03:04:05.678901Z"
    assert precise_timestamp(moment.replace(microsecond=0)) == "2026-01-02T03:04:05.000000Z"


def test_the_clock_of_the_machine_knows_its_zone() -> None:
    assert system_clock().tzinfo is UTC
