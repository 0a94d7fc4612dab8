"""Where a pod goes when several nodes have room."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from tests.builders.pods import node, pod

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SMALL = {"cpu": "1", "memory": "1Gi"}


def machine(name: str, **fields: Any) -> Dict:
    return node(name, cpu="10", memory="10Gi", **fields)


def chosen(*objects: Dict, **config: Any) -> str | None:
    decision = reprieve.plan(
        list(objects), preemptor="Pod/default/p", now="2026-01-01T12:00:00Z", config=config
    ).decision
    assert decision.outcome == "Fits"
    return decision.domain


@pytest.mark.parametrize(("scoring", "want"), [("LeastAllocated", "empty"), ("MostAllocated", "half")])
def test_pods_are_spread_out_by_default_and_packed_on_request(scoring: str, want: str) -> None:
    busy = pod("busy", node="half", cpu="5", memory="5Gi")
    assert chosen(machine("empty"), machine("half"), busy, pod("p", requests=SMALL), scoring=scoring) == want


def test_of_equally_empty_nodes_the_one_stays_balanced() -> None:
    lopsided = pod("lopsided", node="a", cpu="6", memory="1Gi"), pod("even", node="b", cpu="3500m", memory="3584Mi")
    assert chosen(machine("a"), machine("b"), *lopsided, pod("p", requests=SMALL)) == "b"


def preferring(kind: str, item: Dict) -> Dict:
    return pod("p", requests=SMALL, spec={"affinity": {kind: {PREFERRED: [{"weight": 100, **item}]}}})


def test_a_preferred_node_wins_over_an_emptier_one() -> None:
    item = {"preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
    busy = pod("busy", node="fast", cpu="3", memory="3Gi")
    nodes = machine("empty"), machine("fast", labels={"disk": "ssd"})
    assert chosen(*nodes, busy, preferring("nodeAffinity", item)) == "fast"


@pytest.mark.parametrize(("kind", "want"), [("podAffinity", "near"), ("podAntiAffinity", "far")])
def test_preferred_company_is_sought_or_avoided(kind: str, want: str) -> None:
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
    web = pod("web", node="near", labels={"app": "web"}, requests=SMALL)
    balanced = pod("other", node="far", requests=SMALL)
    nodes = machine("near", labels={"host": "near"}), machine("far", labels={"host": "far"})
    assert chosen(*nodes, web, balanced, preferring(kind, {"podAffinityTerm": term})) == want


def test_a_node_that_would_rather_not_is_avoided() -> None:
    taint = {"key": "flaky", "effect": "PreferNoSchedule"}
    busy = pod("busy", node="fine", cpu="3", memory="3Gi")
    nodes = machine("doubtful", taints=[taint]), machine("fine")
    assert chosen(*nodes, busy, pod("p", requests=SMALL)) == "fine"
    indifferent = pod("p", requests=SMALL, spec={"tolerations": [{"operator": "Exists"}]})
    assert chosen(*nodes, busy, indifferent) == "doubtful"


def test_ties_end_on_the_older_node_and_then_on_its_name() -> None:
    younger, older = machine("a"), machine("z")
    younger["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
    older["metadata"]["creationTimestamp"] = "2026-01-01T10:00:00Z"
    assert chosen(younger, older, pod("p")) == "z"
    assert chosen(machine("b"), machine("a"), machine("c"), pod("p")) == "a"


def test_a_pod_goes_where_it_is_nominated_if_it_fits_there() -> None:
    busy = pod("busy", node="half", cpu="5", memory="5Gi")
    assert chosen(machine("empty"), machine("half"), busy, pod("p", requests=SMALL, nominated="half")) == "half"


@pytest.mark.parametrize(("when", "want"), [("ScheduleAnyway", "b"), (None, "a")])
def test_spreading_that_is_only_wished_for_counts(when: str | None, want: str) -> None:
    """With equal room everywhere the first by name wins, unless the pod would rather be spread."""
    web = {"app": "web"}
    like_it = pod("web", node="a", labels=web, requests=SMALL), pod("other", node="b", requests=SMALL)
    wish = {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": when, "labelSelector": {"matchLabels": web}}
    coming = pod("p", labels=web, requests=SMALL, spec={"topologySpreadConstraints": [wish] if when else []})
    assert chosen(*(machine(name, labels={"host": name}) for name in "ab"), *like_it, coming) == want


@pytest.mark.parametrize(
    ("kind", "rule", "want"),
    [
        ("podAffinity", PREFERRED, "b"),
        ("podAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "b"),
        ("podAntiAffinity", PREFERRED, "a"),
    ],
)
def test_wishes_of_those_who_run_count_for_who_comes(kind: str, rule: str, want: str) -> None:
    term: Dict = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
    item = {"weight": 10, "podAffinityTerm": term} if rule == PREFERRED else term
    wishing = pod("db", node="b", requests=SMALL, spec={"affinity": {kind: {rule: [item]}}})
    other = pod("other", node="a", requests=SMALL)
    nodes = [machine(name, labels={"host": name}) for name in "ab"]
    assert chosen(*nodes, wishing, other, pod("p", labels={"app": "web"}, requests=SMALL)) == want
