"""Admission checks: quota first, then what outside controllers say, on a whole control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reprieve
from reprieve.manifests.kinds import ADMISSION_CHECKS, CLUSTER_QUEUES, QUOTA_WORKLOADS
from reprieve.stores.errors import NotFound
from tests.builders.quota import KUEUE, flavor, queue, workload
from tests.planes.rest import could_still_act
from tests.planes.running import Dict, Plane, condition, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, shared, work


def check(name: str, *, active: bool = True) -> Dict:
    said = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    made: Dict = {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": name}}
    return {**made, "spec": {"controllerName": "example.com/fuel"}, "status": {"conditions": [said] if active else []}}


async def add_check(plane: Plane, name: str, *, active: bool = True) -> None:
    made = check(name, active=active)
    await plane.apply({key: value for key, value in made.items() if key != "status"})
    await plane.store.patch(ADMISSION_CHECKS, name, "", {"status": made["status"]}, subresource="status")


def checked(*names: str, **rules: Any) -> Dict:
    """The part of a queue that names checks, all for all flavors but those in `rules`."""
    named = [{"name": name} for name in names] + [{"name": key, "onFlavors": value} for key, value in rules.items()]
    return {"admissionChecksStrategy": {"admissionChecks": named}}


async def says(plane: Plane, job: str, name: str, state: str, **more: Any) -> None:
    """What the controller of a check writes."""
    record = await plane.workload(job)
    states = record.data["status"]["admissionChecks"]
    said = {"name": name, "state": state, "message": "", "lastTransitionTime": "2026-01-01T12:00:00Z", **more}
    assert name in [each["name"] for each in states]
    patch = {"status": {"admissionChecks": [said if each["name"] == name else each for each in states]}}
    await plane.store.patch(QUOTA_WORKLOADS, record.name, "default", patch, subresource="status")


async def states(plane: Plane, job: str) -> dict[str, str]:
    found = (await plane.workload(job)).data["status"].get("admissionChecks", [])
    return {each["name"]: each["state"] for each in found}


async def said(plane: Plane, job: str, kind: str) -> tuple[str, str]:
    found = condition(await plane.workload(job), kind)
    return found.get("status", ""), found.get("reason", "")


def test_quota_is_reserved_first_and_the_job_starts_when_all_checks_are_ready(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await add_check(plane, "license")
        await company(plane, team={"cpu": 1, **checked("fuel", "license")})
        await plane.apply(work("work", "team"))
        await plane.passes(1)
        await plane.apply(work("next", "team"))
        await plane.passes(5)
        assert await states(plane, "work") == {"fuel": "Pending", "license": "Pending"}
        assert await said(plane, "work", "QuotaReserved") == ("True", "QuotaReserved")
        assert await said(plane, "work", "Admitted") == ("False", "UnsatisfiedChecks")
        assert (await plane.job("work")).data["spec"]["suspend"] is True
        status = (await plane.store.get(CLUSTER_QUEUES, "team")).data["status"]
        assert (status["reservingWorkloads"], status["admittedWorkloads"]) == (1, 0)
        assert admitted_by(await plane.workload("next")) == ""
        await says(plane, "work", "fuel", "Ready")
        await plane.passes(5)
        assert await running(plane, "work") == 0
        await plane.restart()
        await says(plane, "work", "license", "Ready")
        await plane.passes(5)
        assert await said(plane, "work", "Admitted") == ("True", "Admitted")
        assert await running(plane, "work") == 1
        assert "All admission checks are ready: it may run." in await plane.events("Admitted")
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story, directory=tmp_path)


def test_a_retry_gives_the_quota_back_and_asks_again_when_the_check_says(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(work("work", "team"))
        await plane.passes(5)
        await says(plane, "work", "fuel", "Retry", message="no truck", requeueAfterSeconds=300)
        await plane.passes(5)
        record = await plane.workload("work")
        assert admitted_by(record) == ""
        assert await said(plane, "work", "Evicted") == ("True", "AdmissionCheck")
        want = "The AdmissionCheck fuel asks for it to be tried again. no truck."
        assert condition(record, "Evicted")["message"] == want
        assert await said(plane, "work", "Requeued") == ("False", "AdmissionCheck")
        assert await states(plane, "work") == {"fuel": "Pending"}
        assert record.data["status"]["admissionChecks"][0]["message"].endswith("Previously: Retry")
        await plane.restart()
        await plane.passes(280)
        assert admitted_by(await plane.workload("work")) == ""
        await plane.passes(20)
        assert admitted_by(await plane.workload("work")) == "team"
        assert await said(plane, "work", "Requeued") == ("True", "BackoffFinished")
        await says(plane, "work", "fuel", "Ready")
        await plane.passes(5)
        assert await running(plane, "work") == 1

    live(story, directory=tmp_path)


def test_while_one_waits_to_try_again_the_next_has_its_turn() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(work("first", "team", run=20))
        await plane.passes(1)
        await plane.apply(work("second", "team", run=20))
        await plane.passes(5)
        await says(plane, "first", "fuel", "Retry")
        await plane.passes(5)
        # Evicted for a check, it counts as new: the second is older now.
        assert (admitted_by(await plane.workload("first")), admitted_by(await plane.workload("second"))) == ("", "team")
        await says(plane, "second", "fuel", "Ready")
        await plane.passes(40)
        assert admitted_by(await plane.workload("first")) == "team"

    live(story)


def test_a_rejected_workload_is_made_inactive_also_while_it_runs() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 2, **checked("fuel")})
        await plane.apply(work("waiting", "team"), work("running", "team"))
        await plane.passes(5)
        await says(plane, "running", "fuel", "Ready")
        await plane.passes(5)
        assert await running(plane, "running") == 1
        for name in ("waiting", "running"):
            await says(plane, name, "fuel", "Rejected", message="never")
            await plane.passes(10)
            record = await plane.workload(name)
            assert record.data["spec"]["active"] is False
            assert await said(plane, name, "Evicted") == ("True", "DeactivatedDueToAdmissionCheck")
            assert condition(record, "Evicted")["message"] == "The AdmissionCheck fuel rejected it. never."
            assert admitted_by(record) == ""
        assert await running(plane, "running") == 0
        await plane.change(QUOTA_WORKLOADS, (await plane.workload("running")).name, {"spec": {"active": True}})
        await plane.passes(5)
        assert await states(plane, "running") == {"fuel": "Pending"}
        await says(plane, "running", "fuel", "Ready")
        await plane.passes(5)
        assert await running(plane, "running") == 1

    live(story)


def test_a_check_for_one_flavor_is_asked_only_there() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        for name in ("n1", "n2"):
            await plane.node(name, cpu="8")
        quota = {"reserved": {"cpu": 1}, "spot": {"cpu": 1}}
        await plane.apply(flavor("reserved"), flavor("spot"), *queue("team", quota, **checked(fuel=["spot"])))
        for name in ("first", "second"):
            await plane.apply(work(name, "team"))
            await plane.passes(5)
        assert (await running(plane, "first"), await running(plane, "second")) == (1, 0)
        assert (await states(plane, "first"), await states(plane, "second")) == ({}, {"fuel": "Pending"})

    live(story)


def test_what_a_check_adds_is_on_the_pods_and_is_taken_back_again() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team=shared(1, **checked("fuel")))
        await plane.node("n3", cpu="8", labels={"pool": "a", "lane": "7"})
        await plane.apply(work("work", "team", priority="low"))
        await plane.passes(5)
        before = (await plane.job("work")).data["spec"]["template"]
        added = {"labels": {"truck": "t"}, "annotations": {"driver": "d"}, "nodeSelector": {"lane": "7"}}
        await says(plane, "work", "fuel", "Ready", podSetUpdates=[{"name": "main", **added}])
        await plane.passes(5)
        (made,) = await plane.starting_with("work")
        assert (made.labels["truck"], made.annotations["driver"]) == ("t", "d")
        assert made.data["spec"]["nodeName"] == "n3"
        await plane.apply(work("urgent", "team", priority="high"))
        await plane.passes(10)
        assert (await plane.job("work")).data["spec"]["template"] == before
        assert admitted_by(await plane.workload("urgent")) == "team"

    live(story)


def test_a_check_that_contradicts_the_pods_makes_the_workload_inactive_and_says_why() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(work("work", "team", pod_labels={"truck": "mine"}))
        await plane.passes(5)
        updates = [{"name": "main", "labels": {"truck": "yours"}}]
        await says(plane, "work", "fuel", "Ready", podSetUpdates=updates)
        await plane.passes(5)
        want = "The AdmissionCheck fuel sets the label truck of the pod set main, which is set otherwise already."
        assert condition(await plane.workload("work"), "Evicted")["message"] == want

    live(story)


def test_pods_in_queues_pass_checks_too() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(pod("single", labels={QUEUE: "team"}))
        await plane.passes(5)
        assert await plane.where("single") == ""
        await says(plane, "single", "fuel", "Ready", podSetUpdates=[{"name": "main", "labels": {"truck": "t"}}])
        await plane.passes(5)
        assert await plane.where("single") in ("n1", "n2")
        assert (await plane.record("single")).labels["truck"] == "t"

    live(story)


def test_a_queue_without_its_check_admits_nobody_and_says_which() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(work("work", "team"))
        await plane.passes(5)

        async def active() -> tuple[str, str, str]:
            found = condition(await plane.store.get(CLUSTER_QUEUES, "team"), "Active")
            return found["status"], found["reason"], found["message"]

        want = "It admits nobody: the AdmissionCheck fuel does not exist."
        assert await active() == ("False", "AdmissionCheckNotFound", want)
        assert (
            "the AdmissionCheck fuel does not exist"
            in condition(await plane.workload("work"), "QuotaReserved")["message"]
        )
        await add_check(plane, "fuel", active=False)
        await plane.passes(5)
        want = "It admits nobody: no controller has made the AdmissionCheck fuel active."
        assert await active() == ("False", "AdmissionCheckInactive", want)
        patch = {"status": check("fuel")["status"]}
        await plane.store.patch(ADMISSION_CHECKS, "fuel", "", patch, subresource="status")
        await plane.passes(5)
        assert admitted_by(await plane.workload("work")) == "team"

    live(story)


def test_a_check_is_kept_while_a_queue_names_it_and_one_that_is_taken_from_the_queue_is_not_asked() -> None:
    async def story(plane: Plane) -> None:
        await add_check(plane, "fuel")
        await company(plane, team={"cpu": 1, **checked("fuel")})
        await plane.apply(work("work", "team"))
        await plane.passes(5)
        await plane.store.delete(ADMISSION_CHECKS, "fuel")
        await plane.passes(5)
        assert "deletionTimestamp" in (await plane.store.get(ADMISSION_CHECKS, "fuel")).metadata
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"admissionChecksStrategy": None}})
        await plane.passes(5)
        with pytest.raises(NotFound):
            await plane.store.get(ADMISSION_CHECKS, "fuel")
        assert await states(plane, "work") == {}
        assert await running(plane, "work") == 1

    live(story)


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([], "the AdmissionCheck fuel does not exist"),
        ([check("fuel", active=False)], "no controller has made the AdmissionCheck fuel active"),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_plan_over_files_knows_which_queues_are_open(checks: list[Dict], why: str, version: str) -> None:
    named = checked("fuel") if version == "v1beta2" else {"admissionChecks": ["fuel"]}
    made = queue("team", {"default": {"cpu": 1}}, **named)
    made[0]["apiVersion"] = f"kueue.x-k8s.io/{version}"
    objects = [flavor(), *made, workload("w", "team", cpu=1)]
    made_of = reprieve.plan([*objects, *checks], preemptor="Workload/default/w").decision
    assert made_of.outcome == "Unschedulable"
    assert made_of.message == f"Workload/default/w stays pending: the ClusterQueue team admits nobody: {why}."
    assert reprieve.plan([*objects, check("fuel")], preemptor="Workload/default/w").decisions[0].outcome == "Fits"
