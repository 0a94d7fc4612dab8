"""Jobs as their users see them: pods come and go, and the status counts right whatever happens."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import Any

import pytest

from reprieve.controllers.garbage import GarbageCollector
from reprieve.controllers.pods.job_tally import read_indexes, write_indexes
from reprieve.controllers.pods.jobs import JobController
from reprieve.manifests.kinds import JOBS, PODS, find_resource
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from tests.controllers.harness import (
    Agent,
    Lagging,
    Unreachable,
    Witness,
    condition_of,
    exists,
    in_virtual_time,
    job,
    live_through_crashes,
    pods_in,
    running,
    status_of,
    told,
    until,
)


async def is_over(store: EmbeddedStore, name: str = "j") -> bool:
    conditions = (await status_of(store, JOBS, name)).get("conditions", [])
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


async def active(store: EmbeddedStore) -> int:
    pods = await pods_in(store)
    return sum(
        pod.data["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod.metadata
        for pod in pods
    )


def run_job(manifest: dict[str, Any], seed: int = 0) -> tuple[dict[str, Any], Witness, list[str]]:
    """One Job from its creation to its end: its status, what was seen of its pods, and the events."""

    async def main(store: EmbeddedStore, clock: Clock) -> tuple[dict[str, Any], Witness, list[str]]:
        witness = Witness(store)
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, manifest)
            await until(lambda: is_over(store))
            await asyncio.sleep(5)
            held = [pod.name for pod in await pods_in(store) if pod.metadata.get("finalizers")]
            assert held == [], "pods of a Job that is over are not held back"
            return await status_of(store, JOBS, "j"), witness, await told(store)

    return in_virtual_time(main, seed)


def conditions(status: dict[str, Any]) -> dict[str, str]:
    """What ended a Job, and why."""
    over = (each for each in status["conditions"] if each["type"] in ("Complete", "Failed"))
    return {each["type"]: each["reason"] for each in over if each["status"] == "True"}


def test_completions_are_reached_with_no_more_pods_at_a_time_than_parallelism() -> None:
    status, witness, events = run_job(job(parallelism=3, completions=7))
    assert (status["succeeded"], witness.most, len(witness.created)) == (7, 3, 7)
    assert conditions(status) == {"Complete": "CompletionsReached"}
    assert status["completionTime"] > status["startTime"]
    assert "active" not in status
    assert "uncountedTerminatedPods" not in status
    assert events == ["Completed"]


def test_a_job_of_nothing_is_complete_at_once() -> None:
    status, witness, _ = run_job(job(completions=0))
    assert (conditions(status), witness.created) == ({"Complete": "CompletionsReached"}, set())


def test_a_work_queue_is_done_when_one_pod_has_succeeded_and_the_others_have_ended() -> None:
    status, witness, _ = run_job(job(parallelism=3))
    assert (status["succeeded"], len(witness.created)) == (3, 3)
    assert conditions(status) == {"Complete": "CompletionsReached"}


@pytest.mark.parametrize("limit", [0, 2])
def test_a_job_fails_when_more_pods_failed_than_its_limit_allows(limit: int) -> None:
    status, witness, events = run_job(job(exits=1, backoffLimit=limit, completions=2))
    assert status["failed"] == len(witness.created) == limit + 1
    assert conditions(status) == {"Failed": "BackoffLimitExceeded"}
    assert "completionTime" not in status
    assert events == ["BackoffLimitExceeded"]


@pytest.mark.parametrize("lives", [[], [1] * 10, [2] * 10])
def test_restarts_in_place_count_against_the_limit_too_and_are_not_forgotten_with_their_pods(lives: list[int]) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(Agent(store, clock)):
            async with running(JobController(store, clock)):
                manifest = job(runs=None, completions=2, backoffLimit=2, pods={"restartPolicy": "OnFailure"})
                await store.create(JOBS, manifest)
                await asyncio.sleep(10)
            (pod,) = await pods_in(store)
            restarted = {"status": {"containerStatuses": [{"name": "main", "restartCount": 2}]}}
            await store.patch(PODS, pod.name, pod.namespace, restarted, subresource="status")
            await live_through_crashes(store, lambda seen: [JobController(seen, clock)], lives, lambda: is_over(store))
            assert (await condition_of(store, "Failed"))["reason"] == "BackoffLimitExceeded"
            assert len(witness.created) == 1

    in_virtual_time(main)


def test_failed_pods_are_replaced_later_each_time() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> list[float]:
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(runs=1, exits=1, backoffLimit=3))
            await until(lambda: is_over(store))
            born = sorted(pod.manifest.metadata.creation_timestamp.timestamp() for pod in await pods_in(store))
            return [round(after - before) for before, after in pairwise(born)]

    gaps = in_virtual_time(main)
    assert gaps == sorted(gaps)
    assert len(set(gaps)) == 3


def test_a_job_that_takes_too_long_fails_and_its_pods_end() -> None:
    status, witness, events = run_job(job(runs=1000, activeDeadlineSeconds=30, parallelism=2, completions=2))
    assert conditions(status) == {"Failed": "DeadlineExceeded"}
    assert (status.get("active"), status["terminating"], witness.succeeded) == (None, 0, set())
    assert events == ["DeadlineExceeded"]


def test_a_finished_job_goes_when_its_time_to_live_is_over() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock), GarbageCollector(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(ttlSecondsAfterFinished=60))
            await until(lambda: is_over(store))
            await asyncio.sleep(50)
            assert await exists(store, JOBS, "j")
            await asyncio.sleep(15)
            assert not await exists(store, JOBS, "j")
            assert await pods_in(store) == []

    in_virtual_time(main)


def test_suspending_ends_the_pods_and_resuming_makes_new_ones() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(parallelism=2, completions=2, backoffLimit=0))
            await asyncio.sleep(5)
            await store.patch(JOBS, "j", "default", {"spec": {"suspend": True}})
            await asyncio.sleep(0.1)
            status = await status_of(store, JOBS, "j")
            assert ("startTime" in status, status.get("active"), status["terminating"]) == (False, None, 2)
            assert (await condition_of(store, "Suspended"))["status"] == "True"
            await asyncio.sleep(5)
            assert await pods_in(store) == []
            assert (await status_of(store, JOBS, "j"))["terminating"] == 0
            await store.patch(JOBS, "j", "default", {"spec": {"suspend": False}})
            await until(lambda: is_over(store))
            status = await status_of(store, JOBS, "j")
            assert (status["succeeded"], status.get("failed")) == (2, None), "suspending is no failure"
            assert (await condition_of(store, "Suspended"))["status"] == "False"
            assert (witness.most, len(witness.created)) == (2, 4)
            assert await told(store) == ["Suspended", "Resumed", "Completed"]

    in_virtual_time(main)


def test_a_job_that_is_created_suspended_makes_no_pods() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(suspend=True, activeDeadlineSeconds=5))
            await asyncio.sleep(60)
            assert await pods_in(store) == []
            assert (await condition_of(store, "Suspended"))["status"] == "True"
            assert not await is_over(store), "its time does not run"

    in_virtual_time(main)


@pytest.mark.parametrize(("policy", "replaced_after"), [(None, 0.1), ("Failed", 2)])
def test_a_preempted_pod_is_replaced_and_held_against_nobody(policy: str | None, replaced_after: float) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(backoffLimit=0, podReplacementPolicy=policy))
            for _ in range(5):
                await asyncio.sleep(5)
                await preempt(store)
                await asyncio.sleep(0.1)
                assert await active(store) == (1 if replaced_after < 1 else 0)
                await asyncio.sleep(replaced_after)
                assert await active(store) == 1
            await until(lambda: is_over(store))
            status = await status_of(store, JOBS, "j")
            assert (status["succeeded"], status.get("failed"), len(witness.created)) == (1, None, 6)

    in_virtual_time(main)


async def preempt(store: EmbeddedStore) -> None:
    (pod,) = [pod for pod in await pods_in(store) if "deletionTimestamp" not in pod.metadata]
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    said = {"status": {"conditions": [*pod.data["status"].get("conditions", []), condition]}}
    await store.patch(PODS, pod.name, pod.namespace, said, subresource="status")
    await store.delete(PODS, pod.name, pod.namespace)


def test_parallelism_can_be_raised_and_lowered_while_it_runs() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(runs=60, parallelism=2, completions=9))
            for parallelism in (5, 1, 0, 3):
                await asyncio.sleep(5)
                await store.patch(JOBS, "j", "default", {"spec": {"parallelism": parallelism}})
                await asyncio.sleep(1)
                assert await active(store) == parallelism
            await until(lambda: is_over(store))
            assert (await status_of(store, JOBS, "j"))["succeeded"] == 9

    in_virtual_time(main)


def test_pods_say_whose_they_are() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock)):
            made = await store.create(JOBS, job())
            await asyncio.sleep(1)
            (pod,) = await pods_in(store)
        assert pod.name.startswith("j-")
        labels = pod.metadata["labels"]
        assert labels["app"] == "a"
        assert labels["batch.kubernetes.io/job-name"] == "j"
        assert labels["batch.kubernetes.io/controller-uid"] == made.uid
        (owner,) = pod.metadata["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", made.uid, True)
        assert pod.data["spec"]["restartPolicy"] == "Never"

    in_virtual_time(main)


def test_each_index_of_an_indexed_job_succeeds_once_and_knows_itself() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(parallelism=2, completions=5, completionMode="Indexed"))
            await asyncio.sleep(5)
            victim = next(pod for pod in await pods_in(store) if pod.name.startswith("j-1-"))
            await store.delete(PODS, victim.name, "default")
            await until(lambda: is_over(store))
            status = await status_of(store, JOBS, "j")
            assert (status["succeeded"], status["completedIndexes"]) == (5, "0-4")
            assert witness.most == 2
            ended = [pod for pod in await pods_in(store) if pod.data["status"]["phase"] == "Succeeded"]
            indexes = [pod.metadata["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in ended]
            assert sorted(indexes) == ["0", "1", "2", "3", "4"]
            (variable,) = ended[0].data["spec"]["containers"][0]["env"]
            assert variable == {"name": "JOB_COMPLETION_INDEX", "value": indexes[0]}

    in_virtual_time(main)


@pytest.mark.parametrize("text", ["", "0", "0-2", "0-2,5", "1,3,5-9"])
def test_completed_indexes_are_written_as_they_are_read(text: str) -> None:
    assert write_indexes(read_indexes(text)) == text


def test_a_job_for_member_clusters_is_left_alone_as_long_as_a_policy_selects_it() -> None:
    policies = find_resource("propagationpolicies")
    assert policies is not None
    selectors = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j"}]
    policy = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"resourceSelectors": selectors}}

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(policies, policy)
        async with running(JobController(store, clock)):
            await store.create(JOBS, job())
            await store.create(JOBS, job("other"))
            await asyncio.sleep(5)
            assert [pod.name.split("-")[0] for pod in await pods_in(store)] == ["other"]
            await store.delete(policies, "p", "default")
            await asyncio.sleep(5)
            assert sorted(pod.name.split("-")[0] for pod in await pods_in(store)) == ["j", "other"]

    in_virtual_time(main)


def test_a_job_with_another_manager_is_left_alone() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock)):
            await store.create(JOBS, job(managedBy="example.com/somebody"))
            await asyncio.sleep(5)
            assert await pods_in(store) == []

    in_virtual_time(main)


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_the_pods_of_a_deleted_job_are_not_held_back(propagation: Any) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock), GarbageCollector(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(parallelism=2, completions=2))
            await asyncio.sleep(5)
            await store.delete(JOBS, "j", "default", propagation=propagation)
            await asyncio.sleep(60)
            assert not await exists(store, JOBS, "j")
            pods = await pods_in(store)
            assert len(pods) == (2 if propagation == "Orphan" else 0)
            assert all("finalizers" not in pod.metadata and "ownerReferences" not in pod.metadata for pod in pods)

    in_virtual_time(main)


def test_pods_that_cannot_be_created_are_told_and_tried_again() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        classes = find_resource("priorityclasses")
        assert classes is not None
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job(pods={"priorityClassName": "later"}))
            await asyncio.sleep(5)
            assert await pods_in(store) == []
            assert "FailedCreate" in await told(store)
            await store.create(classes, {"metadata": {"name": "later"}, "value": 5})
            await until(lambda: is_over(store))

    in_virtual_time(main)


def test_a_job_at_rest_is_not_written() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(JobController(store, clock), Agent(store, clock)):
            await store.create(JOBS, job())
            await until(lambda: is_over(store))
            await asyncio.sleep(60)
            before = store.version
        async with running(JobController(store, clock)):
            await asyncio.sleep(600)
        assert store.version == before

    in_virtual_time(main)


MANIFESTS: dict[str, dict[str, Any]] = {
    "completions": job(parallelism=3, completions=7, runs=3),
    "work queue": job(parallelism=3, runs=3),
    "indexed": job(parallelism=3, completions=6, completionMode="Indexed", runs=3),
    "failing": job(parallelism=2, completions=2, exits=1, backoffLimit=2, runs=3),
}
PODS_EXPECTED = {"completions": (7, 0), "work queue": (3, 0), "indexed": (6, 0)}


def check_the_end(what: str, status: dict[str, Any], witness: Witness) -> None:
    assert witness.most <= MANIFESTS[what]["spec"]["parallelism"], "never too many pods"
    assert "uncountedTerminatedPods" not in status
    if what == "failing":
        assert conditions(status) == {"Failed": "BackoffLimitExceeded"}
        assert status["failed"] == len(witness.created)
    else:
        assert (status["succeeded"], status.get("failed", 0)) == PODS_EXPECTED[what]
        assert len(witness.succeeded) == len(witness.created) == status["succeeded"], "each counted once"


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_controller_that_dies_between_any_two_writes_leaves_nothing_wrong(what: str) -> None:
    async def main(store: EmbeddedStore, clock: Clock, lives: list[int]) -> None:
        witness = Witness(store)
        async with running(Agent(store, clock)):
            await store.create(JOBS, MANIFESTS[what])
            await live_through_crashes(store, lambda seen: [JobController(seen, clock)], lives, lambda: is_over(store))
            check_the_end(what, await status_of(store, JOBS, "j"), witness)

    for seed in range(40):
        chance = random.Random(seed)  # noqa: S311
        lives = [1] * 200 if seed == 0 else [chance.randint(1, 6) for _ in range(30)]
        in_virtual_time(lambda store, clock, lives=lives: main(store, clock, lives), seed)  # type: ignore[misc]


@pytest.mark.parametrize("what", MANIFESTS)
def test_an_answer_that_is_lost_changes_nothing(what: str) -> None:
    async def main(store: EmbeddedStore, clock: Clock, lives: int) -> None:
        witness = Witness(store)
        controller: Any = JobController(Unreachable(store, lives), clock)
        async with running(Agent(store, clock), controller):
            await store.create(JOBS, MANIFESTS[what])
            await until(lambda: is_over(store))
            check_the_end(what, await status_of(store, JOBS, "j"), witness)

    for lives in range(1, 30):
        in_virtual_time(lambda store, clock, lives=lives: main(store, clock, lives))  # type: ignore[misc]


@pytest.mark.parametrize("what", MANIFESTS)
@pytest.mark.parametrize("lag", [0.0, 0.3, 2.5])
def test_a_watch_that_tells_late_or_is_lost_makes_no_pod_too_many(what: str, lag: float) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        far_away: Any = Lagging(store, lag, lost_after=5)
        async with running(Agent(store, clock), JobController(far_away, clock)):
            await store.create(JOBS, MANIFESTS[what])
            await until(lambda: is_over(store))
            check_the_end(what, await status_of(store, JOBS, "j"), witness)
            assert far_away.lost

    in_virtual_time(main)


@pytest.mark.parametrize("seed", range(20))
def test_pods_that_are_deleted_at_any_moment_while_controllers_die_are_made_good(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311

    async def disturb(store: EmbeddedStore) -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.1, 6))
            pods = [pod for pod in await pods_in(store) if "deletionTimestamp" not in pod.metadata]
            if pods:
                await store.delete(PODS, chance.choice(pods).name, "default", grace=chance.choice([None, 0]))

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        witness = Witness(store)
        async with running(Agent(store, clock)):
            await store.create(JOBS, job(parallelism=3, completions=8, runs=2, backoffLimit=0))
            disturber = asyncio.create_task(disturb(store))
            lives = [chance.randint(1, 8) for _ in range(20)]
            await live_through_crashes(store, lambda seen: [JobController(seen, clock)], lives, lambda: is_over(store))
            disturber.cancel()
            status = await status_of(store, JOBS, "j")
            assert (status["succeeded"], status.get("failed", 0)) == (8, 0)
            assert witness.most <= 3

    in_virtual_time(main, seed)
