"""What is said about nodes and pods, looked up in the manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from tests.reasons.reach import named, of_kind
from tests.reasons.worlds import NOW, Dict, World
from tests.reference.cluster import condition, moment, policy_of, priority_of, read, unit_of
from tests.reference.decision import ANNOTATION, Decision
from tests.reference.nodes import PASSES, cordoned, node_affinity, requests, taints_tolerated, whole
from tests.truth.compare import Check, differs

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Ground:
    """A world as one pod that waits finds it."""

    def __init__(self, world: World, pod: Dict | None = None) -> None:
        self.cluster = read(world.objects)
        self.pod = pod or named(world.objects, world.preemptor)
        self.decision = Decision(self.cluster, self.pod, moment(NOW), False)
        self.priority = priority_of(self.cluster, self.pod)

    def needs(self, resource: str) -> int:
        return 1 if resource == "pods" else requests(self.pod).get(resource, 0)

    def has(self, node: str, resource: str) -> int:
        sizes = self.cluster.nodes[node]["status"]
        return whole(sizes.get("allocatable") or sizes["capacity"]).get(resource, 0)

    def here(self, node: str) -> list[Dict]:
        return self.cluster.running.get(node, [])

    def nominated(self, node: str) -> list[Dict]:
        """For whom room is kept there."""
        return [
            other
            for other in self.cluster.nominated.get(node, [])
            if priority_of(self.cluster, other) >= self.priority and unit_of(other) != unit_of(self.pod)
        ]

    def free(self, node: str, resource: str, gone: Iterable[Dict] = ()) -> int:
        left = [*(pod for pod in self.here(node) if pod not in gone), *self.nominated(node)]
        used = sum(1 if resource == "pods" else requests(pod).get(resource, 0) for pod in left)
        return max(0, self.has(node, resource) - used)

    def in_reach(self, node: str) -> bool:
        item = self.cluster.nodes[node]
        return not cordoned(item, self.pod) and taints_tolerated(item, self.pod) and node_affinity(item, self.pod)

    # Whom rules protect

    def candidates(self, node: str) -> list[Dict]:
        return [pod for pod in self.here(node) if not self.protected_by(pod)]

    def protected_by(self, pod: Dict) -> str:
        """The rule that protects a pod; empty: none does."""
        priority = priority_of(self.cluster, pod)
        if priority >= self.priority:
            return "EqualPriority" if priority == self.priority else "HigherPriority"
        name = class_of(pod)
        if name and name not in self.cluster.classes:
            return "UnknownPriorityClass"
        if self.decision.in_doubt(name):
            return "UnreadableToleration"
        return "Toleration" if self.decision.exempt(pod, False) else ""

    def until(self, pod: Dict) -> int | None:
        """When a pod's toleration ends, in microseconds; None: never, or nobody knows."""
        seconds = int(self.decision.tolerations(class_of(pod)).get(f"{ANNOTATION}toleration-seconds", "0"))
        scheduled = condition(pod, "PodScheduled")
        if seconds < 0 or scheduled is None or scheduled["status"] != "True":
            return None
        return microseconds(moment(scheduled["lastTransitionTime"]) + timedelta(seconds=seconds))

    def stay(self, node: str) -> list[Dict]:
        """How many pods of a node each rule protects; those who tolerate for a time apart."""
        found = [(self.protected_by(pod), pod) for pod in self.here(node)]
        counts = Counter((rule, rule == "Toleration" and self.until(pod) is not None) for rule, pod in found if rule)
        ends = [end for rule, pod in found if rule == "Toleration" and (end := self.until(pod)) is not None]
        return sorted(
            (
                {"rule": rule, "pods": pods, "until": min(ends) if timed else None}
                for (rule, timed), pods in counts.items()
            ),
            key=str,
        )


def class_of(pod: Dict) -> str:
    return str(pod["spec"].get("priorityClassName", ""))


def microseconds(at: datetime) -> int:
    return int((at - EPOCH) / timedelta(microseconds=1))


# Claims about one node; about several, what is said of each of them adds up to it

OnNode = Callable[[Ground, str, Dict], str]


def _of_daemon_set(pod: Dict) -> bool:
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", ()))


def not_reached(ground: Ground, node: str, claim: Dict) -> str:
    item, pod = ground.cluster.nodes.get(node), ground.pod
    if item is None or claim["why"] == "NoSuchNode":
        return differs(exists=(claim["why"] != "NoSuchNode", item is not None))
    so = {
        "Cordoned": cordoned(item, pod),
        "Taint": not taints_tolerated(item, pod),
        "NodeAffinity": not node_affinity(item, pod),
        "MissingNeighbours": ground.decision.status(node, []) != PASSES,
        "Closed": any(map(_of_daemon_set, ground.cluster.nominated.get(node, []))),
    }
    return differs(**{claim["why"]: (True, so.get(claim["why"]))})


def too_small(ground: Ground, node: str, claim: Dict) -> str:
    resource = claim["resource"]
    so = differs(has=(claim["has"], ground.has(node, resource)), needed=(claim["needed"], ground.needs(resource)))
    return so or ("" if claim["has"] < claim["needed"] else "it is large enough")


def insufficient(ground: Ground, node: str, claim: Dict) -> str:
    resource = claim["resource"]
    pairs: dict[str, tuple[object, object]] = {
        "needed": (claim["needed"], ground.needs(resource)),
        "free": (claim["free"], ground.free(node, resource)),
        "nominated": (claim.get("nominated", 0), len(ground.nominated(node))),
    }
    if claim.get("asked", True):
        candidates = ground.candidates(node)
        pairs |= {
            "candidates": (claim.get("candidates", 0), len(candidates)),
            "freed": (claim.get("freed", 0), ground.free(node, resource, candidates)),
            "protected": (sorted(claim.get("protected", ()), key=str), ground.stay(node)),
        }
    enough = max(claim["free"], claim.get("freed", 0)) >= claim["needed"]
    return "that is enough" if enough else differs(**pairs)


