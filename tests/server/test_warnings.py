"""Writes that are accepted and answered with a warning, as Kubernetes does it."""

from __future__ import annotations

from typing import Any

import httpx

from reprieve.manifests.kinds import PODS, PRIORITY_CLASSES
from tests.builders.pods import pod_group
from tests.server.planes import Running, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def _class(server: Running, name: str) -> None:
    about: dict[str, Any] = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}
    about["metadata"] = {"name": name, "labels": {"team": "red"}}
    server.do(server.plane.store.create(PRIORITY_CLASSES, about))


def _pod(server: Running, name: str, node: str) -> None:
    made = pod(name, node=node)
    made["spec"]["priorityClassName"] = "batch"
    server.do(server.plane.store.create(PODS, made))


def test_deleting_a_class_that_running_pods_name(server: Running, http: httpx.Client) -> None:
    _class(server, "batch")
    for name, node in (("a", "n1"), ("b", "n2"), ("pending", "")):
        _pod(server, name, node)
    answer = http.delete(f"{CLASSES}/batch")
    assert answer.status_code == 200
    assert answer.headers["warning"] == (
        '299 - "Pod/default/a and Pod/default/b still name PriorityClass batch: nobody knows any more what they '
        'tolerate, so until it is created again no pod of higher priority can preempt on n1 and n2"'
    )


def test_all_at_once(server: Running, http: httpx.Client) -> None:
    _class(server, "batch")
    _class(server, "unused")
    _pod(server, "a", "n1")
    answer = http.delete(CLASSES, params={"labelSelector": "team=red"})
    assert answer.headers["warning"].count("299") == 1
    assert "Pod/default/a still names PriorityClass batch" in answer.headers["warning"]


def test_no_warning_where_nobody_runs_by_it(server: Running, http: httpx.Client) -> None:
    _class(server, "batch")
    _pod(server, "pending", "")
    assert "warning" not in http.delete(f"{CLASSES}/batch").headers


def test_what_a_gate_that_is_off_leaves_without_effect(http: httpx.Client) -> None:
    group: dict[str, Any] = pod_group("train", gang=2)
    path = f"/apis/{group['apiVersion']}/namespaces/default/podgroups"
    answer = http.post(path, json=group)
    assert answer.status_code == 201
    assert answer.headers["warning"] == (
        '299 - "what this PodGroup asks for does not count: the feature gate GenericWorkload is off '
        '(--feature-gates GenericWorkload=true turns it on)"'
    )


def test_what_is_tried_out_is_the_newest_and_what_replaces_a_stored_one_as_old_as_that(
    server: Running, http: httpx.Client
) -> None:
    server.fill()
    stored = {"manifests": [pod("a-tried"), pod("high", cpu="2")]}
    order = http.post("/plan", json=stored).json()["order"]
    assert order == ["Pod/default/high", "Pod/default/a-tried"]
