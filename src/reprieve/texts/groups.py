"""What a person reads about groups of pods."""

from collections.abc import Mapping, Sequence

from reprieve.engine.claims import GangBudget, GangShort, MemberTooLarge
from reprieve.model.resources import print_amount
from reprieve.texts.claims import amount, protected
from reprieve.texts.parts import count, listed


def group_fits(group: str, placed: int, members: int) -> str:
    return f"{group} fits: {placed} of its {count(members, 'waiting pod')} can be placed; nobody is preempted."


def group_preempts(group: str, placed: int, members: int, units: Sequence[str], pods: int) -> str:
    """The units that make way, and how many pods they take down."""
    verb = "makes" if len(units) == 1 else "make"
    down = f" ({count(pods, 'pod')})" if pods > len(units) else ""
    places = f"{placed} of its {count(members, 'waiting pod')} {'gets' if placed == 1 else 'get'} a place"
    return f"{listed(units)}{down} {verb} way for {group}: {places}."


def group_unschedulable(group: str, claim: GangShort | GangBudget | MemberTooLarge) -> str:
    """How far it would get if everybody who may be asked made way."""
    if isinstance(claim, GangBudget):
        return f"{group} is unschedulable: {short(claim)}."
    return f"{group} is unschedulable, and nobody is preempted for a part of it: {short(claim)}."


def never_preempts(group: str, claim: GangShort) -> str:
    never = "it preempts nobody, because its preemption policy is Never"
    return f"{group} is unschedulable: {short(claim)}; and {never}."


def optional_pods_wait(group: str, pods: int, ceiling: int | None, lacks: Mapping[str, tuple[int, int]]) -> str:
    """Pods above minCount, when the group has what it needs; what one of them lacks: how much is free, and needed."""
    asked = f"pods above priority {ceiling} and PDB violations are" if ceiling is not None else "preemption is"
    more = f"{count(pods, 'more pod')} {'waits' if pods == 1 else 'wait'} for free room"
    missing = [f"{print_amount(name, free)} of {amount(name, needed)} free" for name, (free, needed) in lacks.items()]
    why = f" ({listed(missing)})" if missing else ""
    return f"{group} has the pods it needs; {more}{why}: {asked} only for those it needs."


def short(claim: GangShort | GangBudget | MemberTooLarge) -> str:
    if isinstance(claim, GangBudget):
        return f"{claim.placed} of the {claim.required} pods it needs would fit, {_BUDGET}"
    if isinstance(claim, MemberTooLarge):
        needed, has = amount(claim.resource, claim.needed), print_amount(claim.resource, claim.has)
        return f"{claim.pod} needs {needed}; the largest node, {claim.node}, has {has}: it can never fit here"
    if not claim.asked:
        return f"{claim.placed} of the {claim.required} pods it needs fit"
    text = (
        f"even without all pods that may be preempted, {claim.placed} of the {claim.required} pods it needs would fit"
    )
    if claim.resource:
        free, needed = print_amount(claim.resource, claim.free), amount(claim.resource, claim.needed)
        text += f", and {free} of the {needed} needed would be free"
    return f"{text} (of the others, {protected(claim.protected)})" if claim.protected else text


_BUDGET = "but only with a PDB violation, and budgets are respected"


def too_few_pods(group: str, pods: int, required: int) -> str:
    exist = "exists" if pods == 1 else "exist"
    return f"{group} is not complete: {count(pods, 'pod')} of the {required} it needs {exist}."


def too_few_groups(group: str, groups: int, required: int) -> str:
    """Of a composite group: how many of the groups below it have their pods."""
    have = "has" if groups == 1 else "have"
    return f"{group} is not complete: {count(groups, 'group')} of the {required} it needs {have} enough pods."


def group_missing(group: str, pods: int) -> str:
    """Pods that name a group which is not there wait for it: alone they must not be scheduled."""
    verbs = "names it and waits" if pods == 1 else "name it and wait"
    return f"{group} does not exist yet: {count(pods, 'pod')} {verbs} for it."


def mixed_group(group: str, what: str, values: Sequence[str]) -> str:
    return f"{group} is refused: its pods must have the same {what}, and they have {listed(values)}."


def preemption_priority_too_low(workload: str, preemption: int, priority: int) -> str:
    return (
        f"{workload} is refused: its preemption priority {preemption} is below its priority {priority}, "
        "so that units like it could preempt each other for ever."
    )


def priority_divergence(pods: Sequence[tuple[str, int]], priority: int) -> tuple[str, str]:
    """Pods that say something else than their group, by name and own priority."""
    others = listed([f"{name} has {own}" for name, own in pods])
    return f"not the priority of all its pods: {others}", f"{priority} is what counts for them"


def never_fits(message: str) -> tuple[str, str]:
    return "it can never fit on these nodes, even if they were empty", message


def blocked(priority: int, units: Sequence[tuple[str, int]]) -> tuple[str, str]:
    """Who keeps a gang of this priority out, though of lower priority, and what it would take to preempt them."""
    named = listed([f"{name} (preemption priority {value})" for name, value in units])
    verb = "keeps" if len(units) == 1 else "keep"
    return f"it can never fit while {named} {verb} their room: their own priority is below {priority}", (
        "see docs/groups.md on blocking preemptions"
    )
