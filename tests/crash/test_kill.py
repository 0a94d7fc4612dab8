"""The whole control plane as a real process, killed with -9 at random moments under load of all five policies.

Some of the kills come from outside, at a random time; most from inside, right after a random write, so that they also
fall between the writes of one decision. After each of them the store is opened and the laws are checked; at
the end the load stops, and everything has to come to rest.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reprieve.embedded_plane import STORE_FILE, open_plane
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import WatchEvent
from tests.crash.judging import preempting, wasted
from tests.crash.laws import Books, unsettled
from tests.crash.load import Diary, Load
from tests.planes.running import SETTINGS

KILLS = int(os.environ.get("REPRIEVE_KILLS", "200")) * 3 // 10
"""Most kills are those over HTTP (`test_kill_over_http.py`): these are between the writes of one decision."""
_LONGEST = 0.7
_REST_SECONDS = 2.0
_PATIENCE = 90.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and kill")


def _in_child(work: Callable[[], Coroutine[Any, Any, None]], seconds: float | None = None) -> int:
    """Run a coroutine in a process of its own, and kill that after so many seconds; its exit status."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(work())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


async def _live(directory: Path, seed: int, writes: int | None) -> None:
    """A control plane with load, until it is killed; where `writes` is given, by itself right after so many of them."""
    plane = open_plane(directory, system_clock, SETTINGS)
    assert isinstance(plane.store, EmbeddedStore)
    if writes is not None:
        _die_after(plane.store, writes)
    load = Load(plane.store, Diary(directory / "diary"), seed)
    await load.begin()
    await plane.start()
    await load.run()


def _die_after(store: EmbeddedStore, writes: int) -> None:
    """Right after a commit, before anybody hears of it."""
    last = store.version + writes
    commit = store._writer.commit

    def dying(events: list[WatchEvent]) -> None:
        commit(events)
        if store.version >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    store._writer.commit = dying  # type: ignore[method-assign]


async def _settle(directory: Path) -> None:
    """Without load, until nothing has happened for a while."""
    plane = open_plane(directory, system_clock, SETTINGS)
    assert isinstance(plane.store, EmbeddedStore)
    await plane.start()
    deadline, quiet_since, version = time.monotonic() + _PATIENCE, time.monotonic(), -1
    while time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        if plane.store.version != version or await unsettled(plane.store):
            version, quiet_since = plane.store.version, time.monotonic()
        if time.monotonic() - quiet_since > _REST_SECONDS:
            break
    await plane.stop()


async def _check(directory: Path, books: Books) -> list[str]:
    store = EmbeddedStore.open(directory / STORE_FILE, system_clock)
    try:
        return await books.broken(store)
    finally:
        store.close()


async def _final(directory: Path) -> list[str]:
    store = EmbeddedStore.open(directory / STORE_FILE, system_clock)
    try:
        return await unsettled(store)
    finally:
        store.close()


def test_killed_at_random_moments_nothing_is_lost_doubled_or_left_half_done(tmp_path: Path) -> None:
    chance = random.Random(int(os.environ.get("REPRIEVE_SEED", "1")))  # noqa: S311
    books = Books(tmp_path / "diary")
    for number in range(KILLS):
        if number % 4:
            status = _in_child(partial(_live, tmp_path, number, chance.randrange(5, 400)))
        else:
            status = _in_child(partial(_live, tmp_path, number, None), chance.uniform(0.05, _LONGEST))
        assert os.WIFSIGNALED(status), f"run {number} ended by itself: {status}"
        assert os.WTERMSIG(status) == signal.SIGKILL
        assert asyncio.run(_check(tmp_path, books)) == [], f"after kill {number}"
    assert _in_child(partial(_settle, tmp_path)) == 0
    assert asyncio.run(_check(tmp_path, books)) == []
    assert asyncio.run(_final(tmp_path)) == []
    assert wasted(tmp_path) == []
    assert KILLS < 200 or preempting(tmp_path) == {"pod", "podgroup", "quota", "queue", "federation"}
