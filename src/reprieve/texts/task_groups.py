"""What a person reads about applications that start as a whole: YuniKorn's task groups."""

from collections.abc import Sequence

from reprieve.texts.parts import count, listed


def fits(application: str, members: int, missing: int) -> str:
    return f"{application} fits: {_places(members, missing)}; nobody is preempted."


def preempts(application: str, members: int, missing: int, victims: Sequence[str]) -> str:
    verb = "makes" if len(victims) == 1 else "make"
    return f"{listed(victims)} {verb} way for {application}: {_places(members, missing)}."


def _places(members: int, missing: int) -> str:
    all_of = "the only member" if members == 1 else f"all {members} members"
    kept = f", {missing} of them {'is a placeholder' if missing == 1 else 'are placeholders'}" if missing else ""
    return f"{all_of} of its task groups {'gets a place' if members == 1 else 'get places'}{kept}"


def unschedulable(application: str, placed: int, needed: int, why: str) -> str:
    """`why`: what was said to the first member that found no place."""
    starts = f"{application} starts with {'its only member' if needed == 1 else f'all {needed} members'} or not at all"
    return f"{starts}, and {count(placed, 'member')} would have a place: {why}"


def timed_out(application: str, members: int, seconds: int) -> str:
    places = "a place for its only member" if members == 1 else f"places for all {members} members of its task groups"
    return f"{application} failed: within {seconds} seconds there were not {places} (gangSchedulingStyle=Hard)."


def one_by_one(application: str, seconds: int) -> str:
    gave_up = f"within {seconds} seconds there were not places for all members of its task groups"
    return f"{application} starts pod by pod: {gave_up} (gangSchedulingStyle=Soft)."


def several_queues(application: str, queue: str, pod: str, other: str) -> str:
    return (
        f"{application} is unschedulable: the members of its task groups must be in one queue, its first pod is in "
        f"{queue} and {pod} in {other}."
    )


def waits_for_start(pod: str, application: str) -> str:
    return f"{pod} waits until {application} has started: the members of its task groups come first."


def replaces(pod: str, placeholder: str, node: str) -> str:
    return f"{pod} takes the place on {node} that {placeholder} kept for it."


def useless(pod: str, problem: str) -> str:
    return f"The task groups of {pod} have no effect: {problem}."


def not_needed(placeholder: str) -> str:
    return f"{placeholder} keeps a place that nobody has come for."


PLACES = "its places"
"""What an application waits for."""
FAILED = "Scheduling has timed out due to insufficient resources"
"""The status of a pod that fails so, in YuniKorn's words."""
