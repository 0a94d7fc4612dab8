"""What kube-scheduler logs with `-v=4`: what it took notice of and what it decided, line by line, in its own order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

VERBOSE = "-v=4"
_LINE = re.compile(r'^[IWE]\d{4} (?P<at>\S+) .*?\] "(?P<says>[^"]*)"(?P<rest>.*)$')
_FIELD = re.compile(r' (\w+)="?([^" ]*)"?')

ATTEMPT = "Attempting to schedule pod"
CHOSEN = "OpportunisticBatch set cycle state"
PREEMPTS = "the target node for the preemption is determined"
BEGINS = "Start the preemption asynchronously"
SKIPS = "Victim Pod is already being deleted, skipping the API call for it"
NOMINATES = "Updating pod condition and nominated node name"
SEES = frozenset(
    {
        "Add event for unscheduled pod",
        "Update event for unscheduled pod",
        "Add event for scheduled pod",
        "Update event for scheduled pod",
        "Delete event for scheduled pod",
    }
)
TELLS = "Preemptor Pod preempted victim Pod"
VICTIMS = {
    TELLS: "victim",
    "Victim Pod is already deleted": "victim",
    SKIPS: "victim",
    "Preemptor preempted a waiting pod": "waitingPod",
    "Preemptor rejected a pod in preBind": "podInPreBind",
}
"""Whom it has chosen, whether there was anything left to do about them or not: by what a line calls them."""


class Line(NamedTuple):
    at: str
    says: str
    fields: dict[str, str]

    def name(self, field: str = "pod") -> str:
        return self.fields.get(field, "").partition("/")[2]


def lines(text: Iterable[str], namespace: str) -> Iterator[Line]:
    """Those about pods of a namespace."""
    for each in text:
        found = _LINE.match(each) if f'="{namespace}/' in each else None
        if found is not None:
            yield Line(found["at"], found["says"], dict(_FIELD.findall(found["rest"])))
