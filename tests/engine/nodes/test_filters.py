"""Which nodes a selector means, which are in reach, and which pods a budget covers."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from reprieve.configuration import Settings
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.reach import (
    CORDONED,
    GONE,
    NODE_AFFINITY,
    REACHED,
    UNTOLERATED_TAINT,
    tolerates,
    unreachable,
)
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.core import Node
from reprieve.manifests.loading import load_objects
from reprieve.manifests.meta import Taint, Toleration
from reprieve.manifests.pods import NodeSelector
from reprieve.world import World
from tests.builders.pods import budget, node, pod

Dict = dict[str, Any]
NODES = (
    node("small", labels={"size": "1", "zone": "a"}),
    node("large", labels={"size": "10", "zone": "b"}),
    node("odd", labels={"size": "many"}),
    node("bare"),
)


def table_of(*objects: Dict) -> NodeTable:
    return NodeLedger(World(entry.manifest for entry in load_objects(objects).entries), Settings()).table


def expression(key: str, operator: str, *values: str) -> Dict:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator: str, *values: str) -> Dict:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        ([expression("zone", "In", "a", "c")], {"small"}),
        ([expression("zone", "NotIn", "a")], {"large", "odd", "bare"}),
        ([expression("zone", "Exists")], {"small", "large"}),
        ([expression("zone", "DoesNotExist")], {"odd", "bare"}),
        ([expression("size", "Gt", "2")], {"large"}),
        ([expression("size", "Lt", "2")], {"small"}),
        ([expression("size", "Gt", "many")], set()),
        ([field("In", "small", "nobody")], {"small"}),
        ([field("NotIn", "small")], {"large", "odd", "bare"}),
        ([{**expression("zone", "Exists"), **field("NotIn", "small")}], {"large"}),
        ([expression("zone", "In", "a"), expression("size", "In", "many")], {"small", "odd"}),
        ([{}], set()),
        ([], set()),
    ],
    ids=lambda each: str(sorted(each)) if isinstance(each, set) else str(each),
)
def test_a_node_selector_means_the_nodes_of_any_of_its_terms(terms: list[Dict], want: set[str]) -> None:
    table = table_of(*NODES)
    selector = msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector)
    meant = NodeLabels(table).selected(selector)
    assert {table.names[index] for index in np.flatnonzero(meant)} == want


def test_labels_in_columns_follow_the_nodes() -> None:
    table = table_of(node("n1", labels={"zone": "a"}))
    labels = NodeLabels(table)
    assert labels.matching({"zone": "a"}).tolist() == [True]
    for entry in load_objects([node("n1", labels={"zone": "b"}), node("n2", labels={"zone": "a"})]).entries:
        table.world.put(entry.manifest)
    table.sync()
    assert labels.matching({"zone": "a"}).tolist() == [False, True]


@pytest.mark.parametrize(
    ("toleration", "taint", "want"),
    [
        ({"key": "a", "operator": "Exists"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "value": "x", "effect": "NoExecute"}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "value": "y", "effect": "NoSchedule"}, False),
        ({"key": "a"}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}, False),
        ({"operator": "Exists"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "value": "6", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "value": "6", "effect": "NoSchedule"}, False),
        ({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "value": "1_0", "effect": "NoSchedule"}, False),
    ],
    ids=str,
)
def test_a_toleration_tolerates_a_taint(toleration: Dict, taint: Dict, want: bool) -> None:
    assert tolerates(msgspec.convert(toleration, Toleration), msgspec.convert(taint, Taint)) is want


def test_each_node_that_is_out_of_reach_says_why() -> None:
    hard = [{"key": "dedicated", "effect": "NoExecute"}]
    soft = [{"key": "dedicated", "effect": "PreferNoSchedule"}]
    wanted = {"zone": "a"}
    table = table_of(
        node("open", labels=wanted),
        node("elsewhere", labels={"zone": "b"}),
        node("tainted", labels=wanted, taints=hard),
        node("disliked", labels=wanted, taints=soft),
        node("cordoned", taints=hard, unschedulable=True),
        node("removed", labels=wanted),
        pod("p", spec={"nodeSelector": wanted}),
    )
    table.world.delete(Node, "removed")
    table.sync()
    spec = table.world.pods["default", "p"].pod.spec
    reasons = unreachable(table, NodeLabels(table), spec).tolist()
    assert dict(zip(table.names, reasons, strict=True)) == {
        "open": REACHED,
        "elsewhere": NODE_AFFINITY,
        "tainted": UNTOLERATED_TAINT,
        "disliked": REACHED,
        "cordoned": CORDONED,
        "removed": GONE,
    }


# Budgets


def violating(*objects: Dict) -> list[str]:
    """Of all pods on n1, those that would break a budget if all had to leave."""
    table = table_of(node("n1"), *objects)
    count = int(table.occupied[0])
    counts = Budgets(table).violating(np.ones((count, 1), dtype=np.bool_), slice(0, 1))[:, 0]
    shares = table.residents[0]
    return [share.unit.pods[0].key[1] for share, broken in zip(shares, counts, strict=True) if broken]


def web(name: str, priority: int, **labels: str) -> Dict:
    return pod(name, node="n1", priority=priority, labels={"app": "web", **labels})


def test_the_least_important_break_the_budget_that_the_others_have_used_up() -> None:
    allows_one = budget("web", {"app": "web"}, allowed=1)
    assert violating(allows_one, web("a", 3), web("b", 2), web("c", 1)) == ["b", "c"]


def test_a_budget_covers_only_its_namespace_and_what_it_selects() -> None:
    none = budget("web", {"app": "web"}, allowed=0, namespace="other")
    everything = {**budget("all", {}, allowed=0), "spec": {"selector": {}}}
    assert violating(none, everything, web("a", 1), pod("bare", node="n1")) == []


def test_pods_that_are_listed_as_disrupted_are_not_counted() -> None:
    item = budget("web", {"app": "web"}, allowed=1)
    item["status"]["disruptedPods"] = {"a": "2026-01-01T12:00:00Z"}
    assert violating(item, web("a", 3), web("b", 2), web("c", 1)) == ["c"]


def test_of_several_budgets_the_search_stops_at_the_first_that_is_broken() -> None:
    by_app, by_tier = budget("a-app", {"app": "web"}, allowed=1), budget("b-tier", {"tier": "front"}, allowed=1)
    pods = web("a", 3), web("b", 2, tier="front"), web("c", 1, tier="front")
    only_tier = pod("d", node="n1", priority=0, labels={"tier": "front"})
    assert violating(by_app, by_tier, *pods) == ["b", "c"]
    assert violating(by_app, by_tier, *pods, only_tier) == ["b", "c"], "b and c used up nothing of the second"


def test_a_budget_is_really_broken_when_more_leave_than_it_allows() -> None:
    table = table_of(node("n1"), budget("web", {"app": "web"}, allowed=1), web("a", 1), web("b", 1))
    first, second = table.world.pods.values()
    budgets = Budgets(table)
    assert budgets.broken_by([first]) == []
    assert [item.name for item in budgets.broken_by([first, second])] == ["web"]
