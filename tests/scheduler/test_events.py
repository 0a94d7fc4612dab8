"""Events are written beside decisions that are on their way to a store far away, and never in their way."""

from __future__ import annotations

import asyncio
import sys
from functools import partial

import pytest

from reprieve.manifests.kinds import EVENTS, PODS
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler import events
from reprieve.scheduler.events import Recorder
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import Record
from tests.planes.far import FarStore

SAID = 100


async def _said(clock: Clock, *, busy: bool, waited: float = 0) -> tuple[Recorder, EmbeddedStore]:
    """A recorder that has been told a lot, and whose writers have had a second, after so many others."""
    near = EmbeddedStore.open(":memory:", clock, seed=7)
    recorder = Recorder(FarStore(near, 1, lost=0.0), clock, at_once=16)
    for index in range(SAID):
        pod = Record(PODS, b"{}", namespace="default", name=f"p{index}", uid=f"u{index}", version=1)
        recorder.record(pod, "Normal", "Scheduled", "it has a place")
    await asyncio.sleep(waited)
    await recorder.write(1, busy=busy)
    await asyncio.sleep(1)
    return recorder, near


async def _written(clock: Clock, *, busy: bool, waited: float = 0) -> int:
    recorder, near = await _said(clock, busy=busy, waited=waited)
    written = SAID - len(recorder)
    await recorder.finish()
    assert len((await near.list(EVENTS)).records) == SAID
    near.close()
    return written


def test_while_decisions_are_on_their_way_events_wait() -> None:
    assert run_virtually(partial(_written, busy=True)) == 0


def test_those_that_have_waited_for_long_are_written_one_at_a_time() -> None:
    calm, busy = (run_virtually(partial(_written, busy=busy, waited=16)) for busy in (False, True))
    assert 0 < busy < calm / 2


def test_when_too_many_are_kept_they_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MOST_WHILE_BUSY", SAID // 2)
    calm, busy = (run_virtually(partial(_written, busy=busy)) for busy in (False, True))
    assert busy == calm


def test_several_write_again_when_nothing_is_on_its_way_any_more() -> None:
    async def story(clock: Clock) -> tuple[int, int]:
        recorder, near = await _said(clock, busy=True, waited=16)
        first = SAID - len(recorder)
        await recorder.write(1)
        await asyncio.sleep(1)
        second = SAID - len(recorder) - first
        await recorder.finish()
        near.close()
        return first, second

    first, second = run_virtually(story)
    assert second > 2 * first


def test_what_a_burst_of_5000_preemptors_says_is_kept_and_not_the_objects_it_is_about() -> None:
    async def story(clock: Clock) -> tuple[int, int]:
        near = EmbeddedStore.open(":memory:", clock, seed=7)
        recorder = Recorder(FarStore(near, 1, lost=0.0), clock, at_once=16)
        pod = Record(PODS, b"{}", namespace="default", name="p", uid="u", version=1)
        before = sys.getrefcount(pod)
        for index in range(7 * 5_000):
            recorder.record(pod, "Normal", "Preempted", f"it makes way for Pod/default/p{index}")
        near.close()
        return len(recorder), sys.getrefcount(pod) - before

    assert run_virtually(story) == (7 * 5_000, 0)
