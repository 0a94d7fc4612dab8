"""The live table: the places of a scene, how full they are, and who runs, leaves and waits there."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import yaml
from rich.table import Table
from rich.text import Text

from reprieve.demo.scenes import LABEL, Scene
from reprieve.demo.stage import Stage
from reprieve.manifests.kinds import BINDINGS, CLUSTER_QUEUES, CLUSTERS, CONFIG_MAPS, NODES, PODS, QUOTA_WORKLOADS
from reprieve.manifests.pods import pod_slots
from reprieve.manifests.yunikorn import CONFIG_MAP, QUEUES_FILE
from reprieve.model.conditions import has_condition
from reprieve.model.resources import CPU, amount
from reprieve.policies.federation.bindings import FINISHED
from reprieve.policies.queue.pods import queue_name
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import demo as texts
from reprieve.texts import layout

RUNS, LEAVES, WAITS = "runs", "leaves", "waits"
_BORDERS = 3
"""What stands between the words of two columns."""
_EDGES = 4


class Guest(NamedTuple):
    """A unit that is somewhere, or waits to be; `cpu` in thousandths."""

    name: str
    place: str
    state: str
    cpu: int = 0


class SceneRoom(NamedTuple):
    """The places of a scene with the cpu that each has, or that is meant for it, and everybody there."""

    places: dict[str, int]
    guests: list[Guest]


def table(scene: Scene, stage: Stage, width: int) -> Table:
    """As many columns as there is room for, each at least as wide as its longest word."""
    title = "\n".join(layout.wrapped(scene.title, width, 0))
    shown = Table(title=title, title_justify="left")
    headings = (texts.PLACES[scene.policy], *texts.TABLE_COLUMNS)
    made = rows(scene, stage)
    words = [[_longest_word(cell) for cell in row] for row in made]
    room = width - _EDGES
    chosen = layout.choose(headings, words, room, gap=_BORDERS)
    whole = [max(len(row[place]) for row in (headings, *made)) for place in chosen.shown]
    least = [chosen.widths[place] for place in chosen.shown]
    widths = layout.spread(least, whole, room - _BORDERS * (len(least) - 1))
    for place, wide in zip(chosen.shown, widths, strict=True):
        shown.add_column(headings[place], width=wide)
    for row in made:
        shown.add_row(*(Text(row[place]) for place in chosen.shown))
    return shown


def _longest_word(text: str) -> str:
    return max(text.split(), key=len, default="")


def is_furnished(scene: Scene, stage: Stage) -> bool:
    """Whether the places of a scene are there, and known to have something."""
    places = _ROOMS[scene.policy](scene, stage).places
    return bool(places) and all(places.values())


def rows(scene: Scene, stage: Stage) -> list[tuple[str, ...]]:
    room = _ROOMS[scene.policy](scene, stage)
    shown = [_row(place, has, room.guests) for place, has in room.places.items()]
    lost = [guest for guest in room.guests if guest.place not in room.places]
    return [*shown, (texts.NO_PLACE, "", *_columns(lost))] if lost else shown


def _row(place: str, has: int, guests: Iterable[Guest]) -> tuple[str, ...]:
    here = [guest for guest in guests if guest.place == place]
    used = sum(guest.cpu for guest in here if guest.state != WAITS)
    return (place, f"{used / 1000:g} of {has / 1000:g} cpu", *_columns(here))


def _columns(guests: list[Guest]) -> Iterable[str]:
    """A unit that is there several times is written once."""
    for state in (RUNS, LEAVES, WAITS):
        found = Counter(guest.name for guest in guests if guest.state == state)
        yield ", ".join(f"{name} ×{number}" if number > 1 else name for name, number in found.items())


def _of_scene(records: Iterable[Record], scene: Scene) -> Iterable[Record]:
    return (record for record in records if record.labels.get(LABEL) == scene.name)


# Nodes, and pods on them


def _nodes(scene: Scene, stage: Stage) -> SceneRoom:
    nodes = {node.name: node.manifest.allocatable.of(CPU) for node in _of_scene(stage.all(NODES), scene)}
    return SceneRoom(nodes, [_pod(pod, pod.data["spec"].get("nodeName", ""), stage) for pod in _pods(scene, stage)])


def _pods(scene: Scene, stage: Stage) -> list[Record]:
    return [pod for pod in stage.all(PODS, scene.namespace) if not pod.manifest.finished]


def _pod(pod: Record, place: str, stage: Stage) -> Guest:
    """Pods that wait are written by their work: nobody knows them by name yet."""
    waits = not pod.data["spec"].get("nodeName")
    name = str(stage.owner(pod.unit) or pod.name) if waits else pod.name
    return Guest(name, place, _state(waits, is_leaving(pod)), pod_slots(pod.manifest.spec).of(CPU))


def _state(waits: bool, leaves: bool) -> str:
    return WAITS if waits else LEAVES if leaves else RUNS


# Queues of either kind


def _cluster_queues(scene: Scene, stage: Stage) -> SceneRoom:
    queues = {record.name: _nominal(record.data["spec"]) for record in _of_scene(stage.all(CLUSTER_QUEUES), scene)}
    found = stage.all(QUOTA_WORKLOADS, scene.namespace)
    return SceneRoom(queues, [_workload(each, stage) for each in found if not has_condition(each.data, "Finished")])


def _nominal(spec: dict[str, Any]) -> int:
    flavors = (flavor for group in spec.get("resourceGroups") or () for flavor in group["flavors"])
    quotas = (quota for flavor in flavors for quota in flavor["resources"] if quota["name"] == CPU)
    return sum(amount(CPU, quota["nominalQuota"]) for quota in quotas)


def _workload(record: Record, stage: Stage) -> Guest:
    admission = record.data.get("status", {}).get("admission") or {}
    used = (each.get("resourceUsage", {}).get(CPU, 0) for each in admission.get("podSetAssignments") or ())
    state = _state(not admission, has_condition(record.data, "Evicted"))
    name = str(stage.owner(record.unit) or record.name)
    return Guest(name, admission.get("clusterQueue", ""), state, sum(amount(CPU, each) for each in used))


def _queues(scene: Scene, stage: Stage) -> SceneRoom:
    config = stage.find(CONFIG_MAPS, CONFIG_MAP, scene.namespace)
    text = (config.data.get("data") or {}).get(QUEUES_FILE, "") if config is not None else ""
    guests = [_pod(pod, queue_name(pod.manifest.metadata), stage) for pod in _pods(scene, stage)]
    return SceneRoom(dict(_guarantees((yaml.safe_load(text) or {}).get("partitions") or (), "")), guests)


def _guarantees(parts: Iterable[dict[str, Any]], above: str) -> Iterable[tuple[str, int]]:
    """The leaves of the tree, each with the cpu that is guaranteed to it."""
    for part in parts:
        for queue in part.get("queues") or ():
            path = f"{above}.{queue['name']}" if above else str(queue["name"])
            if queue.get("queues"):
                yield from _guarantees([queue], path)
            else:
                yield path, amount(CPU, ((queue.get("resources") or {}).get("guaranteed") or {}).get("vcore", 0))


# Member clusters


def _clusters(scene: Scene, stage: Stage) -> SceneRoom:
    clusters = {record.name: _allocatable(record) for record in _of_scene(stage.all(CLUSTERS), scene)}
    bindings = [each for each in stage.all(BINDINGS, scene.namespace) if not has_condition(each.data, FINISHED)]
    return SceneRoom(clusters, [guest for binding in bindings for guest in _binding(binding, stage)])


def _allocatable(record: Record) -> int:
    summary = record.manifest.status.resource_summary
    return summary.allocatable.of(CPU) if summary is not None else 0


def _binding(record: Record, stage: Stage) -> Iterable[Guest]:
    spec = record.data["spec"]
    name = str(stage.owner(record.unit) or record.name)
    one = amount(CPU, ((spec.get("replicaRequirements") or {}).get("resourceRequest") or {}).get(CPU, 0))
    held = spec.get("clusters") or ()
    for each in held:
        yield from [Guest(name, each["name"], RUNS, one)] * each.get("replicas", 1)
    for task in spec.get("gracefulEvictionTasks") or ():
        yield from [Guest(name, task["fromCluster"], LEAVES, one)] * task.get("replicas", 1)
    if not held:
        yield Guest(name, "", WAITS)


_ROOMS: dict[str, Callable[[Scene, Stage], SceneRoom]] = {
    "pod": _nodes,
    "podgroup": _nodes,
    "quota": _cluster_queues,
    "queue": _queues,
    "federation": _clusters,
}
