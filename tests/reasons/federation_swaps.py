"""The opposite of what protects a binding."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reasons.reach import of_kind, unit_of
from tests.reasons.scene import FAR_BELOW, Scene, Swap, conditions
from tests.reasons.worlds import Dict

WHOLE = {"cpu": "1000", "nvidia.com/gpu": "1000"}


def far_below(scene: Scene) -> None:
    scene.item["spec"]["schedulePriority"] = {"priority": FAR_BELOW}


def namespaced(scene: Scene) -> None:
    item = scene.item
    item["kind"] = "ResourceBinding"
    item["metadata"]["namespace"] = "default"
    scene.unit = unit_of(item)


def same_scheduler(scene: Scene) -> None:
    scene.item["spec"].pop("schedulerName", None)


def asks_for_something(scene: Scene) -> None:
    conditions(scene.item, "Finished")
    scene.item["spec"]["replicaRequirements"] = {"resourceRequest": {"cpu": "1", "nvidia.com/gpu": "1"}}


def uses_what_is_needed(scene: Scene) -> None:
    """It uses some of everything, and of nothing is anything left."""
    asks_for_something(scene)
    _full(scene)


def _full(scene: Scene) -> None:
    """Nothing is free in its cluster, nor will be."""
    summary = scene.cluster(scene.domain)["status"]["resourceSummary"]
    summary["allocated"] = dict(summary["allocatable"])
    _nobody_leaves(item for item in scene.objects if item is not scene.item)


def _nobody_leaves(objects: Iterable[Dict]) -> None:
    for item in objects:
        if item["kind"].endswith("Binding"):
            item["metadata"].pop("deletionTimestamp", None)
            item["spec"].pop("gracefulEvictionTasks", None)


def stays_put(scene: Scene) -> None:
    _nobody_leaves([scene.item])


def first_to_go(scene: Scene) -> None:
    """Nothing is free beside it, it ranks lowest, and it alone would be enough."""
    _full(scene)
    far_below(scene)
    scene.item["spec"]["replicaRequirements"] = {"resourceRequest": WHOLE}


def without_the_chosen_clusters(scene: Scene) -> None:
    for name in scene.decision["domain"].split(","):
        scene.cluster(name)["status"]["conditions"][0]["status"] = "False"


def enough_alone(scene: Scene) -> None:
    """It ranks lowest and alone would be enough; where every cluster has its part, the others have room."""
    first_to_go(scene)
    scheduling = scene.asking[0]["spec"]["placement"]["replicaScheduling"]
    if scheduling.get("replicaSchedulingType") == "Duplicated" or "staticWeightList" in str(scheduling):
        for item in of_kind(scene.objects, "Cluster"):
            if item["metadata"]["name"] != scene.domain:
                item["status"]["resourceSummary"]["allocatable"] = WHOLE


def may_preempt(scene: Scene) -> None:
    """Its policy lets it, and there is nobody to be waited for."""
    _nobody_leaves(scene.objects)
    scene.asking[0]["spec"]["schedulePriority"]["preemptionPolicy"] = "PreemptLowerPriority"


SWAPS: dict[str, Swap] = {
    "Priority": far_below,
    "ClusterScoped": namespaced,
    "OtherScheduler": same_scheduler,
    "NoRequirements": asks_for_something,
    "NotContested": uses_what_is_needed,
    "Leaving": stays_put,
    "BeingDeleted": stays_put,
    "Reprieved": first_to_go,
    "CheaperElsewhere": without_the_chosen_clusters,
    "NoHelp": enough_alone,
    "NobodyAsked": may_preempt,
}
