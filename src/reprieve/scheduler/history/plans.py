"""What is kept of a plan. How much that is stands in it: who asks later is told what was not kept."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.engine.plan import Details, Plan, StalePlan
from reprieve.planning.result import decision

Kept = Literal["whole", "brief", "message"]
"""All of it; the chosen domain and a few others, of a large world; only what was decided, without reasons."""

UNITS_FOR_WHOLE_PLANS = 2_000
_REASONS_AT_ONCE = 20_000
_MOST_SPARED = 1_000


class Extent(NamedTuple):
    """How many units a whole plan would give a reason for, and how many such plans are made at once."""

    units: int = 0
    kind: str = "pods"
    plans: int = 1

    @property
    def large(self) -> bool:
        return self.units > UNITS_FOR_WHOLE_PLANS or self.units * self.plans > _REASONS_AT_ONCE


def kept_plan(plan: Plan, extent: Extent) -> bytes:
    """A plan as it is stored: whole, or where that is too much its main points. Who fits needs no reasons."""
    kept: Kept = "brief" if extent.large and plan.outcome != "Fits" else "whole"
    if plan.outcome == "Fits":
        plan = _bare(plan)
    try:
        made = decision(plan, brief=kept == "brief")
    except StalePlan:
        made, kept = decision(_bare(plan)), "message"
    body: dict[str, Any] = {**msgspec.to_builtins(made), "kept": kept}
    if kept == "brief":
        body["extent"] = extent._asdict()
    if len(made.spared) > _MOST_SPARED:
        body |= {"spared": body["spared"][:_MOST_SPARED], "moreSpared": len(made.spared) - _MOST_SPARED}
    return msgspec.json.encode(body)


def _bare(plan: Plan) -> Plan:
    """A plan without its reasons."""
    return replace(plan, explain=lambda _: Details())
