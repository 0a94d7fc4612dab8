"""A plan over files makes the bindings that it needs, as the detector of a control plane would."""

from __future__ import annotations

import reprieve
from tests.builders.pods import Dict, manifest, metadata, priority_class
from tests.generators.federations import GATES, binding, cluster, deployment
from tests.generators.federations import propagation_policy as policy

UNIT = "ResourceBinding/shop/web-deployment"
CLASS = priority_class("high", 100)
WEB, ASKS = deployment("web"), policy("p", source="KubePriorityClass", class_name="high")
OLD = binding("old", priority=5, cpu="10", on={"m1": 1})


def config_map(name: str) -> Dict:
    return manifest("v1", "ConfigMap", metadata(name, "shop"))


def test_a_template_a_policy_and_clusters_are_enough() -> None:
    full = cluster(cpu="10", used="10")
    full["status"]["resourceSummary"]["allocatable"]["memory"] = "9Gi"
    world = [CLASS, WEB, ASKS, full, OLD]
    found = reprieve.plan(world, preemptor=UNIT, feature_gates=GATES)
    assert found.decision.outcome == "Preempt"
    assert [(one["unit"], one["clusters"]) for one in found.decision.victims] == [
        ("ResourceBinding/default/old", ["m1"])
    ]
    assert found.priorities[UNIT] == {"priority": 100, "preemptionPolicy": "PreemptLowerPriority"}
    assert [one.preemptor for one in reprieve.plan(world, feature_gates=GATES).decisions] == [UNIT]


def test_with_the_gate_off_the_class_is_not_resolved_and_the_message_says_so() -> None:
    found = reprieve.plan([CLASS, WEB, ASKS, cluster(cpu="1")], preemptor=UNIT)
    assert found.priorities[UNIT] == {"priority": 0, "preemptionPolicy": "Never"}
    assert "The priority that PropagationPolicy/shop/p asks for does not count" in found.decision.message
    bound = binding("web-deployment", cpu="2")
    bound["metadata"]["namespace"] = "shop"
    bound["spec"]["resource"].update(name="web", namespace="shop")
    found = reprieve.plan([CLASS, WEB, ASKS, cluster(cpu="1"), bound], preemptor=UNIT)
    assert found.priorities[UNIT] == {"priority": 0, "preemptionPolicy": "Never"}


def test_what_asks_for_nothing_goes_everywhere_and_what_has_no_namespace_has_a_binding_of_that_kind() -> None:
    everywhere = policy("all", everywhere=True)
    named = [("v1", "ConfigMap"), ("scheduling.k8s.io/v1", "PriorityClass")]
    everywhere["spec"]["resourceSelectors"] = [{"apiVersion": version, "kind": kind} for version, kind in named]
    found = reprieve.plan([CLASS, config_map("settings"), everywhere, cluster("m1"), cluster("m2", used="10")])
    assert {one.preemptor: one.domain for one in found.decisions} == {
        "ResourceBinding/shop/settings-configmap": "m1,m2",
        "ClusterResourceBinding//high-priorityclass": "m1,m2",
    }


def test_a_binding_that_is_there_is_not_made_again_whatever_it_is_called() -> None:
    bound = binding("by-hand", cpu="1", on={"m1": 1})
    bound["metadata"]["namespace"] = "shop"
    bound["spec"]["resource"].update(name="web", namespace="shop")
    assert reprieve.plan([WEB, ASKS, cluster(), bound], feature_gates=GATES).decisions == []


def test_a_suspended_binding_is_not_scheduled_though_there_is_room() -> None:
    stopped = binding("stopped", priority=9, cpu="1", spec={"suspension": {"scheduling": True}})
    found = reprieve.plan([cluster(), stopped], preemptor="ResourceBinding/default/stopped", feature_gates=GATES)
    assert found.decision.outcome == "Unschedulable"
    assert found.decision.message == (
        "ResourceBinding/default/stopped is not scheduled, and preempts nobody: "
        "it is suspended (spec.suspension.scheduling)."
    )
    assert reprieve.plan([cluster(), stopped], feature_gates=GATES).decisions == []
