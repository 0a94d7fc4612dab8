"""What has come of a Job's pods: each that ended is counted once, whenever the controller dies, whoever deletes pods.

1. A pod carries a finalizer until it has been counted, so none is missed.
2. The uid of a pod that ended is written to status.uncountedTerminatedPods before its finalizer is removed, and goes
   into the counters in the same write that takes it off that list, when the finalizer is seen to be gone. So none is
   counted twice. Pods of an Indexed Job that succeeded are counted by index, which needs no such list.
3. A pod that is deleted, or that had to make way for others, is lost: it neither succeeded nor failed, and is replaced.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal

from reprieve.controllers.pods.templates import is_active, is_finished, is_ready, phase_of, was_disrupted
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"
_NUMBER = re.compile("[0-9]{1,10}").fullmatch
_MOST_INDEXES = 1_000_000
Outcome = Literal["succeeded", "failed", "lost"]


def outcome_of(pod: Record) -> Outcome | None:
    """How a pod ended; None: it has not."""
    if phase_of(pod) == "Succeeded":
        return "succeeded"
    if is_leaving(pod):
        return "lost"
    if phase_of(pod) == "Failed":
        return "lost" if was_disrupted(pod) else "failed"
    return None


class Tally:
    """A Job's counts, from its status and its pods at one moment."""

    def __init__(self, job: Record, pods: list[Record]) -> None:
        spec, status = job.data["spec"], job.data.get("status", {})
        self.pods = pods
        self.completions: int | None = spec.get("completions")
        self.indexed = spec.get("completionMode") == "Indexed" and self.completions is not None
        self.active = [pod for pod in pods if is_active(pod)]
        self.terminating = [pod for pod in pods if is_leaving(pod) and not is_finished(pod)]
        self._tracked = {pod.uid: outcome_of(pod) for pod in pods if TRACKING in finalizers_of(pod)}
        self.completed = self._completed(status) if self.indexed else set()
        self._counted: dict[str, int] = {}
        self._uncounted: dict[str, list[str]] = {}
        for outcome in ("failed",) if self.indexed else ("succeeded", "failed"):
            self._count(outcome, status)
        if self.indexed:
            self._counted["succeeded"] = len(self.completed)

    def _completed(self, status: dict[str, Any]) -> set[int]:
        ended = {index_of(pod) for pod in self.pods if self._tracked.get(pod.uid) == "succeeded"}
        known = read_indexes(status.get("completedIndexes", "")) | ended
        return {index for index in known if 0 <= index < (self.completions or 0)}

    def _count(self, outcome: str, status: dict[str, Any]) -> None:
        listed = (status.get("uncountedTerminatedPods") or {}).get(outcome) or []
        waiting = {uid: None for uid in listed if uid in self._tracked}
        fresh = [uid for uid, ended in self._tracked.items() if ended == outcome and uid not in waiting]
        self._counted[outcome] = status.get(outcome, 0) + len(listed) - len(waiting)
        self._uncounted[outcome] = [*waiting, *fresh]

    @property
    def succeeded(self) -> int:
        return self._total("succeeded")

    @property
    def failed(self) -> int:
        return self._total("failed")

    def _total(self, outcome: str) -> int:
        return self._counted[outcome] + len(self._uncounted.get(outcome, ()))

    @property
    def settled(self) -> bool:
        """Whether all that ended has been counted, and nothing is still leaving."""
        return not any(self._uncounted.values()) and not self.active and not self.terminating

    @property
    def to_release(self) -> list[Record]:
        """The pods that may go, once the status says what came of them."""
        return [pod for pod in self.pods if self._tracked.get(pod.uid) is not None]

    def write(self, status: dict[str, Any]) -> None:
        """The counts, as a status has them: zeros are left out where Kubernetes does."""
        counts = {"active": len(self.active), **self._counted}
        for name, number in counts.items():
            _set(status, name, number)
        status["ready"] = sum(map(is_ready, self.active))
        status["terminating"] = len(self.terminating)
        uncounted = {outcome: uids for outcome, uids in self._uncounted.items() if uids}
        _set(status, "uncountedTerminatedPods", uncounted)
        _set(status, "completedIndexes", write_indexes(self.completed))


def _set(status: dict[str, Any], name: str, value: Any) -> None:
    if value:
        status[name] = value
    else:
        status.pop(name, None)


# The indexes of an Indexed Job: how completed ones are written, and how a pod knows its own


def read_indexes(text: str) -> set[int]:
    """`0-2,5` as a set. What is no number is left out, and so is what would be beyond all that can have been done."""
    parts = (part.partition("-") for part in text.split(","))
    runs = ((int(first), int(last or first)) for first, _, last in parts if _NUMBER(first) and _NUMBER(last or first))
    return set(islice((index for first, last in runs for index in range(first, last + 1)), _MOST_INDEXES))


def write_indexes(indexes: Iterable[int]) -> str:
    """A set as `0-2,5`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{first}-{last}" if first != last else str(first) for first, last in runs)


def index_of(pod: Record) -> int:
    """The index of a pod; -1: it has none that could be read."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else -1


def with_index(pod: dict[str, Any], index: int) -> dict[str, Any]:
    """Tell a new pod its index: in an annotation, a label, its name, its host name and its containers' environment."""
    metadata, spec = pod["metadata"], pod["spec"]
    job = metadata["generateName"]
    metadata["generateName"] = f"{job}{index}-"
    for said in ("annotations", "labels"):
        metadata[said] = {**metadata.get(said, {}), INDEX: str(index)}
    spec.setdefault("hostname", f"{job}{index}"[-63:].lstrip("-."))
    for containers in ("containers", "initContainers"):
        if containers in spec:
            spec[containers] = [_told(container, index) for container in spec[containers]]
    return pod


def _told(container: dict[str, Any], index: int) -> dict[str, Any]:
    environment = container.get("env") or []
    if any(variable.get("name") == _VARIABLE for variable in environment):
        return container
    return {**container, "env": [*environment, {"name": _VARIABLE, "value": str(index)}]}
