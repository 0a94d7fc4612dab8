"""Words for what happens to pods of a second scheduler: make them, wait for them, read what they were told."""

from __future__ import annotations

from typing import Any

import httpx

from tests.cli.running import until
from tests.kube.client import KubeClient, Refused
from tests.kube.hollow import pod

OWN = "reprieve"
LOW, HIGH = "low-priority", "high-priority"
CLASSES = {LOW: 10, HIGH: 1000}
_SOON = 20.0


class Story:
    """One namespace of a cluster, and the pods in it."""

    def __init__(self, admin: KubeClient, namespace: str) -> None:
        self.admin = admin
        self.namespace = namespace

    def create(self, manifest: dict[str, Any]) -> Any:
        return self.admin.create(manifest, self.namespace)

    def low(self, name: str, node: str = "", **more: Any) -> Any:
        return self._pod(name, node, **{"priorityClassName": LOW, **more})

    def high(self, name: str, node: str = "", **more: Any) -> Any:
        return self._pod(name, node, **{"priorityClassName": HIGH, **more})

    def _pod(self, name: str, node: str, **more: Any) -> Any:
        """Kept to one node where that is named, so that tests share a cluster."""
        if node:
            more["nodeSelector"] = {"kubernetes.io/hostname": node}
        return self.create(pod(name, **{"scheduler": OWN, **more}))

    def pod(self, name: str) -> Any:
        return self.admin.get("v1", "Pod", name, self.namespace)

    def find(self, name: str) -> Any:
        return self.admin.find("v1", "Pod", name, self.namespace)

    def node_of(self, name: str) -> str:
        found = self.find(name)
        return str(found["spec"].get("nodeName", "")) if found else ""

    def bound(self, name: str, seconds: float = _SOON) -> str:
        """The node that a pod gets."""
        return str(until(lambda: self.node_of(name), seconds))

    def runs(self, name: str) -> str:
        self.bound(name)
        until(lambda: self.pod(name)["status"].get("phase") == "Running", _SOON)
        return self.node_of(name)

    def condition(self, name: str, kind: str) -> dict[str, Any]:
        found = self.find(name) or {}
        return next((each for each in found.get("status", {}).get("conditions", ()) if each["type"] == kind), {})

    def waits(self, name: str, because: str) -> str:
        """What a pod says about why it has no place."""
        until(lambda: because in self.condition(name, "PodScheduled").get("message", ""), _SOON)
        assert self.node_of(name) == ""
        return str(self.condition(name, "PodScheduled")["message"])

    def leaving(self, name: str) -> Any:
        """A pod that has been told to go and is still there."""
        return until(lambda: (found := self.find(name)) and found["metadata"].get("deletionTimestamp") and found, _SOON)

    def gone(self, name: str) -> bool:
        return bool(until(lambda: self.find(name) is None, _SOON))

    def events(self, name: str, reason: str) -> list[Any]:
        """In the API of today: events.k8s.io."""
        everything = self.admin.list("events.k8s.io/v1", "Event", self.namespace)
        return [each for each in everything if each["regarding"]["name"] == name and each["reason"] == reason]

    def told(self, name: str, reason: str) -> Any:
        return until(lambda: self.events(name, reason), _SOON)[0]

    def budget(self, name: str, labels: dict[str, str], available: int) -> None:
        spec = {"minAvailable": available, "selector": {"matchLabels": labels}}
        self.create(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        )


def create_classes(admin: KubeClient, classes: dict[str, int]) -> None:
    for name, value in classes.items():
        try:
            admin.create(priority_class(name, value))
        except Refused as refused:
            if refused.code != httpx.codes.CONFLICT:
                raise


def priority_class(name: str, value: int, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations or {}}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}
