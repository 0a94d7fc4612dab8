"""JobSets: Jobs that begin, fail and end together."""

from __future__ import annotations

from reprieve.manifests.kinds import JOB_SETS, JOBS
from tests.planes.running import Dict, Plane, condition, job_set, live


async def _status(plane: Plane) -> Dict:
    return dict((await plane.store.get(JOB_SETS, "train", "default")).data["status"])


async def _jobs(plane: Plane) -> list[str]:
    return sorted(record.name for record in (await plane.store.list(JOBS)).records)


def test_its_jobs_run_together_and_when_all_are_complete_it_is() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(job_set("train", driver={"run": 20}, worker={"replicas": 2, "pods": 2, "run": 30}))
        await plane.passes(5)
        assert await _jobs(plane) == ["train-driver-0", "train-worker-0", "train-worker-1"]
        assert len(await plane.starting_with("train")) == 5
        ready = {each["name"]: each["ready"] for each in (await _status(plane))["replicatedJobsStatus"]}
        assert ready == {"driver": 1, "worker": 2}
        await plane.passes(40)
        assert (await _status(plane))["terminalState"] == "Completed"
        await plane.rests()

    live(story)


def test_any_of_some_is_enough_and_the_others_go() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        made = job_set("train", driver={"run": 10}, worker={"pods": 2, "run": 1000})
        made["spec"]["successPolicy"] = {"operator": "Any", "targetReplicatedJobs": ["driver"]}
        await plane.apply(made)
        await plane.passes(20)
        assert (await _status(plane))["terminalState"] == "Completed"
        assert await _jobs(plane) == ["train-driver-0"]

    live(story)


def test_one_that_fails_makes_all_begin_anew_and_at_last_fails_all() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        made = job_set("train", driver={"run": 10, "exit_code": 1}, worker={"run": 1000})
        made["spec"]["failurePolicy"] = {"maxRestarts": 1}
        made["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
        await plane.apply(made)
        await plane.passes(5)
        first = (await plane.store.get(JOBS, "train-worker-0", "default")).uid
        await plane.passes(10)
        assert (await _status(plane))["restarts"] == 1
        assert (await plane.store.get(JOBS, "train-worker-0", "default")).uid != first
        await plane.passes(30)
        failed = condition(await plane.store.get(JOB_SETS, "train", "default"), "Failed")
        expected = "the Job train-driver-0 has failed; spec.failurePolicy.maxRestarts allows 1 restart"
        assert failed["message"] == expected
        assert await _jobs(plane) == ["train-driver-0"]

    live(story)


def test_a_suspended_one_has_suspended_jobs_that_go_on_when_it_does() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.node("n2", cpu="8", labels={"pool": "b"})
        await plane.apply(job_set("train", worker={"pods": 2, "run": 1000}))
        await plane.passes(5)
        await plane.change(JOB_SETS, "train", {"spec": {"suspend": True}})
        await plane.passes(5)
        assert await plane.starting_with("train") == []
        assert (await plane.store.get(JOBS, "train-worker-0", "default")).data["spec"]["suspend"] is True
        told = condition(await plane.store.get(JOB_SETS, "train", "default"), "Suspended")
        assert told["status"] == "True"
        made = (await plane.store.get(JOB_SETS, "train", "default")).data["spec"]["replicatedJobs"]
        made[0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "b"}
        await plane.change(JOB_SETS, "train", {"spec": {"suspend": False, "replicatedJobs": made}})
        await plane.passes(5)
        assert await plane.homes("train") == ["n2", "n2"]

    live(story)


def test_a_part_that_was_taken_out_while_it_was_suspended_goes_on_as_it_was() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(job_set("train", worker={"pods": 2, "run": 1000}))
        await plane.passes(5)
        await plane.change(JOB_SETS, "train", {"spec": {"suspend": True}})
        await plane.passes(5)
        await plane.change(JOB_SETS, "train", {"spec": {"suspend": False, "replicatedJobs": None}})
        await plane.passes(5)
        assert await plane.homes("train") == ["n1", "n1"]

    live(story)


def test_in_order_and_by_dependency() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        made = job_set("train", first={"run": 20}, second={"run": 20}, third={"run": 20})
        made["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
        made["spec"]["replicatedJobs"][2]["dependsOn"] = [{"name": "first", "status": "Complete"}]
        await plane.apply(made)
        await plane.passes(5)
        assert await _jobs(plane) == ["train-first-0", "train-second-0"], "the second has no room, and is not ready"
        await plane.passes(20)
        assert await _jobs(plane) == ["train-first-0", "train-second-0", "train-third-0"]
        await plane.passes(60)
        assert (await _status(plane))["terminalState"] == "Completed"

    live(story)
