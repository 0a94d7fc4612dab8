"""Typed reasons in words: why somebody makes way, and why somebody stays."""

from collections.abc import Callable
from typing import Any

import msgspec

from reprieve.engine import reasons as why
from reprieve.texts import quota
from reprieve.texts.claims import of_domain
from reprieve.texts.parts import moment
from reprieve.texts.remarks import fewer_are_enough, gate_off, member_left_out, missing_class, no_task_groups

CRITERIA = {
    "FewestBudgetViolations": "it has the fewest PDB violations",
    "LowestHighestPriority": "its most important victim has the lowest priority",
    "SmallestSumOfPriorities": "its victims have the lowest total priority",
    "FewestReluctant": "the fewest victims opted out of preemption or lead their application (law 1)",
    "FewestVictims": "it has the fewest victims",
    "NearestQueues": "the queues of its victims are nearest in the tree",
    "LatestStart": "its most important victims started last",
    "LeastLostWork": "the least work is lost there",
    "YoungestVictims": "its victims are the youngest",
    "TieBreak": "all else is equal, and the oldest node comes first, then the first by name",
    "FirstByName": "all else is equal, and it is the first by name",
    "EveryClusterNeeded": "its replicas have a fixed place in each of them",
    "SeveralClusters": "no single cluster could be freed enough",
    "CheapestSelection": "of the clusters that the spread constraints allow, these cost least",
    "EarlierAffinityGroup": "its affinity group comes first",
    "OnlyCandidate": "it is the only candidate",
    "OldestPlaceholder": "the oldest placeholder in whose place the preemptor fits is there",
}
# Why nobody is asked to leave, though no rule protects them.
_BECAUSE = {
    "Suspended": "the preemptor is suspended",
    "Never": "the preemptor's preemption policy is Never",
    "Leaving": "others that are leaving already are enough",
    "Budget": "it would take a PDB violation, and budgets are respected",
    "NotYet": "the preemptor may not preempt yet",
    "Optional": "the pods that the group needs have their places, and for more of them nobody makes way",
    "Turn": "the preemptor waits for workloads whose turn is before its own",
    "GateOff": "the feature gate {gate} is off",
    "NotAllowed": "the preemptor may not preempt",
}
# By which right a quota workload is preempted, under the names that Kueue gives.
_RIGHTS = {
    "InClusterQueue": "it runs in the same queue, {queue}",
    "InCohortReclamation": "{queue} borrows, and {preemptor_queue} reclaims its quota",
    "InCohortReclaimWhileBorrowing": "{queue} borrows, and {preemptor_queue} may preempt it while it borrows itself",
    "InCohortFairSharing": "{queue} has a larger share than {preemptor_queue} would have",
}
_RELUCTANT = "; it opted out of preemption or leads its application, but there was no alternative (law 1)"
# What protects a pod between queues.
_LAWS = {
    "NeverBelowGuarantee": "without it {queue} would be left below its guarantee (law 2)",
    "SameApplication": "it belongs to the preemptor's application (law 3)",
    "OwnQueue": "it runs in the preemptor's own queue, {queue} (law 3)",
    "SameGuarantee": "it has no guarantee of its own and only shares that of {top}, which the preemptor claims (law 4)",
    "AboveGuarantee": "{queue}, the preemptor's queue, has not enough left of its guarantee (law 4)",
    "WithinGuarantee": "{queue} is not over its guarantee{of} (law 5)",
    "HigherPriority": "priority {priority} is above {bound}, the highest that may be preempted there (law 6)",
    "PriorityFence": "a priority fence puts {queue} above the preemptor (law 6)",
    "OutsideFence": "{queue} is outside {top}, beyond which the preemptor may not preempt (law 7)",
    "PreemptionDisabled": "preemption is disabled in {queue}",
    "RequiredNode": "it must run on its node",
    "OtherNode": "the preemptor must run on {top}",
    "Leaving": "it is leaving already",
    "WholeGroup": "it goes only with its whole group, and queues preempt single pods",
    "OutsideQueues": "it was not placed by queues, and priorities alone decide over it",
    "NothingShared": "it holds nothing of what the preemptor asks for",
    "NotKeptForIt": "it is no placeholder that keeps a place for the preemptor",
    "FreesTooMuch": "it would free more than {queue} still has to free",
}


