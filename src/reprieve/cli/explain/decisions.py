"""A decision that was kept, in lines: what it said, and what was not kept of it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from reprieve.cli.show import show_decision, show_elsewhere, show_spared
from reprieve.planning.result import Decision
from reprieve.texts import history as texts

Data = dict[str, Any]


def plan_in(made: Data) -> Decision:
    return msgspec.convert(made["plan"], Decision)


def headline(made: Data) -> str:
    """When it was decided, how often, and what."""
    return texts.last_decision(made["at"], made["message"], made["times"], made["last"])


def reasons_of(made: Data) -> Iterator[str]:
    """A decision about a unit, with its reasons."""
    yield headline(made)
    plan = plan_in(made)
    if plan.outcome == "Fits":
        return
    yield from list(show_decision(plan))[1:]
    yield from not_kept(made)


def preempted_lines(made: Data, unit: str) -> Iterator[str]:
    """The same decision for one that had to go by it: why, who else, what it would have cost instead, who stayed."""
    plan = plan_in(made)
    own = [victim for victim in plan.victims if unit in (victim["unit"], victim.get("group"))]
    why = own[0]["message"] if own else made["message"]
    yield texts.preempted(unit, made["at"], plan.preemptor, plan.domain or "", why)
    others = [victim["unit"] for victim in plan.victims if victim not in own]
    if others:
        yield texts.went_with_it(others)
    yield from show_elsewhere(plan)
    yield from show_spared(plan)
    yield from not_kept(made)


def not_kept(made: Data) -> Iterator[str]:
    """What a reader might miss: of a large world only the main points are kept, of many repetitions the first."""
    plan = made["plan"]
    match plan.get("kept", "whole"):
        case "brief":
            units = plan.get("units", plan.get("pods", 0))  # older histories have `pods`
            kind, waiting = plan.get("kind", "pods"), plan.get("waiting", 0)
            yield from ("", texts.kept_in_brief(units, kind, waiting, chosen=bool(plan["candidates"])))
        case "message":
            yield from ("", texts.KEPT_WITHOUT_REASONS)
    if plan.get("moreSpared"):
        yield from ("", texts.more_stayed(plan["moreSpared"]))
    if made["times"] > 1 and (plan["spared"] or plan["obstacles"]):
        yield from ("", texts.reasons_of_the_first(made["at"]))
