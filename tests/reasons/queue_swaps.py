"""The opposite of what protects a pod between queues: the laws, one by one."""

from __future__ import annotations

import copy

from tests.reasons import pod_swaps
from tests.reasons.scene import FAR_BELOW, QueueScene, Scene, Swap, alone, without_property

PLENTY = {"vcore": "1000", "memory": "1000Gi"}


def no_guarantee(scene: Scene) -> None:
    """Nothing is guaranteed to its queue, nor to those above it; only to that of whoever asks."""
    with QueueScene(scene) as queues:
        for queue in queues.theirs:
            queue.get("resources", {}).pop("guaranteed", None)
        queues.own[-1].setdefault("resources", {})["guaranteed"] = PLENTY


def over_guarantee(scene: Scene) -> None:
    """Its queue has no guarantee and uses more of all that is asked for; whoever asks is guaranteed plenty."""
    share_everything(scene)
    more = copy.deepcopy(scene.item)
    more["metadata"] = {"name": "swapped", "labels": dict(more["metadata"]["labels"])}
    scene.objects.append(more)
    with QueueScene(scene) as queues:
        for queue in queues.theirs:
            queue.get("resources", {}).pop("guaranteed", None)
        queues.own[-1].setdefault("resources", {})["guaranteed"] = PLENTY


def another_application(scene: Scene) -> None:
    scene.item["metadata"]["labels"]["applicationId"] = "swapped"


def another_queue(scene: Scene) -> None:
    with QueueScene(scene) as queues:
        queues.file.root["queues"].append({"name": "swapped"})
    scene.item["metadata"]["labels"]["queue"] = "root.swapped"


def low_priority(scene: Scene) -> None:
    scene.item["spec"]["priority"] = FAR_BELOW


def no_priority_fence(scene: Scene) -> None:
    with QueueScene(scene) as queues:
        for queue in queues.file.all():
            without_property(queue, "priority.policy", "priority.offset")


def no_fence(scene: Scene) -> None:
    """Whoever asks is fenced in neither by a fence nor by a maximum."""
    with QueueScene(scene) as queues:
        for queue in queues.own:
            without_property(queue, "preemption.policy")
            queue.get("resources", {}).pop("max", None)


def preemption_on(scene: Scene) -> None:
    with QueueScene(scene) as queues:
        for queue in queues.theirs:
            without_property(queue, "preemption.policy")


def no_daemon(scene: Scene) -> None:
    scene.item["metadata"].pop("ownerReferences", None)


def anywhere(scene: Scene) -> None:
    """Whoever asks may run on any node."""
    for item in scene.asking:
        item["metadata"].pop("ownerReferences", None)
        item["spec"].pop("affinity", None)


def no_group(scene: Scene) -> None:
    alone(scene.item)


def in_queues(scene: Scene) -> None:
    """It asks for no other scheduler, and is in no group."""
    scene.item["spec"].pop("schedulerName", None)
    alone(scene.item)


def share_everything(scene: Scene) -> None:
    """It holds some of all that is asked for."""
    held = scene.item["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    for name, amount in (("cpu", "1"), ("memory", "64Mi")):
        held.setdefault(name, amount)


def may_preempt(scene: Scene) -> None:
    """Whoever asks may preempt: switched on, without delay, with a guarantee that holds it, nobody leaving."""
    pod_swaps.may_preempt(scene)
    with QueueScene(scene) as queues:
        queues.file.partition.pop("preemption", None)
        queues.own[-1].setdefault("resources", {})["guaranteed"] = PLENTY
        for queue in queues.file.all():
            without_property(queue, "preemption.delay")


def plenty_for_all(scene: Scene) -> None:
    """Its node takes everybody, and so does the queue of whoever asks."""
    pod_swaps.boundless_node(scene)
    with QueueScene(scene) as queues:
        queues.own[-1].setdefault("resources", {})["guaranteed"] = PLENTY
        for queue in queues.own:
            queue.get("resources", {}).pop("max", None)


SWAPS: dict[str, Swap] = {
    **pod_swaps.SWAPS,
    "NeverBelowGuarantee": no_guarantee,
    "SameApplication": another_application,
    "OwnQueue": another_queue,
    "SameGuarantee": another_queue,
    "WithinGuarantee": over_guarantee,
    "HigherPriority": low_priority,
    "PriorityFence": no_priority_fence,
    "OutsideFence": no_fence,
    "PreemptionDisabled": preemption_on,
    "RequiredNode": no_daemon,
    "OtherNode": anywhere,
    "WholeGroup": no_group,
    "OutsideQueues": in_queues,
    "NothingShared": share_everything,
    "NobodyAsked": may_preempt,
    "NotEnough": plenty_for_all,
    "AboveGuarantee": may_preempt,
}
