"""What is said about queues, looked up in their configuration and in the pods that run."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from tests.reasons.worlds import Dict, World
from tests.reference.nodes import PASSES, requests
from tests.truth.compare import Check, differs
from tests.truth.pods import not_reached, too_small
from tests.truth.queue_ground import QueueGround, queue_of
from tests.truth.queue_reasons import LAWS


def of_nodes(world: World, decision: Dict, claim: Dict) -> str:
    ground = QueueGround(world)
    if "domain" in claim:
        return _on_node(ground, decision, claim["domain"], claim)
    if claim["kind"] in ("NotTogether", "KeptOut"):
        return ""  # what is said of each of them is checked
    found = [node for node in ground.cluster.nodes if not _roughly(ground, node, claim)]
    return "" if len(found) >= claim.get("nodes", 1) else f"only {found} are"


def _roughly(ground: QueueGround, node: str, claim: Dict) -> str:
    """What holds for each of several nodes: the best of their numbers is no less than its own."""
    if claim["kind"] == "NotReached":
        return not_reached(ground, node, claim)
    resource = claim["resource"]
    if claim["kind"] == "TooSmall":
        return differs(small=(True, ground.has(node, resource) <= claim["has"] < claim["needed"]))
    return differs(
        needed=(claim["needed"], ground.needs(resource)),
        short=(True, ground.free(node, resource, when_left=claim["asked"]) <= claim["free"] < claim["needed"]),
    )


def _on_node(ground: QueueGround, decision: Dict, node: str, claim: Dict) -> str:
    match claim["kind"]:
        case "NotReached":
            return not_reached(ground, node, claim)
        case "TooSmall":
            return too_small(ground, node, claim)
        case "Insufficient":
            return _insufficient(ground, decision, node, claim)
    stay = _protected(decision, node)
    gone = [pod for pod in ground.here(node) if f"Pod/default/{pod['metadata']['name']}" not in stay]
    room = _room(ground, node, gone)
    out = ground.decision.status(node, [pod for pod in ground.here(node) if pod not in gone]) != PASSES
    why = _NOT_TOGETHER[claim["rule"]] if claim["kind"] == "NotTogether" else None
    return differs(
        room=(True, room),
        kept_out=(why is None, out and room),
        by_law=(True, why is None or why(ground, node, claim["queue"], gone)),
    )


def _from_both_sides(ground: QueueGround, node: str, queue: str, gone: list[Dict]) -> bool:  # noqa: ARG001
    """Some are in the queue whose guarantee is claimed, or below it, and some are not."""
    asked = {name for name, units in requests(ground.pod).items() if units}
    claimed = next(name for name in ground.names(ground.pod) if asked & set(ground.bounds(name, "guaranteed")))
    return {claimed in ground.names(pod) for pod in gone} == {True, False}


def _left_below(ground: QueueGround, node: str, queue: str, gone: list[Dict]) -> bool:  # noqa: ARG001
    """Without all of them a queue has less than its guarantee, also with what comes to it."""
    comes = requests(ground.pod) if queue in ground.names(ground.pod) else {}
    return any(
        ground.used(queue, name, kept=True) - freed + comes.get(name, 0) < units
        for name, units in ground.bounds(queue, "guaranteed").items()
        if (freed := _held(ground, queue, name, gone))
    )


def _guarantee_still_used(ground: QueueGround, node: str, queue: str, gone: list[Dict]) -> bool:
    """Some of them make room, none of them for nothing, and of a type nothing is left that the queue guarantees."""
    sets = (list(those) for size in range(1, len(gone) + 1) for those in combinations(gone, size))
    enough = [those for those in sets if _room(ground, node, those)]
    needed = [those for those in enough if not any(other != those and _among(other, those) for other in enough)]
    return any(_nothing_left(ground, queue, those) for those in needed)


def _room(ground: QueueGround, node: str, gone: list[Dict]) -> bool:
    asked = {name: units for name, units in requests(ground.pod).items() if units}
    return all(ground.free(node, name, gone, when_left=True) >= units for name, units in asked.items())


def _among(some: list[Dict], others: list[Dict]) -> bool:
    return all(pod in others for pod in some)


def _nothing_left(ground: QueueGround, queue: str, gone: list[Dict]) -> bool:
    path = ground.names(ground.pod)
    below = path[: path.index(queue)]
    return any(
        ground.used(queue, name, kept=True) + ground.promised(queue, name) - _held(ground, queue, name, gone) >= units
        for name, units in ground.bounds(queue, "guaranteed").items()
        if requests(ground.pod).get(name, 0) and not any(name in ground.bounds(lower, "guaranteed") for lower in below)
    )


def _held(ground: QueueGround, queue: str, name: str, pods: list[Dict]) -> int:
    return sum(requests(pod).get(name, 0) for pod in pods if queue in ground.names(pod))


_NOT_TOGETHER = {
    "OneSide": _from_both_sides,
    "NeverBelowGuarantee": _left_below,
    "AboveGuarantee": _guarantee_still_used,
}


def _insufficient(ground: QueueGround, decision: Dict, node: str, claim: Dict) -> str:
    resource, stay = claim["resource"], _protected(decision, node)
    gone = [pod for pod in ground.here(node) if f"Pod/default/{pod['metadata']['name']}" not in stay]
    pairs: dict[str, tuple[object, object]] = {
        "needed": (claim["needed"], ground.needs(resource)),
        "free": (claim["free"], ground.free(node, resource, when_left=True)),
        "leaving": (claim["leaving"], len(ground.leaving(node))),
        "candidates": (claim.get("candidates", 0), len(gone)),
        "freed": (claim.get("freed", 0), ground.free(node, resource, gone, when_left=True)),
        "protected": ({one["rule"]: one["pods"] for one in claim.get("protected", ())}, dict(Counter(stay.values()))),
    }
    enough = max(claim["free"], claim.get("freed", 0)) >= claim["needed"]
    return "that is enough" if enough else differs(**pairs)


def _protected(decision: Dict, node: str) -> dict[str, str]:
    """Who stays on a node by a law, whoever else goes; each of these reasons is checked for itself."""
    return {item["unit"]: item["rule"] for item in decision["spared"] if item["domain"] == node and _by_law(item)}


def _by_law(item: Dict) -> bool:
    return item["rule"] in LAWS and not item["facts"].get("othersGone")


def at_maximum(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    ground, name, resource = QueueGround(world), claim["queue"], claim["resource"]
    used = ground.used(name, resource) + ground.promised(name, resource)
    return differs(
        own=(True, name in ground.names(ground.pod)),
        used=(claim["used"], used),
        maximum=(claim["maximum"], ground.bounds(name, "max").get(resource)),
        needed=(claim["needed"], requests(ground.pod).get(resource, 0)),
        above=(True, claim["used"] + claim["needed"] > claim["maximum"]),
    )


def no_guarantee(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    ground = QueueGround(world)
    guaranteed = {name for queue in ground.names(ground.pod) for name in ground.bounds(queue, "guaranteed")}
    asked = {name for name, units in requests(ground.pod).items() if units}
    return differs(queue=(claim["queue"], queue_of(ground.pod)), guaranteed=(set(), guaranteed & asked))


def guarantee_used(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    ground, resource = QueueGround(world), claim["resource"]
    path = ground.names(ground.pod)
    first = next(queue for queue in path if resource in ground.bounds(queue, "guaranteed"))
    used = ground.used(claim["asking"], resource, kept=True) + ground.promised(claim["queue"], resource)
    return differs(
        queue=(claim["queue"], first),
        asking=(True, claim["asking"] in (path[0], first)),
        used=(claim["used"], used),
        guaranteed=(claim["guaranteed"], ground.bounds(first, "guaranteed").get(resource)),
        needed=(claim["needed"], requests(ground.pod).get(resource, 0)),
        above=(True, claim["used"] + claim["needed"] > claim["guaranteed"]),
    )


def in_reach(world: World, decision: Dict, claim: Dict) -> str:  # noqa: ARG001
    """By each law as many stay as are told so one by one."""
    rules = Counter(item["rule"] for item in decision["spared"] if _by_law(item))
    counts = {one["rule"]: one["pods"] for one in claim["protected"]}
    return differs(
        counts=(counts, dict(rules)),
        everybody=(claim["candidates"] + sum(counts.values()), len(decision["spared"])),
    )


CLAIMS: dict[str, Check] = {
    **dict.fromkeys(["NotReached", "TooSmall", "Insufficient", "KeptOut", "NotTogether"], of_nodes),
    "AtMaximum": at_maximum,
    "NoGuarantee": no_guarantee,
    "GuaranteeUsed": guarantee_used,
    "InReach": in_reach,
}
