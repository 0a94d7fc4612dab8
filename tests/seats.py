"""A sixth policy, in one file: the seats of license servers, with priorities.

A license server is a ConfigMap labelled `seats.example.com/server`, whose data say how many `seats` it has. A Job asks
for seats with annotations: `seats.example.com/want: "2"`, of any server or of `seats.example.com/server: cad`, at the
priority that its pods have; `seats.example.com/held: cad` says where it sits.

1. A Job sits down where there are enough free seats, on the first server by name.
2. Whoever never preempts waits.
3. Domains: every server that it may use.
4. Candidates: Jobs on that server of strictly lower priority that are not pinned (`seats.example.com/pinned: "true"`).
5. The lowest priority stands up first, then the youngest, until there are enough; whoever turns out not to be needed
   keeps its seats.
6. The server is chosen where fewest Jobs have to stand up, then the first by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from reprieve.engine.explanation import Judged, Told
from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.offers import HeldBack, Offer, OfferList, Offers, Placed
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.preemption import BasePolicy, decide
from reprieve.engine.reasons import LowerPriority, NobodyAsked, NotLower, PolicyReason, Reason
from reprieve.engine.rules import Rule, protection
from reprieve.engine.steps import Criterion, fill_back, remove_until_fits
from reprieve.manifests.core import ConfigMap, Job
from reprieve.manifests.kinds import CONFIG_MAPS, JOBS
from reprieve.model.names import UnitName, key_of, unit_name
from reprieve.policies.entry import Asked, Entry, Ground, Known, NothingToDecide, Preemptor
from reprieve.scheduler.lanes import Helps, Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.stores.records import Record
from reprieve.world import World, microseconds

SERVER, WANT, HELD, PINNED = (f"seats.example.com/{word}" for word in ("server", "want", "held", "pinned"))


# What decisions ask


class Seated(NamedTuple):
    """A Job that sits, or wants to."""

    unit: UnitName
    want: int
    held: str
    only: str
    pinned: bool
    priority: int
    never: bool
    created: int

    @property
    def order(self) -> tuple[int, int, str]:
        """Who stands up first."""
        return self.priority, -self.created, self.unit


def seated(world: World, job: Job) -> Seated | None:
    said = job.metadata.annotations
    if not said.get(WANT, "").isdigit():
        return None
    resolved = world.classes.of_pod(job.spec.template.spec)
    return Seated(
        unit_name("Job", job.namespace, job.name),
        int(said[WANT]),
        said.get(HELD, ""),
        said.get(SERVER, ""),
        said.get(PINNED) == "true",
        resolved.value,
        resolved.preemption_policy == "Never",
        microseconds(job.metadata.creation_timestamp),
    )


class Office:
    """All servers and Jobs of a world, looked at anew each time: there are few."""

    def __init__(self, world: World) -> None:
        self.jobs = [one for job in world.all(Job) if (one := seated(world, job)) is not None]
        self.seats = {
            server.name: int(server.data.get("seats", "0"))
            for server in world.all(ConfigMap)
            if SERVER in server.metadata.labels
        }

    def on(self, server: str) -> list[Seated]:
        return sorted((job for job in self.jobs if job.held == server), key=lambda job: job.order)

    def free(self, server: str) -> int:
        return self.seats[server] - sum(job.want for job in self.on(server))


class SeatsView(NamedTuple):
    unit: UnitName
    job: Seated
    office: Office
    servers: list[str]


class Seats:
    """The ledger: enough seats while Jobs stand up and sit down again?"""

    def __init__(self, free: int, want: int) -> None:
        self._free = free
        self._want = want

    def fits(self) -> bool:
        return self._free >= self._want

    def remove(self, unit: Seated) -> None:
        self._free += unit.want

    def give_back(self, unit: Seated) -> None:
        self._free -= unit.want


class SeatsPolicy(BasePolicy):
    name = "seats"

    def __init__(self, world: World) -> None:
        self._world = world

    def view(self, preemptor: Seated, now: int) -> SeatsView:  # noqa: ARG002 - time changes nothing
        office = Office(self._world)
        usable = [server for server in sorted(office.seats) if preemptor.only in ("", server)]
        return SeatsView(preemptor.unit, preemptor, office, usable)

    def fits(self, view: SeatsView) -> Placed | None:
        for server in view.servers:
            if view.office.free(server) >= view.job.want:
                return Placed(f"{view.unit} sits down at {server}.", server, {view.unit: server})
        return None

    def trigger(self, view: SeatsView) -> HeldBack | None:
        if not view.job.never:
            return None
        message = f"{view.unit} finds no seat, and its preemption policy is Never."
        return HeldBack("Unschedulable", message, because=NobodyAsked("Never"))

    def domains(self, view: SeatsView) -> Iterable[Sequence[str]]:
        return [view.servers]

    def rules(self, view: SeatsView, domain: str) -> list[Rule[Seated]]:  # noqa: ARG002 - the same on all servers
        def only_lower(job: Seated) -> Reason | None:
            return None if job.priority < view.job.priority else NotLower(job.priority, view.job.priority)

        def not_pinned(job: Seated) -> Reason | None:
            return PolicyReason("Pinned", "it is pinned to its seats") if job.pinned else None

        return [only_lower, not_pinned]

    def search(self, view: SeatsView, domain: str, rules: Sequence[Rule[Seated]]) -> OfferList:
        ledger = Seats(view.office.free(domain), view.job.want)
        allowed = [job for job in view.office.on(domain) if protection(rules, job) is None]
        removed = remove_until_fits(ledger, allowed, lambda _: True)
        if removed is None:
            return OfferList()
        victims = [
            Victim(job.unit, LowerPriority(job.priority, view.job.priority)) for job in fill_back(ledger, removed)
        ]
        return OfferList([Offer(domain, victims, {view.unit: domain})])

    def criteria(self, view: SeatsView, offers: Offers) -> list[Criterion]:  # noqa: ARG002 - the offers have it all
        counts = [len(offer.victims) for offer in offers.all()]
        return [Criterion("FewestVictims", np.array(counts)), Criterion("FirstByName", np.arange(len(counts)))]

    def message(self, view: SeatsView, offer: Offer) -> str:
        return f"{len(offer.victims)} stand up at {offer.domain} for {view.unit}."

    def refusal(self, view: SeatsView) -> HeldBack:
        return HeldBack("Unschedulable", f"{view.unit} wants {view.job.want} seats, and nobody may be asked for them.")

    def judged(self, view: SeatsView, told: Told) -> Iterator[Judged]:  # noqa: ARG002 - there are few
        for server in view.servers:
            for job in view.office.on(server):
                yield Judged(job.unit, server, protection(self.rules(view, server), job))

    def stamp(self, view: SeatsView) -> object:  # noqa: ARG002 - what the world is at
        return self._world.version


# In plans, explanations and cases


class SeatsEntry(Entry):
    name = SeatsPolicy.name
    ledger = "seats"
    kinds = ("Job",)

    def __init__(self, ground: Ground) -> None:
        self._world = ground.world
        self.policy = SeatsPolicy(ground.world)

    def _job(self, asked: Asked) -> Seated | None:
        job = self._world.get(Job, asked.name, asked.namespace)
        return seated(self._world, job) if job is not None else None

    def find(self, asked: Asked) -> Preemptor | None:
        job = self._job(asked)
        if job is not None and job.held:
            raise NothingToDecide(f"{job.unit} sits at {job.held}")
        return None if job is None else self.preemptor(job)

    def preemptor(self, job: Seated) -> Preemptor:
        return Preemptor(job.unit, self.name, job.priority, job.created, job, never_preempts=job.never)

    def known(self, asked: Asked) -> Known | None:
        job = self._job(asked)
        if job is None:
            return None
        doing = f"{job.unit} sits at {job.held}." if job.held else f"{job.unit} waits for a seat."
        return Known(job.unit, self.ledger, not job.held, bool(job.held), doing, unrelated="it uses another server")

    def names(self) -> Iterable[UnitName]:
        return (job.unit for job in Office(self._world).jobs)

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - a ledger of its own
        return [self.preemptor(job) for job in Office(self._world).jobs if not job.held]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        return decide(self.policy, preemptor.facts, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        for victim in plan.victims:
            self._sit(victim.unit, "")
        if plan.placement:
            self._sit(preemptor.unit, plan.domain)

    def _sit(self, unit: UnitName, server: str) -> None:
        namespace, name = key_of(unit)
        job = self._world.get(Job, name, namespace)
        if job is not None:
            self._world.put(with_annotation(job, HELD, server))


def with_annotation(job: Job, key: str, value: str) -> Job:
    said = {**job.metadata.annotations, key: value}
    return msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, annotations=said))


# In the loop


class SeatsLane(Lane):
    """Jobs that want seats: whoever has to stand up loses its annotation, and waits again."""

    kinds = frozenset({"Job"})

    def __init__(self, services: Services) -> None:
        self._services = services
        self._context = services.context
        self._queue = services.queue
        self._entry: SeatsEntry = services.policies["seats"]
        self._stirred = False

    async def react(self, seen: Seen) -> None:
        if seen.resource == CONFIG_MAPS:
            self._stirred = True
        if seen.resource != JOBS:
            return
        unit = seen.record.unit
        job = seated(self._services.world, seen.new.manifest) if seen.new is not None else None
        self._stirred = self._stirred or (seen.old is not None and _held(seen.old) != (job.held if job else ""))
        if job is None or job.held:
            self._queue.delete(unit)
        elif seen.old is None or _held(seen.old):
            self._queue.push(unit, job.priority)
            self._context.log.history.note(unit, "queued", "it wants a seat")

    def stirred(self) -> bool:
        return self._stirred

    def whom_it_helps(self) -> Helps:
        self._stirred = False
        return lambda _: True

    async def turn(self, unit: str) -> None:
        namespace, name = key_of(unit)
        one = self._entry.find(Asked("Job", namespace, name))
        if one is None:
            return self._queue.done(unit)
        started = self._services.elapsed()
        plan = self._entry.decide(one, microseconds(self._context.clock()))
        number = self._context.log.decided(plan, self._services.elapsed() - started)
        if self._services.shadow:
            return self._queue.unschedulable(unit)
        if plan.victims:
            await self._stand_up(plan, number)
        if plan.outcome in ("Fits", "Preempt"):
            await self._annotate(plan.preemptor, {HELD: plan.domain})
        self._context.log.acted(plan, number)
        return self._queue.unschedulable(unit) if plan.outcome == "Unschedulable" else self._queue.done(unit)

    async def _stand_up(self, plan: Plan, number: int) -> None:
        victims = [HeldVictim(unit=victim.unit, uid=self._record(victim.unit).uid) for victim in plan.victims]
        hold = Hold(preemptor=plan.preemptor, policy=plan.policy, victims=tuple(victims), decision=number)
        for victim in hold.victims:
            record = await self._annotate(victim.unit, {HELD: None})
            self._context.log.told(hold, victim)
            await self._context.event(record, "Normal", "Preempted", plan.message, decision=number)
        self._context.log.carried_out(hold)

    async def _annotate(self, unit: str, said: dict[str, Any]) -> Record:
        record = self._record(unit)
        patch = {"metadata": {"annotations": said}}
        changed = await self._context.store.patch(JOBS, record.name, record.namespace, patch, uid=record.uid)
        self._context.absorb(changed)
        return changed

    def _record(self, unit: str) -> Record:
        namespace, name = key_of(unit)
        return self._context.mirror.known(JOBS, name, namespace)


def _held(record: Record) -> str:
    annotations: dict[str, str] = record.metadata.get("annotations") or {}
    return annotations.get(HELD, "")
