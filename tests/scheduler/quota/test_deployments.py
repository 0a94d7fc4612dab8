"""Deployments in queues: each of their pods asks for quota, makes way alone, and is made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import DEPLOYMENTS, QUOTA_WORKLOADS
from tests.planes.rest import could_still_act
from tests.planes.running import Dict, Plane, condition, live, replica_set
from tests.scheduler.quota.companies import QUEUE, company, running, shared, work

CLASS = "kueue.x-k8s.io/priority-class"


def deployment(name: str, queue: str = "team", *, replicas: int = 1, labels: Dict | None = None, **parts: Any) -> Dict:
    made = replica_set(name, replicas=replicas, **parts)
    made["kind"] = "Deployment"
    made["metadata"]["labels"] = {QUEUE: queue, **(labels or {})}
    return made


async def holding(plane: Plane) -> int:
    found = (await plane.store.list(QUOTA_WORKLOADS)).records
    return sum(1 for each in found if each.data["status"].get("admission") and not condition(each, "Finished"))


def test_as_many_pods_run_as_there_is_quota_for_and_the_next_when_one_goes(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(deployment("serving", replicas=3))
        await plane.passes(5)
        made = await plane.store.get(DEPLOYMENTS, "serving", "default")
        assert made.data["spec"]["template"]["metadata"]["labels"][QUEUE] == "team"
        assert await running(plane, "serving") == 2
        assert await holding(plane) == 2
        assert len(await plane.starting_with("serving")) == 3
        await plane.restart()
        await plane.change(DEPLOYMENTS, "serving", {"spec": {"replicas": 1}})
        await plane.passes(10)
        assert (await running(plane, "serving"), await holding(plane)) == (1, 1)
        assert len((await plane.store.list(QUOTA_WORKLOADS)).records) == 1
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story, directory=tmp_path)


def test_a_pod_that_makes_way_is_made_anew_and_waits() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team=shared(2))
        await plane.apply(deployment("serving", replicas=2, priority="low"))
        await plane.passes(5)
        await plane.apply(work("urgent", "team", priority="high", run=60))
        await plane.passes(10)
        assert (await running(plane, "serving"), await running(plane, "urgent")) == (1, 1)
        assert len(await plane.starting_with("serving")) == 2
        await plane.passes(70)
        assert await running(plane, "serving") == 2

    live(story)


def test_the_class_of_a_deployment_is_that_of_its_workloads() -> None:
    async def story(plane: Plane) -> None:
        made: Dict = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 7}
        await plane.apply({**made, "metadata": {"name": "serving"}})
        await company(plane, team={"cpu": 2})
        await plane.apply(deployment("web", labels={CLASS: "serving"}))
        await plane.passes(5)
        (workload,) = (await plane.store.list(QUOTA_WORKLOADS)).records
        assert workload.data["spec"]["priority"] == 7

    live(story)


def test_a_deployment_that_is_put_into_a_queue_later_rolls_over_into_it() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        made = deployment("web", replicas=2)
        made["metadata"]["labels"] = {}
        await plane.apply(made)
        await plane.passes(5)
        assert (await running(plane, "web"), await holding(plane)) == (2, 0)
        await plane.change(DEPLOYMENTS, "web", {"metadata": {"labels": {QUEUE: "team"}}})
        await plane.passes(60)
        queued = [each for each in await plane.starting_with("web") if QUEUE in each.labels]
        assert queued
        assert await holding(plane) == 1

    live(story)


@pytest.mark.parametrize("kind", ["DaemonSet", "ReplicaSet"])
def test_check_says_what_gets_no_workload(kind: str, tmp_path: Path) -> None:
    import json

    from typer.testing import CliRunner

    from reprieve.cli import app

    made = {**deployment("db"), "kind": kind}
    if kind == "DaemonSet":
        del made["spec"]["replicas"]
    file = tmp_path / "it.json"
    file.write_text(json.dumps(made))
    shown = CliRunner().invoke(app, ["check", "-f", str(file)])
    assert shown.exit_code == 0
    assert f"a {kind} asks for no quota itself, so its pods run without" in " ".join(shown.output.split())
