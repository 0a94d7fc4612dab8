"""What a user of YuniKorn's task groups sees: applications start as a whole, wait no longer than they say, and
placeholders keep the places of pods that come later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprieve.manifests.kinds import PODS, RESOURCE_QUOTAS
from reprieve.stores.records import Record
from tests.builders.queues import queues, tree
from tests.generators.task_groups import PARAMETERS, member, task_groups
from tests.planes.agreement import Judge
from tests.planes.running import Dict, Plane, condition, job, live, pod, replica_set

MINE, OTHER = tree("mine", cpu=4, preemption_delay="5s"), tree("other", cpu=1)


async def _cluster(plane: Plane, *nodes: int, below_root: tuple[Dict, ...] = (MINE, OTHER)) -> None:
    for number, cpu in enumerate(nodes, 1):
        await plane.node(f"n{number}", cpu=str(cpu))
    made = queues(*below_root)
    await plane.apply({**made, "metadata": {"name": "yunikorn-configs", "namespace": "default"}})


def _gang(group: str, said: str, **parameters: Any) -> Dict:
    """What pods of the application `gang` have in common."""
    text = " ".join(f"{name}={value}" for name, value in parameters.items())
    annotations = member(group, said, **({PARAMETERS: text} if text else {}))
    return {"labels": {"queue": "root.mine", "applicationId": "gang"}, "annotations": annotations}


def _other(name: str, **parts: Any) -> Dict:
    return pod(name, labels={"queue": "root.other", "applicationId": name}, **parts)


async def _placeholders(plane: Plane) -> list[Record]:
    return await plane.starting_with("tg-")


WORKERS = task_groups(("workers", 3, "1"))
SPARK = task_groups(("driver", 1, "1"), ("executors", 2, "1"))


def test_a_job_starts_when_there_is_room_for_all_members_and_not_before() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        judge = Judge(plane)
        await plane.apply(_other("sits", run=100))
        await plane.passes(1)
        template = _gang("workers", WORKERS)
        await plane.apply(job("gang", replicas=3, pod_labels=template["labels"], annotations=template["annotations"]))
        await plane.passes(60)
        assert await plane.homes("gang") == ["", "", ""]
        told = condition((await plane.starting_with("gang"))[0], "PodScheduled")["message"]
        assert "Application/default/gang starts with all 3 members or not at all, and 2 members would" in told
        await plane.passes(60)
        assert await plane.homes("gang") == ["n1"] * 3
        assert await _placeholders(plane) == []
        assert judge.faults == []
        assert judge.asked > 0

    live(story)


def test_placeholders_that_a_quota_forbids_are_told_of_and_made_when_there_is_more() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
        await plane.apply({"apiVersion": "v1", "kind": "ResourceQuota", **quota})
        await plane.apply(pod("driver", **_gang("driver", SPARK)))
        await plane.passes(5)
        assert await plane.where("driver") == ""
        told = condition(await plane.record("driver"), "PodScheduled")["message"]
        assert told.startswith(
            "Application/default/gang waits: a placeholder for one of its task groups cannot be made"
        )
        assert "exceeded quota: few" in told
        assert await plane.events("FailedScheduling", "driver") == [told]
        await plane.change(RESOURCE_QUOTAS, "few", {"spec": {"hard": {"pods": "3"}}})
        await plane.passes(15)
        assert await plane.where("driver") == "n1"
        assert len(await _placeholders(plane)) == 2

    live(story)


def test_placeholders_keep_the_places_of_pods_that_come_later() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        judge = Judge(plane)
        await plane.apply(pod("driver", **_gang("driver", SPARK)))
        await plane.passes(5)
        assert await plane.where("driver") == "n1"
        kept = await _placeholders(plane)
        assert [record.data["spec"]["nodeName"] for record in kept] == ["n1", "n1"]
        assert all(record.metadata["ownerReferences"][0]["name"] == "driver" for record in kept)
        await plane.apply(_other("late"))
        await plane.passes(5)
        assert await plane.where("late") == "", "the room is the executors'"
        for name in ("executor-1", "executor-2"):
            await plane.apply(pod(name, **_gang("executors", SPARK)))
            await plane.passes(5)
            assert await plane.where(name) == "n1"
        assert await _placeholders(plane) == []
        assert await plane.where("late") == ""
        assert judge.faults == []

    live(story)


def test_those_beyond_the_minimum_and_of_no_group_wait_until_it_has_started() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        await plane.apply(_other("sits", cpu="2", run=50))
        await plane.passes(1)
        for number in range(4):
            await plane.apply(pod(f"worker-{number}", **_gang("workers", WORKERS)))
        await plane.passes(20)
        assert await plane.homes("worker") == [""] * 4
        told = condition(await plane.record("worker-3"), "PodScheduled")["message"]
        assert told == (
            "Pod/default/worker-3 waits until Application/default/gang has started: the members of its task groups "
            "come first."
        )
        await plane.passes(60)
        assert await plane.homes("worker") == ["n1"] * 4

    live(story)


def test_soft_after_the_time_out_pods_start_one_by_one() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        judge = Judge(plane)
        for number in range(3):
            parts = _gang("workers", WORKERS, placeholderTimeoutInSeconds=30, gangSchedulingStyle="Soft")
            await plane.apply(pod(f"worker-{number}", **parts))
        await plane.passes(29)
        assert await plane.homes("worker") == ["", "", ""]
        await plane.passes(3)
        assert await plane.homes("worker") == ["", "n1", "n1"]
        assert await _placeholders(plane) == []
        (told,) = await plane.events("GangScheduling", "worker-0")
        assert told.startswith("Application/default/gang starts pod by pod: within 30 seconds")
        assert judge.faults == []

    live(story)


def test_soft_after_the_time_out_a_pod_keeps_the_place_that_others_were_preempted_for() -> None:
    """What it was promised alone is not taken for a start of the whole, which would wait for ever."""

    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        others = {"labels": {"queue": "root.other", "applicationId": "sits"}}
        await plane.apply(replica_set("sits", replicas=3, **others))
        await plane.passes(5)
        large = task_groups(("workers", 2, "2"))
        parts = _gang("workers", large, placeholderTimeoutInSeconds=30, gangSchedulingStyle="Soft")
        await plane.apply(pod("worker", cpu="2", **parts))
        await plane.passes(60)
        assert await plane.homes("worker") == ["n1"]
        assert len(await plane.events("Preempted")) == 2

    live(story)


def test_soft_after_the_time_out_members_are_taken_before_those_who_waited_for_them() -> None:
    """Also where their queue shifts priorities: the application has the place of its first pod until that is over."""

    async def story(plane: Plane) -> None:
        shifted = tree("mine", cpu=4, preemption_delay="5s", priority_offset=5)
        await _cluster(plane, 2, below_root=(shifted, OTHER))
        judge = Judge(plane)
        parts = _gang("workers", WORKERS, placeholderTimeoutInSeconds=30, gangSchedulingStyle="Soft")
        await plane.apply(*(pod(f"worker-{number}", **parts) for number in range(4)))
        await plane.passes(32)
        assert await plane.homes("worker") == ["", "", "n1", "n1"]
        assert [await plane.where(f"worker-{number}") for number in range(4)] == ["n1", "n1", "", ""]
        assert judge.faults == []

    live(story)


def test_soft_after_the_time_out_the_most_important_pod_is_taken_first_wherever_the_application_stood() -> None:
    """The application stood where its first pod stands; from then on each of its pods stands where it does."""

    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        judge = Judge(plane)
        for name, value in (("low", 1), ("middle", 5), ("high", 9)):
            await plane.priority(name, value)
        said = _gang("workers", task_groups(("workers", 2, "1")), placeholderTimeoutInSeconds=15)
        apart = {**said, "labels": {"queue": "root.other", "applicationId": "gang"}}
        await plane.apply(pod("first", cpu="1", priority="low", **said))
        await plane.passes(2)
        await plane.apply(pod("beside", cpu="1", priority="middle", labels=apart["labels"]))
        await plane.apply(pod("second", cpu="1", priority="high", **apart))
        await plane.passes(10)
        assert [await plane.where(name) for name in ("first", "beside", "second")] == [""] * 3
        await plane.passes(10)
        assert [await plane.where(name) for name in ("first", "beside", "second")] == ["", "", "n1"]
        assert judge.faults == []

    live(story)


def test_hard_after_the_time_out_the_application_fails_and_its_pods_with_it() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        judge = Judge(plane)
        for number in range(4):
            parts = _gang("workers", WORKERS, placeholderTimeoutInSeconds=30, gangSchedulingStyle="Hard")
            await plane.apply(pod(f"worker-{number}", **parts))
        await plane.passes(29)
        assert await plane.homes("worker") == [""] * 4
        await plane.passes(3)
        for record in await plane.starting_with("worker"):
            status = record.data["status"]
            assert (status["phase"], status["reason"]) == ("Failed", "ResourceReservationTimeout")
            assert status["message"] == "Scheduling has timed out due to insufficient resources"
        (told,) = await plane.events("ApplicationFailed", "worker-0")
        assert "within 30 seconds there were not places for all 3 members" in told
        assert judge.faults == []

    live(story)


def test_placeholders_that_nobody_comes_for_go_after_the_time_out() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        await plane.apply(pod("driver", **_gang("driver", SPARK, placeholderTimeoutInSeconds=60)))
        await plane.passes(5)
        assert len(await _placeholders(plane)) == 2
        await plane.apply(_other("late", cpu="2"))
        await plane.passes(50)
        assert await plane.where("late") == ""
        await plane.passes(10)
        assert await _placeholders(plane) == []
        assert await plane.where("late") == "n1"

    live(story)


def test_placeholders_go_with_the_first_pod() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        await plane.apply(pod("driver", **_gang("driver", SPARK)))
        await plane.passes(5)
        assert len(await _placeholders(plane)) == 2
        await plane.store.delete(PODS, "driver", "default")
        await plane.passes(10)
        assert await _placeholders(plane) == []

    live(story)


def test_the_maximum_of_a_queue_counts_all_members() -> None:
    async def story(plane: Plane) -> None:
        most = {"vcore": "2"}
        await _cluster(plane, 9, below_root=(tree("mine", most=most), OTHER))
        for number in range(3):
            await plane.apply(pod(f"worker-{number}", **_gang("workers", WORKERS)))
        await plane.passes(20)
        assert await plane.homes("worker") == ["", "", ""]
        told = condition(await plane.record("worker-0"), "PodScheduled")["message"]
        assert "root.mine uses 2 of its maximum of 2 cpu, and it needs 1 more" in told

    live(story)


def test_others_make_way_for_the_whole_and_nobody_for_a_part() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        judge = Judge(plane)
        for number in range(4):
            await plane.apply(_other(f"other-{number}", leaves=3))
        await plane.passes(5)
        four = task_groups(("workers", 4, "1"))
        for number in range(4):
            await plane.apply(pod(f"too-many-{number}", **_gang("workers", four)))
        await plane.passes(20)
        assert await plane.homes("too-many") == [""] * 4, "the other queue keeps what it is guaranteed"
        assert all("deletionTimestamp" not in record.metadata for record in await plane.starting_with("other"))
        for number in range(4):
            await plane.store.delete(PODS, f"too-many-{number}", "default")
        for number in range(3):
            await plane.apply(pod(f"worker-{number}", **_gang("workers", WORKERS)))
        await plane.passes(20)
        assert all(await plane.homes("worker"))
        assert len(await plane.starting_with("other")) == 1
        assert judge.faults == []

    live(story)


def test_a_restart_while_victims_leave_or_time_passes_changes_nothing(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        for number in range(3):
            await plane.apply(_other(f"other-{number}", leaves=20))
        await plane.passes(5)
        two = task_groups(("workers", 2, "1"))
        await plane.apply(pod("worker-0", **_gang("workers", two)))
        await plane.passes(8)
        leaving = [one.name for one in await plane.starting_with("other") if "deletionTimestamp" in one.metadata]
        assert len(leaving) == 2
        kept = await _placeholders(plane)
        assert [record.data["status"]["nominatedNodeName"] for record in kept] == ["n1"]
        await plane.restart()
        await plane.apply(_other("late"))
        await plane.passes(5)
        await plane.restart()
        await plane.passes(30)
        assert await plane.where("worker-0") == "n1"
        assert [record.data["spec"]["nodeName"] for record in await _placeholders(plane)] == ["n1"]
        assert await plane.where("late") == ""
        still = [one.name for one in await plane.starting_with("other-")]
        assert len(still) == 1

    live(story, directory=tmp_path)
