"""What is kept of a plan. How much that is stands in it: who asks later is told what was not kept."""

from typing import Any, Literal

import msgspec

from reprieve.engine.plan import Details, Plan, StalePlan
from reprieve.planning.result import decision, told

Kept = Literal["whole", "brief", "message"]
"""All of it; the chosen domain and a few others, of a large world; only what was decided, without reasons."""

UNITS_FOR_WHOLE_PLANS = 2_000
_UNITS_FOR_ALL_WHO_WAIT = 100_000
_MOST_SPARED = 1_000
_NONE = Details()


def kept_plan(plan: Plan, units: int, waiting: int = 0, kind: str = "pods") -> bytes:
    """A plan as it is stored: whole, or in a world of so many units its main points. Who fits needs no reasons.

    `waiting`: others whose turn it is, and who wait while reasons are put together. Where they are many, that is done
    only in a small world: for all of them together it takes about a second at most.
    """
    large = units > UNITS_FOR_WHOLE_PLANS or units * waiting > _UNITS_FOR_ALL_WHO_WAIT
    kept: Kept = "brief" if large and plan.outcome != "Fits" else "whole"
    try:
        made = told(plan, _NONE) if plan.outcome == "Fits" else decision(plan, brief=kept == "brief")
    except StalePlan:
        made, kept = told(plan, _NONE), "message"
    body: dict[str, Any] = {**msgspec.to_builtins(made), "kept": kept}
    if kept == "brief":
        body |= {"units": units, "kind": kind, "waiting": waiting}
    if len(made.spared) > _MOST_SPARED:
        body |= {"spared": body["spared"][:_MOST_SPARED], "moreSpared": len(made.spared) - _MOST_SPARED}
    return msgspec.json.encode(body)
