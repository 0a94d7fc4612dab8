"""Every sentence a person reads about a decision, made from typed reasons and never parsed back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from reprieve.engine.reasons import (
    AboveMinimum,
    CheaperElsewhere,
    ClusterScoped,
    FederationReason,
    LowerPriority,
    NodeRequired,
    NoRequirements,
    NotContested,
    NotEnough,
    NotLower,
    OtherScheduler,
    PodReason,
    QueueAboveMaximum,
    QueueClosed,
    QueueLaw,
    QueueOver,
    QueuePolicy,
    QueueReason,
    QuotaReason,
    QuotaTaken,
    Reason,
    Reprieved,
    SparedByBudget,
    Tolerates,
    UnknownClass,
    WithinQuota,
)
from reprieve.resources import print_amount

_MOST_NAMES = 3
# Why a node is out; each goes on from "worker-a is ...".
OBSTACLES = {
    1: "cordoned",
    2: "tainted, and the pod does not tolerate it",
    3: "not the node it names",
    4: "not what its node selector or affinity asks for",
    5: "gone",
    6: "without the topology key or the company that it requires",
    7: "outside the topology domain",
}
TOO_SMALL = "too small even without everybody who could make way"
NO_CANDIDATES = "short of room, with nobody who may be asked to make way"
UNKNOWN_CLASS = "left alone, because nobody knows what a pod of an unknown priority class there tolerates"
BUDGET_RESPECTED = "only to be had against a disruption budget, and budgets are respected"
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
LEAVING = "it is leaving already, and is waited for"
AGAINST_BUDGET = "against a disruption budget"
NOTHING_PENDING = "Nothing is pending: there is nothing to decide."


NOBODY_MAY_GO = "nobody may be asked to make way"
VICTIMS_CLAIMED = "those who could make way already do so for another workload"
QUOTA_TAKEN = "the quota went to another workload in this cycle"
NO_MORE_BORROWING = "nobody in its cohort borrows any more in this cycle"
# By which right a quota workload is preempted, under the names that Kueue gives.
_RIGHTS = {
    "InClusterQueue": "it runs in the same queue, {queue}",
    "InCohortReclamation": "{queue} borrows, and {taker} reclaims its quota",
    "InCohortReclaimWhileBorrowing": "{queue} borrows, and {taker} may preempt it while it borrows itself",
    "InCohortFairSharing": "{queue} has a larger share than {taker} would have",
}


# Reasons


def describe(reason: Reason) -> str:
    """A reason in words."""
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


_RELUCTANT = "; it opted out or leads its application, and there was no other way (law 1)"
# What protects a pod between queues.
_LAWS = {
    "NeverBelowGuarantee": "without it {queue} would be below its guarantee (law 2)",
    "SameApplication": "it belongs to the preemptor's application (law 3)",
    "OwnQueue": "it runs in the preemptor's own queue, {queue} (law 3)",
    "WithinGuarantee": "{queue} is not over its guarantee of anything asked for (law 5)",
    "HigherPriority": "priority {priority} is above {bound}, the highest that may be asked there (law 6)",
    "PriorityFence": "a priority fence puts {queue} above the preemptor (law 6)",
    "OutsideFence": "{queue} is outside {top}, where the preemptor's reach ends (law 7)",
    "PreemptionDisabled": "preemption is disabled in {queue}",
    "RequiredNode": "it must run on its node",
    "OtherNode": "the preemptor must run on {top}",
    "Leaving": "it is leaving already",
    "WholeGroup": "it goes only with its whole group, and queues preempt single pods",
    "NothingShared": "it holds nothing of what is asked for",
    "NobodyAsked": "the preemptor may not preempt now",
}


def _describe_federation(reason: FederationReason) -> str:
    match reason:
        case ClusterScoped():
            return "cluster-scoped bindings take no part in preemption"
        case OtherScheduler(scheduler, own):
            return f"{scheduler} has placed it, and {own} leaves that alone"
        case NoRequirements():
            return "it asks for nothing, so that its leaving would free nothing"


def _describe_quota(reason: QuotaReason) -> str:
    match reason:
        case QuotaTaken(kind, queue, taker, priority, above):
            return f"{_RIGHTS[kind].format(queue=queue, taker=taker)}; priority {priority}, the preemptor's {above}"
        case WithinQuota(queue):
            return f"{queue} is within its nominal quota"
        case QueuePolicy("Never", queue, _, _):
            return f"the preemptor's queue preempts nobody in {queue}"
        case QueuePolicy(policy, queue, priority, above):
            return f"the policy {policy} does not reach priority {priority} in {queue} from {above}"
        case QueueClosed(queue):
            return f"{queue} is stopped, or names a flavor that does not exist: it gives nobody"
        case NotContested():
            return "it uses nothing of what is needed"
        case NotEnough():
            return "it could go, but all who may go are not enough"


def _describe_pod(reason: PodReason) -> str:
    match reason:
        case LowerPriority(priority, above):
            return f"priority {priority} is below {above}, the preemptor's"
        case NotLower(priority, above):
            relation = "equal to" if priority == above else "above"
            return f"priority {priority} is {relation} {above}, the preemptor's"
        case Tolerates(name, minimum, above, until):
            tolerance = f"its class {name} tolerates preemptors below {minimum}, and the preemptor has {above}"
            return f"{tolerance}; until {moment(until)}" if until is not None else tolerance
        case SparedByBudget():
            return "its disruption budget would break, and others can go"
        case AboveMinimum(priority, minimum):
            return f"priority {priority} is above {minimum}, and units up to that are enough"
        case UnknownClass(name):
            return f"its priority class {name} does not exist, so nobody knows what it tolerates"
        case Reprieved():
            return "the preemptor fits beside it"
        case CheaperElsewhere(domain, criterion):
            return f"{domain} was chosen instead: {CRITERIA.get(criterion, criterion)}"


def no_help(domain: str, why: str) -> str:
    return f"it would not help: {domain} is {why}"


def could_go_but(*, never: bool, waiting: bool) -> str:
    """Why somebody stays who could make way: nobody is asked at all."""
    if never:
        return "the preemptor's preemption policy is Never"
    return "victims chosen earlier are still leaving" if waiting else "a disruption budget is respected"


def obstacle(reach: int, *, candidates: bool) -> str:
    """Why a node is out."""
    if reach:
        return OBSTACLES[reach]
    return TOO_SMALL if candidates else NO_CANDIDATES


# Decisions


def fits(unit: str, node: str) -> str:
    return f"{unit} fits on {node}; nobody has to make way."


def preempts(unit: str, node: str, victims: Sequence[str], violations: int) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    sentence = f"{listed(victims)} {verb} way for {unit} on {node}."
    if not violations:
        return sentence
    who = "That goes" if len(victims) == 1 else f"{violations} of them {'goes' if violations == 1 else 'go'}"
    return f"{sentence} {who} {AGAINST_BUDGET}."


def never_preempts(unit: str) -> str:
    return f"{unit} fits nowhere, and its preemption policy is Never."


def waits_for_victims(unit: str, node: str, leaving: Sequence[str]) -> str:
    verb = "is" if len(leaving) == 1 else "are"
    return f"{unit} waits for {node}: {listed(leaving)} {verb} still leaving."


def waits_for_toleration(unit: str, until: int | None) -> str:
    """`until` is when the first toleration runs out; None: the time of none has begun to run."""
    if until is None:
        return f"{unit} waits: who could make way tolerates it for a time, and is not known to be scheduled yet."
    return f"{unit} waits: who could make way tolerates it until {moment(until)} at the earliest."


def unschedulable(unit: str, obstacles: Mapping[str, str]) -> str:
    if not obstacles:
        return f"{unit} cannot be placed: there are no nodes."
    return f"{unit} cannot be placed, and no preemption helps: {_tally(obstacles.values())}."


def _tally(obstacles: Iterable[str]) -> str:
    """`the only node is cordoned`, `all 2 nodes are ...`, `of 5 nodes, 3 are cordoned; 2 are ...`."""
    counts: dict[str, int] = {}
    for why in obstacles:
        counts[why] = counts.get(why, 0) + 1
    total = sum(counts.values())
    if len(counts) == 1:
        (why,) = counts
        return f"{'the only node is' if total == 1 else f'all {total} nodes are'} {why}"
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"of {total} nodes, " + "; ".join(f"{n} {'is' if n == 1 else 'are'} {why}" for why, n in most_first)


def chosen(domain: str, criterion: str) -> str:
    return f"{domain} was chosen: {CRITERIA.get(criterion, criterion)}."


def cycle_summary(placed: int, waiting: int, victims: int) -> str:
    return f"{count(placed, 'unit')} placed, {waiting} waiting, {victims} to make way"


PLACE_COLUMNS = ("gets a place", "on")
VICTIM_COLUMNS = ("makes way", "because", "")
ELSEWHERE_COLUMNS = ("instead of", "victims", "against budgets", "")
SPARED_COLUMNS = ("stays", "on", "by", "")
OBSTACLE_COLUMNS = ("out of the question", "")
MORE_IN_FULL = "`--for` decides for one of them alone and shows everything."
CYCLE_COLUMNS = ("in this order", "outcome", "where", "makes way")


def so_many_make_way(number: int) -> str:
    return f"{number} make way"


def so_many_stay(number: int) -> str:
    return f"{number} stay"


def such_as(example: str) -> str:
    return f"such as: {example}"


def and_more(number: int) -> str:
    return f"and {number} more"


# Explanations


def not_chosen(unit: str, why: str) -> str:
    return f"{unit} stays: {why}."


def makes_way(unit: str, why: str) -> str:
    return f"{unit} does make way: {why}."


def nobody_has_to(preemptor: str) -> str:
    return f"nobody has to make way for {preemptor}"


def cost_elsewhere(why: str, domain: str, victims: Sequence[str]) -> str:
    """Why another domain was chosen, and what this one would have cost."""
    return f"{why} (on {domain} it would have been {listed(victims)})"


def has_to_make_way(unit: str, preemptor: str, why: str) -> str:
    return f"{unit} has to make way for {preemptor}: {why}."


def stays_for(unit: str, preemptors: Sequence[str], reasons: Sequence[str]) -> str:
    """Why it does not make way for one or more; where the reasons differ, the first stands for the others."""
    why = reasons[0] if len(set(reasons)) == 1 else f"for {preemptors[0]}, {reasons[0]}"
    return f"{unit} does not make way for {listed(preemptors)}: {why}."


def on_no_known_node(node: str) -> str:
    return f"it runs on {node}, which does not exist"


NOBODY_ASKS = "Nobody who is pending needs anyone to make way."


def whereabouts(unit: str, node: str, *, finished: bool, leaving: bool, gates: Sequence[str]) -> str:
    if finished:
        return f"{unit} has finished: it holds nothing any more."
    if leaving:
        return f"{unit} is leaving {node}." if node else f"{unit} is being deleted before it got a node."
    if gates:
        return f"{unit} is held by scheduling gates ({listed(gates)}): nobody tries to place it yet."
    return f"{unit} runs on {node}." if node else f"{unit} is pending: it holds no place that it could give up."


def marked(unit: str, reason: str, message: str) -> str:
    """What its DisruptionTarget condition says."""
    return f"{unit} is marked for disruption ({reason}){': ' + message if message else '.'}"


# What is odd about a world or a question


def more_warnings(number: int) -> str:
    return f"{and_more(number)}; `reprieve check` lists what is wrong with each manifest"


def no_such_node(node: str) -> tuple[str, str]:
    return f"there is no node {node}", "the pod is not counted anywhere"


def overfull(amounts: Mapping[str, str]) -> tuple[str, str]:
    used = ", ".join(f"{amount} {name}" for name, amount in amounts.items())
    return f"its pods use {used} more than it has", "nothing fits there before somebody leaves"


def no_such_unit(unit: str) -> str:
    return f"there is no {unit} among what was read"


def names_the_preemptor(unit: str) -> str:
    return f"{unit} is the one in question; it cannot make way for itself"


def nothing_to_decide(state: str) -> str:
    return f"{state.removesuffix('.')}; there is nothing to decide"


# Case files


NO_CASE = "not a case"
CASE_PARTS = "a case file holds cases, each with case, objects and expect"
HOLDS_NO_CASES = "holds no cases"


def case_named_twice(name: str, earlier: str) -> tuple[str, str]:
    return f'"{name}" is named twice', f"first in {earlier}"


def not_one_decision(number: int) -> str:
    return f"{count(number, 'decision')}; name a preemptor to expect one"


# Small parts


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def moment(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return "the end of time"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def listed(names: Sequence[str]) -> str:
    """A few names in full, many by number."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# Groups


