"""What has been takes no memory: not what a watcher has not read, nor what objects were before."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.manifests.loading import load_objects
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod
from reprieve.model.clock import system_clock
from reprieve.stores.embedded import commits
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.world import World
from tests.hostile.attacking import UNBEARABLE, Pulse, attacked, thorough

_MAPS = "/api/v1/namespaces/default/configmaps"


@thorough
def test_a_watcher_that_does_not_read_is_cut_off_with_410(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim, socket.socket() as watcher:
        watcher.connect((str(victim.address.hostname), int(victim.address.port or 0)))
        lines = [f"GET {_MAPS}?watch=1 HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in victim.headers().items()]
        watcher.sendall("\r\n".join([*lines, "", ""]).encode())
        before = victim.memory()
        assert victim.ask("POST", _MAPS, {"metadata": {"name": "m"}, "data": {"text": ""}})[0] == 201
        for number in range(200):  # of a million bytes each
            body = {"metadata": {"name": "m"}, "data": {"text": f"{number % 10}" * 1_000_000}}
            assert victim.ask("PUT", f"{_MAPS}/m", body)[0] == 200
        assert victim.memory() - before < 180_000_000
        watcher.settimeout(20)
        end = b""
        while part := watcher.recv(1 << 20):
            end = (end + part)[-2000:]
            if b'"code":410' in end:
                break
        assert b"list again" in end


def test_what_was_replaced_is_kept_by_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "KEPT_BYTES", 2_000_000)

    async def story() -> None:
        store = EmbeddedStore.open(tmp_path / "store.db", system_clock)
        data = {"metadata": {"name": "m", "namespace": "default"}}
        await store.create(CONFIG_MAPS, data)
        for number in range(60):
            await store.replace(CONFIG_MAPS, {**data, "data": {"text": f"{number % 10}" * 200_000}})
        store.close()

    asyncio.run(story())
    assert (tmp_path / "store.db").stat().st_size < 2 * commits.KEPT_BYTES


def test_pods_that_are_gone_leave_nothing_in_the_table_of_nodes() -> None:
    """Each Job's pods have labels of their own: all that ever were would be asked about with every decision."""
    world = World(_typed({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))
    table = NodeLedger(world, Settings()).table
    for number in range(2_000):
        labels = {"job-name": f"job-{number}"}
        metadata = {"name": f"pod-{number}", "namespace": "default", "labels": labels}
        spec = {"nodeName": "n", "containers": [{"name": "main", "image": "i"}]}
        world.put(_typed({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})[0])
        table.sync()
        world.delete(Pod, f"pod-{number}", "default")
        table.sync()
    assert table.numbered <= 300


def _typed(*manifests: dict[str, Any]) -> list[Manifest]:
    return [entry.manifest for entry in load_objects(manifests).entries]


def test_watches_that_come_late_share_what_they_have_missed(tmp_path: Path) -> None:
    """Each from before thousands of changes, and none reads what it is sent."""
    with attacked(tmp_path) as victim:
        since = victim.get(_MAPS)["metadata"]["resourceVersion"]
        connection, headers = victim.connect(), victim.headers(**{"Content-Type": "application/json"})
        for number in range(1_500):
            data = {"metadata": {"name": "hot"}, "data": {"text": "x" * 20_000, "number": str(number)}}
            method, path = ("PUT", f"{_MAPS}/hot") if number else ("POST", _MAPS)
            connection.request(method, path, json.dumps(data), headers)
            assert connection.getresponse().read()
        connection.close()
        before = victim.memory()
        watches = [victim.connect() for _ in range(40)]
        with Pulse(victim) as pulse:
            for each in watches:
                each.request("GET", f"{_MAPS}?watch=true&resourceVersion={since}", headers=victim.headers())
            time.sleep(3)
            after = victim.memory()
        for each in watches:
            each.close()
    assert after - before < 150_000_000  # 30 MB once, and what is on its way to each; not 30 MB forty times
    assert pulse.longest < UNBEARABLE


def test_what_was_refused_is_forgotten(tmp_path: Path) -> None:
    """Large names, each another one, and paths that lead nowhere."""
    with attacked(tmp_path) as victim:
        for round_ in range(2):
            before = victim.memory()
            for number in range(150):
                labels = {f"{round_}-{number}-{'k' * 1_000_000}": "v"}
                body = {"metadata": {"name": "a", "labels": labels}}
                assert victim.ask("POST", _MAPS, body)[0] == 422
                assert victim.ask("GET", f"/openapi/v3/{round_}-{number}-{'x' * 15_000}")[0] == 404
        assert victim.memory() - before < 60_000_000  # in the second round: the first one warms up
