"""`spec.active` and the longest time that a workload may run, on a whole control plane, with restarts in between."""

from __future__ import annotations

from pathlib import Path

from reprieve.manifests.kinds import JOBS, QUOTA_WORKLOADS
from tests.planes.rest import could_still_act
from tests.planes.running import Plane, condition, live
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, work

TIME = "kueue.x-k8s.io/max-exec-time-seconds"


async def activate(plane: Plane, job: str, *, active: bool) -> None:
    await plane.change(QUOTA_WORKLOADS, (await plane.workload(job)).name, {"spec": {"active": active}})


async def said(plane: Plane, job: str, kind: str) -> tuple[str, str]:
    found = condition(await plane.workload(job), kind)
    return found.get("status", ""), found.get("reason", "")


def test_who_is_made_inactive_leaves_and_who_is_made_active_again_is_queued(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        await plane.apply(work("first", "team", leaves=10))
        await plane.passes(1)
        await plane.apply(work("second", "team", run=60))
        await plane.passes(5)
        await activate(plane, "first", active=False)
        await plane.passes(5)
        await plane.restart()  # while its pod is still leaving
        assert admitted_by(await plane.workload("second")) == ""
        await plane.passes(15)
        assert await said(plane, "first", "Evicted") == ("True", "Deactivated")
        assert await said(plane, "first", "Requeued") == ("False", "Deactivated")
        assert (await plane.job("first")).data["spec"]["suspend"] is True
        assert await running(plane, "second") == 1
        await plane.rests()  # the second has ended: nobody takes the quota
        assert admitted_by(await plane.workload("first")) == ""
        assert await could_still_act(plane) == []
        await plane.restart()
        await activate(plane, "first", active=True)
        await plane.passes(5)
        assert await said(plane, "first", "Requeued") == ("True", "Reactivated")
        assert await running(plane, "first") == 1

    live(story, directory=tmp_path)


def test_who_runs_too_long_is_made_inactive_whatever_is_started_anew_meanwhile(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        made = work("long", "team")
        made["metadata"]["labels"][TIME] = "100"
        await plane.apply(made)
        await plane.passes(60)
        await plane.restart()
        await plane.passes(30)
        assert await running(plane, "long") == 1
        await plane.passes(20)
        left = await plane.workload("long")
        assert left.data["spec"]["active"] is False
        assert await said(plane, "long", "Evicted") == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")
        assert await running(plane, "long") == 0
        await plane.change(JOBS, "long", {"metadata": {"labels": {QUEUE: "team", TIME: "1000"}}})
        await activate(plane, "long", active=True)
        await plane.passes(300)
        assert await running(plane, "long") == 1

    live(story, directory=tmp_path)
