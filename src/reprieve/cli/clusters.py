"""Questions about a Kubernetes cluster that is only looked at: `plan`, `explain` and `top` with --context.

What reads a cluster is imported where it is needed: all other questions need not wait for it.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reprieve.cli.manifests import read_manifests
from reprieve.cli.options import BadUsage, SearchName, settings_from
from reprieve.cli.terminal import say
from reprieve.configuration import Settings
from reprieve.manifests.kinds import EVENTS, RESOURCES, UNDECIDED_OVER, resource_of, written_name
from reprieve.manifests.resource import Resource
from reprieve.planning.change import ProposedChange
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import Planner, usable
from reprieve.planning.questions import asked_of, moment_of
from reprieve.planning.result import Result
from reprieve.planning.what_if import what_if
from reprieve.texts import clusters as texts

if TYPE_CHECKING:
    from reprieve.cluster_snapshot import Snapshot

DECIDED_OVER = tuple(resource for resource in RESOURCES.values() if resource not in UNDECIDED_OVER)
WITH_EVENTS = (*DECIDED_OVER, EVENTS)


class ClusterAsked(NamedTuple):
    """Which cluster, and by which settings it is thought about."""

    kubeconfig: str | None
    context: str | None
    config: str | None = None
    gates: str | None = None
    search: SearchName | None = None

    def __bool__(self) -> bool:
        """Whether one is named."""
        return self.kubeconfig is not None or self.context is not None

    def look(self, resources: Iterable[Resource] = DECIDED_OVER) -> "Snapshot":
        """The cluster as it is now; what of it could not be seen is told."""
        from reprieve.cluster_snapshot import take_snapshot

        # Whoever asks once is told once, below: not in log lines, too.
        logging.getLogger("reprieve.stores.kubernetes").setLevel(logging.ERROR)
        found = take_snapshot(self.kubeconfig, self.context, resources)
        if found.forbidden:
            say(f"warning: {texts.not_listed([str(each) for each in found.forbidden])}", err=True)
        for resource, why in found.broken:
            say(f"warning: {texts.not_given(str(resource), why)}", err=True)
        return found

    def settings(self, found: "Snapshot") -> Settings:
        """Gates are as was said, else as the kinds of the server show them to be."""
        said = settings_from(self.config, self.gates, self.search)
        return msgspec.structs.replace(said, feature_gates={**found.gates, **said.feature_gates})


def plan_cluster(
    asked: ClusterAsked, files: list[str], unit: str | None, now: str | None, in_full: int | None
) -> Result:
    """The decision for one unit, for what files come to, or for all that wait; `in_full` is for `Planner.cycle`."""
    from reprieve.live_planning import hypothetical

    found = asked.look()
    settings, moment = asked.settings(found), moment_of(now)
    manifests = read_manifests(files, otherwise=found.namespace) if files else []
    _warn(found, manifests)
    hypothesis = hypothetical(found.records, manifests, settings)
    planner = Planner(hypothesis.loaded, settings, moment)
    if unit:
        return planner.single(asked_of(unit).unit)
    if not manifests:
        return planner.cycle(in_full=in_full)
    result = planner.cycle(hypothesis.units, in_full=in_full)
    if not result.decisions:
        raise BadUsage(texts.nothing_to_place([_unit(data) for data in manifests]))
    return result


def compare_cluster(asked: ClusterAsked, change: ProposedChange, now: str | None) -> Comparison:
    """What is different with a change."""
    from reprieve.live_planning import load_records

    found = asked.look()
    return what_if(load_records(found.records), change, asked.settings(found), moment_of(now))


def planner_over(found: "Snapshot", settings: Settings, now: str | None) -> Planner:
    """A planner over what there is."""
    from reprieve.live_planning import load_records

    records = (record for record in found.records if record.resource != EVENTS)
    return Planner(usable(load_records(records)), settings, moment_of(now))


def _warn(found: "Snapshot", manifests: list[dict[str, Any]]) -> None:
    for data in manifests:
        resource = resource_of(data["apiVersion"], data["kind"])
        if resource in found.absent:
            say(f"warning: {texts.not_served(_unit(data), str(resource))}", err=True)


def _unit(data: dict[str, Any]) -> str:
    return written_name(data["kind"], data["metadata"].get("namespace", ""), data["metadata"]["name"])
