"""What is told on a real API server, with the rights of `deploy/rbac.yaml` and no others."""

from __future__ import annotations

import logging

import pytest

from reprieve.manifests.kinds import PODS
from reprieve.model.clock import system_clock
from reprieve.scheduler.events import Recorder
from reprieve.stores.kubernetes.store import KubernetesStore
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.hollow import pod
from tests.kube.second_scheduler import own_kubeconfig
from tests.kube.stores import with_store


def test_a_long_name_that_ends_at_the_wrong_place_is_told_of_too(
    kube: Cluster, admin: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is left of it begins the name of the event, and no part of a name ends with a hyphen."""
    names = [f"{'a' * 199}-b", f"{'a' * 199}.b", f"{'a' * 198}-x"]
    for name in names:
        admin.create(pod(name, scheduler="nobody"), namespace)

    async def story(store: KubernetesStore) -> None:
        recorder = Recorder(store, system_clock)
        for name in names:
            recorder.record(await store.get(PODS, name, namespace), "Warning", "FailedScheduling", "there is no room")
        await recorder.finish()

    with caplog.at_level(logging.WARNING):
        with_store(own_kubeconfig(kube, admin), story)
    assert caplog.messages == []
    told = [event["regarding"]["name"] for event in admin.list("events.k8s.io/v1", "Event", namespace)]
    assert sorted(told) == sorted(names)


def test_what_was_said_before_a_restart_is_counted_and_not_lost(
    kube: Cluster, admin: KubeClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    admin.create(pod("waits", scheduler="nobody"), namespace)

    async def story(store: KubernetesStore) -> None:
        about = await store.get(PODS, "waits", namespace)
        for _ in range(3):  # each knows nothing of those before it
            recorder = Recorder(store, system_clock)
            recorder.record(about, "Warning", "FailedScheduling", "there is no room")
            await recorder.finish()

    with caplog.at_level(logging.WARNING):
        with_store(own_kubeconfig(kube, admin), story)
    assert caplog.messages == []
    (event,) = admin.list("events.k8s.io/v1", "Event", namespace)
    assert (event["note"], event["series"]["count"]) == ("there is no room", 3)
