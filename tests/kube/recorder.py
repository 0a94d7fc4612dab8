"""Every write to what a test's pods are decided over, in the one order in which the API server took them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self

import httpx

from tests.kube.client import KubeClient

Data = Mapping[str, Any]


class Write(NamedTuple):
    """One object as it was written."""

    version: int
    data: Data
    gone: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.data["kind"], self.data["metadata"]["name"]


class Recorder:
    """Watches from the moment it is opened until it is closed. A gap is a fault of the test, and said so."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        kinds = (
            ("v1", "Pod", namespace),
            ("v1", "Node", None),
            ("policy/v1", "PodDisruptionBudget", namespace),
            ("scheduling.k8s.io/v1", "PriorityClass", None),
        )
        self._threads = [threading.Thread(target=self._follow, args=each, daemon=True) for each in kinds]
        self._closed = threading.Event()
        self._taken = threading.Lock()
        self._writes: list[Write] = []
        self._faults: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join(timeout=30)

    @property
    def writes(self) -> list[Write]:
        """Versions of all kinds are counted in one line."""
        with self._taken:
            assert not self._faults, self._faults
            return sorted(self._writes, key=lambda write: write.version)

    def _follow(self, api_version: str, kind: str, namespace: str | None) -> None:
        path = self._client.path(api_version, kind, namespace)
        known = {"apiVersion": api_version, "kind": kind}
        found = self._client.request("GET", path)
        version = found["metadata"]["resourceVersion"]
        self._take([Write(int(each["metadata"]["resourceVersion"]), {**each, **known}) for each in found["items"]])
        while not self._closed.is_set():
            with suppress(httpx.TransportError):
                version = self._watch(path, version)

    def _watch(self, path: str, version: str) -> str:
        asked = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "2"}
        with self._client.http.stream("GET", path, params=asked) as response:
            for line in response.iter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self._faults.append(f"{path} since {version}: {event['object']}")
                    self._closed.set()
                    return version
                version = event["object"]["metadata"]["resourceVersion"]
                self._take([Write(int(version), event["object"], gone=event["type"] == "DELETED")])
        return version

    def _take(self, writes: list[Write]) -> None:
        with self._taken:
            self._writes += writes
