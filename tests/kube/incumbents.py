"""Signs of programs that decide by a design already: their leases and Deployments, as their own manifests make them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.kube.client import KubeClient, Refused

Manifest = dict[str, Any]
_LEASES, _DEPLOYMENTS = "coordination.k8s.io/v1", "apps/v1"


def moment(seconds_ago: float = 0.0) -> str:
    then = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lease(name: str, holder: str = "manager-1", renewed_ago: float = 0.0) -> Manifest:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": moment(renewed_ago)}
    return {"apiVersion": _LEASES, "kind": "Lease", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, replicas: int = 1) -> Manifest:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "none"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": _DEPLOYMENTS, "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def renew(admin: KubeClient, namespace: str, name: str, renewed_ago: float = 0.0) -> None:
    admin.patch(_LEASES, "Lease", name, {"spec": {"renewTime": moment(renewed_ago)}}, namespace)


@contextmanager
def there(admin: KubeClient, namespace: str, *manifests: Manifest) -> Iterator[None]:
    """For as long as it lasts; the namespace stays."""
    try:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    except Refused as refused:
        if refused.code != httpx.codes.CONFLICT:
            raise
    made = [admin.create(each, namespace) for each in manifests]
    try:
        yield
    finally:
        for each in made:
            admin.delete(each["apiVersion"], each["kind"], each["metadata"]["name"], namespace)
