"""What is said about bindings and member clusters, looked up in the manifests."""

from __future__ import annotations

from tests.reasons.reach import named, of_kind
from tests.reasons.worlds import Dict, World
from tests.reference.nodes import whole
from tests.truth.compare import Check, differs

BINDINGS = ("ResourceBinding", "ClusterResourceBinding")


def cluster_of(world: World, name: str) -> Dict:
    return next(item for item in of_kind(world.objects, "Cluster") if item["metadata"]["name"] == name)


def request_of(binding: Dict) -> dict[str, int]:
    return whole(binding["spec"].get("replicaRequirements", {}).get("resourceRequest", {}))


def free_in(world: World, name: str, *, soon: bool) -> dict[str, int]:
    """What a cluster reports as left; `soon`: with what those who are leaving will give back."""
    summary = cluster_of(world, name)["status"]["resourceSummary"]
    has, used = whole(summary["allocatable"]), whole(summary.get("allocated", {}))
    left = {resource: units - used.get(resource, 0) for resource, units in has.items()}
    for item in of_kind(world.objects, *BINDINGS) if soon else ():
        for resource, units in request_of(item).items():
            left[resource] = left.get(resource, 0) + units * leaving(item, name)
    return left


def leaving(binding: Dict, cluster: str) -> int:
    """How many replicas of a binding are leaving a cluster."""
    spec = binding["spec"]
    tasks = spec.get("gracefulEvictionTasks", ())
    told = sum(int(task["replicas"]) for task in tasks if task["fromCluster"] == cluster)
    if "deletionTimestamp" not in binding["metadata"]:
        return told
    return told + sum(int(target["replicas"]) for target in spec.get("clusters", ()) if target["name"] == cluster)


def cluster_short(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    own, name = named(world.objects, world.preemptor), claim["cluster"]
    asked = claim["candidates"] is not None
    missing = {}
    free = free_in(world, name, soon=asked)
    for resource, units in request_of(own).items():
        short = units * claim["replicas"] - free.get(resource, 0)
        if short > 0:
            missing[resource] = short
    lower = [
        item
        for item in of_kind(world.objects, "ResourceBinding")
        if name in [at["name"] for at in item["spec"].get("clusters", ())]
        and item["spec"].get("schedulePriority", {}).get("priority", 0) < _priority(own)
    ]
    most = len(lower) if asked else 0
    return differs(
        missing=(claim["missing"], missing),
        replicas=(True, 0 < claim["replicas"] <= own["spec"]["replicas"]),
        candidates=(True, (claim["candidates"] or 0) <= most),
    )


def cluster_out(world: World, decision: Dict, claim: Dict) -> str:
    item, spec = cluster_of(world, claim["cluster"]), named(world.objects, world.preemptor)["spec"]
    placement = spec.get("placement", {})
    meant = [term.get("clusterNames") for term in placement.get("clusterAffinities", ())]
    meant = meant or [placement.get("clusterAffinity", {}).get("clusterNames")]
    match claim["why"]:
        case "NotReady":
            so = item["status"]["conditions"][0]["status"] != "True"
        case "Taint":
            so = bool(item["spec"].get("taints"))
        case "NotMeant":
            so = claim["cluster"] not in (meant[-1] or [claim["cluster"]])
        case "LaterGroup":
            so = len(meant) > 1 and claim["cluster"] not in (decision["domain"] or "").split(",")
        case "Enough" | "WithoutPart":
            so = not any(
                other.get("cluster") == claim["cluster"]
                for other in decision["claims"]
                if other["kind"] == "ClusterShort"
            )
        case _:
            so = bool(placement.get("spreadConstraints"))
    return differs(**{claim["why"]: (True, so)})


CLAIMS: dict[str, Check] = {"ClusterShort": cluster_short, "ClusterOut": cluster_out}


# Reasons


def _priority(binding: Dict) -> int:
    return int(binding["spec"].get("schedulePriority", {}).get("priority", 0))


def by_priority(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    facts = said["facts"]
    return differs(
        priority=(facts["priority"], _priority(named(world.objects, said["unit"]))),
        preemptor=(facts["preemptorPriority"], _priority(named(world.objects, world.preemptor))),
        lower=(said.get("reason") == "LowerPriority", facts["priority"] < facts["preemptorPriority"]),
    )


def other_scheduler(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    spec, facts = named(world.objects, said["unit"])["spec"], said["facts"]
    return differs(
        scheduler=(facts["scheduler"], spec.get("schedulerName")), other=(True, facts["scheduler"] != facts["own"])
    )


def cheaper_elsewhere(world: World, decision: Dict, said: Dict) -> str:
    """By the criterion that decided, the chosen cluster is not worse."""
    facts, costs = said["facts"], decision["candidates"]
    wrong = differs(domain=(facts["domain"], decision["domain"]))
    chosen, other = costs.get(decision["domain"]), costs.get(said["domain"])
    if wrong or chosen is None or other is None:
        return wrong
    values = [_value(world, facts["criterion"], cost["victims"]) for cost in (chosen, other)]
    return "" if values[0] <= values[1] else f"there it is {values[1]}, and here {values[0]}"


def _value(world: World, criterion: str, victims: list[str]) -> int:
    priorities = [_priority(named(world.objects, unit)) for unit in victims]
    found = {
        "FewestVictims": len(victims),
        "LowestHighestPriority": max(priorities, default=0),
        "SmallestSumOfPriorities": sum(priorities),
    }
    return found.get(criterion, 0)


REASONS: dict[str, Check] = {
    "LowerPriority": by_priority,
    "Priority": by_priority,
    "OtherScheduler": other_scheduler,
    "CheaperElsewhere": cheaper_elsewhere,
}
