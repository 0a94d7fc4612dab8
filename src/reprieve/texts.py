"""Every sentence a person reads about a decision, made from typed reasons and never parsed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from reprieve.engine.reasons import (
    CheaperElsewhere,
    LowerPriority,
    NotLower,
    Reason,
    Reprieved,
    Tolerates,
    UnknownClass,
)

_MOST_NAMES = 3
OBSTACLES = {
    1: "cordoned",
    2: "tainted, and the pod does not tolerate it",
    3: "not the node it names",
    4: "not what its node selector or affinity asks for",
    5: "gone",
    6: "without the topology key or the company that it requires",
}
TOO_SMALL = "too small even without everybody who could make way"
NO_CANDIDATES = "nobody there may be asked to make way"
CRITERIA = {
    "FewestBudgetViolations": "it breaks the fewest disruption budgets",
    "LowestHighestPriority": "its most important victim ranks lowest",
    "SmallestSumOfPriorities": "the priorities of its victims add up to least",
    "FewestVictims": "it has the fewest victims",
    "LatestStart": "its most important victims started last",
    "TieBreak": "nothing else told them apart, and it is the oldest node, then the first by name",
    "OnlyCandidate": "no other node would do",
}


def describe(reason: Reason) -> str:
    """A reason in words."""
    match reason:
        case LowerPriority(priority, above):
            return f"priority {priority} is below {above}, the preemptor's"
        case NotLower(priority, above):
            relation = "equal to" if priority == above else "above"
            return f"priority {priority} is {relation} {above}, the preemptor's"
        case Tolerates(name, minimum, above, until):
            tolerance = f"its class {name} tolerates preemptors below {minimum}, and the preemptor has {above}"
            return f"{tolerance}; until {moment(until)}" if until is not None else tolerance
        case UnknownClass(name):
            return f"its priority class {name} does not exist, so nobody knows what it tolerates"
        case Reprieved():
            return "the preemptor fits beside it"
        case CheaperElsewhere(domain, criterion):
            return f"{domain} was chosen instead: {CRITERIA.get(criterion, criterion)}"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def listed(names: Sequence[str]) -> str:
    """A few names in full, many by number."""
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def fits(unit: str, node: str) -> str:
    return f"{unit} fits on {node}; nobody has to make way."


def preempts(unit: str, node: str, victims: Sequence[str], violations: int) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    broken = f" This breaks {violations} disruption budget{'s' if violations > 1 else ''}." if violations else ""
    return f"{listed(victims)} {verb} way for {unit} on {node}.{broken}"


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
    counts: dict[str, int] = {}
    for obstacle_text in obstacles.values():
        counts[obstacle_text] = counts.get(obstacle_text, 0) + 1
    summary = "; ".join(f"{count} {text}" for text, count in sorted(counts.items(), key=lambda item: -item[1]))
    nodes = f"{len(obstacles)} node{'' if len(obstacles) == 1 else 's'}"
    return f"{unit} cannot be placed, and no preemption helps: {nodes}: {summary}."


def not_chosen(unit: str, why: str, outcome: str) -> str:
    if outcome == "Fits":
        return f"{unit} stays: nobody has to make way."
    return f"{unit} stays: {why}."


def whereabouts(unit: str, node: str, *, finished: bool, gated: bool) -> str:
    if finished:
        return f"{unit} has finished: it holds nothing any more."
    if gated:
        return f"{unit} is held by scheduling gates: nobody tries to place it yet."
    return f"{unit} runs on {node}." if node else f"{unit} is leaving."


def marked(unit: str, reason: str, message: str, *, leaving: bool) -> str:
    """What its DisruptionTarget condition says."""
    state = "is being disrupted" if leaving else "is marked for disruption"
    return f"{unit} {state} ({reason}){': ' + message if message else '.'}"


def obstacle(reach: int, *, candidates: bool) -> str:
    """Why a node is out."""
    if reach:
        return OBSTACLES[reach]
    return TOO_SMALL if candidates else NO_CANDIDATES
