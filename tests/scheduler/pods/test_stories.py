"""What a user of plain pods sees: who makes way, when, how it is told, and how it comes back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from reprieve.configuration import Settings
from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import BUDGETS, JOBS, PODS, REPLICA_SETS
from tests.builders.pods import budget
from tests.planes.running import Dict, Plane, condition, job, live, pod, replica_set

TOLERATION = "preemption-toleration.scheduling.x-k8s.io"


async def _cluster(plane: Plane, *cpus: int, **low: object) -> None:
    """Nodes n1, n2, ... with so many cpus, and three classes."""
    for number, cpu in enumerate(cpus, 1):
        await plane.node(f"n{number}", cpu=str(cpu))
    await plane.priority("low", 1, **low)
    await plane.priority("middle", 10)
    await plane.priority("high", 100)


def _seconds(record: object, *path: str) -> float:
    """A moment in an object, as seconds since the story began."""
    found: object = record
    for key in path:
        found = found[key]  # type: ignore[index]
    return (datetime.fromisoformat(str(found)) - datetime.fromisoformat("2026-01-01T00:00:00Z")).total_seconds()


def test_a_pod_that_fits_is_bound_and_told() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.pod("a", run=5)
        await plane.passes(1)
        running = await plane.record("a")
        assert running.data["spec"]["nodeName"] == "n1"
        assert condition(running, "PodScheduled")["status"] == "True"
        assert running.data["status"]["phase"] == "Running"
        assert await plane.events("Scheduled") == ["Pod/default/a was given the node n1"]
        await plane.passes(10)
        assert (await plane.record("a")).data["status"]["phase"] == "Succeeded"

    live(story)


def test_a_victim_is_told_why_and_leaves_as_slowly_as_it_says() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.pod("low", cpu="2", priority="low", leaves=7)
        await plane.passes(10)
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(1)

        victim, preemptor = await plane.record("low"), await plane.record("high")
        target = condition(victim, "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
        assert "Preempted by Pod/default/high on n1" in target["message"]
        assert "priority 1 is below 100" in target["message"]
        assert victim.metadata["deletionGracePeriodSeconds"] == 30
        assert _seconds(victim.metadata, "deletionTimestamp") == 40

        assert preemptor.data["status"]["nominatedNodeName"] == "n1"
        waits = condition(preemptor, "PodScheduled")
        assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")
        assert "Pod/default/low makes way" in waits["message"]
        assert "nodeName" not in preemptor.data["spec"]

        assert await plane.events("Preempted", about="low") == [target["message"]]
        assert "Pod/default/low makes way for Pod/default/high on n1." in await plane.events("Preempting", about="high")

        await plane.passes(5.5)
        assert await plane.where("low") == "n1", "it takes seven seconds"
        await plane.passes(1)
        assert await plane.where("low") == "gone"
        assert await plane.where("high") == "n1"

    live(story)


def test_a_grace_period_is_the_longest_that_a_victim_may_take() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.pod("low", priority="low", leaves=100, terminationGracePeriodSeconds=4)
        await plane.passes(2)
        await plane.pod("high", priority="high")
        await plane.passes(3.5)
        assert await plane.where("low") == "n1"
        await plane.passes(1)
        assert (await plane.where("low"), await plane.where("high")) == ("gone", "n1")

    live(story)


@pytest.mark.parametrize("made", [job, replica_set])
def test_victims_come_back_when_there_is_room_again(made: object) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        await plane.apply(made("work", replicas=4, priority="low", leaves=2))  # type: ignore[operator]
        await plane.passes(5)
        first = {record.uid for record in await plane.starting_with("work")}
        await plane.pod("high", cpu="2", priority="high", run=20)
        await plane.passes(10)
        assert sorted(await plane.homes("work")) in (["", "", "n1", "n1"], ["", "", "n2", "n2"])
        waiting = [record for record in await plane.starting_with("work") if "nodeName" not in record.data["spec"]]
        assert all(condition(record, "PodScheduled")["reason"] == "Unschedulable" for record in waiting)
        await plane.passes(30)
        assert await plane.homes("work") == ["n1", "n1", "n2", "n2"]
        assert len({record.uid for record in await plane.starting_with("work")} - first) == 2

    live(story)


def test_a_preempted_job_still_completes_and_its_eviction_is_held_against_nobody() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        work = job("work", priority="low", run=30)
        work["spec"]["backoffLimit"] = 0
        await plane.apply(work)
        for _ in range(3):
            await plane.passes(10)
            await plane.store.create(PODS, pod(f"high-{plane.clock().timestamp()}", priority="high", run=5))
        await plane.passes(120)
        status = (await plane.job("work")).data["status"]
        assert status["succeeded"] == 1
        assert not status.get("failed")
        assert len(await plane.events("Preempted")) == 3

    live(story)


def test_nobody_makes_way_for_an_equal() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.pod("first", priority="middle")
        await plane.passes(2)
        await plane.pod("second", priority="middle")
        await plane.rests()
        assert await plane.where("first") == "n1"
        waits = await plane.record("second")
        assert condition(waits, "PodScheduled")["status"] == "False"
        assert "nominatedNodeName" not in waits.data["status"]
        assert await plane.events("FailedScheduling", about="second") == [condition(waits, "PodScheduled")["message"]]

    live(story)


def test_who_may_never_preempt_waits_in_front_of_lower_pods() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.priority("polite", 50, preemptionPolicy="Never")
        await plane.pod("low", priority="low", run=60)
        await plane.passes(2)
        await plane.pod("asks", priority="polite")
        await plane.pod("later", priority="low")
        await plane.passes(30)
        assert await plane.where("low") == "n1"
        assert "Never" in condition(await plane.record("asks"), "PodScheduled")["message"]
        await plane.passes(40)
        assert await plane.where("asks") == "n1"
        assert await plane.where("later") == ""

    live(story)


def test_the_cheapest_node_is_chosen_and_only_as_many_go_as_have_to() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3, 3)
        selector = {"kubernetes.io/hostname": "n1"}
        for number in range(3):
            await plane.pod(f"middle-{number}", priority="middle", nodeSelector=selector)
            await plane.pod(f"low-{number}", priority="low", nodeSelector={"kubernetes.io/hostname": "n2"})
        await plane.passes(5)
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(5)
        assert await plane.where("high") == "n2"
        assert len(await plane.homes("middle")) == 3
        assert await plane.homes("low") == ["n2"]

    live(story)


def test_a_more_important_pod_takes_the_place_that_was_promised_to_another() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.pod("low", priority="low", leaves=20)
        await plane.passes(2)
        await plane.pod("middle", priority="middle")
        await plane.passes(2)
        assert (await plane.record("middle")).data["status"]["nominatedNodeName"] == "n1"
        await plane.pod("high", priority="high")
        await plane.passes(2)
        assert (await plane.record("high")).data["status"]["nominatedNodeName"] == "n1"
        lost = await plane.record("middle")
        assert "nominatedNodeName" not in lost.data["status"]
        assert HOLD_ANNOTATION not in lost.metadata.get("annotations", {})
        assert await plane.events("NominationLost", about="middle")
        await plane.passes(30)
        assert await plane.where("high") == "n1"
        assert await plane.where("middle") == ""
        assert len(await plane.events("Preempted")) == 1, "who leaves already is not asked again"

    live(story)


def test_the_hold_names_the_victims_and_the_decision() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        made = [await plane.pod(f"low-{number}", priority="low", leaves=5) for number in range(2)]
        await plane.passes(2)
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(1)
        hold = json.loads((await plane.record("high")).metadata["annotations"][HOLD_ANNOTATION])
        assert hold["preemptor"] == "Pod/default/high"
        assert {victim["uid"] for victim in hold["victims"]} == {record.uid for record in made}
        decided = plane.plane.history.decision(hold["decision"])
        assert (decided["preemptor"], decided["outcome"]) == ("Pod/default/high", "Preempt")
        await plane.passes(10)
        bound = await plane.record("high")
        assert bound.data["spec"]["nodeName"] == "n1"
        assert "nominatedNodeName" not in bound.data["status"]

    live(story)


def test_a_node_that_arrives_in_time_serves_whoever_waits_without_another_victim() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.pod("middle", priority="middle")
        await plane.passes(1)
        await plane.pod("also", priority="middle")
        await plane.passes(20)
        assert await plane.where("also") == ""
        await plane.node("n2", cpu="1")
        await plane.passes(1)
        assert await plane.where("also") == "n2"
        assert await plane.where("middle") == "n1"

    live(story)


# Preemption toleration


def _tolerating(minimum: int, seconds: int) -> Dict:
    return {
        "annotations": {
            f"{TOLERATION}/minimum-preemptable-priority": str(minimum),
            f"{TOLERATION}/toleration-seconds": str(seconds),
        }
    }


def test_a_tolerated_preemptor_waits_and_acts_at_the_very_moment_without_another_event() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1, **_tolerating(50, 60))
        await plane.pod("low", priority="low")
        await plane.passes(10)
        await plane.pod("middle", priority="middle")
        await plane.passes(5)
        waits = await plane.record("middle")
        assert "2026-01-01T00:01:00Z" in condition(waits, "PodScheduled")["message"]
        version = plane.plane.store.version
        await plane.passes(44.9)
        assert plane.plane.store.version == version, "nothing happens until then"
        assert await plane.where("low") == "n1"
        await plane.passes(0.2)
        assert await plane.where("low") == "gone"
        await plane.passes(1)
        assert await plane.where("middle") == "n1"

    live(story)


def test_nobody_tolerates_a_preemptor_above_the_minimum() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1, **_tolerating(50, 60))
        await plane.pod("low", priority="low")
        await plane.passes(1)
        await plane.pod("high", priority="high")
        await plane.passes(1)
        assert (await plane.where("low"), await plane.where("high")) == ("gone", "n1")

    live(story)


def test_toleration_for_ever_is_for_ever() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1, **_tolerating(50, -1))
        await plane.pod("low", priority="low")
        await plane.passes(1)
        await plane.pod("middle", priority="middle")
        await plane.passes(86_400)
        assert await plane.where("low") == "n1"
        assert condition(await plane.record("middle"), "PodScheduled")["status"] == "False"

    live(story)


# Budgets


def _guard(name: str, match: str, least: int) -> Dict:
    made = budget(name, {"app": match}, allowed=0)
    del made["status"]
    made["spec"]["minAvailable"] = least
    return made


def test_budgets_are_spared_first_and_their_status_is_kept() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.apply(_guard("guard", "guarded", 1))
        await plane.apply(replica_set("guarded", priority="low"), replica_set("free", priority="low"))
        await plane.passes(5)
        status = (await plane.store.get(BUDGETS, "guard", "default")).data["status"]
        assert (status["currentHealthy"], status["disruptionsAllowed"]) == (1, 0)
        await plane.pod("high", priority="high")
        await plane.passes(5)
        assert await plane.homes("guarded") == ["n1"]
        assert await plane.homes("free") == [""]
        assert await plane.where("high") == "n1"

    live(story)


def test_a_budget_may_be_broken_unless_the_settings_say_respect() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.apply(_guard("guard", "guarded", 1), replica_set("guarded", priority="low"))
        await plane.passes(5)
        await plane.pod("high", priority="high")
        await plane.passes(5)
        assert await plane.where("high") == ("" if respects else "n1")
        assert await plane.homes("guarded") == (["n1"] if respects else [""])

    for respects in (False, True):
        live(story, Settings(validate=True, pdb="Respect" if respects else "BestEffort"))


def test_a_budget_that_allows_more_wakes_whoever_it_held_back() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.apply(_guard("guard", "guarded", 1), replica_set("guarded", priority="low"))
        await plane.passes(5)
        await plane.pod("high", priority="high")
        await plane.passes(20)
        assert await plane.where("high") == ""
        await plane.change(BUDGETS, "guard", {"spec": {"minAvailable": 0}})
        await plane.passes(5)
        assert await plane.where("high") == "n1"

    live(story, Settings(validate=True, pdb="Respect"))


# Whose business it is


def test_pods_that_name_another_scheduler_are_left_alone() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        theirs = await plane.pod("theirs", priority="high", schedulerName="somebody-else")
        await plane.pod("mine", priority="low", schedulerName="reprieve")
        await plane.passes(60)
        assert await plane.where("mine") == "n1"
        assert (await plane.record("theirs")).version == theirs.version
        assert await plane.events(about="theirs") == []
        assert plane.plane.history.decisions("Pod/default/theirs") == []

    live(story)


def test_after_a_restart_what_another_scheduler_has_marked_stays_marked(tmp_path: Path) -> None:
    """It may be in the middle of preempting it."""
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "theirs"}

    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        for name, scheduler in (("theirs", "somebody-else"), ("mine", "reprieve")):
            await plane.pod(name, schedulerName=scheduler)
            await plane.store.bind(name, "default", "n1")
            await plane.store.patch(
                PODS, name, "default", {"status": {"conditions": [mark]}}, "strategic", subresource="status"
            )
        await plane.restart()
        await plane.passes(5)
        marked = {
            name: condition(await plane.record(name), "DisruptionTarget")["status"] for name in ("theirs", "mine")
        }
        assert marked == {"theirs": "True", "mine": "False"}

    live(story, directory=tmp_path, names=("reprieve",))


def test_a_scheduler_of_one_name_serves_only_that_name() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        for number, name in enumerate(("reprieve", "default-scheduler", "yunikorn")):
            await plane.pod(f"pod-{number}", schedulerName=name)
        await plane.passes(10)
        assert [await plane.where(f"pod-{number}") for number in range(3)] == ["n1", "", ""]

    live(story, names=["reprieve"])


# Things that change while they are decided over


def test_a_preemptor_that_is_deleted_leaves_its_place_to_others() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.apply(job("low", priority="low", leaves=10))
        await plane.passes(2)
        await plane.pod("high", priority="high")
        await plane.passes(2)
        await plane.store.delete(PODS, "high", "default", grace=0)
        await plane.passes(30)
        assert await plane.homes("low") == ["n1"], "there is nobody else, so it is back"

    live(story)


def test_a_workload_that_is_scaled_down_leaves_room_for_who_waits() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.apply(replica_set("big", replicas=2, priority="middle"))
        await plane.passes(2)
        await plane.apply(job("waits", priority="middle"))
        await plane.passes(10)
        assert await plane.homes("waits") == [""]
        await plane.change(REPLICA_SETS, "big", {"spec": {"replicas": 1}})
        await plane.passes(2)
        assert await plane.homes("waits") == ["n1"]

    live(story)


def test_a_gated_pod_waits_for_its_gate_and_not_for_the_scheduler() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
        await plane.passes(30)
        assert await plane.where("gated") == ""
        assert plane.plane.history.decisions("Pod/default/gated") == []
        await plane.change(PODS, "gated", {"spec": {"schedulingGates": None}})
        await plane.passes(1)
        assert await plane.where("gated") == "n1"

    live(story)


def test_a_job_that_is_deleted_takes_its_pods_with_it_and_frees_the_room() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.apply(job("first", priority="middle", leaves=3), job("second", priority="middle"))
        await plane.passes(5)
        assert await plane.homes("first") == ["n1"]
        await plane.store.delete(JOBS, "first", "default")
        await plane.passes(10)
        assert await plane.homes("first") == []
        assert await plane.homes("second") == ["n1"]

    live(story)
