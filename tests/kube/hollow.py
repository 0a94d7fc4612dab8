"""Nodes without machines: kwok plays their kubelets by these stages."""

from __future__ import annotations

from typing import Any

# kwok looks after nodes with this annotation, and leaves all others alone.
FAKE = "kwok.x-k8s.io/node"
SELECTOR = f"{FAKE}=fake"
_AT_THE_END_OF_GRACE = {
    "durationMilliseconds": 0,
    "durationFrom": {"jq": {"expression": ".metadata.deletionTimestamp"}},
}

_NODE_STATUS = """
conditions:
- type: Ready
  status: "True"
  reason: KubeletReady
  message: this node is played by kwok
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
"""
_POD_RUNS = """
phase: Running
startTime: {{ Now | Quote }}
conditions:
{{ range $type := list "Initialized" "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "True"
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ Now | Quote }}
{{ end }}
"""
_POD_ENDED = """
phase: PHASE
conditions:
{{ range $type := list "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "False"
  reason: PodPHASE
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: CODE
      finishedAt: {{ Now | Quote }}
{{ end }}
"""
_SUCCEEDED = _POD_ENDED.replace("PHASE", "Succeeded").replace("CODE", "0")
# As a program that was told to go ends: 128 and the number of SIGTERM.
_FAILED = _POD_ENDED.replace("PHASE", "Failed").replace("CODE", "143")


def stages(*, stop_after_ms: int | None = None, complete_after_ms: int | None = None) -> list[dict[str, Any]]:
    """What nodes and pods become, and when.

    A pod that is to go takes its whole grace period, as a program does that does not listen; or goes so long after it
    was told. Pods of Jobs succeed after a while, if that is said; else nothing ever ends by itself.
    """
    stays, leaves = (_where(".metadata.deletionTimestamp", operator) for operator in ("DoesNotExist", "Exists"))
    waits, runs = (_where(".status.phase", "In", phase) for phase in ("Pending", "Running"))
    has_ended, has_not_ended = (
        _where(".status.phase", operator, "Succeeded", "Failed") for operator in ("In", "NotIn")
    )
    not_ready = _where('.status.conditions.[] | select(.type == "Ready") | .status', "NotIn", "True")
    leaving = _AT_THE_END_OF_GRACE if stop_after_ms is None else _after(stop_after_ms)
    found = [
        _stage("node-initialize", "Node", [not_ready], _after(0), _status(_NODE_STATUS)),
        _stage("pod-ready", "Pod", [stays, waits], _after(0), _status(_POD_RUNS)),
        _stage("pod-stop", "Pod", [leaves, has_not_ended], leaving, _status(_FAILED)),
        _stage("pod-delete", "Pod", [leaves, has_ended], _after(0), {"delete": True}),
    ]
    if complete_after_ms is not None:
        of_a_job = _where(".metadata.ownerReferences.[].kind", "In", "Job")
        found.append(
            _stage("pod-complete", "Pod", [stays, runs, of_a_job], _after(complete_after_ms), _status(_SUCCEEDED))
        )
    return found


def _stage(
    name: str, kind: str, when: list[dict[str, Any]], delay: dict[str, Any], *steps: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": when},
            "delay": delay,
            "steps": list(steps),
        },
    }


def _after(milliseconds: int) -> dict[str, Any]:
    return {"durationMilliseconds": milliseconds}


def _where(key: str, operator: str, *values: str) -> dict[str, Any]:
    expression: dict[str, Any] = {"key": key, "operator": operator}
    return {"jq": {**expression, "values": list(values)} if values else expression}


def _status(template: str) -> dict[str, Any]:
    return {"patch": {"subresource": "status", "root": "status", "template": template}}


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: dict[str, str] | None = None,
    resources: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A node that is ready from the beginning. `resources` are any more that it has."""
    has = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is played by kwok"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {FAKE: "fake"},
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "status": {"capacity": has, "allocatable": has, "conditions": [ready]},
    }


def pod(
    name: str,
    *,
    cpu: str = "1",
    grace_seconds: int = 1,
    scheduler: str = "default-scheduler",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod that asks for cpu; any other field of its spec as in Kubernetes, such as `priorityClassName`."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "containers": [container],
            "terminationGracePeriodSeconds": grace_seconds,
            "schedulerName": scheduler,
            **spec,
        },
    }
