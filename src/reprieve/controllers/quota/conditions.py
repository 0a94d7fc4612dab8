"""Where a quota workload stands, as its conditions say, and the changes of its status that controllers make.

1. It holds quota from its admission until that is cleared, or it has finished.
2. Evicted says that it has to leave; it still holds its quota, until its pods are seen to be gone.
3. The quota is given back in one write: admission, QuotaReserved, Admitted and Requeued change together.

Changes are given the whole object as it is at the moment of writing, and do nothing where it is no longer meant.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reprieve.manifests.kueue_annotations import ends_when_preempted
from reprieve.model import conditions
from reprieve.model.clock import moment_of, timestamp
from reprieve.model.conditions import condition_of, has_condition
from reprieve.stores import writing
from reprieve.stores.records import Record
from reprieve.stores.writing import Change
from reprieve.texts import controllers as texts

FINALIZER = "kueue.x-k8s.io/resource-in-use"
"""Keeps a workload, and with it its quota and the original template, until its pods are gone."""
DEACTIVATED = "Deactivated"
TOO_LONG = "MaximumExecutionTimeExceeded"
BACK_OFF_OVER = "BackoffFinished"
PAST_SECONDS = "accumulatedPastExecutionTimeSeconds"


def status_of(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data.get("status") or {}
    return found


def admission_of(workload: Record) -> dict[str, Any] | None:
    found: dict[str, Any] | None = status_of(workload.data).get("admission")
    return found


def is_finished(workload: Record) -> bool:
    return has_condition(workload.data, "Finished")


def is_evicted(workload: Record) -> bool:
    return has_condition(workload.data, "Evicted")


def is_active(data: dict[str, Any]) -> bool:
    return data["spec"].get("active", True) is not False


def holds_quota(workload: Record) -> bool:
    return admission_of(workload) is not None and not is_finished(workload)


def may_run(workload: Record) -> bool:
    """Whether its pods may start, or go on."""
    leaves = is_evicted(workload) or writing.is_leaving(workload)
    return holds_quota(workload) and has_condition(workload.data, "Admitted") and not leaves


def ends(workload: Record) -> bool:
    """Whether it was preempted and asked to end then, instead of being queued again."""
    preempted = is_evicted(workload) and condition_of(workload.data, "Evicted").get("reason") == "Preempted"
    return preempted and not is_active(workload.data) and ends_when_preempted(workload.manifest)


def why_evicted(workload: Record) -> tuple[str, str]:
    """Reason and message of its eviction; a preemption says more in its own condition."""
    evicted = condition_of(workload.data, "Evicted")
    preempted = condition_of(workload.data, "Preempted")
    told = preempted if evicted.get("reason") == "Preempted" and preempted.get("status") == "True" else {}
    return evicted.get("reason", ""), told.get("message") or evicted.get("message", "")


def set_condition(data: dict[str, Any], kind: str, status: str, reason: str, message: str, now: datetime) -> None:
    """A condition of a workload; its time is precise, because who got quota last is asked to leave first."""
    generation = data["metadata"].get("generation")
    how: dict[str, Any] = {"now": now, "precise": True, **({"observedGeneration": generation} if generation else {})}
    conditions.set_condition(data.setdefault("status", {}), kind, status, reason, message, **how)


def evict(reason: str, message: str, now: datetime, requeue: Mapping[str, Any] | None = None) -> Change:
    """Ask a workload to leave that holds quota and has not been asked; `requeue`: how often and when it may be back."""

    def change(data: dict[str, Any]) -> None:
        holds = status_of(data).get("admission") is not None and not has_condition(data, "Finished")
        if holds and not has_condition(data, "Evicted"):
            set_condition(data, "Evicted", "True", reason, message, now)
            if requeue:
                data["status"]["requeueState"] = dict(requeue)

    return change


def release(now: datetime) -> Change:
    """Give back the quota of an evicted workload whose pods are gone, and queue it again if it is active."""

    def change(data: dict[str, Any]) -> None:
        if status_of(data).get("admission") is None or not has_condition(data, "Evicted"):
            return
        if data["spec"].get("maximumExecutionTimeSeconds") is not None:  # only then is it counted how long it has run
            data["status"][PAST_SECONDS] = int(seconds_run(data, now))
        del data["status"]["admission"]
        data["status"].pop("unhealthyNodes", None)
        active = is_active(data)
        reason = condition_of(data, "Evicted").get("reason", "Pending")
        message = texts.WAITS_AGAIN if active else texts.STAYS_OUT
        set_condition(data, "QuotaReserved", "False", "Pending", message, now)
        set_condition(data, "Admitted", "False", "NoReservation", message, now)
        reset_checks(data["status"], now)
        later = requeued_at(data)
        if not active:
            set_condition(data, "Requeued", "False", DEACTIVATED, texts.NOT_QUEUED_AGAIN, now)
        elif later is not None and later > now:
            set_condition(data, "Requeued", "False", reason, texts.queued_again_at(later), now)
        else:
            set_condition(data, "Requeued", "True", reason, texts.QUEUED_AGAIN, now)

    return change


def requeued_at(data: dict[str, Any]) -> datetime | None:
    """When it is queued again, where that was put off."""
    at = (status_of(data).get("requeueState") or {}).get("requeueAt")
    return moment_of(at) if at else None


def backs_off(workload: Record) -> bool:
    """Whether it waits for the time at which it is queued again."""
    requeued = condition_of(workload.data, "Requeued")
    return requeued.get("status") == "False" and requeued.get("reason") != DEACTIVATED


def queue_again(message: str, now: datetime) -> Change:
    """Its time has come; how often that was so stays."""

    def change(data: dict[str, Any]) -> None:
        if condition_of(data, "Requeued").get("status") == "False" and (requeued_at(data) or now) <= now:
            (status_of(data).get("requeueState") or {}).pop("requeueAt", None)
            set_condition(data, "Requeued", "True", BACK_OFF_OVER, message, now)

    return change


def reset_checks(status: dict[str, Any], now: datetime) -> None:
    """Who asks for quota again is looked at again."""
    for check in status.get("admissionChecks") or ():
        if check.get("state", "Pending") != "Pending":
            message = texts.check_reset(check["state"])
            check |= {"state": "Pending", "message": message, "lastTransitionTime": timestamp(now)}
        check.pop("podSetUpdates", None)
        check.pop("requeueAfterSeconds", None)


def reclaim(done: Mapping[str, int]) -> Change:
    """So many pods of each set have done their work: the quota of these is free."""

    def change(data: dict[str, Any]) -> None:
        status, counts = status_of(data), dict(done)
        if status.get("admission") is not None:  # what was given back is not taken again, whatever becomes of the pods
            for known in status.get("reclaimablePods", ()):
                counts[known["name"]] = max(known["count"], counts.get(known["name"], 0))
        said = [{"name": name, "count": count} for name, count in counts.items() if count > 0]
        if said:
            data.setdefault("status", {})["reclaimablePods"] = said
        else:
            status_of(data).pop("reclaimablePods", None)

    return change


def seconds_run(data: dict[str, Any], now: datetime) -> float:
    """For how long it has been admitted, in all its turns."""
    past = float(status_of(data).get(PAST_SECONDS) or 0)
    admitted = condition_of(data, "Admitted")
    if admitted.get("status") != "True" or not admitted.get("lastTransitionTime"):
        return past
    return past + max(0.0, (now - moment_of(admitted["lastTransitionTime"])).total_seconds())


def reactivate(message: str, now: datetime) -> Change:
    """Queue a workload again that was kept out because it was not active; what made it so no longer counts."""

    def change(data: dict[str, Any]) -> None:
        if not is_active(data) or status_of(data).get("admission") is not None:
            return
        data["status"].pop(PAST_SECONDS, None)
        data["status"].pop("requeueState", None)
        if has_condition(data, "DeactivationTarget"):
            set_condition(data, "DeactivationTarget", "False", "Reactivated", message, now)
        set_condition(data, "Requeued", "True", "Reactivated", message, now)

    return change


def finish(message: str, now: datetime) -> Change:
    """What has finished holds no quota any more; nothing takes that back."""

    def change(data: dict[str, Any]) -> None:
        if not has_condition(data, "Finished"):
            set_condition(data, "Finished", "True", "JobFinished", message, now)

    return change


def without_finalizer(data: dict[str, Any]) -> None:
    """Let a workload go as soon as it is deleted."""
    writing.drop_finalizer(data, FINALIZER)
