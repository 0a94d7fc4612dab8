"""What is said about groups of pods, looked up in the manifests."""

from __future__ import annotations

from tests.reasons.reach import named, of_kind
from tests.reasons.worlds import Dict, World
from tests.reference.cluster import read
from tests.reference.nodes import requests, whole
from tests.truth.compare import Check, differs


def gang_short(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    waiting = [pod for pod in of_kind(world.objects, "Pod") if not pod["spec"].get("nodeName")]
    wrong = differs(short=(True, claim["placed"] < claim["required"]))
    if not wrong and claim.get("resource"):
        most = sum(_size(node, claim["resource"]) for node in of_kind(world.objects, "Node"))
        total = sum(1 if claim["resource"] == "pods" else requests(pod).get(claim["resource"], 0) for pod in waiting)
        wrong = differs(
            short=(True, claim["free"] < claim["needed"]),
            within=(True, claim["free"] <= most),
            needed=(True, claim["needed"] <= total),
        )
    return wrong


def _size(node: Dict, resource: str) -> int:
    return whole(node["status"].get("allocatable") or node["status"]["capacity"]).get(resource, 0)


def member_too_large(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    pod, nodes = named(world.objects, claim["pod"]), of_kind(world.objects, "Node")
    sizes = {node["metadata"]["name"]: _size(node, claim["resource"]) for node in nodes}
    needed = 1 if claim["resource"] == "pods" else requests(pod).get(claim["resource"], 0)
    never = "domain" in claim or max(sizes.values()) < needed
    return differs(needed=(claim["needed"], needed), has=(claim["has"], sizes[claim["node"]]), never=(True, never))


def outside(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    """A node without the label that the group's domains go by, or with the value of a domain it did not choose."""
    return differs(why=(claim["why"], "OutsideDomain"), exists=(True, claim["domain"] in read(world.objects).nodes))


def gang_budget(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    """Budgets are respected, there is one, and but for it there would be places enough."""
    budgets = len(of_kind(world.objects, "PodDisruptionBudget"))
    return differs(
        respected=("Respect", world.config.get("pdb")),
        budgets=(True, budgets > 0),
        enough=(True, claim["placed"] >= claim["required"]),
    )


CLAIMS: dict[str, Check] = {
    "GangShort": gang_short,
    "GangBudget": gang_budget,
    "MemberTooLarge": member_too_large,
    "NotReached": outside,
}
