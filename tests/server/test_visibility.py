"""Kueue's visibility API on a control plane that decides: places are those in which turns are taken."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUOTA_WORKLOADS
from reprieve.server import create_app
from reprieve.server.app import create_scheduler_app
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import Plane, live

ROOT = "/apis/visibility.kueue.x-k8s.io"


def asking(plane: Plane, make: Any = create_app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(make(plane.plane)), base_url="http://127.0.0.1")


async def fill(plane: Plane) -> None:
    """One workload runs, and four wait in two LocalQueues of one ClusterQueue."""
    await plane.apply(flavor(), *queue("team", {"default": {"cpu": 4}}))
    other = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "night"}}
    await plane.apply({**other, "spec": {"clusterQueue": "team"}}, workload("runs", "team", cpu=4))
    await plane.passes(5)
    for name, local, priority in (("a", "team", 0), ("b", "night", 5), ("c", "team", 5), ("d", "night", 0)):
        await plane.apply(workload(name, local, cpu=4, priority=priority))
        await plane.passes(2)


def places(answer: httpx.Response) -> list[tuple[str, int, int]]:
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    return [(item["metadata"]["name"], item["positionInClusterQueue"], item["positionInLocalQueue"]) for item in items]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("make", [create_app, create_scheduler_app])
def test_who_waits_and_at_which_place(version: str, make: Any) -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        async with asking(plane, make) as http:
            answer = await http.get(f"{ROOT}/{version}/clusterqueues/team/pendingworkloads")
            assert places(answer) == [("b", 0, 0), ("c", 1, 0), ("a", 2, 1), ("d", 3, 1)]
            assert answer.json()["kind"] == "PendingWorkloadsSummary"
            assert answer.json()["apiVersion"] == f"visibility.kueue.x-k8s.io/{version}"
            first = answer.json()["items"][0]
            assert (first["priority"], first["localQueueName"]) == (5, "night")
            assert first["metadata"]["namespace"] == "default"
            assert first["metadata"]["creationTimestamp"]
            local = f"{ROOT}/{version}/namespaces/default/localqueues/night/pendingworkloads"
            assert places(await http.get(local)) == [("b", 0, 0), ("d", 3, 1)]
            part = f"{ROOT}/{version}/clusterqueues/team/pendingworkloads?offset=1&limit=2"
            assert places(await http.get(part)) == [("c", 1, 0), ("a", 2, 1)]
            assert places(await http.get(f"{local}?offset=1")) == [("d", 3, 1)]
            assert places(await http.get(f"{local}?offset=9")) == []

    live(story)


def test_the_first_of_the_list_is_the_next_that_is_admitted() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        admitted = ["runs"]
        async with asking(plane) as http:
            while waiting := places(await http.get(f"{ROOT}/v1beta2/clusterqueues/team/pendingworkloads")):
                await plane.store.delete(QUOTA_WORKLOADS, admitted[-1], "default")
                await plane.passes(5)
                found = (await plane.store.list(QUOTA_WORKLOADS)).records
                admitted += [each.name for each in found if each.manifest.status.admission is not None]
                assert admitted[-1] == waiting[0][0]
        assert admitted == ["runs", "b", "c", "a", "d"]

    live(story)


def test_queues_that_admit_nobody_and_queues_that_are_not_there() -> None:
    async def story(plane: Plane) -> None:
        await fill(plane)
        async with asking(plane) as http:
            path = f"{ROOT}/v1beta2/clusterqueues/team/pendingworkloads"
            await plane.change(CLUSTER_QUEUES, "team", {"spec": {"stopPolicy": "Hold"}})
            await plane.passes(5)
            assert places(await http.get(path)) == [("b", 0, 0), ("c", 1, 0), ("a", 2, 1), ("d", 3, 1)]
            await plane.change(LOCAL_QUEUES, "night", {"spec": {"stopPolicy": "Hold"}})
            await plane.passes(5)
            assert places(await http.get(path)) == [("c", 0, 0), ("a", 1, 1)], "who is held back has no place"
            for missing in (
                "clusterqueues/none",
                "namespaces/default/localqueues/none",
                "namespaces/x/localqueues/team",
            ):
                answer = await http.get(f"{ROOT}/v1beta2/{missing}/pendingworkloads")
                assert answer.status_code == 404, missing
                assert answer.json()["reason"] == "NotFound"
            assert (await http.get(f"{path}?limit=many")).status_code == 400
            assert (await http.get(f"{path}?offset=-1")).status_code == 400
            assert (await http.delete(path)).status_code == 405
            assert (await http.get(f"{ROOT}/v1beta3/clusterqueues/team/pendingworkloads")).status_code == 404

    live(story)


def test_clients_find_it() -> None:
    async def story(plane: Plane) -> None:
        async with asking(plane) as http:
            groups = (await http.get("/apis")).json()["groups"]
            assert groups[-1]["name"] == "visibility.kueue.x-k8s.io", (
                "last, so that nobody means its queues by accident"
            )
            for version in groups[-1]["versions"]:
                found = (await http.get(f"/apis/{version['groupVersion']}")).json()["resources"]
                assert {item["name"] for item in found if item["verbs"] == ["get"]} == {
                    "clusterqueues/pendingworkloads",
                    "localqueues/pendingworkloads",
                }
            paths = (await http.get("/openapi.json")).json()["paths"]
            assert f"{ROOT}/v1beta1/clusterqueues/{{name}}/pendingworkloads" in paths

    live(story)
