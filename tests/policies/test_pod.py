"""Single rules of the pod policy, each in the smallest cluster that shows it."""

from __future__ import annotations

from typing import Any

import reprieve
from reprieve.planning.result import Decision
from tests.builders.pods import budget, container, node, pod
from tests.reference.cluster import REQUIRED

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
LEAVING: Dict = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}


def decide(*objects: Dict, **config: Any) -> Decision:
    return reprieve.plan(list(objects), preemptor="Pod/default/p", now=NOW, config=config).decision


def with_port(name: str, port: int = 80, **fields: Any) -> Dict:
    return {**container(name, **fields), "ports": [{"containerPort": port, "hostPort": port}]}


# Host ports


def test_the_port_of_an_init_container_is_free_once_it_has_run() -> None:
    other = pod("other", node="n1", priority=10, spec={"initContainers": [with_port("init")]})
    assert decide(node(), other, pod("p", containers=[with_port("main")])).outcome == "Fits"


def test_the_port_of_a_sidecar_is_held() -> None:
    other = pod("other", node="n1", priority=10, spec={"initContainers": [with_port("init", restart_policy="Always")]})
    assert decide(node(), other, pod("p", containers=[with_port("main")])).outcome == "Unschedulable"


# Selectors


def test_a_label_that_only_python_takes_for_a_number_is_none() -> None:
    newer = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["1"]}]}]}
    preemptor = pod("p", spec={"affinity": {"nodeAffinity": {REQUIRED: newer}}})
    assert decide(node("n1", labels={"size": "1_0"}), preemptor).outcome == "Unschedulable"
    assert decide(node("n1", labels={"size": "10"}), preemptor).outcome == "Fits"


def test_every_namespace_can_be_selected_by_its_name() -> None:
    term = {
        "topologyKey": "host",
        "labelSelector": {"matchLabels": {"app": "noisy"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}},
    }
    preemptor = pod("p", spec={"affinity": {"podAntiAffinity": {REQUIRED: [term]}}})
    noisy = pod("noisy", namespace="other", node="n1", priority=10, labels={"app": "noisy"})
    assert decide(node(labels={"host": "n1"}), noisy, preemptor).outcome == "Unschedulable"


# Waiting for victims that are still leaving the nominated node


def leaving(**fields: Any) -> Dict:
    return pod("leaving", node="n1", priority=0, deleted="2026-01-01T11:59:30Z", status=LEAVING, **fields)


def test_a_nominated_node_that_is_too_small_as_a_whole_holds_nobody_back() -> None:
    lower = pod("lower", node="n2", priority=0, cpu="4")
    preemptor = pod("p", priority=10, cpu="4", nominated="n1")
    decision = decide(node("n1", cpu="2"), node("n2"), leaving(cpu="1"), lower, preemptor)
    assert (decision.outcome, decision.domain) == ("Preempt", "n2")


def test_a_nominated_node_that_is_only_full_holds_its_pod_back() -> None:
    lower = pod("lower", node="n2", priority=0, cpu="4")
    preemptor = pod("p", priority=10, cpu="4", nominated="n1")
    decision = decide(node("n1"), node("n2"), leaving(cpu="1"), lower, preemptor)
    assert (decision.outcome, decision.waiting_for) == ("Wait", ["Pod/default/leaving"])


def wants_company(**fields: Any) -> Dict:
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "friend"}}}
    return pod("p", priority=10, nominated="n1", spec={"affinity": {"podAffinity": {REQUIRED: [term]}}}, **fields)


def test_unmet_affinity_on_the_nominated_node_holds_nobody_back() -> None:
    full = pod("lower", node="n2", priority=0, cpu="4")
    friend = pod("friend", node="n2", priority=10, labels={"app": "friend"})
    nodes = node("n1", labels={"host": "n1"}), node("n2", labels={"host": "n2"})
    decision = decide(*nodes, leaving(cpu="1"), full, friend, wants_company(cpu="1"))
    assert (decision.outcome, decision.domain) == ("Preempt", "n2")


def test_unmet_affinity_is_not_looked_at_before_there_is_room() -> None:
    full = pod("lower", node="n2", priority=0, cpu="4")
    friend = pod("friend", node="n2", priority=10, labels={"app": "friend"})
    nodes = node("n1", labels={"host": "n1"}), node("n2", labels={"host": "n2"})
    decision = decide(*nodes, leaving(cpu="4"), full, friend, wants_company(cpu="1"))
    assert (decision.outcome, decision.waiting_for) == ("Wait", ["Pod/default/leaving"])


# Nominated pods


def test_the_anti_affinity_of_a_nominated_pod_counts_although_nobody_runs_who_has_one() -> None:
    term = {"topologyKey": "host", "labelSelector": {}}
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    shy = pod("shy", priority=10, nominated="n1", spec=spec)
    home = node(labels={"host": "n1"})
    assert decide(home, shy, pod("p", priority=10)).outcome == "Unschedulable"
    assert decide(home, shy, pod("p", priority=11)).outcome == "Fits"


# Budgets


def test_a_budget_is_broken_by_default_and_respected_on_request() -> None:
    objects = (
        node(),
        budget("all", {"app": "web"}, allowed=0),
        pod("web", node="n1", priority=0, cpu="4", labels={"app": "web"}),
    )
    best_effort = decide(*objects, pod("p", priority=10, cpu="4"))
    assert [(victim["unit"], victim["pdbViolation"]) for victim in best_effort.victims] == [("Pod/default/web", True)]
    respectful = decide(*objects, pod("p", priority=10, cpu="4"), pdb="Respect")
    assert (respectful.outcome, respectful.victims) == ("Unschedulable", [])
