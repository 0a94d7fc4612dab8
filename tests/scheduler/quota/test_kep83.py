"""The integration tests that KEP-83 names, on a whole control plane, by both designs; and what it put off."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprieve import plan
from reprieve.configuration import QuotaSettings, Settings
from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from tests.planes.rest import everything
from tests.planes.running import Dict, Plane, condition, live
from tests.scheduler.quota.companies import admitted_by, company, running, work

DESIGNS = pytest.mark.parametrize("design", ["Kueue", "KEP-83"])


def settings(design: str = "Kueue") -> Settings:
    return Settings(validate=True, quota=QuotaSettings(design="KEP-83") if design == "KEP-83" else QuotaSettings())


def first_queue(name: str, cpu: int, cohort: str = "", **preemption: str) -> list[Dict]:
    """Queues as the KEP has them: v1alpha2, a minimum, and the policies by their first names."""
    flavors = [{"name": "default", "quota": {"min": cpu}}]
    spec: Dict = {
        "cohort": cohort,
        "namespaceSelector": {},
        "resources": [{"name": "cpu", "flavors": flavors}],
        "preemption": preemption,
    }
    version = "kueue.x-k8s.io/v1alpha2"
    queue = {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
    local = {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": name}}
    return [queue, {"apiVersion": version, "kind": "LocalQueue", **local}]


@DESIGNS
@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_no_new_workloads_in_the_cohort_can_borrow_when_workloads_in_a_cluster_queue_fit_within_their_min_quota(
    design: str, strategy: str
) -> None:
    """But there are running workloads: `stuck` fits within what `a` has, of which `own` uses most."""

    async def story(plane: Plane) -> None:
        parts = {"cohort": "all", "queueingStrategy": strategy}
        await company(plane, a={"cpu": 4, **parts}, b={"cpu": 2, **parts})
        await plane.apply(work("own", "a", cpu=3, run=60), work("guest", "b", cpu=2))
        await plane.passes(5)
        await plane.apply(work("stuck", "a", cpu=2))
        await plane.passes(5)
        await plane.apply(work("borrower", "b", priority="high"))
        await plane.passes(30)
        assert [admitted_by(await plane.workload(name)) for name in ("stuck", "borrower")] == ["", ""]
        said = condition(await plane.workload("borrower"), "QuotaReserved")["message"]
        assert ("nobody in its cohort borrows" if design == "KEP-83" else "reserved for workloads") in said
        await plane.passes(40)
        assert [await running(plane, name) for name in ("stuck", "borrower")] == [1, 1]

    live(story, settings(design))


@DESIGNS
def test_preemption_within_a_cluster_queue_based_on_priority(design: str) -> None:
    """In the manifests of story 1. Lower priorities go, the youngest of them first; equals stay."""

    async def story(plane: Plane) -> None:
        await company(plane)
        await plane.apply(*first_queue("team", 3, withinCohort="Always", withinClusterQueue="LowerPriorityOnly"))
        for name, priority in (("middle", "middle"), ("old", "low"), ("young", "low")):
            await plane.apply(work(name, "team", priority=priority))
            await plane.passes(5)
        await plane.apply(work("high", "team", priority="high"), work("equal", "team", priority="low"))
        await plane.passes(30)
        names = ("high", "middle", "old", "young", "equal")
        assert [await running(plane, name) for name in names] == [1, 1, 1, 0, 0]
        preempted = condition(await plane.workload("young"), "Preempted")
        assert (preempted["status"], preempted["reason"]) == ("True", "InClusterQueue")
        assert await plane.events("Preempted", about=(await plane.workload("equal")).name) == []

    live(story, settings(design))


@DESIGNS
@pytest.mark.parametrize(("policy", "reclaims"), [("ReclaimAny", True), ("ReclaimFromLowerPriority", False)])
def test_preemption_within_a_cohort_to_reclaim_min_quota(design: str, policy: str, reclaims: bool) -> None:
    """`b` borrows all of a's; its workloads are more important, so that only who reclaims from any gets it back."""

    async def story(plane: Plane) -> None:
        await company(plane)
        await plane.apply(*first_queue("a", 2, "all", withinCohort=policy), *first_queue("b", 1, "all"))
        for name in ("first", "second", "third"):
            await plane.apply(work(name, "b", priority="middle"))
            await plane.passes(5)
        await plane.apply(work("mine", "a", cpu=2, priority="low"))
        await plane.passes(30)
        want = [1, 1, 0, 0] if reclaims else [0, 1, 1, 1]
        assert [await running(plane, name) for name in ("mine", "first", "second", "third")] == want
        if reclaims:
            assert condition(await plane.workload("third"), "Preempted")["reason"] == "InCohortReclamation"
        await plane.rests()
        assert [await running(plane, name) for name in ("mine", "first", "second", "third")] == want

    live(story, settings(design))


