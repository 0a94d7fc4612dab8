"""How a Job stands: whether it is over and why, and what its status says."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from reprieve.controllers.pods.job_tally import Tally
from reprieve.controllers.pods.templates import restarts
from reprieve.model.clock import moment_of, timestamp
from reprieve.model.conditions import condition_of, find_condition, has_condition, set_condition, true_condition
from reprieve.stores.records import Record
from reprieve.texts import controllers as texts

_TARGET = "FailureTarget"
"""The condition that says a Job is going to fail, before its pods are ended for it: what they told is not lost."""


class JobVerdict(NamedTuple):
    """A Job is over."""

    condition: Literal["Complete", "Failed"]
    reason: str
    message: str


def verdict_of(job: Record, tally: Tally, now: datetime) -> JobVerdict | None:
    """Whether a Job is over, in the order in which the reasons count."""
    return _doomed(job) or _failed_too_often(job, tally) or _too_late(job, now) or _complete(job, tally)


def _doomed(job: Record) -> JobVerdict | None:
    target = condition_of(job.data, _TARGET)
    return JobVerdict("Failed", target["reason"], target["message"]) if target else None


def is_written(job: Record, verdict: JobVerdict) -> bool:
    """Whether a verdict will be the same after a restart, when pods have gone: counts stay, other reasons are noted."""
    return verdict.condition == "Complete" or has_condition(job.data, _TARGET)


def _failed_too_often(job: Record, tally: Tally) -> JobVerdict | None:
    spec = job.data["spec"]
    limit = spec.get("backoffLimit", 6)
    if tally.failed > limit:
        return JobVerdict("Failed", "BackoffLimitExceeded", texts.backoff_limit_exceeded(tally.failed, limit))
    if spec["template"]["spec"].get("restartPolicy") == "OnFailure":
        restarted = sum(map(restarts, tally.active))
        if restarted > 0 and restarted >= limit:
            return JobVerdict("Failed", "BackoffLimitExceeded", texts.restarts_exceeded(restarted, limit))
    return None


def _too_late(job: Record, now: datetime) -> JobVerdict | None:
    remaining = seconds_left(job, now)
    if remaining is None or remaining > 0:
        return None
    message = texts.deadline_exceeded(job.data["spec"]["activeDeadlineSeconds"])
    return JobVerdict("Failed", "DeadlineExceeded", message)


def _complete(job: Record, tally: Tally) -> JobVerdict | None:
    if tally.completions is not None:
        enough = tally.succeeded >= tally.completions
    else:  # a work queue: it is empty when one pod has said so and no other is at work
        enough = tally.succeeded > 0 and not tally.active and not is_suspended(job)
    return JobVerdict("Complete", "CompletionsReached", texts.JOB_COMPLETE) if enough else None


def seconds_left(job: Record, now: datetime) -> float | None:
    """Until the Job's deadline; None: it has none, or does not run."""
    started = job.data.get("status", {}).get("startTime")
    seconds = job.data["spec"].get("activeDeadlineSeconds")
    if started is None or seconds is None or is_suspended(job):
        return None
    return float(seconds) - (now - moment_of(started)).total_seconds()


def is_suspended(job: Record) -> bool:
    return bool(job.data["spec"].get("suspend"))


def ended_at(job: Record) -> datetime | None:
    """When a Job was over; None: it is not."""
    over = true_condition(job.data, "Complete", "Failed")
    return moment_of(over["lastTransitionTime"]) if over else None


def write_status(status: dict[str, Any], job: Record, tally: Tally, verdict: JobVerdict | None, now: datetime) -> None:
    """What the status is now to say. It is over only when all has been counted and nothing is left."""
    tally.write(status)
    if verdict is not None:
        if verdict.condition == "Failed":
            set_condition(status, _TARGET, "True", verdict.reason, verdict.message, now=now)
        if tally.settled:
            _end(status, verdict, now)
    elif is_suspended(job):
        status.pop("startTime", None)
        set_condition(status, "Suspended", "True", "JobSuspended", texts.JOB_SUSPENDED, now=now)
    else:
        if find_condition(status.get("conditions") or (), "Suspended"):
            set_condition(status, "Suspended", "False", "JobResumed", texts.JOB_RESUMED, now=now)
        status.setdefault("startTime", timestamp(now))


def _end(status: dict[str, Any], verdict: JobVerdict, now: datetime) -> None:
    set_condition(status, verdict.condition, "True", verdict.reason, verdict.message, now=now)
    status.setdefault("startTime", timestamp(now))
    if verdict.condition == "Complete":
        status["completionTime"] = timestamp(now)


def news(before: Record, after: Record) -> Iterator[tuple[str, str, str]]:
    """What happened between two versions of a Job, as events: their type, reason and message."""
    known = has_condition(before.data, "Suspended")
    if has_condition(after.data, "Suspended") and not known:
        yield "Normal", "Suspended", texts.JOB_SUSPENDED
    if known and not has_condition(after.data, "Suspended"):
        yield "Normal", "Resumed", texts.JOB_RESUMED
    if has_condition(after.data, "Complete") and not has_condition(before.data, "Complete"):
        yield "Normal", "Completed", texts.JOB_COMPLETE
    failed = condition_of(after.data, "Failed")
    if failed and not has_condition(before.data, "Failed"):
        yield "Warning", failed["reason"], failed["message"]
