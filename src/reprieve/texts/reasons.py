"""Typed reasons in words: why somebody makes way, and why somebody stays."""

from reprieve.engine.reasons import (
    AboveMinimum,
    BeingDeleted,
    CheaperElsewhere,
    Claimed,
    ClusterScoped,
    FederationReason,
    Leaving,
    LowerPriority,
    NobodyAsked,
    NodeRequired,
    NoFlavor,
    NoHelp,
    NoLargerShare,
    NoRequirements,
    NotContested,
    NotEnough,
    NotLower,
    NotReached,
    NotWhileBorrowing,
    OtherScheduler,
    PodReason,
    PolicyReason,
    QueueAboveMaximum,
    QueueClosed,
    QueueLaw,
    QueueOver,
    QueueReason,
    QuotaReason,
    QuotaTaken,
    Reason,
    Reprieved,
    SparedByBudget,
    StepReason,
    Tolerates,
    UnknownClass,
    UnreadableToleration,
    WithinQuota,
)
from reprieve.texts.parts import moment

CRITERIA = {
    "FewestBudgetViolations": "it goes against disruption budgets least",
    "LowestHighestPriority": "its most important victim ranks lowest",
    "SmallestSumOfPriorities": "the priorities of its victims add up to least",
    "FewestReluctant": "fewest there opted out or lead their application (law 1)",
    "FewestVictims": "it has the fewest victims",
    "NearestQueues": "the queues of its victims are nearest in the tree",
    "LatestStart": "its most important victims started last",
    "TieBreak": "nothing else told them apart, and it is the oldest node, then the first by name",
    "FirstByName": "nothing else told them apart, and it is the first by name",
    "EveryClusterNeeded": "its replicas have a fixed place in each of them",
    "SeveralClusters": "no single cluster could be freed enough",
    "OnlyCandidate": "nowhere else would do",
}
# Why nobody is asked to leave, though no rule protects them.
_BECAUSE = {
    "Never": "the preemptor's preemption policy is Never",
    "Leaving": "enough others are leaving already",
    "Budget": "a disruption budget is respected",
    "NotNow": "the preemptor may not preempt",
}
# By which right a quota workload is preempted, under the names that Kueue gives.
_RIGHTS = {
    "InClusterQueue": "it runs in the same queue, {queue}",
    "InCohortReclamation": "{queue} borrows, and {taker} reclaims its quota",
    "InCohortReclaimWhileBorrowing": "{queue} borrows, and {taker} may preempt it while it borrows itself",
    "InCohortFairSharing": "{queue} has a larger share than {taker} would have",
}
_RELUCTANT = "; it opted out or leads its application, and there was no other way (law 1)"
# What protects a pod between queues.
_LAWS = {
    "NeverBelowGuarantee": "without it {queue} would be below its guarantee (law 2)",
    "SameApplication": "it belongs to the preemptor's application (law 3)",
    "OwnQueue": "it runs in the preemptor's own queue, {queue} (law 3)",
    "AboveGuarantee": "with the preemptor its queue, {queue}, would be above its guarantee (law 4)",
    "WithinGuarantee": "{queue} is not over its guarantee of anything asked for (law 5)",
    "HigherPriority": "priority {priority} is above {bound}, the highest that may be asked there (law 6)",
    "PriorityFence": "a priority fence puts {queue} above the preemptor (law 6)",
    "OutsideFence": "{queue} is outside {top}, where the preemptor's reach ends (law 7)",
    "PreemptionDisabled": "preemption is disabled in {queue}",
    "RequiredNode": "it must run on its node",
    "OtherNode": "the preemptor must run on {top}",
    "Leaving": "it is leaving already",
    "WholeGroup": "it goes only with its whole group, and queues preempt single pods",
    "OutsideQueues": "it was not placed by queues, and priorities alone decide over it",
    "NothingShared": "it holds nothing of what is asked for",
    "FreesTooMuch": "it would free more than {queue} still has to free",
}


def describe(reason: Reason) -> str:
    """A reason in words."""
    if isinstance(reason, PolicyReason):
        return reason.sentence
    if isinstance(reason, StepReason):
        return _describe_step(reason)
    if isinstance(reason, QueueReason):
        return _describe_queue(reason)
    if isinstance(reason, FederationReason):
        return _describe_federation(reason)
    return _describe_quota(reason) if isinstance(reason, QuotaReason) else _describe_pod(reason)


