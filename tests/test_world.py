"""The world: objects by name, what is worked out about pods, and the journal of changes."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.core import Node
from reprieve.manifests.loading import load_objects
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PriorityClass
from reprieve.world import NEVER, PodFacts, World
from tests.builders.pods import container, node, pod, priority_class


def typed(*manifests: dict[str, Any]) -> list[Manifest]:
    return [entry.manifest for entry in load_objects(manifests).entries]


def facts_of(manifest: dict[str, Any], *others: dict[str, Any]) -> PodFacts:
    return World(typed(*others, manifest)).pods["default", manifest["metadata"]["name"]]


def test_objects_are_found_by_kind_and_name() -> None:
    world = World(typed(node("n1"), pod("a"), pod("a", namespace="other")))
    found = world.get(Pod, "a", "other")
    assert found is not None
    assert found.namespace == "other"
    assert world.get(Node, "a") is None
    assert [item.name for item in world.all(Node)] == ["n1"]


def test_what_is_put_under_a_name_replaces_what_was_there() -> None:
    world = World(typed(pod("a", node="n1")))
    for item in typed(pod("a", node="n2")):
        world.put(item)
    assert world.pods["default", "a"].node == "n2"
    assert len(list(world.all(Pod))) == 1


def test_what_is_deleted_is_gone_and_only_once() -> None:
    world = World(typed(pod("a")))
    assert world.delete(Pod, "a", "default")
    assert not world.delete(Pod, "a", "default")
    assert world.pods == {}


def test_the_journal_tells_what_was_and_what_is() -> None:
    world = World(typed(pod("a", node="n1")))
    before = world.version
    for item in typed(pod("a", node="n2"), node("n2")):
        world.put(item)
    world.delete(Node, "n2")
    moved, came, went = world.changes_since(before) or []
    assert (moved.kind, moved.old.node, moved.new.node) == (Pod, "n1", "n2")
    assert (came.key, came.old, came.new.name) == (("", "n2"), None, "n2")
    assert (went.old.name, went.new) == ("n2", None)
    assert world.changes_since(world.version) == []


def test_a_journal_that_was_forgotten_says_so() -> None:
    world = World()
    before = world.version
    for item in typed(pod("a")):
        world.put(item)
    world.forget()
    assert world.changes_since(before) is None
    assert world.changes_since(world.version) == []


def test_pods_that_only_name_a_class_follow_it() -> None:
    world = World(typed(pod("named", priority_class="high"), pod("own", priority=3, priority_class="high")))
    assert world.pods["default", "named"].priority == 0
    for item in typed(priority_class("high", 1000, policy="Never")):
        world.put(item)
    assert world.pods["default", "named"].priority == 1000
    assert world.pods["default", "own"].priority == 3
    assert world.pods["default", "own"].preemption_policy == "Never"
    world.delete(PriorityClass, "high")
    assert world.pods["default", "named"].priority == 0


def test_only_the_pods_that_a_class_concerns_are_written_down_when_it_changes() -> None:
    world = World(typed(pod("named", priority_class="high"), pod("other", priority=3)))
    before = world.version
    for item in typed(priority_class("high", 1000)):
        world.put(item)
    assert [change.key[1] for change in world.changes_since(before) or []] == ["high", "named"]


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        (pod("a"), True),
        (pod("a", nominated="n1"), True),
        (pod("a", node="n1"), False),
        (pod("a", status={"phase": "Failed"}), False),
        (pod("a", deleted="2026-01-01T12:00:00Z"), False),
        (pod("a", spec={"schedulingGates": [{"name": "wait"}]}), False),
    ],
    ids=["new", "nominated", "running", "finished", "leaving", "gated"],
)
def test_a_pod_is_pending_until_it_has_a_place_or_an_end(manifest: dict[str, Any], want: bool) -> None:
    assert facts_of(manifest).pending is want


def test_a_pod_that_has_finished_holds_neither_node_nor_nomination() -> None:
    done = facts_of(pod("a", node="n1", status={"phase": "Succeeded"}))
    assert (done.node, done.nominated) == ("", "")


def test_more_important_is_higher_then_older_then_first_by_name() -> None:
    first, second = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"
    pods = [
        pod("high", priority=5, started=second),
        pod("old", priority=1, started=first),
        pod("young", priority=1, started=second),
        pod("not-started", priority=1),
        pod("z-not-started", priority=1),
    ]
    world = World(typed(*reversed(pods)))
    order = sorted(world.pods.values(), key=lambda facts: facts.importance)
    assert [facts.key[1] for facts in order] == ["high", "old", "young", "not-started", "z-not-started"]


def test_a_pod_was_scheduled_when_its_condition_says_so() -> None:
    moment = "1970-01-01T00:00:01Z"
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}
    assert facts_of(pod("a", node="n1", status={"conditions": [condition]})).scheduled == 1_000_000
    assert facts_of(pod("a", node="n1", status={"conditions": [{**condition, "status": "False"}]})).scheduled == NEVER
    assert facts_of(pod("a", node="n1")).scheduled == NEVER


def test_on_the_host_network_every_port_is_a_host_port() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "hostIP": "10.0.0.1", "protocol": "UDP"}]
    containers = [{**container(), "ports": ports}]
    held = ("10.0.0.1", "UDP", 81)
    assert facts_of(pod("a", containers=containers)).host_ports == (held,)
    everything = facts_of(pod("a", containers=containers, spec={"hostNetwork": True})).host_ports
    assert everything == (("0.0.0.0", "TCP", 80), held)  # noqa: S104 - an address that was not given
