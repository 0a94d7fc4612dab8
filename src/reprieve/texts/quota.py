"""What a person reads about quota workloads and their queues."""

from collections.abc import Callable, Sequence
from typing import Any

from reprieve.engine.claims import (
    ChecksUnusable,
    Claim,
    FlavorMissing,
    FlavorUnsuited,
    GroupDisagrees,
    GroupIncomplete,
    GroupTooVaried,
    NamespaceNotTaken,
    NotCovered,
    QueueMissing,
    QueueStopped,
    QueueTerminating,
    QuotaShort,
    TopologyMissing,
    TopologyShort,
    TopologyUnsuited,
    WorkloadsStay,
)
from reprieve.model.resources import print_amount
from reprieve.texts.parts import count, every, listed, moment

VICTIMS_CLAIMED = "the workloads it could preempt are victims of another workload already"
QUOTA_TAKEN = "the quota went to another workload in this cycle"
ONCE_THEY_LEFT = "it fits once those have left who make way for others"
ONE_AT_A_TIME = "another workload was just admitted, and its pods have to be ready first"
NO_MORE_BORROWING = "nobody in its cohort borrows while a workload that need not borrow is pending or just admitted"
NOT_RELATED = "its queue is in another cohort, and what it uses is of no help"


def waits_for_ready(units: Sequence[str]) -> str:
    more = f" and {len(units) - 1} more" if len(units) > 1 else ""
    return f"nobody is admitted before all pods of {units[0]}{more} are ready"


def quota_fits(unit: str, queue: str, flavors: str, places: Sequence[tuple[Sequence[str], int]] = ()) -> str:
    """`places`: domains of a topology, and how many pods go to each."""
    named = [f"{'/'.join(values)} ({pods})" for values, pods in places]
    where = f"; its pods go to {listed(named)}" if places else ""
    return f"{unit} fits in {queue}: {flavors}{where}; nobody is preempted."


