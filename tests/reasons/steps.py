"""What a step says of somebody whom no rule protects must be true as well.

1. Whoever stays because it is not needed, no help, or not asked could go: alone with the preemptor, where there is room
   for one of them only, it makes way.
2. Where all who may go are not enough, it does not fit without all of them.
"""

from __future__ import annotations

from tests.reasons import federation_swaps, pod_swaps, queue_swaps
from tests.reasons.reach import of_kind, unit_of
from tests.reasons.scene import QueueScene, Scene, without_property
from tests.reasons.worlds import Dict

UNPROTECTED = ("Reprieved", "CheaperElsewhere", "NoHelp", "NobodyAsked", "MinimalPriority", "DisruptionBudget")
NOT_ENOUGH = ("NotEnough", "NoHelp")


def alone_with_preemptor(scene: Scene) -> None:
    """Nobody else is there, one node, or one cluster, and room for one of them; a group stays together."""
    together = [item for item in of_kind(scene.objects, "Pod") if _goes_with(scene, item)]
    for item in together:
        item["spec"] = {**item["spec"], "nodeName": scene.domain, "containers": [{"name": "main"}]}
    keep = {scene.unit, *(unit_of(item) for item in [*scene.asking, *together])}
    others = {"Pod", "ResourceBinding", "ClusterResourceBinding"}
    dropped = [item for item in scene.objects if item["kind"] in others and unit_of(item) not in keep]
    places = [
        item
        for item in of_kind(scene.objects, "Node", "Cluster", "PodDisruptionBudget")
        if item["metadata"]["name"] != scene.domain
    ]
    scene.world = scene.world._replace(objects=[item for item in scene.objects if not _in(item, [*dropped, *places])])
    (_alone_in_cluster if scene.world.policy == "federation" else _alone_on_node)(scene)


def _goes_with(scene: Scene, pod: Dict) -> bool:
    """Whether a pod belongs to the same group, which is disrupted as a whole."""
    mine, theirs = (_group_of(item) for item in (pod, scene.item))
    if mine is None or mine != theirs or unit_of(pod) == scene.unit:
        return False
    nodes = [item["metadata"]["name"] for item in of_kind(scene.objects, "Node")]
    groups = [item for item in of_kind(scene.objects, "PodGroup", "Workload") if item["metadata"]["name"] == mine]
    whole = any("'all'" in str(item["spec"]) or "'preemptionMode': 'PodGroup'" in str(item["spec"]) for item in groups)
    return whole and pod["spec"].get("nodeName") in nodes


def _group_of(pod: Dict) -> str | None:
    spec = pod["spec"]
    found: str | None = spec.get("schedulingGroup", {}).get("podGroupName") or spec.get("workloadRef", {}).get("name")
    return found


def _in(item: Dict, items: list[Dict]) -> bool:
    return any(item is other for other in items)


def _alone_in_cluster(scene: Scene) -> None:
    federation_swaps.first_to_go(scene)
    federation_swaps.may_preempt(scene)


def _alone_on_node(scene: Scene) -> None:
    pod_swaps.boundless_node(scene)
    scene.decision = {**scene.decision, "placement": {}}
    pod_swaps.in_the_way(scene)
    for item in scene.asking:
        item["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
        item["status"].pop("nominatedNodeName", None)
    if scene.world.policy == "queue":
        _in_queues(scene)


def _in_queues(scene: Scene) -> None:
    """What others used is gone, and with it what a guarantee was worth."""
    queue_swaps.share_everything(scene)
    with QueueScene(scene) as queues:
        queues.file.partition.pop("preemption", None)
        for queue in queues.theirs:
            queue.get("resources", {}).pop("guaranteed", None)
        for queue in queues.file.all():
            without_property(queue, "preemption.delay")
        for queue in queues.own:
            queue.get("resources", {}).pop("max", None)
        queues.own[-1].setdefault("resources", {})["guaranteed"] = queue_swaps.PLENTY


def without_all_of(scene: Scene, units: set[str]) -> None:
    """The same world without some of them."""
    scene.world = scene.world._replace(objects=[item for item in scene.objects if unit_of(item) not in units])
