"""`reprieve explain` from the history of a control plane: what was decided about a unit, and what became of it."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from reprieve.cli.kinds import unit_in
from reprieve.cli.logs import owners_of, pods_of
from reprieve.cli.show import show_decision, show_spared, table
from reprieve.client.errors import Refused
from reprieve.manifests.kinds import EVENTS, QUOTA_WORKLOADS, written_name
from reprieve.manifests.resource import Resource
from reprieve.planning.result import Decision
from reprieve.texts import explanations as texts
from reprieve.texts import history

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
_OWNERS = ("Job", "ReplicaSet", "Deployment")
_MOST_UNITS = 5


def explain_live(client: "Client", word: str, why_not: str | None, namespace: str | None) -> tuple[Any, str]:
    """What the server tells, as data and as text."""
    resource, place, name = unit_in(word, namespace)
    unit = written_name(resource.kind, place, name)
    if why_not is not None:
        other_resource, other_place, other_name = unit_in(why_not, namespace)
        other = written_name(other_resource.kind, other_place, other_name)
        told = client.explain(unit)
        return told, "\n".join(_why_not(told, other))
    if resource.kind in _OWNERS:
        return _explain_owner(client, resource, place, name)
    told = client.explain(unit)
    return told, "\n".join(_lines(told))


def _lines(told: Data) -> Iterator[str]:
    """The latest first: what was decided about it, or who it made way for; then its story."""
    parts = [(part, about) for part, about in (("preempted", _preempted), ("decision", _decided)) if told[part]]
    for _, about in sorted(parts, key=lambda each: told[each[0]]["id"], reverse=True):
        yield from about(told)
        yield ""
    yield history.story_heading(told["unit"])
    yield from story_lines(told["story"])


def _preempted(told: Data) -> Iterator[str]:
    made, unit = told["preempted"], told["unit"]
    plan = msgspec.convert(made["plan"], Decision)
    why = next((victim["message"] for victim in plan.victims if victim["unit"] == unit), made["message"])
    yield history.preempted(unit, made["at"], plan.preemptor, plan.domain or "", why)
    others = [victim["unit"] for victim in plan.victims if victim["unit"] != unit]
    if others:
        yield history.went_with_it(others)
    yield from show_spared(plan)


def _decided(told: Data) -> Iterator[str]:
    made = told["decision"]
    yield history.last_decision(made["at"], made["message"], made["times"], made["last"])
    plan = msgspec.convert(made["plan"], Decision)
    if plan.outcome != "Fits":
        yield from list(show_decision(plan))[1:]


def story_lines(story: list[Data]) -> list[str]:
    rows = [(history.clock_time(line["at"]), line["step"], line["cause"]) for line in story]
    return list(table(history.STORY_COLUMNS, rows))


def _why_not(told: Data, other: str) -> Iterator[str]:
    """Why another one stayed, in the last decision about a unit."""
    made = told["decision"]
    if made is None:
        raise Refused(history.no_decision(told["unit"]))
    plan = msgspec.convert(made["plan"], Decision)
    yield history.last_decision(made["at"], made["message"], made["times"], made["last"])
    victims = {victim["unit"]: victim["message"] for victim in plan.victims}
    spared = {item["unit"]: item["message"] for item in plan.spared}
    if other in victims:
        yield texts.makes_way(other, victims[other])
    elif plan.outcome == "Fits":
        yield texts.not_chosen(other, texts.nobody_has_to(plan.preemptor))
    else:
        yield (texts.not_chosen(other, spared[other]) if other in spared else history.not_asked(other, plan.preemptor))


# What is made of several units


def _explain_owner(client: "Client", resource: Resource, namespace: str, name: str) -> tuple[Any, str]:
    """A Job is scheduled as its pods, or as the workload that waits in a queue for it: each is explained."""
    owner = client.get(resource, name, namespace)
    units = [*_workloads(client, owner), *_pods(client, owner)]
    owner_name = written_name(resource.kind, namespace, name)
    told = [found for unit in units if (found := _known(client, unit)) is not None]
    if not told:
        raise Refused(history.owns_nothing_known(owner_name))
    told = sorted(told, key=_latest)[-_MOST_UNITS:]
    heading = history.belongs_to(owner_name, [each["unit"] for each in told])
    return told, "\n\n".join([heading, *("\n".join(_lines(each)) for each in told)])


def _known(client: "Client", unit: str) -> Data | None:
    try:
        return client.explain(unit)
    except Refused as error:
        if error.not_found:
            return None
        raise


def _latest(told: Data) -> str:
    return str(told["story"][-1]["at"]) if told["story"] else ""


def _workloads(client: "Client", owner: Data) -> list[str]:
    namespace, uid = owner["metadata"].get("namespace", ""), owner["metadata"]["uid"]
    items = client.items(QUOTA_WORKLOADS, namespace)
    return [written_name("Workload", namespace, item["metadata"]["name"]) for item in items if uid in owners_of(item)]


def _pods(client: "Client", owner: Data) -> list[str]:
    """Its pods, and those that events remember: who made way is gone, and others came in their place."""
    metadata = owner["metadata"]
    namespace = metadata.get("namespace", "")
    names = {pod["metadata"]["name"] for pod in pods_of(client, owner)}
    own = re.compile(rf"{re.escape(metadata['name'])}(-\d+)?(-[a-z0-9]{{1,10}})?-[a-z0-9]{{5}}")
    events = client.items(EVENTS, namespace, fields="involvedObject.kind=Pod")
    names |= {name for event in events if own.fullmatch(name := event["involvedObject"].get("name", ""))}
    return [written_name("Pod", namespace, name) for name in sorted(names)]
