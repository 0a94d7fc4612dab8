"""A store with a clock that tests set, whose methods are called without waiting, and plain objects to put in it."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from reprieve.manifests.kinds import NAMESPACES, NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import START
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import Record

Data = dict[str, Any]
Result = TypeVar("Result")


def at_once(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """What a method of the embedded store returns; it never waits for anything."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: Result = end.value
        return value
    raise AssertionError("the embedded store waited")


class Scene:
    def __init__(self, path: str | Path = ":memory:", **options: Any) -> None:
        self.path, self.options = path, options
        self.now: datetime = START
        self.store = EmbeddedStore.open(path, lambda: self.now, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def restart(self) -> None:
        self.store.close()
        self.store = EmbeddedStore.open(self.path, lambda: self.now, **self.options)

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def create(self, resource: Resource, data: Data) -> Record:
        return at_once(self.store.create(resource, data))

    def get(self, resource: Resource, name: str, namespace: str = "") -> Data:
        return at_once(self.store.get(resource, name, namespace)).data

    def pod(self, name: str = "a") -> Data:
        return self.get(PODS, name, "default")

    def names(self, resource: Resource, namespace: str = "", **selectors: str) -> list[str]:
        return [record.name for record in at_once(self.store.list(resource, namespace, **selectors)).records]

    def replace(self, resource: Resource, data: Data, **options: Any) -> Record:
        return at_once(self.store.replace(resource, data, **options))

    def patch(self, resource: Resource, name: str, patch: Any, namespace: str = "default", **options: Any) -> Record:
        return at_once(
            self.store.patch(resource, name, namespace if resource.namespaced else "", patch, **options),
        )

    def status(self, resource: Resource, name: str, status: Data, **options: Any) -> Record:
        return self.patch(resource, name, {"status": status}, subresource="status", **options)

    def delete(self, resource: Resource, name: str, **options: Any) -> Record:
        return at_once(self.store.delete(resource, name, "default" if resource.namespaced else "", **options))

    def bind(self, name: str, node: str = "n", **options: Any) -> Record:
        return at_once(self.store.bind(name, "default", node, **options))

    def evict(self, name: str, **options: Any) -> Record:
        return at_once(self.store.evict(name, "default", **options))

    def running(self, name: str = "a", **pod_options: Any) -> Record:
        """A pod that runs on the node `n`."""
        if "n" not in self.names(NODES):
            self.create(NODES, node())
        self.create(PODS, pod(name, **pod_options))
        self.bind(name)
        return self.status(PODS, name, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})

    def namespace(self, name: str) -> Record:
        return self.create(NAMESPACES, {"metadata": {"name": name}})


def pod(name: str = "a", *, namespace: str = "default", labels: Data | None = None, **spec: Any) -> Data:
    metadata = {"name": name, "namespace": namespace} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}


def node(name: str = "n") -> Data:
    return {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}


def job(name: str = "j", *, labels: Data | None = None, **spec: Any) -> Data:
    template = {"spec": {"containers": [{"name": "c"}]}}
    metadata = {"name": name, "namespace": "default"} | ({"labels": labels} if labels else {})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template, **spec}}
