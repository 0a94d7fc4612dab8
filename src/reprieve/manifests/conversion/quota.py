"""Kueue's kinds: v1alpha2 and v1beta1, seen from v1beta2. What is not here is spelled alike in all of them."""

from typing import Any

from reprieve.manifests.conversion.topology import assignments_from_v1beta1, assignments_to_v1beta1
from reprieve.manifests.conversion.translation import Translation, leave_out, rename, without_empty
from reprieve.model.resources import Quantity

Data = dict[str, Any]
_STOP = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
_RECLAIM = {"ReclaimFromLowerPriority": "LowerPriority", "ReclaimFromAny": "Any"}
_READ_TOO = {"ReclaimAny": "Any", "Always": "Any"}
"""What KEP-83 writes in other places of its text."""
_SOURCES = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


# Cluster queues


def _queue_from_v1beta1(data: Data) -> None:
    spec = data.get("spec", {})
    rename(spec, "cohort", "cohortName")
    named = spec.pop("admissionChecks", None)
    if named:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in named]}
    fungibility = spec.get("flavorFungibility", {})
    for name in ("whenCanBorrow", "whenCanPreempt"):
        if name in fungibility:
            fungibility[name] = _STOP.get(fungibility[name], fungibility[name])


def _queue_to_v1beta1(data: Data) -> None:
    spec = data.get("spec", {})
    rename(spec, "cohortName", "cohort")
    leave_out(spec.get("flavorFungibility", {}), "preference")


def _queue_from_v1alpha2(data: Data) -> None:
    spec = data.get("spec", {})
    rename(spec, "cohort", "cohortName")
    spec.pop("resourceGroups", None)  # no field of that version: whatever stands there, nobody has looked at it
    resources = spec.pop("resources", None)
    if resources is not None:
        spec["resourceGroups"] = _resource_groups(resources)
    preemption = spec.get("preemption", {})
    if "withinCohort" in preemption:
        said = preemption.pop("withinCohort")
        preemption["reclaimWithinCohort"] = (_RECLAIM | _READ_TOO).get(said, said)
        if said == "LowerPriority":
            preemption["borrowWithinCohort"] = {"policy": "LowerPriority"}
    if preemption.get("withinClusterQueue") == "LowerPriorityOnly":
        preemption["withinClusterQueue"] = "LowerPriority"


def _resource_groups(resources: list[Data]) -> list[Data]:
    """Resources that list the same flavors in the same order share them: one group for each such list."""
    groups: dict[tuple[str, ...], list[Data]] = {}
    for resource in resources:
        groups.setdefault(tuple(flavor["name"] for flavor in resource["flavors"]), []).append(resource)
    return [
        {
            "coveredResources": [resource["name"] for resource in members],
            "flavors": [
                {"name": name, "resources": [_nominal(each["name"], each["flavors"][at]["quota"]) for each in members]}
                for at, name in enumerate(flavors)
            ],
        }
        for flavors, members in groups.items()
    ]


def _nominal(name: str, quota: Data) -> Data:
    """`max` was the most a queue could use; today the same is said by what it may borrow above nominal."""
    found = {"name": name, "nominalQuota": quota["min"]}
    if "max" in quota:
        found["borrowingLimit"] = _difference(quota["max"], quota["min"])
    return found


def _queue_to_v1alpha2(data: Data) -> None:
    spec = data.get("spec", {})
    rename(spec, "cohortName", "cohort")
    groups = spec.pop("resourceGroups", None)
    if groups is not None:
        spec["resources"] = [_resource(group, name) for group in groups for name in group["coveredResources"]]
    preemption = spec.get("preemption", {})
    leave_out(preemption, "borrowWithinCohort")
    if "reclaimWithinCohort" in preemption:
        said = preemption.pop("reclaimWithinCohort")
        preemption["withinCohort"] = {today: old for old, today in _RECLAIM.items()}.get(said, said)
    leave_out(spec, "flavorFungibility", "fairSharing", "stopPolicy", "admissionChecksStrategy")


def _resource(group: Data, name: str) -> Data:
    return {"name": name, "flavors": [_flavor(flavor, name) for flavor in group["flavors"]]}


