"""What the loop decided beside what `plan` decides over a snapshot of the same store, by the settings of the plane."""

from __future__ import annotations

from typing import Any

from reprieve.manifests.kinds import EVENTS, RESOURCES
from reprieve.manifests.loading import load_objects
from reprieve.planning.planner import Planner
from reprieve.scheduler.queues.configuration import in_force
from tests.planes.running import Plane

Answer = tuple[str, list[str], str]
"""Outcome, victims, message."""


async def planned(plane: Plane) -> dict[str, Answer]:
    """One cycle over a snapshot of the store, by preemptor."""
    records = [record for resource in RESOURCES.values() for record in (await plane.store.list(resource)).records]
    objects = [record.data for record in in_force(records) if record.resource != EVENTS]
    result = Planner(load_objects(objects), plane.plane.settings, plane.clock()).cycle()
    return {
        each.preemptor: (each.outcome, [str(victim["unit"]) for victim in each.victims], each.message)
        for each in result.decisions
    }


def decided(plane: Plane) -> dict[str, Answer]:
    """What the loop decided last for each unit."""
    found: dict[str, Answer] = {}
    for each in reversed(plane.plane.history.decisions(limit=1000)):
        plan: dict[str, Any] = plane.plane.history.decision(each["id"])["plan"]
        found[each["preemptor"]] = (each["outcome"], [str(one["unit"]) for one in plan["victims"]], each["message"])
    return found
