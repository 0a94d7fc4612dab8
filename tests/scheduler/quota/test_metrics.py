"""Kueue's figures, under Kueue's names: what has happened is counted once, and what is so is told as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reprieve.configuration import FairSharingSettings, Settings
from reprieve.manifests.kinds import CLUSTER_QUEUES, JOBS, QUOTA_WORKLOADS
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import Plane, job, live

Counted = Callable[..., float | None]
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def counted_by(plane: Plane) -> Counted:
    registry = plane.plane.metrics_registry
    return lambda metric, /, **labels: registry.get_sample_value(f"kueue_{metric}", labels)


def pending(counted: Counted, name: str) -> tuple[float | None, float | None]:
    """Active and inadmissible."""
    statuses = ("active", "inadmissible")
    active, inadmissible = (counted("pending_workloads", cluster_queue=name, status=each) for each in statuses)
    return active, inadmissible


def test_one_workload_from_its_queue_to_its_eviction() -> None:
    async def story(plane: Plane) -> None:
        counted = counted_by(plane)
        await plane.apply(flavor(), *queue("team", {"default": {"cpu": (4, 2, 1)}}, cohort="all"))
        await plane.node("n1", cpu="8")
        await plane.passes(5)
        assert pending(counted, "team") == (0, 0)
        assert counted("admission_attempts_total", result="success") is None, "nobody has asked"
        await plane.apply(job("first", replicas=3, run=1000, labels=QUEUE))
        await plane.passes(5)
        assert counted("quota_reserved_workloads_total", cluster_queue="team") == 1
        assert counted("admitted_workloads_total", cluster_queue="team") == 1
        assert counted("local_queue_admitted_workloads_total", name="team", namespace="default") == 1
        assert counted("admission_attempts_total", result="success") == 1
        assert counted("admission_wait_time_seconds_count", cluster_queue="team") == 1
        waited = counted("admission_wait_time_seconds_sum", cluster_queue="team")
        assert waited is not None
        assert waited < 2
        for name in ("reserving_active_workloads", "admitted_active_workloads"):
            assert counted(name, cluster_queue="team") == 1
        place = {"cohort": "all", "cluster_queue": "team", "flavor": "default", "resource": "cpu"}
        assert counted("cluster_queue_resource_usage", **place) == 3
        assert counted("cluster_queue_resource_reservation", **place) == 3
        assert counted("cluster_queue_nominal_quota", **place) == 4
        assert counted("cluster_queue_borrowing_limit", **place) == 2
        assert counted("cluster_queue_lending_limit", **place) == 1
        # Whoever does not fit is tried, and then waits until something changes.
        await plane.apply(job("second", replicas=4, run=1000, labels=QUEUE))
        await plane.passes(100)
        assert pending(counted, "team") == (0, 1)
        assert counted("admission_attempts_total", result="inadmissible") == 1
        # Evicted: counted when it happens, with its reason; the next one has waited.
        await plane.change(QUOTA_WORKLOADS, (await plane.workload("first")).name, {"spec": {"active": False}})
        await plane.passes(10)
        assert counted("evicted_workloads_total", cluster_queue="team", reason="Deactivated") == 1
        assert counted("admitted_workloads_total", cluster_queue="team") == 2
        waited = counted("admission_wait_time_seconds_sum", cluster_queue="team")
        assert waited is not None
        assert 100 <= waited < 110
        assert pending(counted, "team") == (0, 0)

    live(story)


def test_preemptions_are_counted_for_the_queue_that_preempts() -> None:
    async def story(plane: Plane) -> None:
        counted = counted_by(plane)
        mine = queue("mine", {"default": {"cpu": 4}}, cohort="all", reclaim="Any", within="LowerPriority")
        await plane.apply(flavor(), *mine, *queue("theirs", {"default": {"cpu": 0}}, cohort="all"))
        await plane.apply(workload("borrower", "theirs", cpu=3), workload("low", "mine", cpu=1))
        await plane.passes(5)
        await plane.apply(workload("owner", "mine", cpu=4, priority=5))
        await plane.passes(5)
        for reason in ("InCohortReclamation", "InClusterQueue"):
            assert counted("preempted_workloads_total", preempting_cluster_queue="mine", reason=reason) == 1
        for name in ("mine", "theirs"):
            assert counted("evicted_workloads_total", cluster_queue=name, reason="Preempted") == 1

    live(story)


def test_statuses_and_strict_queues() -> None:
    async def story(plane: Plane) -> None:
        counted = counted_by(plane)
        strict = queue("strict", {"default": {"cpu": 1}}, queueingStrategy="StrictFIFO")
        await plane.apply(flavor(), *strict, *queue("broken", {"missing": {"cpu": 1}}))
        await plane.apply(workload("a", "strict", cpu=2), workload("c", "broken", cpu=1))
        await plane.passes(5)
        await plane.apply(workload("b", "strict", cpu=1))
        await plane.passes(60)
        assert pending(counted, "strict") == (2, 0), "nobody is put aside in a strict queue"
        assert pending(counted, "broken") == (0, 1)
        for name, status in (("strict", "active"), ("broken", "pending")):
            assert counted("cluster_queue_status", cluster_queue=name, status=status) == 1
        assert counted("cluster_queue_status", cluster_queue="broken", status="active") == 0
        assert counted("local_queue_status", name="broken", namespace="default", active="False") == 1
        await plane.store.delete(CLUSTER_QUEUES, "broken")
        await plane.passes(60)
        assert pending(counted, "broken") == (None, None), "what is gone has no figures"

    live(story)


def test_what_was_there_before_a_restart_is_not_counted_again(tmp_path: object) -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(flavor(), *queue("team", {"default": {"cpu": 2}}), workload("a", "team", cpu=1))
        await plane.passes(5)
        assert counted_by(plane)("admitted_workloads_total", cluster_queue="team") == 1
        await plane.restart()
        await plane.passes(5)
        counted = counted_by(plane)
        assert counted("admitted_workloads_total", cluster_queue="team") is None
        assert counted("admitted_active_workloads", cluster_queue="team") == 1
        await plane.apply(workload("b", "team", cpu=1))
        await plane.passes(5)
        assert counted("admitted_workloads_total", cluster_queue="team") == 1

    live(story, directory=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", ["1", "0"])
def test_shares_are_told_where_they_count(weight: str) -> None:
    async def story(plane: Plane) -> None:
        team = queue("team", {"default": {"cpu": 0}}, cohort="all", weight=weight)
        await plane.apply(flavor(), *team, *queue("other", {"default": {"cpu": 10}}, cohort="all"))
        await plane.apply(workload("a", "team", cpu=5))
        await plane.passes(5)
        share = counted_by(plane)("cluster_queue_weighted_share", cluster_queue="team")
        assert share == (500 if weight == "1" else 2**63 - 1)

    live(story, Settings(fair_sharing=FairSharingSettings(enable=True)))


def test_a_job_that_comes_back_is_counted_each_time() -> None:
    async def story(plane: Plane) -> None:
        counted = counted_by(plane)
        await plane.apply(flavor(), *queue("team", {"default": {"cpu": 1}}, within="LowerPriority"))
        await plane.node("n1", cpu="8")
        await plane.apply(job("low", run=500, labels=QUEUE))
        await plane.passes(10)
        high = job("high", run=50, labels={**QUEUE, "kueue.x-k8s.io/priority-class": "high"})
        above = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 9}
        await plane.apply({**above, "metadata": {"name": "high"}}, high)
        await plane.passes(300)
        assert (await plane.store.get(JOBS, "high", "default")).data["status"]["succeeded"] == 1
        assert counted("admitted_workloads_total", cluster_queue="team") == 3
        assert counted("evicted_workloads_total", cluster_queue="team", reason="Preempted") == 1
        assert counted("preempted_workloads_total", preempting_cluster_queue="team", reason="InClusterQueue") == 1

    live(story)
