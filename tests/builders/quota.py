"""Manifests of quota: flavors, queues in cohorts, and workloads, with only what the test is about.

*queue("team-a", {"default": {"cpu": 8}}, cohort="all", reclaim="Any")
workload("running", "team-a", on="default", cpu=4)
workload("pending", "team-a", cpu=4, priority=5)
"""

from __future__ import annotations

from typing import Any

from tests.builders.pods import GPU, Dict, manifest, metadata, without_nothing

KUEUE = "kueue.x-k8s.io/v1beta2"


def flavor(name: str = "default", **spec: Any) -> Dict:
    """A ResourceFlavor; `nodeLabels`, `nodeTaints` and `tolerations` as they are spelled."""
    return manifest(KUEUE, "ResourceFlavor", metadata(name), spec=spec)


def quotas(flavors: dict[str, Dict]) -> list[Dict]:
    """One resource group: `{"default": {"cpu": 8, "memory": (4, 2, 1)}}`, with nominal, borrowing and lending limit."""
    names = ("nominalQuota", "borrowingLimit", "lendingLimit")
    if not flavors:
        return []
    lists = []
    for name, amounts in flavors.items():
        items = []
        for resource, amount in amounts.items():
            values = amount if isinstance(amount, tuple) else (amount,)
            given = {field: str(value) for field, value in zip(names, values, strict=False) if value is not None}
            items.append({"name": resource, **given})
        lists.append({"name": name, "resources": items})
    return [{"coveredResources": list(next(iter(flavors.values()))), "flavors": lists}]


def queue(
    name: str,
    flavors: dict[str, Dict],
    *,
    cohort: str | None = None,
    within: str | None = None,
    reclaim: str | None = None,
    borrow: Dict | None = None,
    weight: str | None = None,
    **spec: Any,
) -> list[Dict]:
    """A ClusterQueue, and a LocalQueue of the same name in `default` that leads to it."""
    preemption = without_nothing(withinClusterQueue=within, reclaimWithinCohort=reclaim, borrowWithinCohort=borrow)
    whole = without_nothing(
        cohortName=cohort,
        resourceGroups=quotas(flavors),
        preemption=preemption,
        fairSharing={"weight": weight} if weight is not None else None,
    )
    return [
        manifest(KUEUE, "ClusterQueue", metadata(name), spec={"namespaceSelector": {}, **whole, **spec}),
        manifest(KUEUE, "LocalQueue", metadata(name, "default"), spec={"clusterQueue": name}),
    ]


def cohort(
    name: str, flavors: dict[str, Dict] | None = None, *, parent: str | None = None, weight: str | None = None
) -> Dict:
    spec = without_nothing(
        parentName=parent,
        resourceGroups=quotas(flavors or {}),
        fairSharing={"weight": weight} if weight is not None else None,
    )
    return manifest(KUEUE, "Cohort", metadata(name), spec=spec)


def workload(
    name: str,
    queue: str,
    *,
    on: str | None = None,
    priority: int = 0,
    count: int = 1,
    least: int | None = None,
    created: str | None = None,
    reserved: str = "2026-01-01T10:00:00Z",
    evicted: str | None = None,
    annotations: dict[str, str] | None = None,
    pod_spec: Dict | None = None,
    **amounts: int | None,
) -> Dict:
    """A quota workload of `count` pods, each asking for so much `cpu`, `memory` or `gpu`.

    It is admitted when it is `on` a flavor and pending when not; `evicted` says why it is being evicted.
    """
    named = {"cpu": "cpu", "memory": "memory", "gpu": GPU}
    each = {named[key]: str(value) for key, value in amounts.items() if value is not None}
    pods = without_nothing(name="main", count=count, minCount=least)
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": each}}], **(pod_spec or {})}}
    conditions = []
    if on is not None:
        conditions.append(condition("QuotaReserved", reserved))
    if evicted is not None:
        conditions.append(condition("Evicted", reserved, reason=evicted))
    usage = {resource: str(int(amount) * count) for resource, amount in each.items()}
    assigned: Dict = {"name": "main", "count": count, "flavors": dict.fromkeys(each, on), "resourceUsage": usage}
    admission = {"clusterQueue": queue, "podSetAssignments": [assigned]} if on is not None else None
    return manifest(
        KUEUE,
        "Workload",
        metadata(name, "default", annotations=annotations, created=created),
        spec={"queueName": queue, "priority": priority, "podSets": [{**pods, "template": template}]},
        status=without_nothing(admission=admission, conditions=conditions),
    )


def condition(kind: str, when: str, *, status: str = "True", reason: str = "") -> Dict:
    return {"type": kind, "status": status, "reason": reason or kind, "message": "", "lastTransitionTime": when}
