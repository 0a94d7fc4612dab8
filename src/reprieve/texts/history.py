"""What became of a unit, long afterwards: for whom it had to go and why, who was spared, and its whole story."""

from collections.abc import Sequence

from reprieve.texts.parts import listed

STORY_COLUMNS = ("when", "what", "because")


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


def not_asked(unit: str, preemptor: str) -> str:
    return f"{unit} is not mentioned in the last decision for {preemptor}."


def no_decision(unit: str) -> str:
    return f"No decision about {unit} is known."


def belongs_to(owner: str, units: Sequence[str]) -> str:
    return f"{owner} is scheduled as {listed(units)}."


def owns_nothing_known(owner: str) -> str:
    return f"nothing is known about {owner}: it has no pods or workloads, and none that were evicted"
