"""What an object is called: by whoever applies it, and by people."""

from collections.abc import Mapping
from typing import Any

from reprieve.manifests.kinds import resource_of
from reprieve.manifests.resource import Resource

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Where an object remembers what was applied."""


def place_of(manifest: Mapping[str, Any]) -> tuple[Resource, str, str, str]:
    """Resource, version, namespace and name of an object that is known to be one."""
    resource = resource_of(manifest["apiVersion"], manifest["kind"])
    if resource is None:
        raise ValueError(f"{manifest['apiVersion']} {manifest['kind']} is not stored")
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace") or "default" if resource.namespaced else ""
    return resource, manifest["apiVersion"].rpartition("/")[2], namespace, metadata["name"]


def short_name(resource: Resource, name: str) -> str:
    """An object as people write it, and as `get` takes it back: `pod/a`, `job.batch/b`."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}/{name}" if resource.group else f"{kind}/{name}"
