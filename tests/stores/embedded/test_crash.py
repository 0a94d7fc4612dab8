"""Real processes that die in the middle of writing, and disks that are full: what was acknowledged stays."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from reprieve.stores.records import Record
from reprieve.stores.resources import BUDGETS, CONFIG_MAPS, PODS
from tests.stores.embedded.scene import Scene, at_once

_ROUNDS = 12
# Writes without a pause and says each write after it was acknowledged: the store's version, the pod, what it then was.
_WRITER = """
import asyncio, json, random, sys
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import StoreError
from reprieve.stores.resources import BUDGETS, NODES, PODS, resource_of

async def once(store, number):
    name = f"p{random.randrange(20)}"
    match number % 6:
        case 0 | 1:
            spec = {"containers": [{"name": "c"}]}
            metadata = {"name": name, "namespace": "default", "labels": {"app": "x"}}
            return await store.create(PODS, {"metadata": metadata, "spec": spec})
        case 2:
            return await store.bind(name, "default", "n")
        case 3:
            return await store.patch(PODS, name, "default", {"status": {"phase": "Running", "message": str(number)}},
                                     subresource="status")
        case 4:
            await store.patch(BUDGETS, "b", "default", {"status": {"disruptionsAllowed": 1}}, subresource="status")
            return await store.evict(name, "default")
        case 5:
            return await store.delete(PODS, name, "default", grace=0)

async def main():
    store = EmbeddedStore.open(sys.argv[1], system_clock, keep=500)
    for resource, data in (
        (NODES, {"metadata": {"name": "n"}}),
        (BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "x"}}}}),
    ):
        try:
            await store.create(resource, data)
        except StoreError:
            pass
    number = 0
    while True:
        number += 1
        try:
            record = await once(store, number)
        except StoreError:
            continue
        try:
            await store.get(PODS, record.name, "default")
            body = record.raw.decode()
        except StoreError:
            body = ""
        print(json.dumps([store.version, record.name, body]), flush=True)  # a deletion returns what was

asyncio.run(main())
"""


def _write_until_killed(path: Path, after: int) -> list[Any]:
    """What a process acknowledged before it was killed, which was after so many lines."""
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    lines: list[str] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if len(lines) == after:
                process.kill()
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    chance = random.Random(3)  # noqa: S311
    known: dict[str, str] = {}
    payments = 0
    for _ in range(_ROUNDS):
        acknowledged = _write_until_killed(path, chance.randrange(1, 900))
        last = acknowledged[-1][0]
        known |= {name: body for _, name, body in acknowledged}
        with Scene(path, keep=500) as scene:
            found = {record.name: record.raw.decode() for record in at_once(scene.store.list(PODS)).records}
            # The write during which it was killed may have been done; an eviction writes a budget and a pod.
            assert last <= scene.store.version
            later = {event.record.name for event in scene.store.watch(PODS, last).take()}
            assert len(later) <= 1
            for name in {*found, *known} - later:
                assert found.get(name, "") == known.get(name, "")
            payments += _check_payments(scene)
            known = found
    assert payments > 0


def _check_payments(scene: Scene) -> int:
    """An eviction and its payment are one write: the pod goes with the version after that of its budget."""
    since = max(0, scene.store.version - 500)
    gone = {
        event.record.version
        for event in scene.store.watch(PODS, since).take()
        if event.type == "DELETED" or event.record.manifest.terminating
    }
    budgets = [event.record for event in scene.store.watch(BUDGETS, since).take()]
    paid = [each.version for each in budgets if "disruptedPods" in each.data["status"] and _allowed(each) == 0]
    assert {version + 1 for version in paid} <= gone
    return len(paid)


def _allowed(budget: Record) -> int:
    allowed: int = budget.data["status"]["disruptionsAllowed"]
    return allowed


# A disk that takes no more: files of this process may not grow beyond a limit, and later they may again.
_FULL = """
import asyncio, resource, signal, sys
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Unavailable
from reprieve.stores.resources import CONFIG_MAPS

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = EmbeddedStore.open(sys.argv[1], system_clock)
    watch = store.watch(CONFIG_MAPS, store.version)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, most))
    written = 0
    try:
        while written < 1000:
            await store.create(CONFIG_MAPS, {"metadata": {"name": f"m{written}"}, "data": {"a": "x" * 5000}})
            written += 1
    except Unavailable as error:
        print(error)
    assert len((await store.list(CONFIG_MAPS)).records) == len(watch.take()) == written
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    await store.create(CONFIG_MAPS, {"metadata": {"name": f"m{written}"}})
    store.close()
    print(written)

asyncio.run(main())
"""


def test_a_full_disk_is_said_and_forgotten_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    command = [sys.executable, "-c", _FULL, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    refusal, written = ran.stdout.splitlines()
    assert "the write failed" in refusal
    with Scene(path) as scene:
        assert len(scene.names(CONFIG_MAPS)) == int(written) + 1