def test_preemption_takes_preference_over_borrowing() -> None:
    """A workload that needs preemption comes before one that would borrow, however important that is."""

    async def story(plane: Plane) -> None:
        await company(plane)
        await plane.apply(*first_queue("a", 2, "all", withinClusterQueue="LowerPriority"))
        await plane.apply(*first_queue("b", 1, "all"))
        await plane.apply(work("low", "a", priority="low"), work("guest", "b"))
        await plane.passes(5)
        await plane.apply(work("mine", "a", cpu=2, priority="middle"), work("borrower", "b", priority="high"))
        await plane.passes(30)
        assert [await running(plane, name) for name in ("mine", "low", "borrower")] == [1, 0, 0]

    live(story, settings("KEP-83"))


def test_a_queue_lets_its_workloads_wait_from_their_first_attempt_before_they_preempt(tmp_path: Path) -> None:
    """`high` is held by its queue for half a minute before it is attempted: that does not count. A restart forgets
    nothing, and nothing but time has to pass."""

    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1, "within": "LowerPriority"})
        waits = {"triggerAfterWorkloadWaitingSeconds": 40}
        await plane.change(CLUSTER_QUEUES, "team", {"spec": {"preemption": waits}}, "")
        await plane.apply(work("low", "team", priority="low"))
        await plane.passes(5)
        await plane.change(LOCAL_QUEUES, "team", {"spec": {"stopPolicy": "Hold"}})
        await plane.apply(work("high", "team", priority="high"))
        await plane.passes(30)
        assert condition(await plane.workload("high"), "Admitted") == {}
        await plane.change(LOCAL_QUEUES, "team", {"spec": {"stopPolicy": "None"}})
        await plane.passes(2)
        workload = await plane.workload("high")
        assert condition(workload, "Admitted")["status"] == "False"
        assert "may preempt from 2026-01-01T00:01:15" in condition(workload, "QuotaReserved")["message"]
        await plane.restart()
        await plane.passes(37)
        assert [await running(plane, name) for name in ("high", "low")] == [0, 1]
        made = plan(await everything(plane), now=plane.clock())
        assert [decision.outcome for decision in made.decisions] == ["Wait"]
        await plane.passes(6)
        assert [await running(plane, name) for name in ("high", "low")] == [1, 0]

    live(story, directory=tmp_path)


def test_who_waits_is_looked_at_again_when_somebody_has_run_too_long_to_be_preempted() -> None:
    """`mine` waits until it may preempt `guest`. Before that, that one is protected: `mine` gets what it could
    have had all along, smaller, without another event."""

    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2, "within": "LowerPriority"})
        await plane.apply(work("guest", "team", priority="low"))
        await plane.passes(5)
        said = {
            "kueue.x-k8s.io/job-min-parallelism": "1",
            "reprieve.scheduling/wait-before-preemption-seconds": "600",
        }
        await plane.apply(work("mine", "team", replicas=2, priority="high", said=said))
        await plane.passes(30)
        assert [await running(plane, name) for name in ("mine", "guest")] == [0, 1]
        await plane.passes(40)
        assert [await running(plane, name) for name in ("mine", "guest")] == [1, 1]

    live(story, Settings(validate=True, quota=QuotaSettings(protect_after_seconds=60)))