def group_fits(group: str, placed: int, members: int) -> str:
    return f"{group} fits: {placed} of its {count(members, 'waiting pod')} can be placed; nobody has to make way."


def group_preempts(group: str, placed: int, members: int, units: Sequence[str], pods: int) -> str:
    """The units that make way, and how many pods they take down."""
    verb = "makes" if len(units) == 1 else "make"
    down = f" ({count(pods, 'pod')})" if pods > len(units) else ""
    return f"{listed(units)}{down} {verb} way for {group}: {placed} of its {count(members, 'waiting pod')} get a place."


def group_unschedulable(group: str, placed: int, required: int, missing: Mapping[str, tuple[int, int]]) -> str:
    """How far it would get if everybody who may be asked made way."""
    text = f"{group} cannot be placed, and nobody is preempted for a part of it: "
    text += f"{placed} of the {required} pods it needs would get a place"
    shortages = [
        f"{print_amount(name, room)} of the {print_amount(name, needed)} {name} needed"
        for name, (room, needed) in missing.items()
    ]
    return f"{text}; even then there would be only {listed(shortages)}." if shortages else f"{text}."


def too_few_pods(group: str, pods: int, required: int) -> str:
    return f"{group} is not complete: {count(pods, 'pod')} of the {required} it needs exist."


