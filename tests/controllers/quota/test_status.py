"""What stands in the status of queues."""

from __future__ import annotations

import asyncio

from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUOTA_WORKLOADS, RESOURCE_FLAVORS
from reprieve.stores.records import Record
from tests.builders.quota import flavor, queue, workload
from tests.controllers.quota.scenes import Scene, condition, message, play


def counts(record: Record) -> tuple[int, int, int]:
    status = record.data["status"]
    return status["pendingWorkloads"], status["reservingWorkloads"], status["admittedWorkloads"]


def line(record: Record, flavor: str, field: str = "flavorsUsage") -> dict[str, str]:
    (found,) = (each["resources"] for each in record.data["status"][field] if each["name"] == flavor)
    amounts: dict[str, str] = found[0]
    return amounts


def test_an_empty_queue_says_that_nothing_is_used() -> None:
    async def act(scene: Scene) -> None:
        await scene.settle()
        team = await scene.get(CLUSTER_QUEUES, "team")
        assert counts(team) == (0, 0, 0)
        assert line(team, "gpu") == {"name": "cpu", "total": "0", "borrowed": "0"}
        assert condition(team, "Active") == ("True", "Ready")
        assert condition(await scene.get(LOCAL_QUEUES, "team"), "Active") == ("True", "Ready")

    play(act)


def test_usage_stands_in_both_queues_with_what_is_borrowed_in_the_upper() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("a", "team", cpu=6), workload("b", "team", cpu=1))
        await scene.admit(await scene.get(QUOTA_WORKLOADS, "a"))
        await scene.patch(
            QUOTA_WORKLOADS,
            "a",
            {
                "status": {
                    "admission": {
                        "podSetAssignments": [
                            {"name": "main", "count": 1, "flavors": {"cpu": "gpu"}, "resourceUsage": {"cpu": "6"}}
                        ]
                    }
                }
            },
            "status",
        )
        await scene.settle()
        team, local = await scene.get(CLUSTER_QUEUES, "team"), await scene.get(LOCAL_QUEUES, "team")
        assert counts(team) == counts(local) == (1, 1, 1)
        assert line(team, "gpu") == {"name": "cpu", "total": "6", "borrowed": "2"}
        assert line(team, "gpu", "flavorsReservation") == {"name": "cpu", "total": "6", "borrowed": "2"}
        assert line(team, "spot") == {"name": "cpu", "total": "0", "borrowed": "0"}
        assert line(local, "gpu") == {"name": "cpu", "total": "6"}

    play(act)


def test_what_is_reserved_and_not_admitted_is_not_in_use() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("a", "team", cpu=1))
        await scene.admit(await scene.workload())
        made = await scene.workload()
        reserved = [each for each in made.data["status"]["conditions"] if each["type"] != "Admitted"]
        await scene.patch(QUOTA_WORKLOADS, "a", {"status": {"conditions": reserved}}, "status")
        await scene.settle()
        team = await scene.get(CLUSTER_QUEUES, "team")
        assert counts(team) == (0, 1, 0)
        assert line(team, "gpu", "flavorsReservation")["total"] == "1"
        assert line(team, "gpu")["total"] == "0"

    play(act)


def test_finished_and_deleted_workloads_are_not_counted() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("a", "team", cpu=1), workload("b", "team", cpu=1))
        await scene.admit(await scene.get(QUOTA_WORKLOADS, "a"))
        finished = [{"type": "Finished", "status": "True", "reason": "JobFinished", "message": ""}]
        await scene.patch(QUOTA_WORKLOADS, "a", {"status": {"conditions": finished}}, "status")
        await scene.settle()
        assert counts(await scene.get(CLUSTER_QUEUES, "team")) == (1, 0, 0)
        await scene.store.delete(QUOTA_WORKLOADS, "b", "default")
        await scene.settle()
        assert counts(await scene.get(CLUSTER_QUEUES, "team")) == (0, 0, 0)

    play(act)


def test_a_queue_that_is_stopped_or_lacks_a_flavor_says_so_and_counts_on() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("a", "team", cpu=1))
        await scene.store.delete(RESOURCE_FLAVORS, "spot")
        await scene.settle()
        team, local = await scene.get(CLUSTER_QUEUES, "team"), await scene.get(LOCAL_QUEUES, "team")
        assert condition(team, "Active") == ("False", "FlavorNotFound")
        assert "spot" in message(team, "Active")
        assert condition(local, "Active") == ("False", "ClusterQueueIsInactive")
        assert counts(team) == counts(local) == (1, 0, 0)
        await scene.create(flavor("spot"))
        await scene.patch(CLUSTER_QUEUES, "team", {"spec": {"stopPolicy": "Hold"}})
        await scene.settle()
        team = await scene.get(CLUSTER_QUEUES, "team")
        assert condition(team, "Active") == ("False", "Stopped")
        await scene.patch(CLUSTER_QUEUES, "team", {"spec": {"stopPolicy": "None"}})
        await scene.settle()
        assert condition(await scene.get(CLUSTER_QUEUES, "team"), "Active") == ("True", "Ready")

    play(act)


def test_a_local_queue_that_leads_nowhere_says_so() -> None:
    async def act(scene: Scene) -> None:
        upper, lost = queue("lost", {"gpu": {"cpu": 1}})
        await scene.create(lost, workload("a", "lost", cpu=1))
        await scene.settle()
        local = await scene.get(LOCAL_QUEUES, "lost")
        assert condition(local, "Active") == ("False", "ClusterQueueDoesNotExist")
        assert counts(local) == (1, 0, 0)
        await scene.create(upper)
        await scene.settle()
        assert counts(await scene.get(CLUSTER_QUEUES, "lost")) == (1, 0, 0)
        assert condition(await scene.get(LOCAL_QUEUES, "lost"), "Active") == ("True", "Ready")

    play(act)


def test_a_burst_is_one_write_for_each_queue_that_it_is_about_and_quiet_is_none() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(*queue("quiet", {"gpu": {"cpu": 1}}))
        await scene.settle()
        before = await scene.get(CLUSTER_QUEUES, "team")
        quiet = await scene.get(CLUSTER_QUEUES, "quiet")
        writes: set[int] = set()
        scene.check = lambda: writes.update(each.version for each in scene.now(CLUSTER_QUEUES) if each.name == "team")
        for number in range(50):
            await scene.create(workload(f"w{number}", "team", cpu=1))
        await scene.settle()
        assert writes - {before.version} == {(await scene.get(CLUSTER_QUEUES, "team")).version}
        assert counts(await scene.get(CLUSTER_QUEUES, "team")) == (50, 0, 0)
        assert (await scene.get(CLUSTER_QUEUES, "quiet")).version == quiet.version
        version = scene.store.version
        scene.start()
        await scene.settle()
        assert scene.store.version == version

    play(act)


def test_a_status_that_somebody_overwrites_is_put_right() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("a", "team", cpu=1))
        await scene.settle()
        await scene.patch(CLUSTER_QUEUES, "team", {"status": {"pendingWorkloads": 7}}, "status")
        await asyncio.sleep(5)
        assert counts(await scene.get(CLUSTER_QUEUES, "team")) == (1, 0, 0)

    play(act)
