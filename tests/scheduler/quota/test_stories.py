"""What a user of quota sees: admission, borrowing, reclaim, eviction and return, in Workloads, Jobs and queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprieve.configuration import FairSharingSettings, QuotaSettings, Settings
from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, PODS, QUOTA_WORKLOADS
from reprieve.stores.errors import NotFound
from tests.builders.quota import queue
from tests.planes.running import Dict, Plane, condition, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, shared, work

GATE = "kueue.x-k8s.io/admission"


def test_an_admitted_job_is_sent_to_its_flavor_and_the_queue_says_what_it_uses() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 4})
        await plane.apply(work("work", "team", replicas=3, run=60))
        await plane.passes(5)
        workload, made = await plane.workload("work"), await plane.job("work")
        assert admitted_by(workload) == "team"
        assert condition(workload, "QuotaReserved")["status"] == condition(workload, "Admitted")["status"] == "True"
        assignment = workload.data["status"]["admission"]["podSetAssignments"]
        assert assignment == [
            {"name": "main", "count": 3, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}}
        ]
        assert made.data["spec"]["suspend"] is False
        assert made.data["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a"}
        assert await running(plane, "work") == 3
        status = (await plane.store.get(CLUSTER_QUEUES, "team")).data["status"]
        assert status["flavorsUsage"][0]["resources"][0]["total"] == "3"
        assert (status["admittedWorkloads"], status["pendingWorkloads"]) == (1, 0)
        await plane.passes(70)
        assert condition(await plane.workload("work"), "Finished")["status"] == "True"
        status = (await plane.store.get(CLUSTER_QUEUES, "team")).data["status"]
        assert status["flavorsUsage"][0]["resources"][0]["total"] == "0"

    live(story)


def test_a_job_beyond_its_quota_stays_suspended_and_says_why() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("work", "team", replicas=3))
        await plane.rests()
        reserved = condition(await plane.workload("work"), "QuotaReserved")
        assert (reserved["status"], reserved["reason"]) == ("False", "Pending")
        assert "stays pending in team" in reserved["message"]
        assert (await plane.job("work")).data["spec"]["suspend"] is True
        assert await plane.starting_with("work") == []

    live(story)


def test_a_queue_reclaims_what_another_borrowed_and_the_victim_returns() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, a=shared(), b=shared())
        await plane.apply(work("big", "a", replicas=4, priority="low", run=100, leaves=5))
        await plane.passes(10)
        assert await running(plane, "big") == 4
        await plane.apply(work("mine", "b", replicas=2, priority="high", run=20))
        await plane.passes(1)

        victim, preemptor = await plane.workload("big"), await plane.workload("mine")
        evicted, preempted = condition(victim, "Evicted"), condition(victim, "Preempted")
        assert (evicted["status"], evicted["reason"]) == ("True", "Preempted")
        assert (preempted["status"], preempted["reason"]) == ("True", "InCohortReclamation")
        assert f"Preempted to make room for {preemptor.unit}" in preempted["message"]
        assert "priority 1, the preemptor's 100" in preempted["message"]
        assert "preemptor in /all/b, victim in /all/a" in preempted["message"]
        assert preempted["message"] in await plane.events("Preempted", about=victim.name)
        assert await plane.events("Preempting", about=preemptor.name)
        assert HOLD_ANNOTATION in preemptor.metadata["annotations"]

        assert admitted_by(victim) == "a", "its quota is taken until its pods are gone"
        assert admitted_by(preemptor) == ""
        assert condition(preemptor, "QuotaReserved")["status"] == "False"
        assert (await plane.job("big")).data["spec"]["suspend"] is True
        await plane.passes(3)
        assert admitted_by(await plane.workload("mine")) == ""
        assert len(await plane.starting_with("big")) == 4

        await plane.passes(3)
        victim, preemptor = await plane.workload("big"), await plane.workload("mine")
        assert (admitted_by(victim), admitted_by(preemptor)) == ("", "b")
        assert HOLD_ANNOTATION not in preemptor.metadata.get("annotations", {}), "what it held is over"
        assert condition(victim, "Requeued")["status"] == "True"
        assert "nodeSelector" not in (await plane.job("big")).data["spec"]["template"]["spec"]
        assert await running(plane, "mine") == 2
        assert await running(plane, "big") == 0

        await plane.passes(40)
        again = await plane.workload("big")
        assert admitted_by(again) == "a"
        assert condition(again, "Evicted")["status"] == condition(again, "Preempted")["status"] == "False"
        assert await running(plane, "big") == 4
        assert len(await plane.events("Preempted", about=again.name)) == 1

    live(story)


def test_within_a_queue_the_less_important_makes_way() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3, "within": "LowerPriority"})
        await plane.apply(work("low", "team", priority="low"), work("middle", "team", priority="middle", cpu=2))
        await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(5)
        assert condition(await plane.workload("low"), "Preempted")["reason"] == "InClusterQueue"
        assert [await running(plane, name) for name in ("low", "middle", "high")] == [0, 1, 1]

    live(story)


def test_an_equal_makes_way_only_for_somebody_older() -> None:
    async def story(plane: Plane) -> None:
        newer = {"within": "LowerOrNewerEqualPriority", "queueingStrategy": "BestEffortFIFO"}
        await company(plane, team={"cpu": 2, **newer})
        await plane.apply(work("first", "team", run=30))
        await plane.passes(1)
        await plane.apply(work("old", "team", cpu=2))
        await plane.passes(1)
        await plane.apply(work("young", "team"))
        await plane.passes(10)
        assert await running(plane, "young") == 1, "there is room for it beside the first"
        await plane.rests()
        assert [await running(plane, name) for name in ("old", "young")] == [1, 0]
        assert condition(await plane.workload("young"), "Preempted")["reason"] == "InClusterQueue"

    live(story)


def test_who_may_not_preempt_waits_for_quota() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "Never"})
        await plane.apply(work("low", "team", priority="low", run=30))
        await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(20)
        assert [await running(plane, name) for name in ("low", "high")] == [1, 0]
        message = condition(await plane.workload("high"), "QuotaReserved")["message"]
        assert message.endswith(
            "1 of 1 cpu on default used in team, 1 needed; "
            "no workload may be preempted (1 is not allowed by its preemption policy)."
        )
        await plane.passes(20)
        assert await running(plane, "high") == 1

    live(story)


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_a_head_that_does_not_fit_holds_up_the_others_only_where_the_queue_is_strict(strategy: str) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2, "queueingStrategy": strategy})
        await plane.apply(work("runs", "team", run=60))
        await plane.passes(1)
        await plane.apply(work("wide", "team", cpu=2))
        await plane.passes(1)
        await plane.apply(work("narrow", "team"))
        await plane.passes(20)
        assert await running(plane, "narrow") == (0 if strategy == "StrictFIFO" else 1)
        assert condition(await plane.workload("narrow"), "QuotaReserved")["message"], "who waits says why"
        await plane.passes(60)
        assert await running(plane, "wide") == (1 if strategy == "StrictFIFO" else 0)

    live(story)


def test_whoever_waits_behind_others_or_in_no_queue_says_so() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "queueingStrategy": "StrictFIFO"})
        for name, where in (("runs", "team"), ("next", "team"), ("last", "team"), ("lost", "nowhere")):
            await plane.apply(work(name, where))
            await plane.passes(2)
        await plane.rests()
        messages = {
            name: condition(await plane.workload(name), "QuotaReserved")["message"] for name in ("next", "last", "lost")
        }
        assert "stays pending in team" in messages["next"]
        assert messages["last"].endswith("waits in team for those before it")
        assert messages["lost"].endswith("stays pending: the LocalQueue nowhere does not exist")
        await plane.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **_local("nowhere", "other")})
        await plane.apply(*queue("other", {"default": {"cpu": 1}})[:1])
        await plane.passes(2)
        assert await running(plane, "lost") == 1, "its queue has come"

    live(story)


def test_a_queue_that_is_not_there_is_stopped_or_does_not_take_it_is_told_apart() -> None:
    async def story(plane: Plane) -> None:
        picky = {"matchLabels": {"team": "other"}}
        await company(
            plane,
            held={"cpu": 1, "stopPolicy": "Hold"},
            picky={"cpu": 1, "namespaceSelector": picky},
            team={"cpu": 1},
        )
        await plane.apply(*queue("bare", {"unheard-of": {"cpu": 1}}))
        await plane.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **_local("dead-end", "gone")})
        where = ("nowhere", "dead-end", "held", "picky", "bare")
        for name in where:
            await plane.apply(work(f"in-{name}", name))
        await plane.passes(3)
        await plane.rests()
        told = [condition(await plane.workload(f"in-{name}"), "QuotaReserved")["message"] for name in where]
        assert [text.partition(" stays pending: ")[2] for text in told] == [
            "the LocalQueue nowhere does not exist",
            "the ClusterQueue gone does not exist",
            "the ClusterQueue held is stopped (stopPolicy Hold)",
            "the ClusterQueue picky does not take workloads of the namespace default (namespaceSelector)",
            "the ClusterQueue bare admits nobody: the ResourceFlavor unheard-of does not exist",
        ]

    live(story)


def test_why_somebody_waits_is_told_anew_when_that_is_over_and_its_turn_has_not_come() -> None:
    """What was used when it was refused is free by now; somebody who can never fit is before it in the line."""

    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2, "queueingStrategy": "StrictFIFO"})
        await plane.apply(work("first", "team", replicas=2, run=30))
        await plane.passes(2)
        await plane.apply(work("second", "team", replicas=2))
        await plane.passes(2)
        assert "2 of 2 cpu on default used" in await _why(plane, "second")
        await plane.apply(work("large", "team", replicas=3, priority="high"))
        await plane.passes(60)
        assert "it can never fit here" in await _why(plane, "large")
        assert (await _why(plane, "second")).endswith("waits in team for those before it")

    live(story)


def test_a_queue_that_takes_somebody_no_longer_says_so_and_does_not_admit_it_though_it_has_preempted() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2, "within": "LowerPriority"})
        await plane.apply(work("low", "team", replicas=2, leaves=20))
        await plane.passes(3)
        await plane.apply(work("high", "team", replicas=2, priority="high"))
        await plane.passes(3)
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"namespaceSelector": {"matchLabels": {"team": "other"}}}})
        await plane.passes(60)
        for name in ("low", "high"):
            assert "does not take workloads of the namespace default" in await _why(plane, name)
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"namespaceSelector": {"matchLabels": {"team": None}}}})
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"namespaceSelector": {}}})
        await plane.passes(5)
        assert await running(plane, "high") == 2

    live(story)


async def _why(plane: Plane, job: str) -> str:
    message: str = condition(await plane.workload(job), "QuotaReserved")["message"]
    return message


def _local(name: str, leads_to: str) -> Dict:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": leads_to}}


def test_a_job_that_may_run_with_fewer_pods_does() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        await plane.apply(work("work", "team", replicas=5, said={"kueue.x-k8s.io/job-min-parallelism": "2"}))
        await plane.passes(5)
        workload = await plane.workload("work")
        assert workload.data["status"]["admission"]["podSetAssignments"][0]["count"] == 3
        assert (await plane.job("work")).data["spec"]["parallelism"] == 3
        assert await running(plane, "work") == 3

    live(story)


def test_a_plain_pod_is_gated_until_it_is_admitted_and_ends_when_it_is_preempted() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        await plane.pod("low", priority="low", labels={QUEUE: "team"}, leaves=5)
        await plane.pod("also", priority="low", labels={QUEUE: "team"})
        await plane.passes(5)
        places = {await plane.where("low"), await plane.where("also")}
        assert len(places - {""}) == 1, "there is quota for one of them"
        held = "also" if await plane.where("low") else "low"
        assert (await plane.record(held)).data["spec"]["schedulingGates"] == [{"name": GATE}]
        ran = "low" if held == "also" else "also"
        await plane.pod("high", priority="high", labels={QUEUE: "team"}, run=30)
        await plane.passes(1)
        victim = await plane.find(ran)
        if victim is not None:
            assert condition(victim, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
        await plane.passes(10)
        assert await plane.where(ran) == "gone", "a plain pod does not come back by itself"
        assert await plane.where("high") in ("n1", "n2")
        assert await plane.where(held) == ""
        await plane.passes(40)
        assert await plane.where(held) in ("n1", "n2")

    live(story)


@pytest.mark.parametrize("how", ["annotation", "field"])
def test_a_job_that_ends_when_it_is_preempted_has_failed_and_its_time_to_live_begins(how: str) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        said = {"reprieve.scheduling/on-preemption": "Terminate"} if how == "annotation" else {}
        low = work("low", "team", priority="low", said=said)
        low["spec"]["ttlSecondsAfterFinished"] = 100
        await plane.apply(low)
        await plane.passes(5)
        if how == "field":
            workload = await plane.workload("low")
            await plane.change(QUOTA_WORKLOADS, workload.name, {"spec": {"onPreemption": "Terminate"}})
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(60)
        failed = condition(await plane.job("low"), "Failed")
        assert (failed["status"], failed["reason"]) == ("True", "Preempted")
        assert "job-high" in failed["message"]
        assert condition(await plane.workload("low"), "Finished")["status"] == "True"
        assert [await running(plane, name) for name in ("low", "high")] == [0, 1]
        assert await plane.starting_with("low") == [], "no pod outlives its Job's failure"
        await plane.passes(100)
        with pytest.raises(NotFound):
            await plane.job("low")
        await plane.rests()
        assert await running(plane, "high") == 1

    live(story)


def test_a_restart_between_the_eviction_and_the_failure_loses_neither(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        await plane.apply(work("low", "team", priority="low", said={"reprieve.scheduling/on-preemption": "Terminate"}))
        await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"))
        await plane.until(lambda: _evicted(plane, "low"), step=0.01)
        await plane.restart()
        await plane.passes(60)
        assert condition(await plane.job("low"), "Failed")["reason"] == "Preempted"
        assert [await running(plane, name) for name in ("low", "high")] == [0, 1]

    live(story, directory=tmp_path)


async def _evicted(plane: Plane, name: str) -> bool:
    return condition(await plane.workload(name), "Evicted").get("status") == "True"


@pytest.mark.parametrize("where", ["settings", "annotation"])
def test_a_wait_before_preemption_is_over_at_its_moment_without_another_event(where: str) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        await plane.apply(work("low", "team", priority="low"))
        await plane.passes(5)
        said = {} if where == "settings" else {"reprieve.scheduling/wait-before-preemption-seconds": "40"}
        await plane.apply(work("high", "team", priority="high", said=said))
        await plane.passes(2)
        assert (
            "may preempt from 2026-01-01T00:00:45"
            in condition(await plane.workload("high"), "QuotaReserved")["message"]
        )
        version = plane.plane.store.version
        await plane.passes(37.9)
        assert plane.plane.store.version == version
        await plane.passes(1)
        assert condition(await plane.workload("low"), "Preempted")["status"] == "True"
        await plane.passes(5)
        assert await running(plane, "high") == 1

    live(
        story,
        Settings(validate=True, quota=QuotaSettings(wait_before_preemption_seconds=40 if where == "settings" else 0)),
    )


def test_a_victim_cannot_slip_back_before_whoever_it_made_way_for() -> None:
    """Somebody who never fits stands at the head of the preemptor's queue, and is tried whenever quota is freed."""

    async def story(plane: Plane) -> None:
        small = shared(3, reclaim="LowerPriority", queueingStrategy="BestEffortFIFO")
        await company(plane, a=dict(small), b=dict(small))
        await plane.apply(work("borrows", "b", replicas=3, cpu=2, priority="low"))
        await plane.passes(5)
        await plane.apply(work("giant", "a", cpu=50, priority="high"))
        await plane.passes(1)
        await plane.apply(work("mine", "a", cpu=2, priority="high"))
        await plane.rests(within=1200)
        assert await running(plane, "mine") == 1
        assert await running(plane, "borrows") == 0
        assert len(await plane.events("Preempted", about=(await plane.workload("borrows")).name)) == 1

    live(story)


