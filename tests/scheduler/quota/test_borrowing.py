"""Who waits within its nominal quota is not bypassed by new borrowers: KEP-83, on a whole control plane."""

from __future__ import annotations

import pytest

from reprieve import plan
from reprieve.configuration import QuotaSettings, Settings
from tests.planes.rest import everything
from tests.planes.running import Dict, Plane, condition, live
from tests.scheduler.quota.companies import admitted_by, company, running, work

STRATEGIES = pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
KEP = QuotaSettings(stop_borrowing_after_non_borrower=True)


async def _planned(plane: Plane, config: Dict | None = None) -> dict[str, str]:
    """What `plan` says of the store as it is: outcomes by Job."""
    result = plan(await everything(plane), now=plane.clock(), config=config)
    return {made.preemptor.rpartition("/")[2].rpartition("-")[0]: made.outcome for made in result.decisions}


@STRATEGIES
@pytest.mark.parametrize("stop", [False, True])
def test_no_new_workload_borrows_while_one_waits_within_its_nominal_quota(strategy: str, stop: bool) -> None:
    """The KEP's integration test: `stuck` fits within what `a` has, but there are running workloads."""

    async def story(plane: Plane) -> None:
        parts = {"cohort": "all", "queueingStrategy": strategy}
        await company(plane, a={"cpu": 4, **parts}, b={"cpu": 2, **parts})
        await plane.apply(work("own", "a", cpu=3, run=60), work("guest", "b", cpu=2))
        await plane.passes(5)
        await plane.apply(work("stuck", "a", cpu=2))
        await plane.passes(5)
        await plane.apply(work("borrower", "b", priority="high"))
        await plane.passes(30)
        assert admitted_by(await plane.workload("borrower")) == "", "what it would borrow is a's, where stuck waits"
        assert condition(await plane.workload("borrower"), "QuotaReserved")["message"]
        assert admitted_by(await plane.workload("stuck")) == ""
        await plane.passes(40)
        assert [await running(plane, name) for name in ("stuck", "borrower")] == [1, 1]

    live(story, Settings(validate=True, quota=KEP if stop else QuotaSettings()))


@STRATEGIES
def test_quota_that_is_given_back_piece_by_piece_is_not_lent_again(strategy: str) -> None:
    """`mine` may not reclaim from more important borrowers: it waits for them, and no others come in their place."""

    async def story(plane: Plane) -> None:
        parts = {"cohort": "all", "queueingStrategy": strategy, "reclaim": "LowerPriority"}
        await company(plane, a={"cpu": 4, **parts}, b={"cpu": 0, **parts})
        await plane.apply(work("first", "b", cpu=2, priority="high", run=30))
        await plane.apply(work("second", "b", cpu=2, priority="high", run=60))
        await plane.passes(5)
        await plane.apply(work("mine", "a", cpu=4, priority="low"))
        await plane.passes(1)
        await plane.apply(work("third", "b", cpu=2, priority="high"))
        await plane.passes(34)
        assert [await running(plane, name) for name in ("first", "second", "third")] == [0, 1, 0]
        assert await _planned(plane) == {"job-mine": "Unschedulable", "job-third": "Wait"}
        await plane.passes(30)
        assert [await running(plane, name) for name in ("mine", "third")] == [1, 0]

    live(story)


def test_whoever_waits_in_a_best_effort_queue_does_not_hold_up_those_behind_it() -> None:
    """Not with its own quota, and not where it is refused what it would borrow."""

    async def story(plane: Plane) -> None:
        await company(plane, a={"cpu": 4, "cohort": "all"}, b={"cpu": 2, "cohort": "all"})
        await plane.apply(work("own", "a", cpu=3), work("guest", "b"))
        await plane.passes(2)
        await plane.apply(work("stuck", "a", cpu=4))
        await plane.passes(2)
        await plane.apply(work("borrower", "b", cpu=2))
        await plane.passes(2)
        await plane.apply(work("small", "a"), work("modest", "b"))
        await plane.passes(10)
        assert {name: await running(plane, name) for name in ("stuck", "borrower", "small", "modest")} == {
            "stuck": 0,
            "borrower": 0,
            "small": 1,
            "modest": 1,
        }

    live(story)


def test_a_strict_queue_waits_for_its_head_while_its_victims_leave() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2, "within": "LowerPriority", "queueingStrategy": "StrictFIFO"})
        await plane.apply(work("low", "team", priority="low", leaves=20))
        await plane.passes(5)
        await plane.apply(work("head", "team", cpu=2, priority="high"))
        await plane.passes(1)
        await plane.apply(work("next", "team", priority="middle"))
        await plane.passes(10)
        assert admitted_by(await plane.workload("next")) == "", "the head waits for its victim"
        await plane.passes(20)
        assert await running(plane, "head") == 1

    live(story)


@pytest.mark.parametrize("config", [None, {"quota": {"stopBorrowingAfterNonBorrower": True}}])
def test_the_loop_and_the_plan_agree_on_who_may_borrow(config: Dict | None) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, a={"cpu": 4, "cohort": "all"}, b={"cpu": 2, "cohort": "all"})
        await plane.apply(work("own", "a", cpu=3), work("guest", "b", cpu=2))
        await plane.passes(5)
        await plane.apply(work("stuck", "a", cpu=2))
        await plane.passes(5)
        await plane.apply(work("borrower", "b", priority="high"))
        await plane.passes(30)
        assert await _planned(plane, config) == {"job-stuck": "Unschedulable", "job-borrower": "Wait"}
        assert admitted_by(await plane.workload("borrower")) == ""

    live(story, Settings(validate=True, quota=KEP if config else QuotaSettings()))
