"""What is said about quota, looked up in the manifests of queues, cohorts and workloads."""

from __future__ import annotations

from collections import Counter

from tests.reasons.reach import named, of_kind, says
from tests.reasons.worlds import Dict, World
from tests.reference.nodes import requests
from tests.reference.quota_tree import Tree
from tests.truth import topology
from tests.truth.compare import Check, differs


def scale(resource: str, amount: int) -> int:
    """Quota is written in whole cpus, and counted in thousandths."""
    return amount * 1000 if resource == "cpu" else amount


class QuotaGround:
    """The tree of queues, without workloads that have finished."""

    def __init__(self, world: World) -> None:
        self.tree = Tree([item for item in world.objects if not says(item, "Finished")])
        self.own = named(world.objects, world.preemptor)
        local = [
            item
            for item in of_kind(world.objects, "LocalQueue")
            if item["metadata"]["name"] == self.own["spec"]["queueName"]
        ]
        self.queue = self.tree.queue(local[0]["spec"]["clusterQueue"])

    def asked(self, resource: str, *, least: bool = False) -> int:
        """What it asks for, or where it may be smaller, what it asks for at least."""
        total = 0
        for pod_set in self.own["spec"]["podSets"]:
            pods = pod_set.get("minCount", pod_set["count"]) if least else pod_set["count"]
            each = 1 if resource == "pods" else requests({"spec": pod_set["template"]["spec"]}).get(resource, 0)
            total += pods * each
        return total

    def used(self, key: tuple[str, str]) -> int:
        return scale(key[1], self.tree.usage(self.queue, key))


def quota_short(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    ground = QuotaGround(world)
    resource, key = claim["resource"], (claim["flavor"], claim["resource"])
    nominal = ground.queue.quotas[key][0]
    parent = ground.queue.parent
    return differs(
        queue=(claim["queue"], ground.queue.name),
        used=(claim["used"], ground.used(key)),
        nominal=(claim["nominal"], scale(resource, nominal)),
        free=(claim["free"], scale(resource, max(0, ground.tree.available(ground.queue, key)))),
        most=(claim["most"], scale(resource, max(0, ground.tree.most(ground.queue, key)))),
        cohort=(claim["cohort"], parent.name if parent is not None else ""),
        asked=(True, ground.asked(resource, least=True) <= claim["needed"] <= ground.asked(resource)),
        short=(True, claim["needed"] > claim["free"]),
    )


def not_covered(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    ground = QuotaGround(world)
    covered = {resource for _, resource in ground.queue.quotas}
    return differs(queue=(claim["queue"], ground.queue.name), covered=(set(), covered & set(claim["resources"])))


def workloads_stay(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    """By each rule as many stay as are told so one by one."""
    rules = Counter(item["rule"] for item in decision["spared"])
    counts = {one["rule"]: one["pods"] for one in claim["protected"]}
    free = sum(number for rule, number in rules.items() if rule not in counts)
    return differs(protected=(counts, {rule: rules[rule] for rule in counts}), candidates=(claim["candidates"], free))


CLAIMS: dict[str, Check] = {
    "QuotaShort": quota_short,
    "NotCovered": not_covered,
    "WorkloadsStay": workloads_stay,
    **topology.CLAIMS,
}


# Reasons


def taken(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """By which right: from its own queue, or from one that borrows."""
    ground, item, facts = QuotaGround(world), named(world.objects, said["unit"]), said["facts"]
    own = facts["queue"] == ground.queue.name
    return differs(
        queue=(facts["queue"], item["status"]["admission"]["clusterQueue"]),
        preemptor_queue=(facts["preemptorQueue"], ground.queue.name),
        right=(own, facts["kind"] == "InClusterQueue"),
        priority=(facts["priority"], item["spec"]["priority"]),
        preemptor=(facts["preemptorPriority"], ground.own["spec"]["priority"]),
    )


def within_quota(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """The queue, or a cohort above it, is not over its quota: of something that is missing, where nobody went."""
    ground, item, facts = QuotaGround(world), named(world.objects, said["unit"]), said["facts"]
    queue = ground.tree.queue(item["status"]["admission"]["clusterQueue"])
    node = next((node for node in queue.path if node.name == facts["queue"]), None)
    if node is None:
        return f"it is in {[node.name for node in queue.path]}"
    within = any(not ground.tree.over(node, key) for key in node.declared())
    return "" if within or facts["othersGone"] else "it is over all of its quota"


def not_reached(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    ground, item, facts = QuotaGround(world), named(world.objects, said["unit"]), said["facts"]
    preemption = ground.queue.spec.get("preemption", {})
    own = facts["queue"] == ground.queue.name
    policy = preemption.get("withinClusterQueue" if own else "reclaimWithinCohort") or "Never"
    return differs(
        queue=(facts["queue"], item["status"]["admission"]["clusterQueue"]),
        policy=(facts["policy"], policy),
        priority=(facts["priority"], item["spec"]["priority"]),
    )


def closed(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    queue = next(
        item for item in of_kind(world.objects, "ClusterQueue") if item["metadata"]["name"] == said["facts"]["queue"]
    )
    flavors = {item["metadata"]["name"] for item in of_kind(world.objects, "ResourceFlavor")}
    named_ones = {flavor["name"] for group in queue["spec"].get("resourceGroups", ()) for flavor in group["flavors"]}
    stopped = queue["spec"].get("stopPolicy", "None") != "None"
    return differs(closed=(True, stopped or not named_ones <= flavors))


def in_other_queue(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """Its own, or a cohort above it that has a share beside that of the other's."""
    names = [node.name for node in QuotaGround(world).queue.path]
    return differs(preemptor_queue=(True, said["facts"]["preemptorQueue"] in names))


REASONS: dict[str, Check] = {
    **dict.fromkeys(
        ["InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"], taken
    ),
    "WithinNominalQuota": within_quota,
    "PreemptionPolicy": not_reached,
    "QueueClosed": closed,
    "NotWhileBorrowing": in_other_queue,
    "FairSharing": in_other_queue,
}
