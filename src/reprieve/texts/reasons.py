"""Typed reasons in words: why somebody makes way, and why somebody stays."""

from collections.abc import Callable
from typing import Any

import msgspec

from reprieve.engine import reasons as why
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
    "EarlierAffinityGroup": "its affinity group comes first",
    "OnlyCandidate": "nowhere else would do",
}
# Why nobody is asked to leave, though no rule protects them.
_BECAUSE = {
    "Never": "the preemptor's preemption policy is Never",
    "Leaving": "enough others are leaving already",
    "Budget": "a disruption budget is respected",
    "NotYet": "the preemptor may not preempt yet",
    "NotAllowed": "the preemptor may not preempt",
}
# By which right a quota workload is preempted, under the names that Kueue gives.
_RIGHTS = {
    "InClusterQueue": "it runs in the same queue, {queue}",
    "InCohortReclamation": "{queue} borrows, and {preemptor_queue} reclaims its quota",
    "InCohortReclaimWhileBorrowing": "{queue} borrows, and {preemptor_queue} may preempt it while it borrows itself",
    "InCohortFairSharing": "{queue} has a larger share than {preemptor_queue} would have",
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


# A sentence for each reason, with its fields by name; where it takes more than that, a function.
_SENTENCES: dict[type[Any], str | Callable[[Any], str]] = {
    # of steps
    why.Reprieved: "the preemptor fits beside it",
    why.Leaving: "it is leaving already, and is waited for",
    why.NoHelp: "it would not help: {domain} is {obstacle}",
    why.NobodyAsked: lambda reason: _BECAUSE[reason.because],
    why.CheaperElsewhere: lambda reason: f"{reason.domain} was chosen instead: {_criterion(reason.criterion)}",
    why.NotEnough: "it could go, but all who may go are not enough",
    why.PolicyReason: "{sentence}",
    # for pods
    why.LowerPriority: "priority {priority} is below {preemptor_priority}, the preemptor's",
    why.NotLower: lambda reason: _not_lower(reason),
    why.Tolerates: lambda reason: _tolerates(reason),
    why.UnknownClass: lambda reason: f"{_whose('priority class', reason)} does not exist, so {_NOBODY_KNOWS}",
    why.UnreadableToleration: lambda reason: f"{_whose('priority class', reason)} says {_NOT_IN_NUMBERS}",
    why.SparedByBudget: "its disruption budget would break, and others can go",
    why.AboveMinimum: "priority {priority} is above {minimum}, and units up to that are enough",
    # for quota workloads
    why.QuotaTaken: lambda reason: f"{_fill(_RIGHTS[reason.kind], reason)}; {_fill(_PRIORITIES, reason)}",
    why.WithinQuota: lambda reason: _fill(_BEFORE_IT * reason.others_gone + _WITHIN_QUOTA, reason),
    why.NotReached: lambda reason: _fill(_NEVER if reason.policy == "Never" else _BEYOND_POLICY, reason),
    why.QueueClosed: "{queue} is stopped, or names a flavor that does not exist: it gives nobody",
    why.NotContested: "it uses nothing of what is needed",
    why.Claimed: "it makes way for another workload already",
    why.NotWhileBorrowing: "{preemptor_queue} may not preempt priority {priority} elsewhere while it borrows itself",
    why.NoLargerShare: lambda reason: _fill(_SMALLER if reason.without_it else _NO_LARGER, reason),
    why.NoFlavor: "nobody is asked: {why}",
    # for pods in queues
    why.QueueOver: lambda reason: f"{reason.queue} is over its guarantee{_RELUCTANT if reason.reluctant else ''}",
    why.NodeRequired: lambda reason: f"the preemptor must run on {reason.node}{_RELUCTANT if reason.reluctant else ''}",
    why.QueueAboveMaximum: "{queue} uses more than its maximum",
    why.QueueLaw: lambda reason: _fill(_LAWS[reason.kind], reason),
    # for bindings
    why.ClusterScoped: "cluster-scoped bindings take no part in preemption",
    why.OtherScheduler: "{scheduler} has placed it, and {own} leaves that alone",
    why.BeingDeleted: "it is being deleted, and what it uses counts as free already",
    why.NoRequirements: "it asks for nothing, so that its leaving would free nothing",
}
_NOBODY_KNOWS = "nobody knows what it tolerates"
_NOT_IN_NUMBERS = "what it tolerates in something other than numbers"
_PRIORITIES = "priority {priority}, the preemptor's {preemptor_priority}"
_BEFORE_IT: str = "without those asked before it, "
_WITHIN_QUOTA: str = "{queue} is within its nominal quota"
_NEVER = "the preemptor's queue preempts nobody in {queue}"
_BEYOND_POLICY = "the policy {policy} does not reach priority {priority} in {queue} from {preemptor_priority}"
_SMALLER = "without it {queue} would have a smaller share than {preemptor_queue} would have"
_NO_LARGER = "{queue} has no larger share than {preemptor_queue} would have"


def describe(reason: why.Reason) -> str:
    """A reason in words."""
    sentence = _SENTENCES[type(reason)]
    return _fill(sentence, reason) if isinstance(sentence, str) else sentence(reason)


def _fill(sentence: str, reason: why.Reason) -> str:
    return sentence.format(**msgspec.structs.asdict(reason))


def _not_lower(reason: why.NotLower) -> str:
    relation = "equal to" if reason.priority == reason.preemptor_priority else "above"
    return f"priority {reason.priority} is {relation} {reason.preemptor_priority}, the preemptor's"


def _tolerates(reason: why.Tolerates) -> str:
    below = f"tolerates preemptors below {reason.minimum}, and the preemptor has {reason.preemptor_priority}"
    until = f"; until {moment(reason.until)}" if reason.until is not None else ""
    return f"{_whose('class', reason)} {below}{until}"


def _whose(what: str, reason: why.Tolerates | why.UnknownClass | why.UnreadableToleration) -> str:
    """Its own, or that of another one of its group, with which it goes or stays."""
    name, member = reason.class_name, reason.member
    return f"the {what} {name} of {member} of its group" if member else f"its {what} {name}"


def _criterion(name: str) -> str:
    return CRITERIA.get(name, name)


def chosen(domain: str, criterion: str) -> str:
    return f"{domain} was chosen: {_criterion(criterion)}."