def quota_preempts(unit: str, queue: str, victims: Sequence[str], takings: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    needs = f" It {'; it '.join(takings)}." if takings else ""
    return f"{listed(victims)} {verb} way for {unit} in {queue}.{needs}"


def taken_from(queue: str, resource: str, amount: int, used: int, nominal: int, left: int) -> str:
    """What is asked of a queue of what it borrows, and what it is left with: those who leave may have had more."""

    def show(units: int) -> str:
        return print_amount(resource, units)

    borrowed = max(0, used - nominal)
    given = f"reclaims {show(amount)} of the {show(borrowed)} {resource} that {queue} borrowed"
    if amount == borrowed:
        given = f"reclaims the {show(amount)} {resource} that {queue} borrowed"
    elif amount > borrowed:
        given = f"takes {show(amount)} {resource} from {queue}, which borrowed {show(borrowed)}"
    if left == nominal:
        return f"{given}; {queue} stays at its nominal {show(nominal)}"
    if left > nominal:
        return f"{given}; {queue} keeps {show(left - nominal)} above its nominal {show(nominal)}"
    return f"{given}; {queue} is left with {show(left)} of its nominal {show(nominal)}"


def quota_refused(unit: str, queue: str, reason: str) -> str:
    return f"{unit} stays pending in {queue}: {reason}."


def reserved_by(queues: Sequence[str]) -> str:
    """`queues` have workloads pending that fit within their nominal quota."""
    return f"what is left is reserved for workloads that are pending in {listed(queues)}"


def unschedulable(unit: str, queue: str, claims: Sequence[Claim]) -> str:
    return quota_refused(unit, queue, no_place(claims))


def no_place(claims: Sequence[Claim]) -> str:
    """Why a workload has no quota."""
    return "; ".join(_SENTENCES[type(claim)](claim) for claim in claims)


def _short(claim: QuotaShort) -> str:
    def show(units: int) -> str:
        return print_amount(claim.resource, units)

    used = f"{show(claim.used)} of {show(claim.nominal)} {claim.resource} on {claim.flavor} used in {claim.queue}"
    missing = f", {show(claim.needed - claim.free)} missing" if 0 < claim.needed - claim.free < claim.needed else ""
    return f"{used}, {show(claim.needed)} needed{missing}{_to_borrow(claim)}{_never(claim)}"


def _to_borrow(claim: QuotaShort) -> str:
    """What the cohort gives beyond the queue's own quota, or has taken of it."""
    if not claim.cohort:
        return ""
    own = max(0, claim.nominal - claim.used)
    if claim.free >= claim.needed:
        borrowed = print_amount(claim.resource, claim.needed - own)
        return f"; it would have to borrow {borrowed}, and nobody borrows who preempts"
    if claim.free > own:
        return f"; {print_amount(claim.resource, claim.free - own)} to borrow in cohort {claim.cohort}"
    if claim.free < own:
        return f"; {print_amount(claim.resource, own - claim.free)} of its quota lent out in cohort {claim.cohort}"
    return f"; nothing to borrow in cohort {claim.cohort}"


def _never(claim: QuotaShort) -> str:
    if claim.needed <= claim.most:
        return ""
    return f"; it could use {print_amount(claim.resource, claim.most)} at most: it can never fit here"


def _no_domain(claim: TopologyShort) -> str:
    pods = f"{claim.most} of {claim.needed} {'pod' if claim.needed == 1 else 'pods'} of {claim.pod_set}"
    where = f"one domain of {claim.level}" if claim.level else f"the nodes of {claim.flavor}"
    fit = f"{where} has place for {pods} at most" if claim.level else f"{where} have place for {pods} at most"
    return f"{fit}, also without any other workload" if claim.idle else fit


def _stay(claim: WorkloadsStay) -> str:
    stay = ", ".join(f"{item.pods} {_PROTECTED[item.rule][item.pods != 1]}" for item in claim.protected)
    if claim.candidates:
        few = f"preempting {every(claim.candidates, 'workload', 'workloads')} that may be preempted is not enough"
        return f"{few} (of the others, {stay})" if stay else few
    return f"no workload may be preempted ({stay})" if stay else "there are no workloads that could be preempted"


# What protects workloads, each for one and for several.
_PROTECTED = {
    "WithinNominalQuota": ("is in a queue within its nominal quota", "are in queues within their nominal quota"),
    "PreemptionPolicy": ("is not allowed by its preemption policy", "are not allowed by its preemption policy"),
    "QueueClosed": ("is in a queue that is stopped", "are in queues that are stopped"),
    "Claimed": ("is a victim of another workload already", "are victims of another workload already"),
    "LongRunning": ("has run too long to be preempted", "have run too long to be preempted"),
    "MadeWayBefore": ("made way for it before", "made way for it before"),
    "OtherCohort": ("is in a queue of another cohort", "are in queues of another cohort"),
    "NotContested": ("uses nothing of that", "use nothing of that"),
    "NotWhileBorrowing": ("may not be preempted while borrowing", "may not be preempted while borrowing"),
    "FairSharing": ("is in a queue that has no larger share", "are in queues that have no larger share"),
}
_SENTENCES: dict[type[Any], Callable[[Any], str]] = {
    QuotaShort: _short,
    WorkloadsStay: _stay,
    NotCovered: lambda claim: f"{claim.queue} has no quota for {listed(claim.resources)}",
    TopologyShort: _no_domain,
    TopologyUnsuited: lambda claim: f"{claim.flavor} has not the topology that pod set {claim.pod_set} asks for",
    FlavorUnsuited: lambda claim: f"pod set {claim.pod_set} may not run on {claim.flavor}, by its taints or labels",
}


def quota_pending(unit: str, queue: str) -> str:
    return f"{unit} is pending{f' in {queue}' if queue else ''}: it holds no quota, so it cannot be preempted."


def quota_whereabouts(unit: str, queue: str, used: Sequence[tuple[str, str, int, int]], *, leaving: bool) -> str:
    """`used` is flavor and resource, what its queue uses of that, and its nominal quota."""
    amounts = [
        f"{print_amount(resource, units)} {resource} on {flavor} (nominal {print_amount(resource, nominal)})"
        for flavor, resource, units, nominal in used
    ]
    state = "is being evicted from" if leaving else "is admitted by"
    return f"{unit} {state} {queue}{f', which uses {listed(amounts)}' if amounts else ''}."


def already_admitted(unit: str, queue: str) -> str:
    return f"{unit} is already admitted by {queue}: there is nothing to decide"


def waits_for_nothing(unit: str, *, finished: bool) -> str:
    return f"{unit} {'has finished' if finished else 'is inactive (spec.active is false)'}."


def no_queue(unit: str, claim: Claim) -> str:
    return f"{unit} stays pending: {_NO_QUEUE[type(claim)](claim)}"


def waits_for_its_turn(unit: str) -> str:
    """For who is behind others in its queue."""
    return f"{unit} stays pending: workloads before it in its queue have their turn first."


def _missing(claim: QueueMissing) -> str:
    return f"the {claim.queue_kind} {claim.queue} does not exist" if claim.queue else f"it names no {claim.queue_kind}"


def _checks(claim: ChecksUnusable) -> str:
    return f"the ClusterQueue {claim.queue} admits nobody: {checks_unusable(claim.missing, claim.inactive)}"


def checks_unusable(missing: Sequence[str], inactive: Sequence[str]) -> str:
    """What is wrong with the admission checks that a queue names."""
    gone = [f"the AdmissionCheck {listed(missing)} does not exist"] if missing else []
    idle = [f"no controller has made the AdmissionCheck {listed(inactive)} active"] if inactive else []
    return "; ".join([*gone, *idle])


_NO_QUEUE: dict[type[Any], Callable[[Any], str]] = {
    QueueMissing: _missing,
    QueueTerminating: lambda claim: f"the ClusterQueue {claim.queue} is being deleted",
    QueueStopped: lambda claim: f"the {claim.queue_kind} {claim.queue} is stopped (stopPolicy {claim.policy})",
    ChecksUnusable: _checks,
    FlavorMissing: lambda claim: (
        f"the ClusterQueue {claim.queue} admits nobody: the ResourceFlavor {listed(claim.flavors)} does not exist"
    ),
    TopologyMissing: lambda claim: (
        f"the ClusterQueue {claim.queue} admits nobody: the Topology {listed(claim.topologies)} does not exist"
    ),
    NamespaceNotTaken: lambda claim: (
        f"the ClusterQueue {claim.queue} does not take workloads of the namespace {claim.namespace} (namespaceSelector)"
    ),
    GroupIncomplete: lambda claim: (
        f"its group has {claim.there} of its {count(claim.total, 'pod')}, and asks for quota when all of them are there"
    ),
    GroupDisagrees: lambda claim: "its pods do not name the same queue and the same number of pods",  # noqa: ARG005
    GroupTooVaried: lambda claim: (
        f"its pods have {claim.shapes} different shapes, and at most {claim.most} can be queued together"
    ),
}


def gates_closed(gates: Sequence[str]) -> str:
    named = f"the preemption gate {gates[0]}" if len(gates) == 1 else f"the preemption gates {listed(gates)}"
    return f"it would have to preempt, and {named} {'is' if len(gates) == 1 else 'are'} closed"


def may_preempt_from(until: int) -> str:
    return f"it may preempt from {moment(until)} on"
