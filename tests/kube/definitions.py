"""Kinds of others on the real server: definitions that take any object of the kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from reprieve.manifests.resource import Resource
from tests.cli.running import until
from tests.kube.client import KubeClient

_API = "apiextensions.k8s.io/v1"
_KIND = "CustomResourceDefinition"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(resource: Resource) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": resource.versions[0],
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _ANYTHING},
    }
    if "status" in resource.subresources:
        version["subresources"] = {"status": {}}
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    return {
        "apiVersion": _API,
        "kind": _KIND,
        # Groups of Kubernetes itself want to know who approved a definition.
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }


@contextmanager
def defined(admin: KubeClient, *resources: Resource) -> Iterator[None]:
    """The server has these kinds, until the end of the test."""
    made = [admin.create(definition(resource))["metadata"]["name"] for resource in resources]
    try:
        for resource in resources:
            until(partial(_is_served, admin, resource))
        yield
    finally:
        for resource in resources:
            _let_go(admin, resource)
        for name in made:
            admin.delete(_API, _KIND, name)
        for resource in resources:
            until(lambda resource=resource: not _is_served(admin, resource))  # type: ignore[misc]


def _let_go(admin: KubeClient, resource: Resource) -> None:
    """Drop all finalizers of a kind: whoever would do that once its objects are not in use any more has ended."""
    path = f"/apis/{resource.group}/{resource.versions[0]}"
    for item in admin.http.get(f"{path}/{resource.plural}").json().get("items", []):
        metadata = item["metadata"]
        if metadata.get("finalizers"):
            inside = f"/namespaces/{metadata['namespace']}" if resource.namespaced else ""
            where = f"{path}{inside}/{resource.plural}/{metadata['name']}"
            how = {"Content-Type": "application/merge-patch+json"}
            admin.http.patch(where, json={"metadata": {"finalizers": None}}, headers=how).raise_for_status()


def _is_served(admin: KubeClient, resource: Resource) -> bool:
    path = f"/apis/{resource.group}/{resource.versions[0]}/{resource.plural}"
    return bool(admin.http.get(path).is_success)
