"""`reprieve explain --context`: a unit of a cluster where nothing of Reprieve runs.

What is pending or running is explained as over files. Of what another scheduler preempted, also when it is gone, the
events of the cluster tell, for as long as they are kept there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reprieve.cli.clusters import WITH_EVENTS, ClusterAsked, planner_over
from reprieve.cli.explain.files import explain_planner
from reprieve.cli.kinds import unit_in
from reprieve.cli.options import BadUsage
from reprieve.cluster_snapshot import Snapshot
from reprieve.controllers.made import Surroundings
from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import EVENTS, PODS, QUOTA_WORKLOADS, written_name
from reprieve.manifests.problems import Problem
from reprieve.model.names import parts_of
from reprieve.scheduler.shadow.told import uids_in
from reprieve.stores.records import Record
from reprieve.texts import clusters as texts
from reprieve.texts import history

_UNITS = (PODS, QUOTA_WORKLOADS)
_MOST_EVENTS = 10


class PreemptedEvent(NamedTuple):
    """That somebody had to go, as the scheduler which decided it has said it."""

    at: str
    victim: str
    preemptor: str
    """Empty: the event does not name it."""
    reporter: str
    message: str

    @property
    def sentence(self) -> str:
        return texts.preempted(self.victim, self.at, self.preemptor, self.reporter, self.message)


def explain_cluster(
    asked: ClusterAsked, word: str, why_not: str | None, namespace: str | None, now: str | None
) -> tuple[list[str], list[Problem]]:
    """The explanation in lines, and what is odd about the cluster."""
    found = asked.look(WITH_EVENTS)
    unit = _meant(found, word, namespace)
    planner = planner_over(found, asked.settings(found), now)
    if why_not is not None:
        other = _meant(found, why_not, namespace)
        return list(explain_planner(planner, unit, other)), planner.warnings
    return list(_lines(found, planner, unit)), planner.warnings


def _lines(found: Snapshot, planner: Any, unit: str) -> Iterator[str]:
    events = [each for each in _events(found) if unit in (each.victim, each.preemptor)][-_MOST_EVENTS:]
    there = _known(found, unit)
    parts = _parts(found, there) if there is not None else []
    if there is None:
        if not events:
            raise BadUsage(texts.not_there(unit, found.context))
        yield texts.is_gone(unit)
    for number, part in enumerate(parts):
        yield from [""] if number else []
        yield from explain_planner(planner, part, None)
    for each in events:
        yield each.sentence


def _meant(found: Snapshot, word: str, namespace: str | None) -> str:
    """The unit that a word means: with its kind, or by its name alone where only one unit has it."""
    home = namespace or found.namespace
    if "/" in word:
        resource, place, name = unit_in(word, home)
        return written_name(resource.kind, place, name)
    named = list(dict.fromkeys(_units_called(found, word)))
    here = [unit for unit in named if parts_of(unit).namespace in ("", home or DEFAULT_NAMESPACE)]
    meant = here or ([] if namespace else named)
    if len(meant) != 1:
        raise BadUsage(history.which_of(word, meant) if meant else history.nobody_called(word, namespace))
    return meant[0]


def _units_called(found: Snapshot, name: str) -> Iterator[str]:
    yield from (record.unit for record in found.records if record.name == name and record.resource in _UNITS)
    yield from (each.victim for each in _events(found) if parts_of(each.victim).name == name)


def _known(found: Snapshot, unit: str) -> Record | None:
    return next((record for record in found.records if record.unit == unit and record.resource != EVENTS), None)


def _parts(found: Snapshot, there: Record) -> list[str]:
    """The unit itself; of what makes pods, or a Workload, these."""
    around = Surroundings(found.records)
    owned = [each.unit for resource in _UNITS for each in around.owned(there, resource)]
    return [there.unit] if there.resource == PODS else owned or [there.unit]


def _events(found: Snapshot) -> list[PreemptedEvent]:
    """The oldest first."""
    by_uid = {record.uid: record.unit for record in found.records if record.resource in _UNITS}
    return sorted(_event(record.data, by_uid) for record in found.all(EVENTS))


def _event(data: dict[str, Any], by_uid: dict[str, str]) -> PreemptedEvent:
    times = (data.get("lastTimestamp"), data.get("eventTime"), data["metadata"].get("creationTimestamp"))
    return PreemptedEvent(
        next((time for time in times if time), ""),
        _named(data.get("involvedObject") or {}),
        _named(data.get("related") or {}) or next((by_uid[uid] for uid in uids_in(data) if uid in by_uid), ""),
        data.get("reportingComponent") or (data.get("source") or {}).get("component") or "its scheduler",
        data.get("message") or "",
    )


def _named(reference: dict[str, Any]) -> str:
    if not reference.get("name"):
        return ""
    return written_name(reference.get("kind", ""), reference.get("namespace", ""), reference["name"])
