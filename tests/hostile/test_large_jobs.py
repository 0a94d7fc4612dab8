"""Somebody asks for two million pods: everybody else is served as before, and the asker can change their mind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import HOLLOW, Running, until
from tests.hostile.attacking import Attacked, Pulse, assert_steady, attacked, thorough

_NUMBER = 2_000_000
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_SETS = "/apis/apps/v1/namespaces/default/replicasets"
_PODS = "/api/v1/namespaces/default/pods"


def template(**labels: str) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Always", "containers": [container]}}


def a_job(name: str, **spec: Any) -> dict[str, Any]:
    pods = template()
    pods["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**spec, "template": pods}}


def number_of_pods(victim: Attacked) -> int:
    page = victim.get(f"{_PODS}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def _labelled(kind: str, **spec: Any) -> dict[str, Any]:
    """So many pods of a template that its selector finds."""
    selector = {"matchLabels": {"app": "huge"}}
    spec = {"replicas": _NUMBER, "selector": selector, "template": template(app="huge"), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "huge"}, "spec": spec}


_JOB_SET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "huge"},
    "spec": {
        "replicatedJobs": [
            {"name": "a", "replicas": _NUMBER, "template": {"spec": a_job("unused", parallelism=1)["spec"]}}
        ]
    },
}
HUGE: dict[str, tuple[str, dict[str, Any]]] = {
    "job": (_JOBS, a_job("huge", parallelism=_NUMBER)),
    "replicaset": (_SETS, _labelled("ReplicaSet")),
    "statefulset": (
        "/apis/apps/v1/namespaces/default/statefulsets",
        _labelled("StatefulSet", podManagementPolicy="Parallel", serviceName="huge"),
    ),
    "jobset": ("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets", _JOB_SET),
}


@pytest.mark.parametrize("kind", ["job", pytest.param("replicaset", marks=thorough), "statefulset", "jobset"])
def test_huge_objects_freeze_nothing_and_can_be_deleted(tmp_path: Path, kind: str) -> None:
    path, manifest = HUGE[kind]
    with attacked(tmp_path) as victim, Pulse(victim) as pulse:
        assert victim.ask("POST", path, manifest)[0] == 201
        until(lambda: number_of_pods(victim) > 200)
        assert victim.ask("DELETE", f"{path}/huge")[0] == 200
        until(lambda: number_of_pods(victim) == 0)
        assert_steady(victim, pulse)


@thorough
def test_a_huge_job_survives_a_restart_and_can_still_be_deleted(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim:
        assert victim.ask("POST", _JOBS, a_job("huge", parallelism=_NUMBER))[0] == 201
        until(lambda: number_of_pods(victim) > 50)
        victim.kill()
    (tmp_path / "data" / "server.json").unlink()
    again = Running(tmp_path, *HOLLOW)
    try:
        victim = Attacked(again)
        with Pulse(victim) as pulse:
            time.sleep(1)
            assert victim.ask("DELETE", f"{_JOBS}/huge")[0] == 200
            until(lambda: number_of_pods(victim) == 0)
            assert_steady(victim, pulse)
    finally:
        again.process.kill()
        again.process.wait()


def test_owners_that_are_none_stop_no_garbage_collection(tmp_path: Path) -> None:
    """What belongs to others still goes with them."""
    with attacked(tmp_path) as victim:
        for number, owners in enumerate(([{}], [{"name": "a"}], [{"kind": "Pod", "name": "a", "uid": ""}])):
            metadata = {"name": f"odd-{number}", "ownerReferences": owners}
            assert victim.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": metadata})[0] in (201, 422)
        assert victim.ask("POST", _JOBS, a_job("one", parallelism=2))[0] == 201
        until(lambda: number_of_pods(victim) == 2)
        assert victim.ask("DELETE", f"{_JOBS}/one")[0] == 200
        until(lambda: number_of_pods(victim) == 0)
        assert "Traceback" not in victim.warnings()
