"""What became of a unit, long afterwards: for whom it had to go and why, who was spared, and its whole story."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from reprieve.texts.parts import count, listed

STORY_COLUMNS = ("when", "what", "because")
_MOST_ATTEMPTS = 10
_NEVER = "9999"


def clock_time(at: str) -> str:
    """A time stamp as people read it: the day and the time to the second, in UTC."""
    return at[:19].replace("T", " ") + "Z" if len(at) >= 19 else at


def decided(at: str, message: str) -> str:
    """A decision as it is made: only the time of the day."""
    return f"{at[11:19]}  {message}"


def preempted(unit: str, at: str, preemptor: str, domain: str, why: str) -> str:
    """For a victim."""
    where = f" on {domain}" if domain else ""
    return f"{unit} was preempted at {clock_time(at)} by {preemptor}{where}, because {why}."


def went_with_it(others: Sequence[str]) -> str:
    return f"{listed(others)} made way as well."


def last_decision(at: str, message: str, times: int, last: str) -> str:
    """The last decision about a unit; one that was made again and again says how often."""
    again = f", {times} times, the last at {clock_time(last)}" if times > 1 else ""
    return f"Decided at {clock_time(at)}{again}: {message}"


def story_heading(unit: str) -> str:
    return f"What happened to {unit}:"


def not_asked(unit: str, preemptor: str, at: str) -> str:
    return f"{unit} is not mentioned in the decision for {preemptor} at {clock_time(at)}."


def came_later(unit: str, first: str) -> str:
    return f"{unit} was not there yet: it came at {clock_time(first)}, after this decision."


def gone_before(unit: str, state: str, since: str) -> str:
    return f"{unit} was not there any more: {state} at {clock_time(since)}, before this decision."


def never_seen(unit: str) -> str:
    return f"Nothing is known about {unit}: the history has no such unit."


def earlier_one(unit: str, first: str) -> str:
    return f"That was an earlier {unit}: the one of today came at {clock_time(first)}."


def no_decision(unit: str) -> str:
    return f"No decision about {unit} is known."


def of_itself(unit: str) -> str:
    return f"{unit} is the one in question; it cannot make way for itself"


# Several of one name, or one that was tried as several


def attempts_of(unit: str, attempts: Sequence[Mapping[str, str]]) -> str:
    """What something was tried as, one after the other or side by side, each with what became of it."""
    one_by_one = all(later["first"] >= end_of(each) for each, later in pairwise(attempts))
    kinds = {each["unit"].partition("/")[0] for each in attempts}
    what = "attempt" if one_by_one else "pod" if kinds == {"Pod"} else "unit"
    shown = ", ".join(f"{each['unit']} ({each['state']})" for each in attempts[-_MOST_ATTEMPTS:])
    last = f", the last {_MOST_ATTEMPTS}" if len(attempts) > _MOST_ATTEMPTS else ""
    return f"{unit}: {count(len(attempts), what)}{last}: {shown}"


def end_of(attempt: Mapping[str, str]) -> str:
    """When it was over; one that is not ends after all others."""
    return attempt["since"] if attempt["state"] in ("preempted", "succeeded", "failed", "deleted") else _NEVER


def told_by_themselves(units: Sequence[str]) -> str:
    """For those of many that are only told of when somebody asks for one of them."""
    return f"Below are the last ones; `reprieve explain` tells of {listed(units)} by name."


def had_the_name_before(unit: str, state: str, since: str, uid: str) -> str:
    return f"Another {unit} was there before ({state} at {clock_time(since)}); `--uid {uid}` tells its story."


def nothing_decided(unit: str, earlier: Sequence[str]) -> str:
    before = "; one that had its name before can be explained by its --uid" if earlier else ""
    return f"nothing was decided about {unit} yet{before}"


def which_of(name: str, units: Sequence[str]) -> str:
    return f"{len(units)} units are called {name!r}; say which: {', '.join(units)}"


def nobody_called(name: str, namespace: str | None) -> str:
    where = f" in namespace {namespace}" if namespace else ""
    return f"nothing is known about {name!r}{where}: no unit of that name was ever seen"


# What was not kept


def kept_in_brief(units: int, kind: str, waiting: int = 0, *, chosen: bool) -> str:
    """Of so many pods, workloads or bindings."""
    what = "the chosen place and a few alternatives" if chosen else "what was decided, without the reasons"
    crowd = f", and {waiting} others waited for a decision" if waiting > 1 else ""
    return f"Of this decision only the main points were kept, because there were {units} {kind}{crowd}: {what}."


KEPT_WITHOUT_REASONS = "Of this decision only the outcome was kept, without the reasons of those who stayed."


def more_stayed(number: int) -> str:
    return f"{number} more stayed, whose reasons were not kept."


def reasons_of_the_first(at: str) -> str:
    return f"These are the reasons of the first time, at {clock_time(at)}; those of later times were not kept."
