"""What is odd about a world as a whole, though each of its objects may be well: it is decided over all the same."""

from __future__ import annotations

from collections.abc import Iterator

from reprieve import texts
from reprieve.objects.core import Node
from reprieve.objects.loading import Loaded
from reprieve.objects.pods import Pod
from reprieve.objects.problems import Finding, Problem
from reprieve.resources import Resources
from reprieve.world import World


def survey(loaded: Loaded, world: World) -> list[Problem]:
    """Pods on nodes that do not exist, and nodes with less than their pods use."""
    origins = {entry.unit: entry.origin for entry in loaded.entries if isinstance(entry.manifest, (Pod, Node))}
    return [finding.at(origins[unit], unit, "admission") for unit, finding in (*_lost(world), *_overfull(world))]


def _lost(world: World) -> Iterator[tuple[str, Finding]]:
    for facts in world.pods.values():
        if facts.node and world.get(Node, facts.node) is None:
            yield facts.unit, Finding("$.spec.nodeName", *texts.no_such_node(facts.node))


def _overfull(world: World) -> Iterator[tuple[str, Finding]]:
    used: dict[str, Resources] = {}
    for facts in world.pods.values():
        used[facts.node] = used.get(facts.node, Resources()) + facts.requests
    for node in world.all(Node):
        over = (used.get(node.name, Resources()) - node.allocatable).positive()
        if over:
            yield f"Node//{node.name}", Finding("$.status.allocatable", *texts.overfull(over.to_manifest()))
