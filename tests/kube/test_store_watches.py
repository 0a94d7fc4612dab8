"""Watches of the store on a real API server: nothing is lost and nothing comes twice, however often the line breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reprieve.kubernetes_plane import open_store
from reprieve.manifests.kinds import CONFIG_MAPS, EVENTS
from reprieve.stores.caches import Cache
from reprieve.stores.kubernetes import requests
from reprieve.stores.kubernetes.store import KubernetesStore
from reprieve.stores.kubernetes.watching import ServerWatch
from reprieve.stores.protocol import Watch
from reprieve.stores.records import WatchEvent
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.faults import Answer, Cut, Delay, Fault, WatchError, matching
from tests.kube.proxy import FaultyProxy
from tests.kube.stores import config_map, until, with_store

WRITES = 200


@pytest.fixture
def proxy(kube: Cluster) -> Iterator[FaultyProxy]:
    with FaultyProxy(kube.access, kube.url) as found:
        yield found


@pytest.fixture
def through(kube: Cluster, proxy: FaultyProxy) -> Path:
    return kube.kubeconfig(server=proxy.url)


class Writer:
    """Writes at random, and knows what there has to be to see."""

    def __init__(self, admin: KubeClient, namespace: str, seed: int) -> None:
        self._admin = admin
        self._namespace = namespace
        self._random = Random(f"writer {seed}")  # noqa: S311 - not a secret
        self._there: set[str] = set()
        self.told: list[tuple[str, str, int]] = []

    def write(self) -> None:
        if len(self._there) > 3 and self._random.random() < 0.3:
            name = self._random.choice(sorted(self._there))
            self._there.remove(name)
            self._admin.delete("v1", "ConfigMap", name, self._namespace)
            self.told.append(("DELETED", name, 0))
        elif self._there and self._random.random() < 0.5:
            name = self._random.choice(sorted(self._there))
            change = {"data": {"at": str(len(self.told))}}
            self._tell("MODIFIED", self._admin.patch("v1", "ConfigMap", name, change, self._namespace))
        else:
            name = f"map-{len(self.told)}"
            self._there.add(name)
            self._tell("ADDED", self._admin.create(config_map(name, self._namespace, of="mine")))

    def _tell(self, kind: str, found: Any) -> None:
        self.told.append((kind, found["metadata"]["name"], int(found["metadata"]["resourceVersion"])))


@pytest.mark.parametrize("seed", [1])
def test_everything_is_told_once_and_in_order(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str, seed: int
) -> None:
    random = Random(f"cuts {seed}")  # noqa: S311 - not a secret
    writer = Writer(admin, namespace, seed)
    faults: list[Fault] = [Cut(), Answer(500), Answer(503), Delay(0.3)]
    seen: list[WatchEvent] = []

    def write() -> None:
        for _ in range(WRITES):
            writer.write()
            if random.random() < 0.1:
                proxy.cut_watches("/configmaps$")
            if random.random() < 0.03:
                proxy.inject(random.choice(faults), matching(verb="watch"))

    async def story(store: KubernetesStore) -> None:
        watch = store.watch(CONFIG_MAPS, (await store.list(CONFIG_MAPS, namespace)).version, namespace)
        work = asyncio.create_task(asyncio.to_thread(write))
        while not work.done() or len(_mine(seen)) < WRITES:
            seen.extend(watch.take())
            await asyncio.sleep(0.02)
        await work
        seen.extend(await _rest(watch))
        watch.close()

    with_store(through, story)
    found = [(event.type, event.record.name, event.record.version) for event in _mine(seen)]
    assert [(kind, name) for kind, name, _ in found] == [(kind, name) for kind, name, _ in writer.told]
    assert all(version in (0, seen_at) for (_, _, version), (_, _, seen_at) in zip(writer.told, found, strict=True))
    versions = [version for _, _, version in found]
    assert versions == sorted(set(versions))


def _mine(seen: list[WatchEvent]) -> list[WatchEvent]:
    return [event for event in seen if event.record.name.startswith("map-")]


async def _rest(watch: Watch) -> list[WatchEvent]:
    await asyncio.sleep(0.5)
    return watch.take()


def test_a_cache_is_true_after_the_server_has_forgotten_and_was_away(
    kube: Cluster, proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str
) -> None:
    """Not told of what happened meanwhile, it lists and compares: deleted, changed, new, and new of an old name."""
    for name in ("stays", "changes", "goes", "anew"):
        admin.create(config_map(name, namespace))

    def meanwhile() -> None:
        admin.patch("v1", "ConfigMap", "changes", {"data": {"a": "1"}}, namespace)
        for name in ("goes", "anew"):
            admin.delete("v1", "ConfigMap", name, namespace)
        for name in ("anew", "new"):
            admin.create(config_map(name, namespace))

    async def story(store: KubernetesStore) -> None:
        cache, signal = Cache(CONFIG_MAPS, lambda *_: None), asyncio.Event()
        await cache.follow(store, signal)
        away = proxy.inject(Cut(), matching(verb="watch"), times=None)
        proxy.cut_all()
        meanwhile()
        kube.api_server.restart()
        proxy.take_back(away)

        def there() -> dict[str, int]:
            found = admin.list("v1", "ConfigMap")
            return {each["metadata"]["uid"]: int(each["metadata"]["resourceVersion"]) for each in found}

        async with asyncio.timeout(60):
            while {record.uid: record.version for record in cache} != await asyncio.to_thread(there):
                await cache.follow(store, signal)
                await asyncio.sleep(0.1)
        cache.stop()

    with_store(through, story)


def test_a_watch_that_is_too_old_is_told_so(proxy: FaultyProxy, through: Path) -> None:
    async def story(store: KubernetesStore) -> None:
        cache, signal = Cache(CONFIG_MAPS, lambda *_: None), asyncio.Event()
        await cache.follow(store, signal)
        proxy.inject(WatchError(410), matching(verb="watch"), times=2)
        proxy.cut_watches()
        async with asyncio.timeout(30):
            while proxy.count(verb="list", path="/configmaps$") < 3:
                await cache.follow(store, signal)
                await asyncio.sleep(0.05)
        cache.stop()

    with_store(through, story)


def test_who_is_refused_waits_longer_each_time_and_not_as_long_as_the_others(
    proxy: FaultyProxy, through: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of ten watches that break at once, few come back at the same moment."""
    caplog.set_level(logging.CRITICAL)

    async def story(store: KubernetesStore) -> tuple[int, int]:
        since = (await store.list(CONFIG_MAPS)).version
        refuse = proxy.inject(Answer(503), matching(verb="watch"), times=None)
        watches = [store.watch(CONFIG_MAPS, since) for _ in range(10)]
        await asyncio.sleep(1.0)
        first = len(refuse.hits)
        await asyncio.sleep(2.0)
        later = len(refuse.hits) - first
        for watch in watches:
            watch.close()
        return first, later

    first, later = with_store(through, story)
    assert 20 <= first <= 60
    assert later < first * 1.5


