"""What pods, groups, workloads and bindings say about the work that is lost with them, in annotations.

When they last saved it, and what an interruption costs after so long: the milestones are those that KEP-83 considered
for workloads. What cannot be read counts as not said: admission reports it, decisions pass over it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from reprieve.manifests.kueue import DISRUPTION_COST
from reprieve.manifests.kueue_annotations import Milestones, milestones_of, unreadable
from reprieve.manifests.problems import Finding, found, join_path
from reprieve.model.remembering import remembered

CHECKPOINT = "reprieve.scheduling/last-checkpoint"
ANNOTATIONS_OF_LOST_WORK = frozenset((CHECKPOINT, DISRUPTION_COST))
_RIGHT = "it must be a time such as 2026-01-01T12:00:00Z"


class Said(NamedTuple):
    """What somebody says about its work; what it does not say, those around it may."""

    checkpoint: datetime | None = None
    milestones: Milestones = ()

    def __bool__(self) -> bool:
        return self.checkpoint is not None or bool(self.milestones)


def said_in(*annotations: Mapping[str, str]) -> Said:
    """Of several that stand one within the other: what the innermost says that says anything."""
    for each in annotations:
        if CHECKPOINT in each or DISRUPTION_COST in each:
            said = Said(_moment(each.get(CHECKPOINT, "")), milestones_of(each))
            if said:
                return said
    return Said()


@remembered(4096)
def _moment(text: str) -> datetime | None:
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        return None
    return moment if moment.tzinfo is not None else None


def check_lost_work(annotations: Mapping[str, str], path: str = "$.metadata.annotations") -> Iterator[Finding]:
    """What cannot be read of it."""
    if CHECKPOINT in annotations and _moment(annotations[CHECKPOINT]) is None:
        yield Finding(join_path(path, CHECKPOINT), found(annotations[CHECKPOINT]), _RIGHT)
    wrong = unreadable(annotations).get(DISRUPTION_COST)
    if wrong:
        yield Finding(join_path(path, DISRUPTION_COST), found(annotations[DISRUPTION_COST]), wrong)