def mixed_group(group: str, what: str, values: Sequence[str]) -> str:
    return f"{group} is refused: its pods must share what they have of {what}, and they have {listed(values)}."


def preemption_priority_too_low(workload: str, preemption: int, priority: int) -> str:
    return (
        f"{workload} is refused: its preemption priority {preemption} is below its priority {priority}, "
        "so that it and its like could preempt each other for ever."
    )


def priority_divergence(pods: Sequence[tuple[str, int]], priority: int) -> tuple[str, str]:
    """Pods that say something else than their group, by name and own priority."""
    others = listed([f"{name} has {own}" for name, own in pods])
    return f"not the priority of all its pods: {others}", f"{priority} is what counts for them"


# Quota


def quota_fits(unit: str, queue: str, flavors: str) -> str:
    return f"{unit} fits in {queue}: {flavors}; nobody has to make way."


def quota_preempts(unit: str, queue: str, victims: Sequence[str], takings: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    needs = f" It needs {'; '.join(takings)}." if takings else ""
    return f"{listed(victims)} {verb} way for {unit} in {queue}.{needs}"


def taken_from(queue: str, resource: str, amount: int, used: int, nominal: int) -> str:
    """What a queue gives of what it borrows, and what it is left with."""
    left = used - amount

    def show(units: int) -> str:
        return print_amount(resource, units)

    given = f"{show(amount)} {resource} of {queue}'s {show(used - nominal)} borrowed ones"
    if amount > used - nominal:
        given = f"{show(amount)} {resource} of {queue}, which borrows {show(max(0, used - nominal))}"
    if left == nominal:
        return f"{given}; {queue} stays at its nominal {show(nominal)}"
    if left > nominal:
        return f"{given}; {queue} keeps {show(left - nominal)} above its nominal {show(nominal)}"
    return f"{given}; {queue} is left with {show(left)} of its nominal {show(nominal)}"


def quota_refused(unit: str, queue: str, reason: str) -> str:
    return f"{unit} stays pending in {queue}: {reason}."


NOT_RELATED = "its queue is in another cohort, and what it uses is of no help"


def quota_pending(unit: str, queue: str) -> str:
    return f"{unit} is pending{f' in {queue}' if queue else ''}: it holds no quota that it could give up."


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


def no_queue(unit: str, queue: str) -> str:
    where = f"waits in the LocalQueue {queue}" if queue else "names no LocalQueue"
    return f"{unit} {where}, which leads to no ClusterQueue that is there, open, and takes its namespace"


def may_preempt_from(until: int) -> str:
    return f"it may preempt from {moment(until)} on"


# Queues


def waits_for_delay(unit: str, queue: str, ready: int) -> str:
    return f"{unit} waits: {queue} lets it preempt from {moment(ready)} on."


def preemption_off(unit: str) -> str:
    return f"{unit} fits nowhere, and preemption is switched off for the partition."


def law_4(unit: str, queue: str) -> str:
    return f"{unit} may not preempt: {queue} would be above its guarantee with it, or has none (law 4)."


def no_victims_in_reach(unit: str, top: str, protected: Mapping[str, int]) -> str:
    """`protected` says how many pods each law protects."""
    by = listed([f"{law} protects {number}" for law, number in protected.items()])
    sentence = f"{unit} stays pending: nobody below {top} may be asked whose leaving would make it fit"
    return f"{sentence}; {by}." if by else f"{sentence}."


def out_of_reach(unit: str, node: str) -> str:
    return f"{unit} must run on {node}, which is out of its reach."


def too_little_on_node(unit: str, node: str) -> str:
    return f"{unit} must run on {node}, and those who may be asked there hold too little."


def quota_lowered(queue: str, victims: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    return f"{listed(victims)} {verb} way because {queue} uses more than its maximum."


def quota_kept(queue: str) -> str:
    return f"{queue} is within its maximum: nobody has to make way."


def quota_stuck(queue: str) -> str:
    return f"{queue} uses more than its maximum, and nobody can leave without going too far."


def no_policy_for(kind: str) -> str:
    return f"no policy decides for a {kind}"
