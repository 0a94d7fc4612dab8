"""The life of one pod on this machine, from its first container to the removal of its files.

Each pod has a task of its own that looks, acts, reports and waits: for a change of the pod, for the end of a container,
or for a moment. It never waits for a container to end, so that a shorter grace period counts whenever it is asked for.
Whatever it needs to know is in the pod and in the directories of its containers: it can begin anew at any time.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

from reprieve.agents.process import status as standing
from reprieve.agents.process.command import ContainerSurroundings
from reprieve.agents.process.containers import containers
from reprieve.agents.process.slots import Role, Slot
from reprieve.agents.process.specs import CONFIG_ERROR, CREATE_ERROR, PodTask
from reprieve.agents.process.status import CRASH_LOOP, PodOutcome, outcome_of, started_text
from reprieve.agents.process.workers import OVER, Worker, any_running
from reprieve.controllers.pods.templates import container_statuses, is_finished
from reprieve.controllers.runner import BaseController
from reprieve.model.clock import moment_of
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import agents as texts

STOP_GRACE = 10.0
"""Seconds that pods are given at most when the agent stops."""
_GONE_GRACE = 2.0
"""Seconds for containers whose pod is no more: what they use counts as free already."""
_KEEP_SECONDS = 30.0
"""How long files outlive their pod, for those who still read its logs."""
_NEVER_RAN = ("StartError", CONFIG_ERROR, CREATE_ERROR)


class PodWorker(Worker):
    """Looks after one pod; without a record, after what is left of one."""

    def __init__(self, controller: BaseController, around: ContainerSurroundings, uid: str, pod: Record | None) -> None:
        super().__init__(uid, pod)
        self._controller, self._around = controller, around
        self._began = controller.clock()
        self._gone_at: datetime | None = None
        self._told: dict[str, str] = {}

    # One look

    async def step(self) -> float | None:
        slots = await self._look()
        pod = self._pod
        if pod is None:
            return await self._clean_up(slots)
        if is_leaving(pod):
            return await self._let_go(pod, slots)
        if is_finished(pod):
            self._stop(slots, 0)
            return None if any_running(slots) else OVER
        task = PodTask.read(pod)
        if self._stopping:
            return await self._stop_with_agent(pod, task, slots)
        return await self._go_on(pod, task, slots)

    async def _look(self) -> list[Slot]:
        if self._slots is None:
            slots = list(self._known())
            known = container_statuses(self._pod) if self._pod is not None else ()
            statuses = {entry["name"]: entry for entry in known}
            for slot in slots:
                await slot.adopt(statuses.get(slot.name, {}), self._woken.set)
            self._slots = slots
        for slot in self._slots:
            await slot.look()
        return self._slots

    def _known(self) -> Iterable[Slot]:
        """The containers as the pod lists them; of one that is no more, those that have been here."""
        if self._pod is None:
            for name in containers(self._around.root, self.uid):
                yield Slot(self._around, self.uid, {"name": name}, "main")
            return
        spec = self._pod.data["spec"]
        for data in spec.get("initContainers") or ():
            role: Role = "sidecar" if data.get("restartPolicy") == "Always" else "init"
            yield Slot(self._around, self.uid, data, role)
        for data in spec["containers"]:
            yield Slot(self._around, self.uid, data, "main")

    # A pod that lives

    async def _go_on(self, pod: Record, task: PodTask, slots: list[Slot]) -> float | None:
        late = self._seconds_late(pod, task)
        outcome = outcome_of(slots, task.policy)
        if late is not None and late >= 0 and (outcome is None or _was_asked(slots)):
            outcome = PodOutcome(
                "Failed", "DeadlineExceeded", texts.deadline_exceeded(task.active_deadline_seconds or 0)
            )
        if outcome is not None:
            return await self._end(pod, task, slots, outcome)
        moments = await self._start_what_is_due(pod, task, slots)
        await self._write(pod, task, slots)
        await self._tell_hindrances(pod, task, slots)
        pauses = [max(0.0, (moment - self._controller.clock()).total_seconds()) for moment in moments]
        if late is not None:
            pauses.append(-late)
        return min(pauses, default=None)

    async def _start_what_is_due(self, pod: Record, task: PodTask, slots: list[Slot]) -> list[datetime]:
        """Start the containers whose turn it is; the moments at which others are due."""
        later = []
        for slot in standing.wanted(slots):
            if slot.running and slot.was_stopped_with_agent:
                slot.stop(min(task.grace, STOP_GRACE))  # the agent before was killed while it stopped
            now = self._controller.clock()
            due = slot.due(task.policy, now)
            if due is not None and due <= now:
                await slot.start(pod, now, self._woken.set)
                await slot.look()
                await self._tell_start(pod, slot)
                due = slot.due(task.policy, now)
            if due is not None:
                later.append(due)
        return later

    async def _end(self, pod: Record, task: PodTask, slots: list[Slot], outcome: PodOutcome) -> float | None:
        """The pod is over; what still runs of it is ended first."""
        await self._ask_to_end(pod, slots, task.grace)
        if any_running(slots):
            return None
        await self._write(pod, task, slots, outcome)
        return OVER

    def _seconds_late(self, pod: Record, task: PodTask) -> float | None:
        """Seconds since its deadline, below zero before that; None: it has none."""
        if task.active_deadline_seconds is None:
            return None
        began = moment_of(started_text(pod.data.get("status", {}), self._began))
        return (self._controller.clock() - began).total_seconds() - task.active_deadline_seconds

    # A pod that has to go

    async def _let_go(self, pod: Record, slots: list[Slot]) -> float | None:
        """It is being deleted: its containers get the rest of the grace period, and then it is told to be gone."""
        await self._ask_to_end(pod, slots, self._grace_left(pod))
        if any_running(slots):
            return None
        if not is_finished(pod):
            task = PodTask(containers=(), restart_policy="Never")
            pod = await self._write(pod, task, slots, standing.last_outcome(slots))
        if pod.metadata.get("deletionGracePeriodSeconds"):
            await self._controller.delete(pod, grace=0)
        return OVER

    def _grace_left(self, pod: Record) -> float:
        """Times are written without fractions of seconds: nobody is to lose the rest of one."""
        grace = float(pod.metadata.get("deletionGracePeriodSeconds") or 0)
        end = moment_of(pod.metadata["deletionTimestamp"]) + timedelta(seconds=1)
        left = max(0.0, (end - self._controller.clock()).total_seconds())
        grace = min(grace, left) if grace else _GONE_GRACE
        return min(grace, STOP_GRACE) if self._stopping else grace

    async def _clean_up(self, slots: list[Slot]) -> float | None:
        """The pod is no more: end what runs of it, and a little later keep what it wrote and remove its files."""
        self._stop(slots, _GONE_GRACE)
        if any_running(slots):
            return None
        if self._stopping:
            return OVER
        now = self._controller.clock()
        self._gone_at = self._gone_at or now
        left = _KEEP_SECONDS - (now - self._gone_at).total_seconds()
        if left > 0:
            return left
        await self.close()
        await asyncio.to_thread(self._around.kept.take_pod, self._around.root, self.uid)
        return OVER

    async def _stop_with_agent(self, pod: Record, task: PodTask, slots: list[Slot]) -> float | None:
        for slot in slots:
            slot.stop_with_agent(min(task.grace, STOP_GRACE))
        if any_running(slots):
            return None
        await self._write(pod, task, slots, outcome_of(slots, task.policy))
        return OVER

    async def _ask_to_end(self, pod: Record, slots: list[Slot], grace: float) -> None:
        for name in self._stop(slots, grace):
            await self._controller.tell(pod, "Killing", texts.killing(name))

    def _stop(self, slots: list[Slot], grace: float) -> list[str]:
        """The names of those that were not asked before."""
        return [slot.name for slot in slots if slot.stop(grace)]

    # What others are told

    async def _write(self, pod: Record, task: PodTask, slots: list[Slot], outcome: PodOutcome | None = None) -> Record:
        now = self._controller.clock()
        began = started_text(pod.data.get("status", {}), self._began)
        view = standing.PodStanding(task, slots, now, began, outcome, resting=self._stopping)
        written = await self._controller.modify_status(pod, lambda status: standing.write_status(status, view))
        if self._pod is not None and written.version > self._pod.version:
            self._pod = written
        return written

    async def _tell_start(self, pod: Record, slot: Slot) -> None:
        if slot.exit is not None and slot.exit.reason in _NEVER_RAN:
            await self._controller.tell(pod, "Failed", slot.exit.message, kind="Warning")
        elif slot.hindrance is None:
            await self._controller.tell(pod, "Started", texts.started(slot.name))

    async def _tell_hindrances(self, pod: Record, task: PodTask, slots: list[Slot]) -> None:
        """Events for what keeps containers from running, each once."""
        for slot in slots:
            reason, message = "", ""
            if slot.hindrance is not None:
                reason, message = "Failed", str(slot.hindrance)
            elif slot.exit is not None and slot.runs_again(task.policy):
                reason, message = (
                    "BackOff",
                    f"{CRASH_LOOP}: {texts.back_off(slot.back_off_seconds, slot.name)}",
                )
            if message and self._told.get(slot.name) != message:
                await self._controller.tell(pod, reason, message, kind="Warning")
            self._told[slot.name] = message


def _was_asked(slots: Iterable[Slot]) -> bool:
    """Whether the work itself was asked to end; sidecars always are."""
    return any(slot.asked for slot in slots if slot.role != "sidecar")
