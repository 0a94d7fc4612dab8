"""Claims in words: why nothing can be had, with numbers and with an end.

A phrase about nodes goes on from "n1 ..." or "3 nodes ...".
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reprieve.engine import claims
from reprieve.engine.claims import Claim, ClaimOnNodes, Insufficient, Protected, TooSmall
from reprieve.model.resources import PODS, print_amount
from reprieve.texts.parts import count, every, listed, moment

# Of nodes that no preemption brings into reach; each goes on from "is" or "are".
UNREACHABLE = {
    "Cordoned": "cordoned",
    "Taint": "tainted, and the pod does not tolerate it",
    "OtherNode": "not the node it names",
    "NodeAffinity": "not matched by its node selector or affinity",
    "VolumeAffinity": "not where its volumes can be used",
    "VolumeLimit": "limited in the volumes of a driver that it needs, which this scheduler does not count",
    "Gone": "gone",
    "MissingNeighbours": "without the topology key or the pods nearby that its affinity requires",
    "OutsideDomain": "outside the topology domain",
    "NoSuchNode": "not there: no such node exists",
    "Closed": "closed until a pod of a DaemonSet that must run there is placed",
}
_NEIGHBOURS = {
    "HostPort": "a host port that it needs is taken there",
    "AntiAffinity": "its anti-affinity forbids pods that run there or nearby",
    "KeptAway": "the anti-affinity of pods there or nearby keeps it away",
    "Affinity": "the pods that it has to be near are not there, or would have to go",
    "TopologySpread": "its topology spread constraints would not be met",
}


# What of a pod cannot be honoured, and what to do; each goes on from "p is unschedulable: ".
_ELSEWHERE = "let kube-scheduler place it (schedulerName: default-scheduler)"
_NOT_HONOURED = {
    "ClaimMissing": "its PersistentVolumeClaim {name} does not exist: it is left alone until that is created",
    "ClaimLeaving": "its PersistentVolumeClaim {name} is being deleted: it is left alone until there is a new one",
    "ClaimNotOwned": "the PersistentVolumeClaim {name} of its ephemeral volume belongs to another: it is left alone "
    "until that is deleted",
    "ClaimUnbound": "its PersistentVolumeClaim {name} is not bound to a volume: it is left alone until that is bound",
    "ClaimWaitsForPod": "its PersistentVolumeClaim {name} waits for its pod to choose a volume (StorageClass {other}: "
    f"WaitForFirstConsumer), which this scheduler does not do: bind the claim, or {_ELSEWHERE}",
    "ClaimInUse": "its PersistentVolumeClaim {name} is for one pod (ReadWriteOncePod), and {other} has it: it is left "
    "alone until that has gone",
    "VolumeMissing": "its PersistentVolumeClaim {name} is bound to PersistentVolume {other}, which does not exist: it "
    "is left alone until that is there",
    "DiskNamed": "its volume {name} names a disk itself, of which this scheduler does not know who else uses it: use a "
    f"PersistentVolumeClaim, or {_ELSEWHERE}",
    "ResourceClaims": "it asks for devices by resource claims ({name}), which this scheduler does not allocate: "
    f"{_ELSEWHERE}",
}


def not_honoured(claim: claims.NotHonoured) -> str:
    return _NOT_HONOURED[claim.feature].format(name=claim.name, other=claim.other)


# What protects pods, each for one pod and for several; between queues the law by what it says, then its number.
_PROTECTED = {
    "EqualPriority": ("is of equal priority", "are of equal priority"),
    "HigherPriority": ("is of higher priority", "are of higher priority"),
    "OtherScheduler": ("is another scheduler's", "are other schedulers'"),
    "MirrorPod": ("mirrors a static pod", "mirror static pods"),
    "UnknownPriorityClass": ("has an unknown priority class", "have an unknown priority class"),
    "UnreadableToleration": ("has a toleration that cannot be read", "have a toleration that cannot be read"),
    "Toleration": ("tolerates it", "tolerate it"),
    "NodeLeftOut": ("goes with others on nodes that are left out", "go with others on nodes that are left out"),
    "AboveMinimum": ("is too important for pods it can do without", "are too important for pods it can do without"),
    "NeverBelowGuarantee": (
        "is needed for the guarantee of its queue (law 2)",
        "are needed for the guarantees of their queues (law 2)",
    ),
    "SameApplication": ("is of its own application (law 3)", "are of its own application (law 3)"),
    "SameGuarantee": ("only shares the guarantee it claims (law 4)", "only share the guarantee it claims (law 4)"),
    "OwnQueue": ("runs in its own queue (law 3)", "run in its own queue (law 3)"),
    "WithinGuarantee": (
        "runs in a queue that is not over its guarantee (law 5)",
        "run in queues that are not over their guarantee (law 5)",
    ),
    "PriorityFence": ("is behind a priority fence (law 6)", "are behind a priority fence (law 6)"),
    "OutsideFence": ("runs in a queue outside its reach (law 7)", "run in queues outside its reach (law 7)"),
    "PreemptionDisabled": (
        "runs in a queue that has preemption disabled",
        "run in queues that have preemption disabled",
    ),
    "RequiredNode": ("must run on its node", "must run on their nodes"),
    "OtherNode": ("runs on another node", "run on other nodes"),
    "Leaving": ("is leaving already", "are leaving already"),
    "WholeGroup": ("goes only with its whole group", "go only with their whole group"),
    "OutsideQueues": ("was not placed by queues", "were not placed by queues"),
    "NothingShared": ("holds nothing of what it asks for", "hold nothing of what it asks for"),
}


def amount(resource: str, units: int) -> str:
    """`4 cpu`; pods are counted."""
    return count(units, "pod") if resource == PODS else f"{print_amount(resource, units)} {resource}"


# One node, one cluster


def of_domain(claim: Claim) -> str:
    """An obstacle, as it goes on from the name of its node or cluster: "is cordoned"."""
    one, several = _VERBS[type(claim)]
    return f"{one if getattr(claim, 'nodes', 1) == 1 else several} {obstacle(claim)}"


def obstacle(claim: Claim) -> str:
    """The same without its verb, for a table: "cordoned"."""
    return _OBSTACLES[type(claim)](claim)


def _too_small(claim: TooSmall) -> str:
    if claim.resource == PODS:
        return "too small: it takes no pods" if claim.nodes == 1 else "too small: they take no pods"
    has = f"has {print_amount(claim.resource, claim.has)} of the {amount(claim.resource, claim.needed)} needed"
    return f"too small: it {has}" if claim.nodes == 1 else f"too small (the largest, {claim.node}, {has})"


def _insufficient(claim: Insufficient) -> str:
    if claim.resource == PODS:
        return f"too many pods{_even_without(claim) or _none_may_go(claim)}"
    return f"insufficient {claim.resource}: {_free(claim)}"


def _free(claim: Insufficient) -> str:
    """How much is free, and what keeps it so; goes on from "insufficient cpu: "."""
    most = "at most " if claim.nodes > 1 else ""
    free, freed, needed = (print_amount(claim.resource, units) for units in (claim.free, claim.freed, claim.needed))
    if claim.candidates:
        return f"{most}{freed} of the {needed} needed would be free{_even_without(claim)}"
    return f"{most}{free} of the {needed} needed {_are(free)} free{_once_left(claim)}{_none_may_go(claim)}"


def _once_left(claim: Insufficient) -> str:
    """Those who are leaving count as gone."""
    has = "has" if claim.leaving == 1 else "have"
    return f" once {count(claim.leaving, 'pod')} {has} left" if claim.leaving else ""


def _even_without(claim: Insufficient) -> str:
    gone = every(claim.candidates, _CANDIDATE, _CANDIDATES)
    return f" even without {gone}{_stay(claim.protected)}" if claim.candidates else ""


_CANDIDATE, _CANDIDATES = "pod that may be preempted", "pods that may be preempted"


def _are(amount: str) -> str:
    return "is" if amount == "1" else "are"


def _none_may_go(claim: Insufficient) -> str:
    """What keeps the rest from being free; empty where nobody is asked."""
    if not claim.asked:
        return ""
    if claim.protected:
        whose = "its pods" if claim.nodes == 1 else "their pods"
        kept = f"; room is kept for {count(claim.nominated, 'nominated pod')}" if claim.nominated else ""
        return f", and none of {whose} may be preempted ({protected(claim.protected)}{kept})"
    if claim.nominated:
        return f", and room is kept for {count(claim.nominated, 'nominated pod')}"
    return ", and no pods run there that could be preempted"


def _stay(items: Sequence[Protected]) -> str:
    return f" (of the others, {protected(items)})" if items else ""


def protected(items: Iterable[Protected]) -> str:
    """`2 are of equal priority, 1 tolerates it until 2026-01-01T12:30:00Z`."""
    return ", ".join(map(_one_protected, items))


def _one_protected(item: Protected) -> str:
    one, several = _PROTECTED[item.rule]
    text = f"{item.pods} {one if item.pods == 1 else several}"
    if item.until is None:
        return text
    return f"{text} until {moment(item.until)}" if item.pods == 1 else f"{text}, the first until {moment(item.until)}"


def _kept_out(claim: claims.KeptOut) -> str:
    who = f", even without {every(claim.candidates, _CANDIDATE, _CANDIDATES)}" if claim.candidates else ""
    return f"not possible: {_NEIGHBOURS[claim.by]}{who}"


def _left_alone(claim: claims.LeftAlone) -> str:
    """Which class is to blame; who names it, and what that means, is a remark of its own."""
    said = [f"PriorityClass {name} of a pod there does not exist" for name in claim.missing]
    said += [
        f"what PriorityClass {name} of a pod there tolerates is not written in numbers" for name in claim.unreadable
    ]
    return f"left alone, because {listed(said)}"


def _not_together(claim: claims.NotTogether) -> str:
    return f"not to be freed: {_NOT_TOGETHER[claim.rule].format(queue=claim.queue)}"


_NOT_ALL = "the pods there that may be preempted may not all go: "
# Why there is no room although those who may be preempted would make it.
_NOT_TOGETHER = {
    "AboveGuarantee": "without the pods that would have to go, "
    "{queue} would still not have enough left of its guarantee (law 4)",
    "NeverBelowGuarantee": _NOT_ALL + "{queue} would be left below its guarantee (law 2)",
    "OneSide": _NOT_ALL
    + "victims are from inside the queue whose guarantee is claimed or from outside, never both (law 4)",
}


def _cluster_short(claim: claims.ClusterShort) -> str:
    short = f"insufficient resources: it is short of {_amounts(claim.missing)} for {count(claim.replicas, 'replica')}"
    if claim.candidates is None:
        return short
    if not claim.candidates:
        return f"{short}, and no binding there may be preempted"
    gone = every(claim.candidates, "binding", "bindings")
    return f"{short}, even without {gone} that may be preempted"


# Why a cluster has no part in it; each goes on from "frankfurt is ...".
_CLUSTERS = {
    "NotReady": "not ready",
    "WithoutApi": "without the API of the resource",
    "Taint": "tainted, and the binding does not tolerate it",
    "NotMeant": "not matched by its cluster affinity",
    "NoReport": "without room that is known: it reports no status.resourceSummary",
    "NotNeeded": "not needed: other clusters that the spread constraints allow cost no more",
    "BreaksSpread": "not enough for the spread constraints, whoever is preempted",
    "Enough": "not the obstacle: another cluster that it needs has insufficient resources",
    "WithoutPart": "given none of the replicas that are missing",
    "LaterGroup": "of a later affinity group, and an earlier one is enough",
}


def _amounts(amounts: dict[str, int]) -> str:
    return listed([amount(name, units) for name, units in sorted(amounts.items())])


_OBSTACLES: dict[type[Any], Callable[[Any], str]] = {
    claims.NotReachable: lambda claim: UNREACHABLE[claim.why],
    claims.TooSmall: _too_small,
    claims.Insufficient: _insufficient,
    claims.KeptOut: _kept_out,
    claims.LeftAlone: _left_alone,
    claims.NotHonoured: lambda claim: f"not for it: {not_honoured(claim)}",
    claims.BudgetRespected: lambda _: "only to be had with a PDB violation, and budgets are respected",
    claims.NotTogether: _not_together,
    claims.GangShort: lambda claim: _gang_short(claim),
    claims.MemberTooLarge: lambda claim: f"too small for {claim.pod}: {_member(claim)}",
    claims.ClusterShort: _cluster_short,
    claims.ClusterOut: lambda claim: _CLUSTERS[claim.why],
}
_HAVE = (claims.Insufficient, claims.GangShort, claims.ClusterShort)
_VERBS = {kind: ("has", "have") if kind in _HAVE else ("is", "are") for kind in _OBSTACLES}


def _gang_short(claim: claims.GangShort) -> str:
    gone = "" if not claim.asked else " even without all pods that may be preempted"
    return f"places for {claim.placed} of the {claim.required} pods needed{gone}"


def _member(claim: claims.MemberTooLarge) -> str:
    has = print_amount(claim.resource, claim.has)
    return f"its largest node, {claim.node}, has {has} of the {amount(claim.resource, claim.needed)} that it needs"


# All nodes


def on_nodes(found: Sequence[Claim]) -> str:
    """Why no node can take a pod; goes on from "p is unschedulable: "."""
    parts = [claim for claim in found if isinstance(claim, ClaimOnNodes)]
    if not parts:
        return "there are no nodes"
    if len(parts) == 1:
        return _only(parts[0])
    total = sum(claim.nodes for claim in parts)
    return f"of {total} nodes, " + "; ".join(f"{claim.nodes} {of_domain(claim)}" for claim in parts)


def _only(claim: ClaimOnNodes) -> str:
    """All nodes are in the same position."""
    if isinstance(claim, claims.NotHonoured):
        return not_honoured(claim)
    nodes = "the only node" if claim.nodes == 1 else f"all {claim.nodes} nodes"
    if isinstance(claim, TooSmall) and claim.resource != PODS:
        return f"it needs {amount(claim.resource, claim.needed)}; {_largest(claim)}: it can never fit here"
    if isinstance(claim, Insufficient) and not claim.candidates and claim.resource != PODS:
        free = f"{print_amount(claim.resource, claim.free)} free{_once_left(claim)}{_none_may_go(claim)}"
        have = "the only node has" if claim.nodes == 1 else f"{claim.nodes} nodes have at most"
        return f"it needs {amount(claim.resource, claim.needed)}: {have} {free}"
    return f"{nodes} {of_domain(claim)}"


def _largest(claim: TooSmall) -> str:
    node = f"the only node, {claim.node}," if claim.nodes == 1 else f"the largest node, {claim.node},"
    if not claim.has:
        return f"{node} has none" if claim.nodes == 1 else f"none of the {claim.nodes} nodes has any"
    return f"{node} has {print_amount(claim.resource, claim.has)}"
