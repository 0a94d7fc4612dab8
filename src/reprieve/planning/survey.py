"""What is odd about a world as a whole, though each of its objects may be well: it is decided over all the same."""

from collections.abc import Iterator

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.nodes.units import Units
from reprieve.manifests.core import Node
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import Finding, Origin, Problem
from reprieve.manifests.scheduling import PodGroup, Workload
from reprieve.model.resources import Resources
from reprieve.world import PodFacts, World

_GROUPS_COUNT = Settings(feature_gates={"GenericWorkload": True, "CompositePodGroup": True})


def survey(loaded: Loaded, world: World, settings: Settings) -> list[Problem]:
    """Pods on nodes that do not exist, nodes with less than their pods use, groups whose pods say otherwise."""
    origins = _origins(loaded, Pod, Node)
    found = [finding.at(origins[unit], unit, "admission") for unit, finding in (*_lost(world), *_overfull(world))]
    return [*found, *divergences(loaded, world, settings)]


def divergences(loaded: Loaded, world: World, settings: Settings = _GROUPS_COUNT) -> list[Problem]:
    """Workloads and pod groups whose pods carry another priority: it misleads, because theirs is what counts."""
    origins = _origins(loaded, Workload, PodGroup)
    units = Units(world, settings)
    found: dict[str, list[PodFacts]] = {}
    for facts in sorted(world.pods.values(), key=lambda facts: facts.key):
        group = _group_of(facts)
        if group in origins and not facts.pod.finished and units.scheduling_priority(facts) != facts.priority:
            found.setdefault(group, []).append(facts)
    return [_divergence(pods, units).at(origins[group], group, "admission") for group, pods in found.items()]


def _divergence(pods: list[PodFacts], units: Units) -> Finding:
    own = [(facts.unit, facts.priority) for facts in pods]
    field = "$.spec.priorityClassName" if pods[0].pod.spec.workload_ref else "$.spec.priority"
    message = texts.groups.priority_divergence(own, units.scheduling_priority(pods[0]))
    return Finding(field, *message, severity="warning")


def _group_of(facts: PodFacts) -> str:
    spec, namespace = facts.pod.spec, facts.key[0]
    if spec.workload_ref is not None:
        return f"Workload/{namespace}/{spec.workload_ref.name}"
    return f"PodGroup/{namespace}/{spec.scheduling_group.pod_group_name}" if spec.scheduling_group else ""


def _origins(loaded: Loaded, *kinds: type) -> dict[str, Origin]:
    return {entry.unit: entry.origin for entry in loaded.entries if isinstance(entry.manifest, kinds)}


def _lost(world: World) -> Iterator[tuple[str, Finding]]:
    for facts in world.pods.values():
        if facts.node and world.get(Node, facts.node) is None:
            yield facts.unit, Finding("$.spec.nodeName", *texts.questions.no_such_node(facts.node))


def _overfull(world: World) -> Iterator[tuple[str, Finding]]:
    used: dict[str, Resources] = {}
    for facts in world.pods.values():
        used[facts.node] = used.get(facts.node, Resources()) + facts.requests
    for node in world.all(Node):
        over = (used.get(node.name, Resources()) - node.allocatable).positive()
        if over:
            yield f"Node//{node.name}", Finding("$.status.allocatable", *texts.questions.overfull(over.to_manifest()))
