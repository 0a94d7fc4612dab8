"""Queues and flavors that are deleted while they are in use are kept, say why, and go by themselves afterwards."""

from __future__ import annotations

from pathlib import Path

from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import NotFound
from reprieve.stores.records import Record
from tests.builders.quota import flavor, queue
from tests.planes.rest import could_still_act
from tests.planes.running import Plane, condition, live
from tests.scheduler.quota.companies import admitted_by, company, running, shared, work

FINALIZER = "kueue.x-k8s.io/resource-in-use"


async def found(plane: Plane, resource: Resource, name: str) -> Record | None:
    try:
        return await plane.store.get(resource, name, "default" if resource.namespaced else "")
    except NotFound:
        return None


async def active(plane: Plane, name: str) -> tuple[str, str, str]:
    said = condition(await plane.store.get(CLUSTER_QUEUES, name), "Active")
    return said["status"], said["reason"], said["message"]


def test_a_cluster_queue_goes_when_the_last_workload_has_given_back_its_quota(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("first", "team", run=60), work("second", "team", run=120))
        await plane.passes(5)
        assert (await plane.store.get(CLUSTER_QUEUES, "team")).metadata["finalizers"] == [FINALIZER]
        await plane.store.delete(CLUSTER_QUEUES, "team")
        await plane.apply(work("late", "team"))
        await plane.passes(5)
        want = "It is being deleted, and admits nobody. It is kept until 2 workloads have given back their quota."
        assert await active(plane, "team") == ("False", "Terminating", want)
        assert (await running(plane, "first"), await running(plane, "second")) == (1, 1)
        assert (
            "the ClusterQueue team is being deleted"
            in condition(await plane.workload("late"), "QuotaReserved")["message"]
        )
        await plane.restart()
        await plane.passes(60)
        want = "It is being deleted, and admits nobody. It is kept until one workload has given back its quota."
        assert await active(plane, "team") == ("False", "Terminating", want)
        assert await could_still_act(plane) == []
        await plane.passes(60)
        assert condition(await plane.job("second"), "Complete")["status"] == "True"
        assert await found(plane, CLUSTER_QUEUES, "team") is None
        assert "does not exist" in condition(await plane.workload("late"), "QuotaReserved")["message"]
        told = set(await plane.events("InUse", about="team"))
        names = [(await plane.workload(name)).unit for name in ("first", "second")]
        kept = "The ClusterQueue team is kept until it is no longer in use: by"
        assert told == {f"{kept} {names[0]} and {names[1]}.", f"{kept} {names[1]}."}

    live(story, directory=tmp_path)


def test_a_queue_that_is_deleted_keeps_nothing_for_those_who_wait_in_it() -> None:
    """Its head reserves its nominal quota no more, so that others borrow at once."""

    async def story(plane: Plane) -> None:
        await company(plane, mine=shared(2, reclaim="LowerPriority"), theirs=shared(2))
        await plane.apply(work("all", "theirs", cpu=2), work("held", "mine", cpu=1))
        await plane.passes(5)
        await plane.apply(work("large", "mine", cpu=2))
        await plane.passes(5)
        await plane.apply(work("borrower", "theirs", cpu=1))
        await plane.passes(5)
        assert admitted_by(await plane.workload("borrower")) == ""
        await plane.store.delete(CLUSTER_QUEUES, "mine")
        await plane.passes(5)
        assert admitted_by(await plane.workload("borrower")) == "theirs"
        assert await could_still_act(plane) == []

    live(story)


def test_a_cluster_queue_that_nobody_uses_goes_at_once() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("large", "team", cpu=3))
        await plane.passes(5)
        await plane.store.delete(CLUSTER_QUEUES, "team")
        await plane.passes(1)
        assert await found(plane, CLUSTER_QUEUES, "team") is None

    live(story)


def test_a_flavor_goes_when_no_queue_names_it_any_more(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2}, others={"cpu": 2})
        await plane.apply(flavor("spare"))
        await plane.passes(2)
        assert (await plane.store.get(RESOURCE_FLAVORS, "default")).metadata["finalizers"] == [FINALIZER]
        for name in ("default", "spare"):
            await plane.store.delete(RESOURCE_FLAVORS, name)
        await plane.passes(2)
        assert await found(plane, RESOURCE_FLAVORS, "spare") is None
        kept = "The ResourceFlavor default is kept until it is no longer in use: by"
        assert await plane.events("InUse", about="default") == [f"{kept} ClusterQueue others and ClusterQueue team."]
        await plane.apply(work("work", "team"))  # queues go on as long as it is there
        await plane.passes(2)
        assert admitted_by(await plane.workload("work")) == "team"
        await plane.store.delete(CLUSTER_QUEUES, "others")
        await plane.restart()
        await plane.passes(2)
        assert await found(plane, RESOURCE_FLAVORS, "default") is not None
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"resourceGroups": []}})
        await plane.passes(2)
        assert await found(plane, RESOURCE_FLAVORS, "default") is None

    live(story, directory=tmp_path)


def test_a_local_queue_goes_at_once_and_who_was_admitted_stays() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("work", "team", run=60))
        await plane.passes(5)
        await plane.store.delete(LOCAL_QUEUES, "team", "default")
        await plane.passes(1)
        assert await found(plane, LOCAL_QUEUES, "team") is None
        assert await running(plane, "work") == 1
        await plane.passes(70)
        assert condition(await plane.workload("work"), "Finished")["status"] == "True"

    live(story)


def test_a_queue_of_the_same_name_can_be_made_afterwards() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(work("first", "team", cpu=2, run=20), work("second", "team", cpu=2))
        await plane.passes(5)
        await plane.store.delete(CLUSTER_QUEUES, "team")
        await plane.passes(30)
        await plane.apply(queue("team", {"default": {"cpu": 2}})[0])
        await plane.passes(5)
        assert admitted_by(await plane.workload("second")) == "team"

    live(story)
