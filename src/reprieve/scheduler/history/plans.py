"""What is kept of a plan. How much that is stands in it: who asks later is told what was not kept."""

from dataclasses import replace
from typing import Any, Literal

import msgspec

from reprieve.engine.plan import Details, Plan, StalePlan
from reprieve.planning.result import decision

Kept = Literal["whole", "brief", "message"]
"""All of it; the chosen domain and a few others, of a large world; only what was decided, without reasons."""

PODS_FOR_WHOLE_PLANS = 2_000
_MOST_SPARED = 1_000


def kept_plan(plan: Plan, pods: int) -> bytes:
    """A plan as it is stored: whole, or in a world of so many pods its main points. Who fits needs no reasons."""
    kept: Kept = "brief" if pods > PODS_FOR_WHOLE_PLANS and plan.outcome != "Fits" else "whole"
    if plan.outcome == "Fits":
        plan = _bare(plan)
    try:
        made = decision(plan, brief=kept == "brief")
    except StalePlan:
        made, kept = decision(_bare(plan)), "message"
    body: dict[str, Any] = {**msgspec.to_builtins(made), "kept": kept}
    if kept == "brief":
        body["pods"] = pods
    if len(made.spared) > _MOST_SPARED:
        body |= {"spared": body["spared"][:_MOST_SPARED], "moreSpared": len(made.spared) - _MOST_SPARED}
    return msgspec.json.encode(body)


def _bare(plan: Plan) -> Plan:
    """A plan without its reasons."""
    return replace(plan, explain=lambda _: Details())