def kept_out(ground: Ground, node: str, claim: Dict) -> str:
    """Without all who may go there is room, and yet the pod may not come."""
    candidates = ground.candidates(node)
    left = [pod for pod in ground.here(node) if pod not in candidates]
    room = all(ground.free(node, name, candidates) >= units for name, units in requests(ground.pod).items() if units)
    return differs(
        room=(True, room),
        kept_out=(True, ground.decision.filtered(node, left) != PASSES),
        candidates=(claim.get("candidates", 0), len(candidates)),
    )


def left_alone(ground: Ground, node: str, claim: Dict) -> str:
    lower = [pod for pod in ground.here(node) if priority_of(ground.cluster, pod) < ground.priority]
    doubtful = [pod for pod in lower if ground.decision.in_doubt(class_of(pod))]
    names = {class_of(pod) for pod in doubtful}
    return differs(
        missing=(list(claim.get("missing", ())), sorted(names - set(ground.cluster.classes))),
        unreadable=(list(claim.get("unreadable", ())), sorted(names & set(ground.cluster.classes))),
        pods=(list(claim["pods"]), sorted(map(unit_of, doubtful))),
    )


def budget(ground: Ground, node: str, claim: Dict) -> str:
    """Who would have to go breaks a budget."""
    found = ground.decision.victims(node, False)
    return differs(
        breaks=(True, found is not None and ground.decision.breaks(found[0])), pods=(claim["pods"], found and found[1])
    )


ON_NODE: dict[str, OnNode] = {
    "NotReached": not_reached,
    "TooSmall": too_small,
    "Insufficient": insufficient,
    "KeptOut": kept_out,
    "LeftAlone": left_alone,
    "BudgetRespected": budget,
}


def of_nodes(world: World, decision: Dict, claim: Dict) -> str:
    if "domain" in claim:
        return ON_NODE[claim["kind"]](Ground(world), claim["domain"], claim)
    if not claim.get("asked", True) or not decision["spared"] or _never(world):
        return _without_asking(Ground(world), claim)
    return adds_up(decision, claim)


def _never(world: World) -> bool:
    ground = Ground(world)
    return policy_of(ground.cluster, ground.pod) == "Never"


def _without_asking(ground: Ground, claim: Dict) -> str:
    """Of all nodes, at least so many are in that position; the best of them has that much."""
    match claim["kind"]:
        case "NotReached":
            found = [node for node in ground.cluster.nodes if not not_reached(ground, node, claim)]
        case "TooSmall":
            sizes = {node: ground.has(node, claim["resource"]) for node in ground.cluster.nodes}
            found = [node for node, has in sizes.items() if has < claim["needed"]]
            if sizes[claim["node"]] != claim["has"] or claim["has"] >= claim["needed"]:
                return f"it has {sizes[claim['node']]}"
        case "Insufficient":
            frees = {
                node: ground.free(node, claim["resource"]) for node in ground.cluster.nodes if ground.in_reach(node)
            }
            found = [node for node, free in frees.items() if free < claim["needed"]]
            if claim["free"] not in [frees[node] for node in found]:
                return f"none of {frees} has that"
        case _:
            found = [
                node for node in ground.cluster.nodes if ground.decision.filtered(node, ground.here(node)) != PASSES
            ]
    return "" if len(found) >= claim.get("nodes", 1) else f"only {found} are"


def adds_up(decision: Dict, claim: Dict) -> str:
    """What is said of several nodes is what is said of each of them: added up, or the best of it."""
    each = [item for item in decision["claims"] if "domain" in item and _alike(item, claim)]
    wrong = differs(nodes=(claim.get("nodes", 1), len(each)))
    for name in ("free", "freed", "has"):
        if name in claim:
            wrong = wrong or differs(**{name: (claim[name], max(item.get(name, 0) for item in each))})
    if claim["kind"] in ("Insufficient", "KeptOut"):
        total = sum(item.get("candidates", 0) for item in each)
        wrong = wrong or differs(candidates=(claim.get("candidates", 0), total))
        wrong = wrong or differs(protected=(_counts([claim]), _counts(each)))
    return wrong


def _alike(one: Dict, other: Dict) -> bool:
    """In the same position: also whether anybody may be preempted."""
    return all(one.get(name) == other.get(name) for name in ("kind", "why", "resource", "by", "needed")) and (
        one["kind"] not in ("Insufficient", "KeptOut") or bool(one.get("candidates")) == bool(other.get("candidates"))
    )


def _counts(items: list[Dict]) -> list[Any]:
    """By rule: how many, and when the first of them is over."""
    every = [one for item in items for one in item.get("protected", ())]
    found = sorted(((one["rule"], one["until"] is not None), one["pods"], one["until"] or 0) for one in every)
    return [
        (key, sum(pods for _, pods, _ in group), min(until for *_, until in group))
        for key, group in ((key, list(group)) for key, group in groupby(found, key=lambda one: one[0]))
    ]


def no_nodes(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001 - there is nothing in it
    return differs(nodes=(0, len(of_kind(world.objects, "Node"))))


CLAIMS: dict[str, Check] = {**dict.fromkeys(ON_NODE, of_nodes), "NoNodes": no_nodes}
