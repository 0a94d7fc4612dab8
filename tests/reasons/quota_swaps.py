"""The opposite of what protects a quota workload."""

from __future__ import annotations

from tests.builders.pods import GPU
from tests.builders.quota import flavor
from tests.reasons.reach import named, of_kind, quota_paths
from tests.reasons.scene import FAR_BELOW, Scene, Swap, conditions
from tests.reasons.worlds import Dict


def over_quota(scene: Scene) -> None:
    """It uses much, and neither its queue nor a cohort between it and whoever asks has any quota of its own."""
    for assigned in scene.item["status"]["admission"]["podSetAssignments"]:
        assigned["resourceUsage"] = dict.fromkeys(assigned["flavors"], "10")
    paths = quota_paths(scene.objects)
    own = paths[scene.asking[0]["spec"]["queueName"]]
    for name in paths[scene.domain]:
        if name not in own:
            _without_quota(_queue_or_cohort(scene, name))


def _queue_or_cohort(scene: Scene, name: str) -> Dict:
    kind = "Cohort" if name.startswith("cohort ") else "ClusterQueue"
    return next(
        item for item in of_kind(scene.objects, kind) if item["metadata"]["name"] == name.removeprefix("cohort ")
    )


def _without_quota(item: Dict) -> None:
    for group in item["spec"].get("resourceGroups", ()):
        for quota in (quota for each in group["flavors"] for quota in each["resources"]):
            quota["nominalQuota"] = "0"
            quota.pop("lendingLimit", None)
            quota.pop("borrowingLimit", None)


def bold_policy(scene: Scene) -> None:
    """Whoever asks may preempt in its own queue and in the cohort, and the other ranks far below."""
    queue = _queue_or_cohort(scene, scene.asking[0]["spec"]["queueName"])
    queue["spec"].setdefault("preemption", {}).update(withinClusterQueue="LowerPriority", reclaimWithinCohort="Any")
    scene.item["spec"]["priority"] = FAR_BELOW


def open_queue(scene: Scene) -> None:
    _queue_or_cohort(scene, scene.domain)["spec"].pop("stopPolicy", None)
    there = {item["metadata"]["name"] for item in of_kind(scene.objects, "ResourceFlavor")}
    scene.objects.extend(flavor(name) for name in {"on-demand", "spot"} - there)


def uses_what_is_needed(scene: Scene) -> None:
    """It uses some of everything, on each flavor in question."""
    workload = scene.item
    (first,) = workload["spec"]["podSets"]
    assigned = workload["status"]["admission"]["podSetAssignments"]
    resources = dict.fromkeys(("cpu", GPU), "1")
    for name in ("on-demand", "spot"):
        workload["spec"]["podSets"].append({**first, "name": name})
        flavors = dict.fromkeys(resources, name)
        assigned.append({"name": name, "count": 1, "flavors": flavors, "resourceUsage": resources})


def asks_for_little(scene: Scene) -> None:
    """Whoever asks would be content with nothing."""
    for pod_set in scene.asking[0]["spec"]["podSets"]:
        pod_set["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "0"}


def asks_for_all(scene: Scene) -> None:
    """Nobody fits beside it: it uses as much as there is."""
    for assigned in scene.item["status"]["admission"]["podSetAssignments"]:
        assigned["resourceUsage"] = dict.fromkeys(assigned["flavors"], "1000")


def stays_put(scene: Scene) -> None:
    conditions(scene.item, "Evicted")


def may_preempt(scene: Scene) -> None:
    """Nothing has to be waited for."""
    scene.world.config.pop("quota", None)
    named(scene.objects, scene.world.preemptor)["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    for item in of_kind(scene.objects, "Workload"):
        conditions(item, "Evicted")


SWAPS: dict[str, Swap] = {
    "WithinNominalQuota": over_quota,
    "PreemptionPolicy": bold_policy,
    "QueueClosed": open_queue,
    "NotContested": uses_what_is_needed,
    "NotEnough": asks_for_little,
    "Reprieved": asks_for_all,
    "Leaving": stays_put,
    "NobodyAsked": may_preempt,
}
