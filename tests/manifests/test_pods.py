"""What a pod asks for in all, and how it is leaving."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.loading import load_objects
from reprieve.manifests.pods import pod_requests, pod_slots
from reprieve.model.resources import Resources
from tests.builders.pods import container, pod

POD_LEVEL_REQUESTS = {"resources": {"requests": {"cpu": "3"}}}
POD_LEVEL_LIMITS = {"resources": {"limits": {"cpu": "4", "memory": "1Gi"}}}


def read(item: dict[str, Any]) -> Any:
    loaded = load_objects([item])
    assert [str(problem) for problem in loaded.problems] == []
    return loaded.objects[0]


def sidecar(name: str, **amounts: Any) -> dict[str, Any]:
    return container(name, restart_policy="Always", **amounts)


# What the test is about, the containers, the rest of the spec, and what is asked for.
REQUESTS: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, str]]] = [
    ("nothing is asked for", [container()], {}, {}),
    ("one container asks for itself", [container(cpu="500m", memory="1Gi")], {}, {"cpu": "500m", "memory": "1Gi"}),
    (
        "containers run together",
        [container(cpu="1"), container("b", cpu="2", gpu="1")],
        {},
        {"cpu": "3", "nvidia.com/gpu": "1"},
    ),
    ("a limit without a request is a request", [container(limits={"cpu": "2"})], {}, {"cpu": "2"}),
    (
        "but only of what is not requested",
        [container(cpu="1", limits={"cpu": "2", "memory": "1Gi"})],
        {},
        {"cpu": "1", "memory": "1Gi"},
    ),
    (
        "init containers run one after the other: the largest counts, if it is larger",
        [container(cpu="1", memory="2Gi")],
        {"initContainers": [container("i", cpu="3"), container("j", cpu="2", memory="1Gi")]},
        {"cpu": "3", "memory": "2Gi"},
    ),
    (
        "an init container's limit counts as well",
        [container(cpu="1")],
        {"initContainers": [container("i", limits={"cpu": "2"})]},
        {"cpu": "2"},
    ),
    (
        "sidecars stay beside the containers",
        [container(cpu="1")],
        {"initContainers": [sidecar("s", cpu="1"), sidecar("t", cpu="500m")]},
        {"cpu": "2500m"},
    ),
    (
        "an init container runs beside the sidecars started before it",
        [container(cpu="1")],
        {"initContainers": [sidecar("s", cpu="1"), container("i", cpu="5"), sidecar("t", cpu="2")]},
        {"cpu": "6"},
    ),
    (
        "and not beside those started after it",
        [container(cpu="1")],
        {"initContainers": [container("i", cpu="5"), sidecar("s", cpu="1"), sidecar("t", cpu="2")]},
        {"cpu": "5"},
    ),
    (
        "overhead comes on top",
        [container(cpu="1")],
        {"overhead": {"cpu": "250m", "memory": "64Mi"}},
        {"cpu": "1250m", "memory": "64Mi"},
    ),
    (
        "overhead comes on top of the hungriest moment too",
        [container(cpu="1")],
        {"initContainers": [container("i", cpu="2")], "overhead": {"cpu": "1"}},
        {"cpu": "3"},
    ),
    (
        "a request of the pod itself replaces that of its containers, resource by resource",
        [container(cpu="1", memory="1Gi"), container("b", cpu="1")],
        POD_LEVEL_REQUESTS,
        {"cpu": "3", "memory": "1Gi"},
    ),
    (
        "with overhead on top",
        [container(cpu="1")],
        {**POD_LEVEL_REQUESTS, "overhead": {"cpu": "1"}},
        {"cpu": "4"},
    ),
    (
        "a limit of the pod itself counts only where no container asks",
        [container(cpu="1")],
        POD_LEVEL_LIMITS,
        {"cpu": "1", "memory": "1Gi"},
    ),
    ("and where nothing does", [container()], POD_LEVEL_LIMITS, {"cpu": "4", "memory": "1Gi"}),
    (
        "its request comes before its limit",
        [container()],
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}},
        {"cpu": "2"},
    ),
]


@pytest.mark.parametrize(("containers", "spec", "want"), [pytest.param(*row[1:], id=row[0]) for row in REQUESTS])
def test_requests(containers: Any, spec: Any, want: Any) -> None:
    item = read(pod(containers=containers, spec=spec))
    assert pod_requests(item.spec) == Resources.parse(want)
    assert pod_slots(item.spec) == Resources.parse({**want, "pods": 1})


LEAVING = "2026-01-01T12:00:00Z"


def target(status: str, reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": "DisruptionTarget", "status": status, "reason": reason}]}


@pytest.mark.parametrize(
    ("deleted", "status", "want"),
    [
        (None, {}, (False, False)),
        (None, target("True", "PreemptionByScheduler"), (False, False)),
        (LEAVING, {}, (True, False)),
        (LEAVING, target("True", "EvictionByEvictionAPI"), (True, False)),
        (LEAVING, target("False", "PreemptionByScheduler"), (True, False)),
        (LEAVING, target("True", "PreemptionByScheduler"), (True, True)),
    ],
)
def test_only_a_pod_that_was_preempted_and_is_deleted_is_leaving_by_preemption(
    deleted: Any, status: Any, want: Any
) -> None:
    item = read(pod(node="n1", deleted=deleted, status=status))
    assert (item.terminating, item.terminating_by_preemption) == want


@pytest.mark.parametrize(
    ("phase", "want"), [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)]
)
def test_a_finished_pod_holds_nothing(phase: Any, want: Any) -> None:
    assert read(pod(node="n1", status={"phase": phase})).finished is want
