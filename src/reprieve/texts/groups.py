"""What a person reads about groups of pods."""

from collections.abc import Mapping, Sequence

from reprieve.model.resources import print_amount
from reprieve.texts.parts import count, listed


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
