"""Rights that go in a circle: each of these evicted each other without end."""

from __future__ import annotations

from collections.abc import Sequence

from reprieve.configuration import FairSharingSettings, Settings
from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.repetition import PREEMPTED_ANNOTATION
from tests.builders.quota import cohort, flavor, queue, workload
from tests.planes.laws import Eye
from tests.planes.promises import PromiseKeeper
from tests.planes.rest import everything
from tests.planes.running import Dict, Plane, live
from tests.scheduler.quota.companies import admitted_by

FAIR = Settings(validate=True, fair_sharing=FairSharingSettings(enable=True))
WHILE_BORROWING = {"policy": "LowerPriority"}
NOMINAL_AGAINST_PRIORITY = (
    flavor(),
    *queue("a", {"default": {"cpu": 2}}, cohort="all", reclaim="Any"),
    *queue("b", {"default": {"cpu": 3}}, cohort="all", reclaim="Any", borrow=WHILE_BORROWING),
)
"""`p3` reclaims what `x` borrows, `p` borrows what is left over, and then `x` may take `p` and `p3`: a borrows."""
ARRIVALS = (
    workload("p2", "a", cpu=1, priority=2),
    workload("x", "b", cpu=4, priority=10),
    workload("p3", "a", cpu=1, priority=0),
    workload("p", "a", cpu=2, priority=1),
)


async def _arrive(plane: Plane, objects: Sequence[Dict], arrivals: Sequence[Dict]) -> Eye:
    eye = Eye(plane.plane.store)
    await plane.apply(*objects)
    for one in arrivals:
        await plane.apply(one)
        await plane.passes(2)
    await plane.rests(within=600)
    return eye


async def _admitted(plane: Plane) -> set[str]:
    return {record.name for record in (await plane.store.list(QUOTA_WORKLOADS)).records if admitted_by(record)}


def _preemptions(plane: Plane) -> int:
    """How often x has preempted."""
    x = "Workload/default/x"
    made = plane.plane.history.decisions(x, limit=100)
    return sum(item["times"] for item in made if (item["preemptor"], item["outcome"]) == (x, "Preempt"))


def test_nominal_quota_against_priority_while_borrowing() -> None:
    async def story(plane: Plane) -> None:
        keeper = PromiseKeeper(plane)
        eye = await _arrive(plane, NOMINAL_AGAINST_PRIORITY, ARRIVALS)
        assert eye.faults == []
        # Nobody twice for the same: x once before p has come, and once after that, when the world is another one. In
        # between it gets what p and p3 left: nobody leaves in vain.
        assert eye.evictions == {"x": 2, "p": 1, "p3": 1}
        assert (_preemptions(plane), keeper.kept, keeper.faults) == (1, 3, [])

    live(story, longest=60)


def test_whoever_was_spared_for_peace_is_named_and_any_change_makes_it_void() -> None:
    async def story(plane: Plane) -> None:
        await _arrive(plane, NOMINAL_AGAINST_PRIORITY, ARRIVALS)
        assert await _admitted(plane) == {"p", "p2", "p3"}
        record = await plane.store.get(QUOTA_WORKLOADS, "x", "default")
        assert PREEMPTED_ANNOTATION in record.metadata["annotations"]
        planner = plane.plane.planner(load_objects(await everything(plane)), plane.clock())
        made = planner.single("Workload/default/x").decisions[0]
        assert made.outcome == "Unschedulable"
        spared = {item["unit"].rpartition("/")[2]: item["rule"] for item in made.spared}
        assert spared == {"p": "MadeWayBefore", "p3": "MadeWayBefore", "p2": "NotEnough"}
        before = _preemptions(plane)
        await plane.apply(workload("other", "b", cpu=3, priority=-5))
        await plane.rests(within=600)
        assert _preemptions(plane) == before + 1, "the world was another one, once"

    live(story, longest=60)


def test_shares_that_another_resource_dominates() -> None:
    """Taking a cpu changes neither share: each may take it from the other, as long as that counts as even."""

    def borrows(name: str) -> list[Dict]:
        return queue(name, {"default": {"cpu": 0, "memory": 0}}, cohort="all", reclaim="Any")

    objects = [
        flavor(),
        cohort("all", {"default": {"cpu": 1, "memory": 10}}),
        *borrows("a"),
        *borrows("b"),
        *queue("full", {"default": {"cpu": 9, "memory": 0}}, cohort="all"),
    ]
    arrivals = [
        workload("fills", "full", cpu=9, memory=0),
        *(workload(f"memory-{name}", name, cpu=0, memory=4) for name in "ab"),
        *(workload(f"cpu-{name}", name, cpu=1, memory=0) for name in "ab"),
    ]

    async def story(plane: Plane) -> None:
        eye = await _arrive(plane, objects, arrivals)
        assert eye.faults == []
        assert max(eye.evictions.values(), default=0) <= 1

    live(story, FAIR, longest=60)


def test_nobody_is_admitted_beside_those_who_make_way_and_are_still_there() -> None:
    """`small` and `tiny` each fit beside `big`, which has to leave, and not both: one waits until it has left."""

    async def story(plane: Plane) -> None:
        nothing = {"default": {"cpu": 0}}
        objects = [
            flavor(),
            *queue("owner", {"default": {"cpu": 9}}, cohort="all", reclaim="Any"),
            *(item for name in "bcd" for item in queue(name, nothing, cohort="all")),
        ]
        await plane.apply(*objects)
        await plane.apply(workload("big", "b", cpu=8))
        await plane.passes(2)
        eye = Eye(plane.plane.store)
        await eye.look_again(plane.plane.store)
        await plane.apply(workload("mine", "owner", cpu=4), workload("small", "c", cpu=1), workload("tiny", "d", cpu=1))
        await plane.rests(within=600)
        assert eye.faults == []
        assert await _admitted(plane) == {"mine", "small", "tiny"}

    live(story, longest=60)
