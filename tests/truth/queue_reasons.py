"""Why pods of queues are said to go or to stay, looked up in the manifests."""

from __future__ import annotations

from tests.reasons.reach import named
from tests.reasons.worlds import Dict, World
from tests.reference.cluster import priority_of, read
from tests.reference.nodes import requests
from tests.truth.compare import Check, differs
from tests.truth.queue_ground import QueueGround, in_queues, queue_of


def own_queue(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    return differs(queue=(said["facts"]["queue"], queue_of(pod)), same=(queue_of(pod), queue_of(ground.pod)))


def within_guarantee(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """It, or a queue above it but not above both, uses no more than it is guaranteed; or it holds nothing."""
    ground, pod, facts = QueueGround(world), named(world.objects, said["unit"]), said["facts"]
    queue, resource = facts["queue"], facts["resource"]
    guaranteed = ground.bounds(queue, "guaranteed")
    over = [name for name, units in guaranteed.items() if ground.used(queue, name, kept=True) > units]
    asked = [name for name, units in requests(ground.pod).items() if units]
    holds = any(ground.used(queue_of(pod), name, kept=True) for name in asked)
    return differs(
        own=(True, queue in ground.names(pod)),
        theirs=(False, queue in ground.names(ground.pod)),
        guarantees=(True, resource in guaranteed if resource else bool(guaranteed) or not holds),
        over=([], [resource] * (resource in over) if resource else over * holds),
    )


def behind_fence(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """A queue on its way up, or on the preemptor's, fences priorities."""
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    fences = [
        queue
        for name in {*ground.names(pod), *ground.names(ground.pod)}
        for queue in ground.file.path(name)
        if queue.get("properties", {}).get("priority.policy") == "fence"
    ]
    return differs(queue=(said["facts"]["queue"], queue_of(pod)), fenced=(True, bool(fences)))


def disabled(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """The nearest queue up its path that says anything of it says so; root has no say."""
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    path = ground.file.path(queue_of(pod))[1:]
    policies = [policy for queue in reversed(path) if (policy := queue.get("properties", {}).get("preemption.policy"))]
    return differs(queue=(said["facts"]["queue"], queue_of(pod)), policy=(["disabled"], policies[:1]))


def daemon(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    pod = named(world.objects, said["unit"])
    return differs(fixed=(True, "metadata.name" in str(pod["spec"].get("affinity", {}))))


def above_guarantee(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """With the preemptor its queue, or one above it, would have more than it is guaranteed."""
    ground = QueueGround(world)
    more = [
        name
        for queue in ground.names(ground.pod)
        for name, units in ground.bounds(queue, "guaranteed").items()
        if requests(ground.pod).get(name, 0) + ground.used(queue, name, kept=True) + ground.promised(queue, name)
        > units
    ]
    return differs(queue=(said["facts"]["queue"], queue_of(ground.pod)), more=(True, bool(more)))


def higher_priority(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    pod, facts = named(world.objects, said["unit"]), said["facts"]
    priority = priority_of(read(world.objects), pod)
    return differs(priority=(facts["priority"], priority), above=(True, facts["priority"] > facts["bound"]))


def outside_fence(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, pod, top = QueueGround(world), named(world.objects, said["unit"]), said["facts"]["top"]
    return differs(inside=(False, top in ground.names(pod)), own=(True, top in ground.names(ground.pod)))


def same_application(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    key = "applicationId"
    return differs(application=(pod["metadata"]["labels"].get(key), ground.pod["metadata"]["labels"].get(key)))


def below_guarantee(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """As things are; or only without those that were asked before it, of which there have to be some."""
    ground, pod, queue = QueueGround(world), named(world.objects, said["unit"]), said["facts"]["queue"]
    guaranteed = ground.bounds(queue, "guaranteed")
    shared = queue in ground.names(ground.pod)
    alone = any(
        requests(pod).get(name) and requests(pod)[name] > _spare(ground, queue, name, shared=shared)
        for name in guaranteed
    )
    together = [other for other in ground.running if in_queues(other) and queue in ground.names(other)]
    return differs(
        own=(True, queue in ground.names(pod)),
        holds=(True, any(requests(pod).get(name) for name in guaranteed)),
        alone=(not said["facts"]["othersGone"], alone),
        others=(True, alone or len(together) > 1),
    )


def _spare(ground: QueueGround, queue: str, name: str, *, shared: bool) -> int:
    """What may leave a queue of what it is guaranteed; where the preemptor comes to it, so much more."""
    above = ground.used(queue, name, kept=True) - ground.bounds(queue, "guaranteed")[name]
    return max(above, 0) + requests(ground.pod).get(name, 0) if shared else above


def same_guarantee(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """Both are below the queue whose guarantee of something asked for is claimed: the nearest above the preemptor."""
    ground, pod, top = QueueGround(world), named(world.objects, said["unit"]), said["facts"]["top"]
    asked = {name for name, units in requests(ground.pod).items() if units}
    claimed = next(queue for queue in ground.names(ground.pod) if asked & set(ground.bounds(queue, "guaranteed")))
    return differs(claimed=(top, claimed), below=(True, top in ground.names(pod)))


def leaving(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    return differs(leaving=(True, "deletionTimestamp" in named(world.objects, said["unit"])["metadata"]))


def grouped(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    return differs(grouped=(True, "schedulingGroup" in named(world.objects, said["unit"])["spec"]))


def outside_queues(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """By its scheduler's name, or because its group was placed as a whole."""
    pod = named(world.objects, said["unit"])
    return differs(outside=(True, not in_queues(pod) or "schedulingGroup" in pod["spec"]))


def shares_nothing(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    asked = [name for name, units in requests(ground.pod).items() if units]
    return differs(shares=(0, sum(requests(pod).get(name, 0) for name in asked)))


def over_guarantee(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, pod = QueueGround(world), named(world.objects, said["unit"])
    return differs(queue=(said["facts"]["queue"], queue_of(pod)), other=(True, queue_of(pod) != queue_of(ground.pod)))


def on_node(world: World, decision: Dict, said: Dict) -> str:
    pod = named(world.objects, said["unit"])
    here = pod["spec"]["nodeName"] == (said["facts"].get("node") or said["facts"].get("top"))
    return differs(here=(said.get("reason") == "NodeRequired", here)) if decision else ""


def cheaper_elsewhere(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """The node that was chosen is another one, and by the criterion that decided it is not worse."""
    facts, costs = said["facts"], decision["candidates"]
    chosen, other = costs.get(decision["domain"]), costs.get(said["domain"])
    fewer = chosen is None or other is None or len(chosen["victims"]) <= len(other["victims"])
    return differs(
        domain=(facts["domain"], decision["domain"]),
        elsewhere=(True, said["domain"] != decision["domain"]),
        better=(True, facts["criterion"] != "FewestVictims" or fewer),
    )


LAWS: dict[str, Check] = {
    "OwnQueue": own_queue,
    "WithinGuarantee": within_guarantee,
    "HigherPriority": higher_priority,
    "PriorityFence": behind_fence,
    "OutsideFence": outside_fence,
    "PreemptionDisabled": disabled,
    "SameApplication": same_application,
    "SameGuarantee": same_guarantee,
    "NeverBelowGuarantee": below_guarantee,
    "RequiredNode": daemon,
    "OtherNode": on_node,
    "Leaving": leaving,
    "WholeGroup": grouped,
    "OutsideQueues": outside_queues,
    "NothingShared": shares_nothing,
}
REASONS: dict[str, Check] = {
    **LAWS,
    "AboveGuarantee": above_guarantee,
    "QueueOverGuarantee": over_guarantee,
    "NodeRequired": on_node,
    "CheaperElsewhere": cheaper_elsewhere,
}
