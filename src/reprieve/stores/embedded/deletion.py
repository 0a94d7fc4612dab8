"""What a deletion does to an object: ends it, or marks it and waits for its agent and its finalizers.

1. A pod that has a node and is not finished gets its grace period; everything else goes at once.
2. Asked again, a grace period can only become shorter; 0 is the end of it.
3. An object with finalizers stays, marked, until the last one is removed.
4. Orphan and Foreground are finalizers too, which the garbage collector removes when it has done its part.
5. A namespace stays until its controller has emptied it and says so.
"""

from datetime import datetime, timedelta
from typing import Any

from reprieve.model.clock import moment_of, timestamp
from reprieve.stores.protocol import FOREGROUND, ORPHAN, Propagation

Data = dict[str, Any]
_FINALIZERS = {"Orphan": ORPHAN, "Foreground": FOREGROUND}


def grace_of(pod: Data, asked: int | None) -> int:
    """How long a pod may take to end."""
    finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if finished or not pod["spec"].get("nodeName"):
        return 0
    if asked is None:
        asked = int(pod["spec"].get("terminationGracePeriodSeconds", 30))
    return asked if asked >= 0 else 1


def mark_deleted(data: Data, asked: int | None, propagation: Propagation, now: datetime) -> None:
    """Set the time and the grace period of a deletion, or shorten them, in data of one's own."""
    metadata = data["metadata"]
    _set_propagation(metadata, propagation)
    if "deletionTimestamp" not in metadata:
        grace = grace_of(data, asked) if data["kind"] == "Pod" else 0
        _set_time(metadata, now + timedelta(seconds=grace), grace)
        if "generation" in metadata:
            metadata["generation"] += 1
    elif asked is not None and asked < metadata.get("deletionGracePeriodSeconds", 0):
        begun = moment_of(metadata["deletionTimestamp"])
        shorter = max(0, asked) - metadata["deletionGracePeriodSeconds"]
        _set_time(metadata, begun + timedelta(seconds=shorter), max(0, asked))
    if data["kind"] == "Namespace":
        data["status"] = {**data.get("status", {}), "phase": "Terminating"}


def _set_time(metadata: Data, moment: datetime, grace: int) -> None:
    metadata["deletionTimestamp"] = timestamp(moment)
    metadata["deletionGracePeriodSeconds"] = grace


def _set_propagation(metadata: Data, propagation: Propagation) -> None:
    """Background leaves the finalizers alone: a deletion that is under way in another manner goes on so."""
    if propagation != "Background":
        kept = [each for each in metadata.get("finalizers", []) if each not in (ORPHAN, FOREGROUND)]
        metadata["finalizers"] = [*kept, _FINALIZERS[propagation]]


def is_over(data: Data) -> bool:
    """Whether nothing keeps a marked object any more."""
    metadata = data["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if data["kind"] == "Namespace" and data.get("spec", {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")
