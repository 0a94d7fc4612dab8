"""A lane that the scheduler knows nothing of: seats of a license server, asked for by ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold, hold_of
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.reasons import LowerPriority
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.model.names import UnitName
from reprieve.scheduler.context import annotations_of
from reprieve.scheduler.lanes import Helps, Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.registry import register, unregister
from reprieve.stores.records import Record
from tests.planes.running import Dict, Plane, live

WANTS, SEAT = "seats.example/priority", "seats.example/seat"


class SeatLane(Lane):
    """There is one seat. Whoever has a higher priority gets it."""

    kinds = frozenset({"Seat"})

    def __init__(self, services: Services) -> None:
        self.services = services
        self.left = False

    def wanting(self) -> list[Record]:
        records = self.services.context.mirror.all(CONFIG_MAPS)
        return [record for record in records if WANTS in annotations_of(record)]

    async def react(self, seen: Seen) -> None:
        if seen.resource == CONFIG_MAPS and seen.new is None:
            self.left = True
        elif seen.resource == CONFIG_MAPS and seen.old is None and WANTS in annotations_of(seen.record):
            name = seen.record.name
            self.services.queue.push(f"Seat/{seen.record.namespace}/{name}", priority(seen.record))
            self.services.context.log.history.note(f"Seat/default/{name}", "queued", "it asks for a seat")

    def stirred(self) -> bool:
        return self.left

    def whom_it_helps(self) -> Helps:
        self.left = False
        return lambda _: True

    def pending(self) -> dict[str, int]:
        return {"seats": sum(SEAT not in annotations_of(record) for record in self.wanting())}

    async def resume(self) -> None:
        for record in self.wanting():
            hold = hold_of(annotations_of(record))
            if hold is not None:
                await self.evict(hold)

    async def turn(self, unit: str) -> None:
        record = next((one for one in self.wanting() if unit.endswith(f"/{one.name}")), None)
        if record is None:
            return self.services.queue.done(unit)
        plan = self.decide(UnitName(unit), record)
        number = self.services.context.log.decided(plan, 0.001)
        if plan.outcome == "Fits":
            await self.write(record, {SEAT: "taken", HOLD_ANNOTATION: None})
            self.services.queue.done(unit)
        else:
            await self.preempt(record, plan, number)
            self.services.queue.unschedulable(unit)
        return self.services.context.log.acted(plan, number, fits="admitted")

    def decide(self, unit: UnitName, record: Record) -> Plan:
        taken = [one for one in self.wanting() if SEAT in annotations_of(one)]
        if not taken:
            return Plan(unit, "seats", "Fits", f"{unit} gets the seat")
        own, other = priority(record), priority(taken[0])
        if own <= other:
            return Plan(unit, "seats", "Unschedulable", "the seat is taken")
        victim = Victim(UnitName(f"Seat/default/{taken[0].name}"), LowerPriority(other, own))
        return Plan(unit, "seats", "Preempt", f"{victim.unit} makes way", domain="seat", victims=[victim])

    async def preempt(self, record: Record, plan: Plan, number: int) -> None:
        victims = tuple(HeldVictim(unit=victim.unit, uid="any") for victim in plan.victims)
        if not victims:
            return
        hold = Hold(preemptor=plan.preemptor, policy=plan.policy, victims=victims, decision=number)
        await self.write(record, {HOLD_ANNOTATION: hold.text()})
        await self.evict(hold)

    async def evict(self, hold: Hold) -> None:
        for victim in hold.victims:
            found = next(one for one in self.wanting() if victim.unit.endswith(f"/{one.name}"))
            await self.write(found, {SEAT: None})
            self.services.context.log.told(hold, victim)
            self.left = True
        self.services.context.log.carried_out(hold)

    async def write(self, record: Record, annotations: Dict) -> None:
        patch = {"metadata": {"annotations": annotations}}
        changed = await self.services.context.store.patch(CONFIG_MAPS, record.name, record.namespace, patch)
        self.services.context.absorb(changed)


def priority(record: Record) -> int:
    return int(annotations_of(record)[WANTS])


def asks(name: str, rank: int) -> Dict:
    metadata = {"name": name, "annotations": {WANTS: str(rank)}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def seats() -> Iterator[None]:
    register(SeatLane)
    yield
    unregister(SeatLane)


@pytest.mark.usefixtures("seats")
def test_a_lane_from_outside_takes_turns_is_woken_and_is_seen() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(asks("low", 1))
        await plane.passes(1)
        await plane.apply(asks("high", 9))
        await plane.passes(30)
        await plane.apply(asks("middle", 5))
        await plane.passes(30)
        records = {record.name: annotations_of(record) for record in (await plane.store.list(CONFIG_MAPS)).records}
        assert [name for name, said in records.items() if SEAT in said] == ["high"]
        history = plane.plane.history
        assert [line["step"] for line in history.story("Seat/default/high")] == ["queued", "nominated", "admitted"]
        assert [line["step"] for line in history.story("Seat/default/low")][-1] == "evicted"
        assert history.decisions("Seat/default/low", limit=1)[0]["policy"] == "seats"
        counted = plane.plane.metrics_registry.get_sample_value
        assert counted("scheduler_preemption_attempts_total", {"policy": "seats"}) == 1
        assert counted("scheduler_pending_pods", {"queue": "seats"}) == 2
        await plane.store.delete(CONFIG_MAPS, "high", "default")
        await plane.passes(30)
        assert SEAT in annotations_of(await plane.store.get(CONFIG_MAPS, "middle", "default"))

    live(story)


@pytest.mark.usefixtures("seats")
def test_a_kind_of_units_has_one_lane() -> None:
    register(SeatLane)
    try:
        with pytest.raises(ValueError, match="two lanes take the turn of Seat"):
            live(_nothing)
    finally:
        unregister(SeatLane)


async def _nothing(plane: Plane) -> None:
    assert plane


@pytest.mark.parametrize("fails", ["settle", "stirred", "whom_it_helps", "resume", "pending"])
def test_a_lane_that_fails_holds_up_no_other(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: SeatLane) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(SeatLane, "stirred", lambda _: True)
    monkeypatch.setattr(SeatLane, fails, broken)

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.pod("a", cpu="2", run=10)
        await plane.pod("b", cpu="2")
        await plane.passes(30)
        assert await plane.where("b") == "n1"

    live(story)
