"""Kueue's visibility API: who waits in a ClusterQueue or a LocalQueue, and at which place.

`clusterqueues/NAME/pendingworkloads` and `namespaces/NAMESPACE/localqueues/NAME/pendingworkloads`, read only.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import to_builtins
from starlette.responses import Response

from reprieve.access.rights import check_sees, check_sees_all
from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from reprieve.manifests.kueue import ClusterQueue, LocalQueue
from reprieve.manifests.resource import Resource
from reprieve.policies.quota.positions import PlaceInLine, positions
from reprieve.policies.quota.world import QuotaWorld
from reprieve.server.answers import json_answer
from reprieve.server.guard import identity_of
from reprieve.server.plane import Plane
from reprieve.server.requests import AnyRequest, query_of, segments_of
from reprieve.stores.errors import not_found

GROUP = "visibility.kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
GROUPS = {GROUP: VERSIONS}
SUBRESOURCE = "pendingworkloads"
SUMMARY = "PendingWorkloadsSummary"
USUAL_LIMIT = 1000
_QUEUES: tuple[Resource, ...] = (CLUSTER_QUEUES, LOCAL_QUEUES)
_ROUTES = (f"clusterqueues/{{name}}/{SUBRESOURCE}", f"namespaces/{{namespace}}/localqueues/{{name}}/{SUBRESOURCE}")
ROUTES = tuple(f"/apis/{GROUP}/{version}/{route}" for version in VERSIONS for route in _ROUTES)


async def pending_workloads(plane: Plane, request: AnyRequest) -> Response:
    """A part of those who wait, with their places; all that decisions are made over, so the store is not asked."""
    _, _, version, *rest = segments_of(request)
    query = query_of(request)
    query.check()
    offset, limit = query.number("offset") or 0, query.number("limit") or USUAL_LIMIT
    namespace, name = (rest[1], rest[3]) if rest[0] == "namespaces" else ("", rest[1])
    identity = identity_of(request.scope)
    if namespace:
        check_sees(identity, namespace)
    else:
        check_sees_all(identity)
    found = islice(_queued(plane.quota, namespace, name), offset, offset + limit)
    head = {"kind": SUMMARY, "apiVersion": f"{GROUP}/{version}", "metadata": {"creationTimestamp": None}}
    return json_answer({**head, "items": [_item(each) for each in found]})


def _queued(quota: QuotaWorld, namespace: str, name: str) -> Iterator[PlaceInLine]:
    """Raises `NotFound` where there is no such queue."""
    if not namespace:
        if quota.world.get(ClusterQueue, name) is None:
            raise not_found(CLUSTER_QUEUES, name)
        return positions(quota, name)
    local: LocalQueue | None = quota.world.get(LocalQueue, name, namespace)
    if local is None:
        raise not_found(LOCAL_QUEUES, name)
    return (each for each in positions(quota, local.spec.cluster_queue) if _local(each) == (namespace, name))


def _local(position: PlaceInLine) -> tuple[str, str]:
    workload = position.facts.workload
    return workload.namespace, workload.spec.queue_name


def _item(position: PlaceInLine) -> dict[str, Any]:
    workload = position.facts.workload
    kept = to_builtins(workload.metadata)
    said = ("name", "namespace", "creationTimestamp", "ownerReferences")
    return {
        "metadata": {key: kept[key] for key in said if kept.get(key)},
        "priority": position.facts.priority,
        "localQueueName": workload.spec.queue_name,
        "positionInClusterQueue": position.in_cluster_queue,
        "positionInLocalQueue": position.in_local_queue,
    }


# What clients find out. The queues themselves are not read here: they have no verbs.


def entries() -> list[dict[str, Any]]:
    """As a list of resources."""
    return [entry for resource in _QUEUES for entry in _entries(resource)]


def _entries(resource: Resource) -> Iterator[dict[str, Any]]:
    own = {"namespaced": resource.namespaced, "kind": resource.kind, "verbs": []}
    yield {"name": resource.plural, "singularName": resource.kind.lower(), **own}
    more = {"kind": SUMMARY, "verbs": ["get"]}
    yield {"name": f"{resource.plural}/{SUBRESOURCE}", "singularName": "", **own, **more}


def aggregated(version: str) -> list[dict[str, Any]]:
    """As a part of the discovery of everything at once."""

    def kind(name: str) -> dict[str, str]:
        return {"group": GROUP, "version": version, "kind": name}

    return [
        {
            "resource": resource.plural,
            "responseKind": kind(resource.kind),
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.kind.lower(),
            "verbs": [],
            "subresources": [{"subresource": SUBRESOURCE, "responseKind": kind(SUMMARY), "verbs": ["get"]}],
        }
        for resource in _QUEUES
    ]
