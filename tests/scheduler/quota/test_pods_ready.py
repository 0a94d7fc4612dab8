"""waitForPodsReady: who does not start in time gives its quota back and waits longer each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import reprieve
from reprieve.configuration import Settings, configure
from reprieve.manifests.kinds import NODES, PODS, QUOTA_WORKLOADS
from tests.builders.quota import flavor, queue, workload
from tests.planes.rest import could_still_act
from tests.planes.running import SETTINGS, Plane, condition, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, work


def waiting(**parts: Any) -> Settings:
    read = configure({"waitForPodsReady": {"enable": True, **parts}})
    return msgspec.structs.replace(SETTINGS, wait_for_pods_ready=read.wait_for_pods_ready)


async def said(plane: Plane, job: str, kind: str) -> tuple[str, str]:
    found = condition(await plane.workload(job), kind)
    return found.get("status", ""), found.get("reason", "")


async def requeue_state(plane: Plane, job: str) -> Any:
    return (await plane.workload(job)).data["status"].get("requeueState")


def test_who_does_not_start_in_time_waits_longer_each_time_and_is_made_inactive_at_last(tmp_path: Path) -> None:
    strategy = {"backoffBaseSeconds": 100, "backoffMaxSeconds": 150, "backoffLimitCount": 2}

    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 24})
        await plane.apply(work("large", "team", cpu=8, replicas=3))  # there are nodes for two of these
        await plane.passes(30)
        assert await running(plane, "large") == 2
        assert await said(plane, "large", "PodsReady") == ("False", "WaitForStart")
        await plane.restart()
        await plane.passes(35)
        assert await said(plane, "large", "Evicted") == ("True", "PodsReadyTimeout")
        message = condition(await plane.workload("large"), "Evicted")["message"]
        assert message == "Its pods were not all ready within 60 seconds (waitForPodsReady)."
        assert await said(plane, "large", "Requeued") == ("False", "PodsReadyTimeout")
        assert (await requeue_state(plane, "large"))["count"] == 1
        assert await running(plane, "large") == 0
        await plane.restart()
        await plane.passes(90)
        assert admitted_by(await plane.workload("large")) == ""
        await plane.passes(15)
        assert admitted_by(await plane.workload("large")) == "team"
        assert await said(plane, "large", "Requeued") == ("True", "BackoffFinished")
        assert await requeue_state(plane, "large") == {"count": 1}
        await plane.passes(60)
        assert (await requeue_state(plane, "large"))["count"] == 2
        await plane.passes(140)
        assert admitted_by(await plane.workload("large")) == ""  # it waits 150 seconds: twice as long would be 200
        await plane.passes(15)
        assert admitted_by(await plane.workload("large")) == "team"
        await plane.passes(65)
        record = await plane.workload("large")
        assert record.data["spec"]["active"] is False
        assert await said(plane, "large", "Evicted") == ("True", "DeactivatedDueToRequeuingLimitExceeded")
        await plane.rests()
        await plane.node("n3", cpu="8", labels={"pool": "a"})
        await plane.change(QUOTA_WORKLOADS, record.name, {"spec": {"active": True}})
        await plane.passes(5)
        assert await requeue_state(plane, "large") is None
        assert await said(plane, "large", "PodsReady") == ("True", "Started")
        await plane.passes(600)
        assert await running(plane, "large") == 3

    live(story, waiting(timeout="1m", requeuingStrategy=strategy), directory=tmp_path)


@pytest.mark.parametrize(("recovery", "left"), [("30s", 0), (None, 0), ("0s", 1)])
def test_who_loses_a_pod_has_some_time_to_recover(recovery: str | None, left: int) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 4})
        await plane.apply(work("work", "team", replicas=2))
        await plane.passes(5)
        assert await said(plane, "work", "PodsReady") == ("True", "Started")
        for name in ("n1", "n2"):
            await plane.change(NODES, name, {"spec": {"unschedulable": True}})
        await plane.store.delete(PODS, (await plane.starting_with("work"))[0].name, "default")
        await plane.passes(20)
        assert await said(plane, "work", "PodsReady") == ("False", "WaitForRecovery")
        assert await running(plane, "work") == 1
        await plane.passes(60)
        assert await running(plane, "work") == left
        assert (await said(plane, "work", "Evicted"))[1] == ("" if left else "PodsReadyTimeout")

    parts = {} if recovery is None else {"recoveryTimeout": recovery}
    live(story, waiting(timeout="50s", **parts))


def test_who_recovers_in_time_stays() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 4})
        await plane.apply(work("work", "team", replicas=2))
        await plane.passes(5)
        await plane.store.delete(PODS, (await plane.starting_with("work"))[0].name, "default")
        await plane.passes(20)
        assert await said(plane, "work", "PodsReady") == ("True", "Recovered")
        await plane.passes(600)
        assert await running(plane, "work") == 2

    live(story, waiting(timeout="50s"))


def test_nobody_is_admitted_before_the_pods_of_all_others_are_ready(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 24}, other={"cpu": 4})
        await plane.apply(work("large", "team", cpu=8, replicas=3))
        await plane.passes(5)
        await plane.apply(work("small", "other"))
        await plane.passes(5)
        name = (await plane.workload("large")).unit
        told = condition(await plane.workload("small"), "QuotaReserved")["message"]
        assert f"nobody is admitted before all pods of {name} are ready" in told
        assert await could_still_act(plane) == []
        await plane.restart()
        await plane.passes(20)
        assert admitted_by(await plane.workload("small")) == ""
        await plane.passes(40)
        assert await said(plane, "large", "Evicted") == ("True", "PodsReadyTimeout")
        assert admitted_by(await plane.workload("small")) == "other"
        assert await running(plane, "small") == 1

    live(story, waiting(timeout="1m", blockAdmission=True), directory=tmp_path)


def test_those_who_are_ready_at_once_are_admitted_one_after_the_other() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 4}, other={"cpu": 4})
        await plane.apply(*(work(f"work-{number}", "team") for number in range(3)))
        await plane.apply(work("last", "other"))
        await plane.passes(20)
        assert [await running(plane, name) for name in ("work-0", "work-1", "work-2", "last")] == [1, 1, 1, 1]
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story, waiting(blockAdmission=True))


def test_pods_in_queues_are_waited_for_too() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 24})
        await plane.apply(pod("fits", labels={QUEUE: "team"}), pod("large", cpu="9", labels={QUEUE: "team"}))
        await plane.passes(5)
        assert await said(plane, "fits", "PodsReady") == ("True", "Started")
        assert await said(plane, "large", "PodsReady") == ("False", "WaitForStart")
        await plane.passes(60)
        assert await plane.where("fits") in ("n1", "n2")
        assert await plane.where("large") == "gone"  # a pod of its own does not come back

    live(story, waiting(timeout="1m"))


def test_nothing_is_said_or_done_where_it_is_off() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 24})
        await plane.apply(work("large", "team", cpu=8, replicas=3))
        await plane.passes(3600)
        assert await said(plane, "large", "PodsReady") == ("", "")
        assert await running(plane, "large") == 2

    live(story)


@pytest.mark.parametrize(("timestamp", "first"), [("Eviction", "other"), ("Creation", "evicted")])
def test_the_order_of_who_comes_back_goes_by_its_eviction_or_its_creation(timestamp: str, first: str) -> None:
    evicted = workload("evicted", "team", cpu=1, created="2026-01-01T08:00:00Z", evicted="PodsReadyTimeout")
    other = workload("other", "team", cpu=1, created="2026-01-01T09:00:00Z")
    objects = [flavor(), *queue("team", {"default": {"cpu": 1}}), evicted, other]
    config = {"waitForPodsReady": {"enable": True, "requeuingStrategy": {"timestamp": timestamp}}}
    made = reprieve.plan(objects, now="2026-01-01T12:00:00Z", config=config)
    assert made.admitted == [f"Workload/default/{first}"]


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        ({"timeout": "soon"}, 'timeout: found "soon"; allowed: a duration such as 5m, 90s or 1h30m'),
        ({"recoveryTimeout": "-5s"}, 'recoveryTimeout: found "-5s"; allowed: a duration'),
        ({"requeuingStrategy": {"timestamp": "Now"}}, 'timestamp: found "Now"; allowed: Creation, Eviction'),
        ({"requeuingStrategy": {"backoffLimit": 1}}, 'unknown field; did you mean "backoffLimitCount"?'),
    ],
)
def test_mistakes_name_the_field_and_what_is_right(parts: dict[str, Any], want: str) -> None:
    with pytest.raises(reprieve.InvalidInput) as error:
        configure({"waitForPodsReady": parts})
    assert want in str(error.value)