def _flavor(flavor: Data, resource: str) -> Data:
    quota: Data = next((each for each in flavor["resources"] if each["name"] == resource), {})
    nominal = quota.get("nominalQuota", "0")
    most = _total(nominal, quota["borrowingLimit"]) if "borrowingLimit" in quota else None
    return {"name": flavor["name"], "quota": without_empty({"min": nominal, "max": most})}


def _difference(most: Any, least: Any) -> str:
    return str(max(Quantity.parse(most) - Quantity.parse(least), Quantity(0)))


def _total(nominal: Any, borrowed: Any) -> str:
    return str(Quantity.parse(nominal) + Quantity.parse(borrowed))


# Flavors


def _flavor_from_v1alpha2(data: Data) -> None:
    spec = {today: data.pop(old) for old, today in _FLAVOR.items() if old in data}
    if spec:
        data["spec"] = spec


def _flavor_to_v1alpha2(data: Data) -> None:
    spec = data.pop("spec", {})
    data |= {old: spec[today] for old, today in _FLAVOR.items() if today in spec}


_FLAVOR = {"nodeSelector": "nodeLabels", "taints": "nodeTaints"}


# Workloads


def _workload_from_v1beta1(data: Data) -> None:
    assignments_from_v1beta1(data)
    spec = data["spec"]
    name, source = spec.pop("priorityClassName", ""), spec.pop("priorityClassSource", "")
    if name:
        group, kind = _SOURCES.get(source, _SOURCES["scheduling.k8s.io/priorityclass"])
        spec["priorityClassRef"] = {"group": group, "kind": kind, "name": name}


def _workload_to_v1beta1(data: Data) -> None:
    assignments_to_v1beta1(data)
    spec = data["spec"]
    reference = spec.pop("priorityClassRef", None)
    if reference:
        spec["priorityClassName"] = reference["name"]
        spec["priorityClassSource"] = next(
            source for source, (_, kind) in _SOURCES.items() if kind == reference["kind"]
        )


def _workload_from_v1alpha2(data: Data) -> None:
    _workload_from_v1beta1(data)
    spec = data["spec"]
    for pod_set in spec["podSets"]:
        pod_set["template"] = {"spec": pod_set.pop("spec")}
    admission = spec.pop("admission", None)
    if admission is not None:
        rename(admission, "podSetFlavors", "podSetAssignments")
        data["status"] = {**data.get("status", {}), "admission": admission}


def _workload_to_v1alpha2(data: Data) -> None:
    _workload_to_v1beta1(data)
    spec, status = data["spec"], data.get("status", {})
    leave_out(spec, "priorityClassSource", "active", "maximumExecutionTimeSeconds")
    for pod_set in spec["podSets"]:
        pod_set["spec"] = pod_set.pop("template")["spec"]
        leave_out(pod_set, "minCount", "topologyRequest")
    admission = status.pop("admission", None)
    if admission is not None:
        spec["admission"] = _admission_v1alpha2(admission)


def _admission_v1alpha2(admission: Data) -> Data:
    rename(admission, "podSetAssignments", "podSetFlavors")
    for pod_set in admission.get("podSetFlavors", ()):
        leave_out(pod_set, "resourceUsage", "count", "topologyAssignment")
    return admission


_V1BETA1, _V1ALPHA2 = "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha2"
TRANSLATIONS: dict[tuple[str, str], Translation] = {
    (_V1BETA1, "ClusterQueue"): Translation(_queue_from_v1beta1, _queue_to_v1beta1),
    (_V1ALPHA2, "ClusterQueue"): Translation(_queue_from_v1alpha2, _queue_to_v1alpha2),
    (_V1ALPHA2, "ResourceFlavor"): Translation(_flavor_from_v1alpha2, _flavor_to_v1alpha2),
    (_V1BETA1, "Workload"): Translation(_workload_from_v1beta1, _workload_to_v1beta1),
    (_V1ALPHA2, "Workload"): Translation(_workload_from_v1alpha2, _workload_to_v1alpha2),
}
