"""Nobody leaves in vain: what those leave whom a workload has preempted is promised to it until the last is gone."""

from __future__ import annotations

import pytest

from tests.planes.laws import Eye
from tests.planes.rest import what_is_wrong
from tests.planes.running import Dict, Plane, live
from tests.scheduler.quota.companies import admitted_by, company, work

BORROWS: Dict = {"cohort": "all", "reclaim": "Any", "borrow": {"policy": "LowerPriority"}}
LENDS: Dict = {"cohort": "all"}


async def _two_have_to_leave(plane: Plane, *, quick: float, slow: float) -> Eye:
    """`first` and `second` make way for `wants`; without either of them their queue is within its nominal quota."""
    eye = Eye(plane.plane.store)
    await company(plane, a={"cpu": 2, **BORROWS}, b={"cpu": 3, **LENDS})
    await plane.apply(work("stays", "b", cpu=1, priority="high"))
    await plane.apply(work("first", "b", cpu=3, priority="low", leaves=quick))
    await plane.apply(work("second", "b", cpu=1, priority="low", leaves=slow))
    await plane.passes(5)
    await plane.apply(work("wants", "a", cpu=4, priority="middle"))
    return eye


@pytest.mark.parametrize(("quick", "slow"), [(0, 60), (60, 0), (30, 30)])
def test_whoever_has_preempted_gets_what_they_left_whoever_of_them_goes_first(quick: float, slow: float) -> None:
    async def story(plane: Plane) -> None:
        eye = await _two_have_to_leave(plane, quick=quick, slow=slow)
        await plane.passes(40)
        assert admitted_by(await plane.workload("first")) in ("", "b"), "it has left, or leaves"
        await plane.passes(40)
        assert admitted_by(await plane.workload("wants")) == "a"
        await plane.rests(within=600)
        assert {name.split("-")[1]: times for name, times in eye.evictions.items()} == {"first": 1, "second": 1}
        assert await what_is_wrong(plane, eye) == []

    live(story)
