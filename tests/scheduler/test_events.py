"""Events are written beside decisions that are on their way to a store far away, and never in their way."""

from __future__ import annotations

import asyncio
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


async def _said(clock: Clock, *, busy: bool) -> tuple[Recorder, EmbeddedStore]:
    """A recorder that has been told a lot, and whose writers have had a second."""
    near = EmbeddedStore.open(":memory:", clock, seed=7)
    recorder = Recorder(FarStore(near, 1, lost=0.0), clock, at_once=16)
    for index in range(SAID):
        pod = Record(PODS, b"{}", namespace="default", name=f"p{index}", uid=f"u{index}", version=1)
        recorder.record(pod, "Normal", "Scheduled", "it has a place")
    await recorder.write(1, busy=busy)
    await asyncio.sleep(1)
    return recorder, near


async def _written(clock: Clock, *, busy: bool) -> int:
    recorder, near = await _said(clock, busy=busy)
    written = SAID - len(recorder)
    await recorder.finish()
    assert len((await near.list(EVENTS)).records) == SAID
    near.close()
    return written


def test_while_decisions_are_on_their_way_events_are_written_one_at_a_time() -> None:
    calm, busy = (run_virtually(partial(_written, busy=busy)) for busy in (False, True))
    assert 0 < busy < calm / 2


def test_when_too_many_are_kept_they_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MOST_WHILE_BUSY", SAID // 2)
    calm, busy = (run_virtually(partial(_written, busy=busy)) for busy in (False, True))
    assert busy == calm


def test_several_write_again_when_nothing_is_on_its_way_any_more() -> None:
    async def story(clock: Clock) -> tuple[int, int]:
        recorder, near = await _said(clock, busy=True)
        first = SAID - len(recorder)
        await recorder.write(1)
        await asyncio.sleep(1)
        second = SAID - len(recorder) - first
        await recorder.finish()
        near.close()
        return first, second

    first, second = run_virtually(story)
    assert second > 2 * first
