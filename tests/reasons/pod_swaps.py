"""The opposite of what protects a pod from another pod, or from a gang."""

from __future__ import annotations

from tests.reasons.reach import of_kind
from tests.reasons.scene import FAR_BELOW, Scene, Swap, alone, conditions
from tests.reasons.worlds import Dict


def far_below(scene: Scene) -> None:
    """It ranks far below whoever asks, and goes alone."""
    alone(scene.item)
    scene.item["spec"]["priority"] = FAR_BELOW


def known_class(scene: Scene) -> None:
    """It names no class, and so none that nobody knows; nor does anybody of its group."""
    for item in mates(scene):
        item["spec"].pop("priorityClassName", None)


def known_classes(scene: Scene) -> None:
    """Nobody on any node names a class that nobody can read."""
    for item in of_kind(scene.objects, "Pod"):
        if item["spec"].get("nodeName"):
            item["spec"].pop("priorityClassName", None)


def impatient(scene: Scene) -> None:
    """Its class tolerates nothing, nor does that of anybody of its group."""
    names = {item["spec"].get("priorityClassName") for item in mates(scene)}
    for item in of_kind(scene.objects, "PriorityClass"):
        if item["metadata"]["name"] in names:
            item["metadata"].pop("annotations", None)


def mates(scene: Scene) -> list[Dict]:
    """A pod, and those that name the same group."""
    group = scene.item["spec"].get("schedulingGroup") or scene.item["spec"].get("workloadRef")
    pods = of_kind(scene.objects, "Pod")
    named = [item for item in pods if group in (item["spec"].get("schedulingGroup"), item["spec"].get("workloadRef"))]
    return named if group else [scene.item]


def generous_budgets(scene: Scene) -> None:
    for item in of_kind(scene.objects, "PodDisruptionBudget"):
        item["status"]["disruptionsAllowed"] = 1000


def stays_put(scene: Scene) -> None:
    """It is not leaving."""
    scene.item["metadata"].pop("deletionTimestamp", None)
    conditions(scene.item, "DisruptionTarget")


def in_the_way(scene: Scene) -> None:
    """It stands where the preemptor, or one of a gang, is to go, and nobody fits beside it."""
    scene.moved = scene.world.policy == "podgroup"
    scene.domain = next(iter(scene.decision["placement"].values()), scene.domain)
    scene.item["spec"]["nodeName"] = scene.domain
    offered = scene.node(scene.domain)["status"]["allocatable"]
    whole = {name: amount for name, amount in offered.items() if name != "pods"}
    scene.item["spec"]["containers"][0]["resources"] = {"requests": whole}
    for item in scene.asking:  # whoever asks for nothing fits everywhere
        wanted = item["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        wanted.setdefault("cpu", "1m")


def without_the_chosen_node(scene: Scene) -> None:
    """Where a topology domain was chosen, without all its nodes."""
    chosen = scene.decision["domain"]
    key, _, value = chosen.partition("=")
    for item in of_kind(scene.objects, "Node"):
        meta = item["metadata"]
        if meta["name"] == chosen or (value and meta.get("labels", {}).get(key) == value):
            item["spec"] = {"taints": [{"key": "swapped", "effect": "NoSchedule"}]}
    for item in scene.asking:
        item["spec"].pop("tolerations", None)


def boundless_node(scene: Scene) -> None:
    """Its node takes everybody, and whoever asks has no wishes."""
    node = scene.node(scene.domain)
    node["spec"] = {}
    node["status"]["allocatable"] = dict.fromkeys(node["status"]["allocatable"], "1000000Gi")
    for item in of_kind(scene.objects, "Pod"):
        if "ownerReferences" not in item["metadata"]:  # a daemon's node is no wish
            for wish in ("nodeSelector", "affinity", "topologySpreadConstraints"):
                item["spec"].pop(wish, None)
    for item in scene.asking:
        for container in item["spec"]["containers"]:
            container.pop("ports", None)
        item["spec"].pop("initContainers", None)


def may_preempt(scene: Scene) -> None:
    """Whoever asks may preempt, nobody is leaving, and no budget is in the way."""
    generous_budgets(scene)
    for item in scene.asking:
        item["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
        item["spec"]["priority"] = max(item["spec"].get("priority", 0), 1)
    for item in of_kind(scene.objects, "Pod"):
        item["metadata"].pop("deletionTimestamp", None)
        conditions(item, "DisruptionTarget")


SWAPS: dict[str, Swap] = {
    "Priority": far_below,
    "Toleration": impatient,
    "UnreadableToleration": impatient,
    "UnknownPriorityClass": known_class,
    "NodeLeftOut": known_classes,
    "DisruptionBudget": generous_budgets,
    "MinimalPriority": far_below,
    "Leaving": stays_put,
    "Reprieved": in_the_way,
    "CheaperElsewhere": without_the_chosen_node,
    "NoHelp": boundless_node,
    "NotEnough": boundless_node,
    "NobodyAsked": may_preempt,
}
