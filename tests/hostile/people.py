"""Several people at one control plane, each with a token of its own."""

from __future__ import annotations

from typing import Any

import httpx

from tests.cli.running import PATIENCE, Running

ADMIN_OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: alice}
---
apiVersion: v1
kind: Namespace
metadata: {name: bob}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 5000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 5000
"""


class Person(httpx.Client):
    """Asks with a token, and says what a refusal was about."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        super().__init__(base_url=url, headers=headers, timeout=PATIENCE)
        self.token = token

    def create(
        self, namespace: str, data: dict[str, Any], plural: str = "pods", api: str = "/api/v1"
    ) -> httpx.Response:
        return self.post(f"{api}/namespaces/{namespace}/{plural}", json=data)


def join(plane: Running, *options: str) -> Person:
    """Somebody new, with a token that the owner made."""
    token = plane.ok("token", "create", *options, "--data", str(plane.directory)).stdout.strip()
    return Person(plane.wait_for_address(), token)


def refused(answer: httpx.Response, *words: str) -> bool:
    """Whether it is a 403 that says why."""
    status = answer.json()
    assert (answer.status_code, status["kind"], status["reason"]) == (403, "Status", "Forbidden"), answer.text
    assert all(word in status["message"] for word in words), status["message"]
    return True


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def job(name: str, metadata: dict[str, Any] | None = None, **template: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"template": {"metadata": template.pop("metadata", {}), "spec": pod("x", **template)["spec"]}},
    }
