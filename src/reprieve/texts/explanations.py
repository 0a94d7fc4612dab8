"""Why one unit makes way or stays, for somebody who asks."""

from collections.abc import Sequence

from reprieve.texts.parts import listed

NOBODY_ASKS = "Nobody who is pending has to preempt anybody."


def not_chosen(unit: str, why: str) -> str:
    return f"{unit} stays: {why}."


def makes_way(unit: str, why: str) -> str:
    return f"{unit} is a victim: {why}."


def stayed(unit: str, why: str) -> str:
    """For a decision of the past."""
    return f"{unit} stayed: {why}."


def had_to_go(unit: str, why: str) -> str:
    """The same for a victim."""
    return f"{unit} was a victim: {why}."


def was_preemptor(unit: str) -> str:
    return f"{unit} is the one that this was decided for."


def nobody_has_to(preemptor: str) -> str:
    return f"nobody is preempted for {preemptor}"


def cost_elsewhere(why: str, domain: str, victims: Sequence[str]) -> str:
    """Why another domain was chosen, and what this one would have cost."""
    return f"{why} (on {domain} it would have been {listed(victims)})"


def has_to_make_way(unit: str, preemptor: str, why: str) -> str:
    return f"{unit} would be preempted by {preemptor}: {why}."


def stays_for(unit: str, preemptors: Sequence[str], reasons: Sequence[str]) -> str:
    """Why it does not make way for one or more; where the reasons differ, the first stands for the others."""
    why = reasons[0] if len(set(reasons)) == 1 else f"for {preemptors[0]}, {reasons[0]}"
    return f"{unit} would not be preempted by {listed(preemptors)}: {why}."