def _describe_queue(reason: QueueReason) -> str:
    match reason:
        case QueueOver(queue, _, reluctant):
            return f"{queue} is over its guarantee{_RELUCTANT if reluctant else ''}"
        case NodeRequired(node, reluctant):
            return f"the preemptor must run on {node}{_RELUCTANT if reluctant else ''}"
        case QueueAboveMaximum(queue):
            return f"{queue} uses more than its maximum"
        case QueueLaw(kind, queue, top, priority, bound):
            return _LAWS[kind].format(queue=queue, top=top, priority=priority, bound=bound)


def _describe_federation(reason: FederationReason) -> str:
    match reason:
        case ClusterScoped():
            return "cluster-scoped bindings take no part in preemption"
        case OtherScheduler(scheduler, own):
            return f"{scheduler} has placed it, and {own} leaves that alone"
        case BeingDeleted():
            return "it is being deleted, and what it uses counts as free already"
        case NoRequirements():
            return "it asks for nothing, so that its leaving would free nothing"


def _describe_quota(reason: QuotaReason) -> str:
    match reason:
        case QuotaTaken(kind, queue, taker, priority, above):
            return f"{_RIGHTS[kind].format(queue=queue, taker=taker)}; priority {priority}, the preemptor's {above}"
        case WithinQuota(queue, others_gone):
            return f"{'without those asked before it, ' if others_gone else ''}{queue} is within its nominal quota"
        case NotReached("Never", queue, _, _):
            return f"the preemptor's queue preempts nobody in {queue}"
        case NotReached(policy, queue, priority, above):
            return f"the policy {policy} does not reach priority {priority} in {queue} from {above}"
        case QueueClosed(queue):
            return f"{queue} is stopped, or names a flavor that does not exist: it gives nobody"
        case NotContested():
            return "it uses nothing of what is needed"
        case _:
            return _describe_quota_search(reason)


def _describe_quota_search(reason: Claimed | NotWhileBorrowing | NoLargerShare | NoFlavor) -> str:
    match reason:
        case Claimed():
            return "it makes way for another workload already"
        case NotWhileBorrowing(taker, priority):
            return f"{taker} may not preempt priority {priority} in other queues while it borrows itself"
        case NoLargerShare(queue, taker, without_it):
            smaller = f"without it {queue} would have a smaller share" if without_it else f"{queue} has no larger share"
            return f"{smaller} than {taker} would have"
        case NoFlavor(why):
            return f"nobody is asked: {why}"


def _describe_pod(reason: PodReason) -> str:
    match reason:
        case LowerPriority(priority, above):
            return f"priority {priority} is below {above}, the preemptor's"
        case NotLower(priority, above):
            relation = "equal to" if priority == above else "above"
            return f"priority {priority} is {relation} {above}, the preemptor's"
        case Tolerates(name, minimum, above, until, member):
            tolerance = (
                f"{_whose('class', name, member)} tolerates preemptors below {minimum}, and the preemptor has {above}"
            )
            return f"{tolerance}; until {moment(until)}" if until is not None else tolerance
        case SparedByBudget():
            return "its disruption budget would break, and others can go"
        case AboveMinimum(priority, minimum):
            return f"priority {priority} is above {minimum}, and units up to that are enough"
        case UnknownClass(name, member):
            return f"{_whose('priority class', name, member)} does not exist, so nobody knows what it tolerates"
        case UnreadableToleration(name, member):
            return f"{_whose('priority class', name, member)} says what it tolerates in something other than numbers"


def _whose(what: str, name: str, member: str | None) -> str:
    """Its own, or that of another one of its group, with which it goes or stays."""
    return f"the {what} {name} of {member} of its group" if member else f"its {what} {name}"


def _describe_step(reason: StepReason) -> str:
    match reason:
        case Reprieved():
            return "the preemptor fits beside it"
        case Leaving():
            return "it is leaving already, and is waited for"
        case NoHelp(domain, obstacle):
            return f"it would not help: {domain} is {obstacle}"
        case NobodyAsked(because):
            return _BECAUSE[because]
        case CheaperElsewhere(domain, criterion):
            return f"{domain} was chosen instead: {CRITERIA.get(criterion, criterion)}"
        case NotEnough():
            return "it could go, but all who may go are not enough"


def chosen(domain: str, criterion: str) -> str:
    return f"{domain} was chosen: {CRITERIA.get(criterion, criterion)}."
