"""How the containers of a pod stand together: what has come of it, which are to run, and what its status says.

1. Init containers run one after the other, each to its success; a sidecar (an init container that always restarts) only
   has to have started. Then all others run together.
2. A pod has ended when none of its containers will run again; sidecars do not count, and are ended then. It succeeded
   when all did.
3. What was asked to end has not succeeded, whatever its exit code: who makes way comes back.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.agents.process.containers import Exit
from reprieve.agents.process.slots import Slot
from reprieve.agents.process.specs import PodTask, RestartPolicy
from reprieve.model.clock import timestamp
from reprieve.model.conditions import find_condition, with_conditions
from reprieve.texts import agents as texts

Data = dict[str, Any]
DISRUPTION, BY_AGENT = "DisruptionTarget", "TerminationByAgent"
CRASH_LOOP = "CrashLoopBackOff"
_NOT_READY = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


class PodOutcome(NamedTuple):
    """What has come of a pod."""

    phase: Literal["Succeeded", "Failed"]
    reason: str = ""
    message: str = ""
    disrupted: bool = False


def outcome_of(slots: Sequence[Slot], policy: RestartPolicy) -> PodOutcome | None:
    """How a pod has ended by itself; None: it has not."""
    steps = [slot for slot in slots if slot.role == "init"]
    work = [slot for slot in slots if slot.role == "main"]
    failed = [slot for slot in steps if slot.exit is not None and not slot.succeeded and not slot.runs_again(policy)]
    if not failed and all(slot.exit is not None and not slot.runs_again(policy) for slot in work):
        failed = [slot for slot in work if not slot.succeeded]
        if not failed:
            return PodOutcome("Succeeded")
    if not failed:
        return None
    if all(slot.disrupted for slot in failed):
        return PodOutcome("Failed", BY_AGENT, texts.DISRUPTED, disrupted=True)
    return PodOutcome("Failed")


def last_outcome(slots: Sequence[Slot]) -> PodOutcome:
    """What has come of a pod that had to go."""
    work = [slot for slot in slots if slot.role == "main"]
    if work and all(slot.succeeded for slot in work):
        return PodOutcome("Succeeded")
    return PodOutcome("Failed", "Terminated", texts.TERMINATED)


def wanted(slots: Sequence[Slot]) -> Iterator[Slot]:
    """The containers whose turn it is, those that run already among them; whoever asks may start one on the way."""
    for slot in slots:
        if slot.role != "init" or not slot.succeeded:
            yield slot
        if (slot.role == "init" and not slot.succeeded) or (slot.role == "sidecar" and not slot.started):
            return


class PodStanding(NamedTuple):
    """A pod as its agent sees it at one moment."""

    task: PodTask
    slots: Sequence[Slot]
    now: datetime
    started: str
    outcome: PodOutcome | None = None
    resting: bool = False
    """Whether nothing is started any more: containers that ended say so, and not when they would start again."""


def write_status(status: Data, view: PodStanding) -> None:
    """What the status is now to say. An end is written once, and stays."""
    if status.get("phase") in _NOT_READY:
        return
    status.setdefault("startTime", view.started)
    status["phase"] = view.outcome.phase if view.outcome is not None else _phase(view.slots)
    for name, roles in (("initContainerStatuses", ("init", "sidecar")), ("containerStatuses", ("main",))):
        entries = [container_status(slot, view) for slot in view.slots if slot.role in roles]
        if entries:
            status[name] = entries
    if view.outcome is not None:
        said = {"reason": view.outcome.reason, "message": view.outcome.message}
        status |= {key: text for key, text in said.items() if text}
    status["conditions"] = _conditions(status.get("conditions") or [], view)


def _phase(slots: Sequence[Slot]) -> str:
    return "Running" if any(slot.started for slot in slots if slot.role == "main") else "Pending"


def _conditions(known: list[Data], view: PodStanding) -> list[Data]:
    initialized = all(slot.succeeded for slot in view.slots if slot.role == "init")
    ready = view.outcome is None and all(slot.running for slot in view.slots if slot.role != "init")
    why = "ContainersNotReady" if view.outcome is None else _NOT_READY[view.outcome.phase]
    changes = {"Initialized": (str(initialized), "", "")}
    changes |= dict.fromkeys(("ContainersReady", "Ready"), (str(ready), "" if ready else why, ""))
    # Who was told to make way before keeps being told for whom.
    told = find_condition(known, DISRUPTION).get("status") == "True"
    if view.outcome is not None and view.outcome.disrupted and not told:
        changes[DISRUPTION] = "True", BY_AGENT, texts.DISRUPTED
    return with_conditions(known, changes, now=view.now)


def container_status(slot: Slot, view: PodStanding) -> Data:
    waiting = _waiting(slot, view)
    entry: Data = {
        "name": slot.name,
        "image": slot.data.get("image") or "",
        "imageID": "",
        "restartCount": slot.restarts,
        "ready": slot.running or (slot.role == "init" and slot.succeeded),
        "started": slot.running,
        "state": {"waiting": waiting} if waiting is not None else _state(slot),
    }
    if before := (slot.exit if waiting is not None else None) or slot.last:
        entry["lastState"] = {"terminated": _terminated(before)}
    if slot.container is not None and slot.container.pid is not None:
        entry["containerID"] = f"process://{slot.container.pid}"
    return entry


def _waiting(slot: Slot, view: PodStanding) -> Data | None:
    """Why it does not run, when it is going to; None: it runs, or has ended."""
    if slot.running or view.outcome is not None:
        return None if slot.started else {"reason": "PodInitializing"}
    if slot.hindrance is not None:
        return {"reason": slot.hindrance.reason, "message": str(slot.hindrance)}
    if slot.exit is None:
        return {"reason": "PodInitializing"}
    if view.resting or not slot.runs_again(view.task.policy):
        return None
    return {"reason": CRASH_LOOP, "message": texts.back_off(slot.back_off_seconds, slot.name)}


def _state(slot: Slot) -> Data:
    if slot.exit is not None:
        return {"terminated": _terminated(slot.exit)}
    since = slot.container.started_at if slot.container is not None else None
    return {"running": {"startedAt": since} if since else {}}


def _terminated(ended: Exit) -> Data:
    entry: Data = msgspec.to_builtins(ended)
    return {key: value for key, value in entry.items() if value or key not in ("message", "signal")}


def started_text(known: Mapping[str, Any], now: datetime) -> str:
    """Since when a pod is on its node."""
    return str(known.get("startTime") or timestamp(now))