def test_who_preempts_for_a_few_pods_is_not_admitted_with_many() -> None:
    """Under fair sharing a small share may preempt where a large one may not: the two would take turns for ever."""

    async def story(plane: Plane) -> None:
        await company(plane, a=shared(1), b=shared(1), lends=shared(1))
        smaller = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        await plane.apply(work("first", "a", replicas=3, said=smaller))
        await plane.passes(5)
        assert await running(plane, "first") == 3
        await plane.apply(work("second", "b", replicas=3, said=smaller))
        await plane.rests(within=1200)
        sizes = [await running(plane, "first"), await running(plane, "second")]
        assert sum(sizes) == 3
        assert min(sizes) > 0, "each has a share"
        assert len(await plane.events("Preempted")) == 1

    live(story, Settings(validate=True, fair_sharing=FairSharingSettings(enable=True)))


def test_quota_that_is_raised_serves_who_waits_at_once() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        await plane.apply(work("work", "team", replicas=2))
        await plane.passes(10)
        assert await running(plane, "work") == 0
        groups = queue("team", {"default": {"cpu": 2}})[0]["spec"]["resourceGroups"]
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"resourceGroups": groups}})
        await plane.passes(1)
        assert await running(plane, "work") == 2

    live(story)


def test_a_queue_that_is_drained_lets_everybody_go_and_takes_nobody() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("work", "team", leaves=3))
        await plane.passes(5)
        await plane.change(LOCAL_QUEUES, "team", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await plane.passes(10)
        assert await running(plane, "work") == 0
        assert admitted_by(await plane.workload("work")) == ""
        await plane.change(LOCAL_QUEUES, "team", {"spec": {"stopPolicy": "None"}})
        await plane.passes(2)
        assert await running(plane, "work") == 1

    live(story)


def test_a_preemptor_that_goes_away_lets_its_victim_return() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        await plane.apply(work("low", "team", priority="low", leaves=10))
        await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(2)
        await plane.store.delete(JOBS, "high", "default")
        await plane.passes(30)
        assert await running(plane, "low") == 1

    live(story)


def test_what_was_held_is_not_carried_out_again_after_a_restart(tmp_path: Path) -> None:
    """A preempted B and was admitted; now A is out, B is in, and the scheduler starts anew."""

    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        await plane.apply(work("low", "team", priority="low"))
        await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(5)
        assert await running(plane, "high") == 1
        high = await plane.workload("high")
        await plane.change(QUOTA_WORKLOADS, high.name, {"spec": {"active": False}})
        await plane.passes(10)
        assert await running(plane, "low") == 1
        await plane.restart()
        await plane.passes(20)
        assert await running(plane, "low") == 1
        assert len(await plane.events("Preempted", about=(await plane.workload("low")).name)) == 1

    live(story, directory=tmp_path)


def test_a_restart_in_the_middle_of_a_preemption_evicts_nobody_twice(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, a=shared(), b=shared())
        await plane.apply(work("big", "a", replicas=4, priority="low", leaves=20))
        await plane.passes(5)
        await plane.apply(work("mine", "b", replicas=2, priority="high"))
        await plane.passes(2)
        await plane.restart()
        await plane.passes(5)
        assert admitted_by(await plane.workload("mine")) == ""
        await plane.passes(20)
        assert await running(plane, "mine") == 2
        preempted = await plane.events("Preempted", about=(await plane.workload("big")).name)
        assert len(preempted) == 1
        found = [record for record in (await plane.store.list(PODS)).records if record.name.startswith("big")]
        assert found == []

    live(story, directory=tmp_path)


def test_a_pod_that_is_in_no_queue_needs_no_quota() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        await plane.store.create(PODS, pod("free"))
        await plane.passes(2)
        assert await plane.where("free") in ("n1", "n2")
        assert (await plane.store.list(QUOTA_WORKLOADS)).records == []

    live(story)