def test_a_watch_that_has_gone_silent_is_taken_up_anew(
    proxy: FaultyProxy, through: Path, namespace: str, admin: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_SILENCE_SECONDS", 1.0)

    async def story(store: KubernetesStore) -> None:
        since = (await store.list(CONFIG_MAPS)).version
        proxy.inject(Delay(3600), matching(verb="watch"))
        watch = store.watch(CONFIG_MAPS, since, namespace)
        await asyncio.to_thread(admin.create, config_map("map-1", namespace))
        await until(lambda: len(watch))
        watch.close()

    with_store(through, story)
    assert proxy.count(verb="watch") >= 2


def test_a_watch_of_what_has_no_memory_on_the_server(kube: Cluster, namespace: str) -> None:
    async def story(store: KubernetesStore) -> None:
        watch = store.watch(EVENTS, (await store.list(EVENTS, namespace)).version, namespace)
        about = {"kind": "Pod", "name": "a", "namespace": namespace}
        event = {"metadata": {"name": "one", "namespace": namespace}, "involvedObject": about, "type": "Normal"}
        event |= {"reason": "Scheduled", "message": "here", "firstTimestamp": "2026-01-01T00:00:00Z"}
        await store.create(EVENTS, {**event, "reportingComponent": "reprieve"})
        await until(lambda: len(watch))
        (told,) = watch.take()
        assert (told.type, told.record.name) == ("ADDED", "one")
        watch.close()

    with_store(kube.kubeconfig(), story)


def test_a_store_that_closes_leaves_no_watch_behind(kube: Cluster, namespace: str) -> None:
    """Neither one that nobody has closed, nor one that was told to close and has not come to it."""

    async def story() -> None:
        async with open_store(str(kube.kubeconfig()), qps=0) as store:
            watches = [store.watch(CONFIG_MAPS, 0, namespace) for _ in range(2)]
            await store.create(CONFIG_MAPS, config_map("one", namespace))
            await until(lambda: all(len(watch) for watch in watches))
            watches[0].close()
        assert all(isinstance(watch, ServerWatch) and watch.task and watch.task.done() for watch in watches)

    asyncio.run(story())
