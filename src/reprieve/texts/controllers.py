"""What controllers say about what they did, in conditions and events."""

from __future__ import annotations

from collections.abc import Mapping

JOB_SUSPENDED = "the Job is suspended; its pods are asked to end"
JOB_RESUMED = "the Job was resumed"
JOB_COMPLETE = "the Job is complete"


def backoff_limit_exceeded(failed: int, limit: int) -> str:
    return f"{failed} pods failed; spec.backoffLimit allows {limit}"


def restarts_exceeded(restarts: int, limit: int) -> str:
    return f"containers were restarted {restarts} times; spec.backoffLimit allows {limit}"


def deadline_exceeded(seconds: int) -> str:
    return f"the Job was active for longer than spec.activeDeadlineSeconds: {seconds} s"


def cannot_create_pods(why: Exception) -> str:
    return f"pods cannot be created: {why}"


def enough_pods(healthy: int, desired: int) -> str:
    return f"{healthy} pods are healthy, {desired} must stay"


def minimum_available(available: int, wanted: int) -> str:
    return f"{available} of {wanted} pods are available"


def content_remains(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    return f"still there: {listed}"