# A sentence for each reason, with its fields by name; where it takes more than that, a function.
_SENTENCES: dict[type[Any], str | Callable[[Any], str]] = {
    # of steps
    why.Reprieved: "the preemptor fits beside it",
    why.Leaving: "it is leaving already, and is waited for",
    why.NoHelp: lambda reason: f"preempting it would not help: {reason.domain} {of_domain(reason.obstacle)}",
    why.NobodyAsked: lambda reason: _BECAUSE[reason.because].format(gate=reason.gate),
    why.GateOff: lambda reason: gate_off(reason).sentence,
    why.FewerAreEnough: lambda reason: fewer_are_enough(reason).sentence,
    why.NoTaskGroups: lambda reason: no_task_groups(reason).sentence,
    why.MemberLeftOut: lambda reason: member_left_out(reason).sentence,
    why.MissingClass: lambda reason: missing_class(reason).sentence,
    why.CheaperElsewhere: lambda reason: f"{reason.domain} was chosen instead: {_criterion(reason.criterion)}",
    why.NotEnough: "it may be preempted, but all who may be preempted are not enough",
    why.PolicyReason: "{sentence}",
    # for pods
    why.LowerPriority: "priority {priority} is below {preemptor_priority}, the preemptor's",
    why.NotLower: lambda reason: _not_lower(reason),
    why.Tolerates: lambda reason: _tolerates(reason),
    why.UnknownClass: lambda reason: f"{_whose('priority class', reason)} does not exist, so {_NOBODY_KNOWS}",
    why.UnreadableToleration: lambda reason: f"{_whose('priority class', reason)} says {_NOT_IN_NUMBERS}",
    why.NodeLeftOut: "{node} is left out: the priority class {class_name} of {pod} there cannot be read",
    why.NoSuchPreemptor: "there is no such preemptor",
    why.SparedByBudget: "that would be a PDB violation, and others can go",
    why.AboveMinimum: "priority {priority} is above {minimum}, and preempting up to that priority is enough",
    why.OptionalPods: "priority {priority} is above {limit}, the highest that made way for the pods the group needs",
    # for quota workloads
    why.QuotaTaken: lambda reason: f"{_fill(_RIGHTS[reason.kind], reason)}; {_fill(_PRIORITIES, reason)}",
    why.WithinQuota: lambda reason: _fill(_BEFORE_IT * reason.others_gone + _WITHIN_QUOTA, reason),
    why.NotReached: lambda reason: _fill(_NEVER if reason.policy == "Never" else _BEYOND_POLICY, reason),
    why.OtherCohort: "{queue} shares no cohort with {preemptor_queue}",
    why.QueueClosed: "{queue} is stopped, or names a flavor that does not exist: nobody there is preempted",
    why.NotContested: "it uses nothing of what the preemptor is short of",
    why.Claimed: "it is a victim of another workload already",
    why.LongRunning: "it has run for {seconds} seconds or more, and is not preempted any more",
    why.MadeWayBefore: "it made way for {preemptor} before, and nothing but preemption has changed since: "
    "they would take turns without end",
    why.NotWhileBorrowing: "{preemptor_queue} may not preempt priority {priority} elsewhere while it borrows itself",
    why.NoLargerShare: lambda reason: _fill(_SMALLER if reason.without_it else _NO_LARGER, reason),
    why.NoFlavor: lambda reason: f"nobody is preempted: {quota.no_place(reason.claims)}",
    # for pods in queues
    why.QueueOver: lambda reason: f"{reason.queue} is over its guarantee{_RELUCTANT if reason.reluctant else ''}",
    why.PlaceholderReplaced: "it kept the place on {node} for the preemptor, which has come",
    why.NodeRequired: lambda reason: f"the preemptor must run on {reason.node}{_RELUCTANT if reason.reluctant else ''}",
    why.QueueAboveMaximum: "{queue} uses more than its maximum",
    why.QueueLaw: lambda reason: _law(reason),
    # for bindings
    why.ClusterScoped: "cluster-scoped bindings take no part in preemption",
    why.OtherScheduler: "{scheduler} has placed it, and {own} does not preempt what others placed",
    why.MirrorPod: "it mirrors a static pod of its node, so that deleting it would end nothing",
    why.BeingDeleted: "it is being deleted, and what it uses counts as free already",
    why.NoRequirements: "it requests nothing, so that preempting it would free nothing",
}
_NOBODY_KNOWS = "what it tolerates is unknown"
_NOT_IN_NUMBERS = "what it tolerates in something other than numbers"
_PRIORITIES = "priority {priority}, the preemptor's {preemptor_priority}"
_BEFORE_IT: str = "without those asked before it, "
_WITHIN_QUOTA: str = "{queue} is within its nominal quota"
_NEVER = "the preemption policy of the preemptor's queue is Never for {queue}"
_BEYOND_POLICY = (
    "the preemption policy {policy} does not let priority {preemptor_priority} preempt {priority} in {queue}"
)
_SMALLER = "without it {queue} would have a smaller share than {preemptor_queue} would have"
_NO_LARGER = "{queue} has no larger share than {preemptor_queue} would have"


def describe(reason: why.Reason) -> str:
    """A reason in words."""
    sentence = _SENTENCES[type(reason)]
    return _fill(sentence, reason) if isinstance(sentence, str) else sentence(reason)


def _fill(sentence: str, reason: why.Reason) -> str:
    return sentence.format(**msgspec.structs.asdict(reason))


def _law(reason: why.QueueLaw) -> str:
    sentence = _LAWS[reason.kind].replace("{of}", f" of {reason.resource}" if reason.resource else "")
    return _fill(_BEFORE_IT * reason.others_gone + sentence, reason)


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
