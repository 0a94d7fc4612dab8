"""What pods ask for without saying so: the defaults of a LimitRange, and the overhead of a RuntimeClass.

1. A container that names a resource neither in its requests nor in its limits asks for the default request of the
   namespace. Where that is not given, the default limit counts, then the largest limit, then the smallest request.
2. Of several LimitRanges the first by name that says something counts.
3. A pod that names a RuntimeClass and no overhead has the overhead of that class.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec.structs import replace

from reprieve.manifests import meta
from reprieve.manifests.pods import Container, PodSpec, ResourceRequirements
from reprieve.model.resources import NOTHING, Resources


class LimitItem(meta.Model):
    type: str
    default: Resources = NOTHING
    default_request: Resources = NOTHING
    max: Resources = NOTHING
    min: Resources = NOTHING


class LimitRangeSpec(meta.Model):
    limits: tuple[LimitItem, ...] = ()


class LimitRange(meta.Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["LimitRange"] = "LimitRange"
    spec: LimitRangeSpec = LimitRangeSpec()


class Overhead(meta.Model):
    pod_fixed: Resources = NOTHING


class RuntimeClass(meta.Manifest):
    api_version: Literal["node.k8s.io/v1"] = "node.k8s.io/v1"
    kind: Literal["RuntimeClass"] = "RuntimeClass"
    handler: str = ""
    overhead: Overhead = Overhead()


def default_requests(ranges: Iterable[LimitRange]) -> Resources:
    """What a container of the namespace of these asks for where it says nothing."""
    found: dict[str, int] = {}
    for limits in sorted(ranges, key=lambda item: item.name):
        for item in limits.spec.limits:
            if item.type == "Container":
                found = {**item.min, **item.max, **item.default, **item.default_request, **found}
    return Resources(found)


class UnsaidRequests:
    """All LimitRanges and RuntimeClasses of a cluster, by what they are asked for."""

    def __init__(self, ranges: Iterable[LimitRange], classes: Iterable[RuntimeClass]) -> None:
        by_namespace: dict[str, list[LimitRange]] = {}
        for limits in ranges:
            by_namespace.setdefault(limits.namespace, []).append(limits)
        self._requests: Mapping[str, Resources] = {
            namespace: default_requests(found) for namespace, found in by_namespace.items()
        }
        self._overheads = {item.name: item.overhead.pod_fixed for item in classes if item.overhead.pod_fixed}

    def __bool__(self) -> bool:
        return bool(self._requests or self._overheads)

    def of_containers(self, namespace: str) -> Resources:
        return self._requests.get(namespace, NOTHING)

    def overhead_of(self, runtime_class: str) -> Resources:
        return self._overheads.get(runtime_class, NOTHING)

    def said(self, spec: PodSpec, namespace: str) -> PodSpec:
        """The spec of a pod with all that it does not say."""
        requests, overhead = self.of_containers(namespace), self.overhead_of(spec.runtime_class_name)
        if overhead and not spec.overhead:
            spec = replace(spec, overhead=overhead)
        if not requests:
            return spec
        running = tuple(_asking(container, requests) for container in spec.containers)
        starting = tuple(_asking(container, requests) for container in spec.init_containers)
        return replace(spec, containers=running, init_containers=starting)


def _asking(container: Container, requests: Resources) -> Container:
    said = container.resources
    asked = ResourceRequirements(requests=Resources({**requests, **said.effective}), limits=said.limits)
    return replace(container, resources=asked)
