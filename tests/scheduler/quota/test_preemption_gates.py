"""Preemption gates: who would have to preempt waits until they are open; who fits need not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reprieve
from reprieve.manifests.kinds import QUOTA_WORKLOADS
from tests.builders.quota import flavor, queue, workload
from tests.planes.rest import could_still_act
from tests.planes.running import Dict, Plane, condition, live
from tests.scheduler.quota.companies import admitted_by, company, shared, work

NOW = "2026-01-01T12:00:00Z"


def gated(name: str, *gates: str, **parts: Any) -> Dict:
    made = workload(name, "team", cpu=1, **parts)
    made["spec"]["preemptionGates"] = [{"name": gate} for gate in gates]
    return made


async def bring(plane: Plane, name: str, *opened: str) -> None:
    states = [{"name": gate, "position": "Open", "lastTransitionTime": NOW} for gate in opened]
    patch = {"status": {"preemptionGates": states}}
    await plane.store.patch(QUOTA_WORKLOADS, name, "default", patch, subresource="status")


def test_a_workload_preempts_when_all_of_its_gates_are_open(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team=shared(1))
        await plane.apply(work("low", "team", priority="low"))
        await plane.passes(5)
        await plane.apply(gated("urgent", "first", "second", priority=100))
        await plane.passes(5)
        urgent = await plane.store.get(QUOTA_WORKLOADS, "urgent", "default")
        told = condition(urgent, "BlockedOnPreemptionGates")
        assert (told["status"], told["reason"]) == ("True", "PreemptionGated")
        assert "it would have to preempt, and the preemption gates first and second are closed" in told["message"]
        assert admitted_by(await plane.workload("low")) == "team"
        await plane.restart()
        await bring(plane, "urgent", "first")
        await plane.passes(5)
        urgent = await plane.store.get(QUOTA_WORKLOADS, "urgent", "default")
        assert "the preemption gate second is closed" in condition(urgent, "QuotaReserved")["message"]
        await plane.rests()
        assert await could_still_act(plane) == []
        await bring(plane, "urgent", "first", "second")
        await plane.passes(10)
        urgent = await plane.store.get(QUOTA_WORKLOADS, "urgent", "default")
        assert admitted_by(urgent) == "team"
        assert condition(urgent, "BlockedOnPreemptionGates")["status"] == "False"
        assert admitted_by(await plane.workload("low")) == ""

    live(story, directory=tmp_path)


def test_a_gate_is_of_no_concern_to_who_fits_and_a_plan_knows_it_too() -> None:
    objects = [
        flavor(),
        *queue("team", {"default": {"cpu": 1}}, within="LowerPriority"),
        gated("w", "gate", priority=5),
    ]
    assert reprieve.plan(objects, preemptor="Workload/default/w").decisions[0].outcome == "Fits"
    taken = [*objects, workload("low", "team", on="default", cpu=1)]
    made = reprieve.plan(taken, preemptor="Workload/default/w").decisions[0]
    assert (made.outcome, made.victims) == ("Wait", [])
    assert "the preemption gate gate is closed" in made.message
