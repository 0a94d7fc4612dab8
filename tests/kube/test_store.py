"""Lists, writes and refusals of the store on a real API server, and through a proxy that makes things go wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS, EVENTS, PODS
from reprieve.stores.caches import Cache
from reprieve.stores.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    NotFound,
    StoreError,
    TooManyRequests,
    Unavailable,
)
from reprieve.stores.kubernetes import requests
from reprieve.stores.kubernetes.store import KubernetesStore
from reprieve.stores.records import Record
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.faults import Answer, Cut, Delay, WatchError, matching
from tests.kube.hollow import pod
from tests.kube.proxy import FaultyProxy
from tests.kube.stores import Story, config_map, until, with_store

MANY = 620


@pytest.fixture
def proxy(kube: Cluster) -> Iterator[FaultyProxy]:
    with FaultyProxy(kube.access, kube.url) as found:
        yield found


@pytest.fixture
def through(kube: Cluster, proxy: FaultyProxy) -> Path:
    return kube.kubeconfig(server=proxy.url)


def names(records: list[Record]) -> list[str]:
    return sorted(record.name for record in records)


# Lists


def test_more_than_a_page_is_listed_whole_also_when_the_next_page_is_forgotten(
    proxy: FaultyProxy, through: Path, namespace: str
) -> None:
    """Events: of all kinds the server answers only these page by page, the others from its memory and all at once."""
    made = [_event(f"event-{number:04}", namespace) for number in range(MANY)]

    async def story(store: KubernetesStore) -> None:
        for begin in range(0, MANY, 50):
            await asyncio.gather(*(store.create(EVENTS, each) for each in made[begin : begin + 50]))
        wanted = sorted(each["metadata"]["name"] for each in made)
        before = proxy.count(verb="list", path="/events$")
        assert names((await store.list(EVENTS, namespace)).records) == wanted
        assert proxy.count(verb="list", path="/events$") == before + 2
        proxy.inject(Answer(410), lambda request: "continue" in request.parameters)
        listing = await store.list(EVENTS, namespace)
        assert names(listing.records) == wanted
        assert proxy.count(verb="list", path="/events$") == before + 5
        assert listing.version >= max(record.version for record in listing.records)

    with_store(through, story)


def test_lists_come_from_the_memory_of_the_server(proxy: FaultyProxy, through: Path) -> None:
    with_store(through, lambda store: store.list(PODS))
    (listed,) = [request for request in proxy.requests if request.verb == "list"]
    assert listed.parameters["resourceVersion"] == "0"


def test_selectors_are_the_servers(kube: Cluster, admin: KubeClient, namespace: str) -> None:
    for name in ("one", "two"):
        admin.create(pod(name, labels={"is": name}), namespace)

    async def story(store: KubernetesStore) -> None:
        assert names((await store.list(PODS, namespace, labels="is=one")).records) == ["one"]
        assert names((await store.list(PODS, namespace, fields="metadata.name=two")).records) == ["two"]

    with_store(kube.kubeconfig(), story)


# Refusals


def test_what_the_server_refuses_has_a_name(kube: Cluster, namespace: str) -> None:
    async def story(store: KubernetesStore) -> None:
        made = await store.create(CONFIG_MAPS, config_map("one", namespace))
        with pytest.raises(AlreadyExists):
            await store.create(CONFIG_MAPS, config_map("one", namespace))
        changed = await store.patch(CONFIG_MAPS, "one", namespace, {"data": {"a": "1"}}, version=made.version)
        with pytest.raises(Conflict):
            await store.patch(CONFIG_MAPS, "one", namespace, {"data": {"a": "2"}}, version=made.version)
        with pytest.raises(Conflict):
            await store.replace(CONFIG_MAPS, made.data)
        with pytest.raises(Conflict):
            await store.patch(CONFIG_MAPS, "one", namespace, {"data": {"a": "2"}}, uid="another")
        with pytest.raises(Conflict):
            await store.patch(
                CONFIG_MAPS, "one", namespace, [{"op": "add", "path": "/data/b", "value": "1"}], "json", uid="x"
            )
        with pytest.raises(Conflict):
            await store.delete(CONFIG_MAPS, "one", namespace, uid="another")
        assert (await store.get(CONFIG_MAPS, "one", namespace)).version == changed.version
        await store.delete(CONFIG_MAPS, "one", namespace, uid=made.uid)
        with pytest.raises(NotFound):
            await store.get(CONFIG_MAPS, "one", namespace)

    with_store(kube.kubeconfig(), story)


def test_a_pod_is_bound_once(kube: Cluster, admin: KubeClient, namespace: str) -> None:
    uid = admin.create(pod("one", scheduler="nobody"), namespace)["metadata"]["uid"]

    async def story(store: KubernetesStore) -> None:
        with pytest.raises(Conflict):
            await store.bind("one", namespace, "a", uid="another")
        with pytest.raises(Conflict):
            await store.bind("one", namespace, "a", uid=uid, version=1)
        await store.bind("one", namespace, "a", uid=uid)
        for node in ("a", "b"):
            with pytest.raises(Conflict):
                await store.bind("one", namespace, node, uid=uid)
        with pytest.raises(NotFound):
            await store.bind("nobody", namespace, "a")

    with_store(kube.kubeconfig(), story)
    assert admin.get("v1", "Pod", "one", namespace)["spec"]["nodeName"] == "a"


# What goes wrong on the way


def test_a_server_that_has_no_time_is_asked_again_when_it_says(
    proxy: FaultyProxy, through: Path, namespace: str
) -> None:
    async def story(store: KubernetesStore) -> float:
        await store.list(CONFIG_MAPS, namespace)
        proxy.inject(Answer(429, retry_after=1), matching(verb="create"), times=2)
        begun = time.monotonic()
        await store.create(CONFIG_MAPS, config_map("one", namespace))
        return time.monotonic() - begun

    assert with_store(through, story) >= 2.0
    assert proxy.count(verb="create", path="/configmaps$") == 3


def test_a_server_that_has_no_time_to_evict_is_asked_again_and_a_budget_is_not(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str
) -> None:
    admin.create(pod("one"), namespace)

    async def story(store: KubernetesStore) -> None:
        proxy.inject(Answer(429, cause="DisruptionBudget"), matching(path="/eviction$"))
        with pytest.raises(TooManyRequests):
            await store.evict("one", namespace)
        assert proxy.count(verb="create", path="/eviction$") == 1
        proxy.inject(Answer(429), matching(path="/eviction$"), times=2)
        await store.evict("one", namespace)

    with_store(through, story)
    assert proxy.count(verb="create", path="/eviction$") == 4
    assert admin.find("v1", "Pod", "one", namespace) is None


def test_a_server_that_never_has_time_to_evict_is_no_budget(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_PATIENCE", 1)
    admin.create(pod("one"), namespace)
    proxy.inject(Answer(429), matching(path="/eviction$"), times=None)
    _refused(through, Unavailable, lambda store: store.evict("one", namespace))


@pytest.mark.parametrize("fault", [Answer(500), Answer(503), Answer(504), Cut()])
def test_what_did_not_arrive_is_not_sent_again_by_itself(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str, fault: Any
) -> None:
    _refused(through, Unavailable, _creates(proxy, namespace, fault))
    assert admin.find("v1", "ConfigMap", "one", namespace) is None
    assert proxy.count(verb="create", path="/configmaps$") == 1


def test_whether_it_arrived_is_not_known_when_the_answer_is_lost(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str
) -> None:
    _refused(through, Unavailable, _creates(proxy, namespace, Cut(done=True)))
    assert admin.find("v1", "ConfigMap", "one", namespace) is not None
    assert proxy.count(verb="create", path="/configmaps$") == 1


def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(
    proxy: FaultyProxy, through: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_ANSWER_SECONDS", 1.0)
    _refused(through, Unavailable, _creates(proxy, namespace, Delay(3600)))


@pytest.mark.parametrize("codes", [[409], [500, 503], [429]])
def test_reading_goes_on_when_it_went_wrong_before(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str, codes: list[int]
) -> None:
    admin.create(config_map("one", namespace))

    async def story(store: KubernetesStore) -> list[str]:
        for code in codes:
            proxy.inject(Answer(code), matching(verb="list"))
            if code != 429:
                with pytest.raises(StoreError):
                    await store.list(CONFIG_MAPS, namespace)
        return [record.name for record in (await store.list(CONFIG_MAPS, namespace)).records]

    assert "one" in with_store(through, story)


def test_nothing_is_forgotten_when_the_server_says_no_for_a_moment(
    proxy: FaultyProxy, through: Path, admin: KubeClient, namespace: str
) -> None:
    """As one does that has just started: it has not read yet who may do what."""
    admin.create(config_map("one", namespace))

    async def story(store: KubernetesStore) -> None:
        gone: list[Record] = []
        cache = Cache(CONFIG_MAPS, lambda old, new: gone.append(old) if new is None and old is not None else None)
        signal = asyncio.Event()
        await cache.follow(store, signal)
        proxy.inject(Answer(403), matching(verb="list", path="/configmaps$"), times=2)
        proxy.inject(WatchError(410), matching(verb="watch", path="/configmaps$"))
        proxy.cut_watches("/configmaps$")
        refused = 0
        while proxy.count(verb="list", path="/configmaps$") < 4:
            try:
                await cache.follow(store, signal)
            except Forbidden:
                refused += 1
            await asyncio.sleep(0.05)
        assert refused == 2
        assert cache.get("one", namespace) is not None
        assert [record for record in gone if record.namespace == namespace] == []

    with_store(through, story)


def test_a_kind_that_may_not_be_listed_is_absent_and_pods_are_not(kube: Cluster) -> None:
    async def story(store: KubernetesStore) -> None:
        assert (await store.list(CONFIG_MAPS)).records == []
        with pytest.raises(Forbidden):
            await store.list(PODS)

    with_store(kube.kubeconfig("somebody-without-rights"), story)


def test_what_etcd_has_compacted_is_too_old_to_watch(kube: Cluster, namespace: str) -> None:
    async def story(store: KubernetesStore) -> None:
        first = await store.create(EVENTS, _event("one", namespace))
        last = await store.create(EVENTS, _event("two", namespace))
        await asyncio.to_thread(kube.compact, last.version)
        watch = store.watch(EVENTS, first.version - 1, namespace)
        await until(lambda: not watch.quiet)
        with pytest.raises(Expired):
            watch.take()
        watch.close()

    with_store(kube.kubeconfig(), story)


def _creates(proxy: FaultyProxy, namespace: str, fault: Any) -> Story:
    async def story(store: KubernetesStore) -> None:
        await store.list(CONFIG_MAPS, namespace)
        proxy.inject(fault, matching(verb="create"))
        await store.create(CONFIG_MAPS, config_map("one", namespace))

    return story


def _refused(kubeconfig: Path, error: type[StoreError], story: Story) -> None:
    with pytest.raises(error):
        with_store(kubeconfig, story)


def _event(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "a", "namespace": namespace},
        "type": "Normal",
        "reason": "Scheduled",
        "message": "it has a place",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "reportingComponent": "reprieve",
    }
