"""Which part of an object a write may change: the whole but its status, only its status, or only its finalizers."""

from collections.abc import Mapping
from typing import Any

from reprieve.manifests.kinds import NAMESPACES, PODS
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import MethodNotAllowed

Data = dict[str, Any]


def merge(resource: Resource, before: Data, after: Mapping[str, Any], subresource: str) -> Data:
    """The object before, with that part as it is after. Parts are shared, not copied."""
    if not subresource:
        return _main(resource, before, after)
    if subresource == "status" and resource.status:
        return _status(resource, before, after)
    if subresource == "finalize" and resource is NAMESPACES:
        return _with(before, "spec", after.get("spec", {}))
    raise MethodNotAllowed(f"{resource} have no {subresource} that is written apart")


def _main(resource: Resource, before: Data, after: Mapping[str, Any]) -> Data:
    kept = ("spec", "status") if resource is NAMESPACES else ("status",) if resource.status else ()
    merged = dict(after)
    for name in kept:
        merged = _with(merged, name, before.get(name))
    return merged


def _status(resource: Resource, before: Data, after: Mapping[str, Any]) -> Data:
    """The status alone; an agent may label and annotate its pods with it. A version that is asked for still counts."""
    metadata, sent = dict(before["metadata"]), after.get("metadata", {})
    if isinstance(sent, Mapping):
        taken = ("uid", "resourceVersion", "labels", "annotations") if resource is PODS else ("uid", "resourceVersion")
        metadata |= {name: sent[name] for name in taken if name in sent}
    return _with({**before, "metadata": metadata}, "status", after.get("status"))


def _with(data: Data, name: str, value: Any) -> Data:
    """An object with one field as it should be; None: without it."""
    if value is None:
        return {key: kept for key, kept in data.items() if key != name}
    return {**data, name: value}
