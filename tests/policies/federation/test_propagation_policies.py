"""Which propagation policy a template falls under, and what a binding that names none takes from it."""

from __future__ import annotations

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.core import Controller
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import unit_name
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.federation.propagation_policies import select_policy
from tests.builders.pods import Dict, priority_class
from tests.generators.federations import GATES, binding, deployment, world_of
from tests.generators.federations import propagation_policy as policy

SELECTIONS = [
    ("a policy that names it", [policy("a", target="web"), policy("b", target="other")], "a"),
    ("one by labels over one by kind", [policy("a"), policy("b", labels={"app": "web"})], "b"),
    ("one by name over one by labels", [policy("a", labels={"app": "web"}), policy("b", target="web")], "b"),
    ("a namespaced one over one for all", [policy("a", everywhere=True, target="web", priority=9), policy("b")], "b"),
    ("the higher priority over the closer selector", [policy("a", target="web"), policy("b", priority=1)], "b"),
    ("the first by name of equals", [policy("b"), policy("a")], "a"),
    ("nothing of another kind", [policy("a", kind="Job")], ""),
    ("nothing of another namespace", [policy("a", everywhere=True, namespace="bank")], ""),
    ("nothing with other labels", [policy("a", labels={"app": "api"})], ""),
]


@pytest.mark.parametrize(("policies", "want"), [case[1:] for case in SELECTIONS], ids=[case[0] for case in SELECTIONS])
def test_a_template_falls_under(policies: list[Dict], want: str) -> None:
    world = world_of(deployment(labels={"app": "web"}), *policies)
    template = world.get(Controller, "web", "shop", called="Deployment")
    assert isinstance(template, Controller)
    found = select_policy(world, template)
    assert (found.name if found else "") == want


def test_a_binding_that_names_no_policy_has_that_of_its_template() -> None:
    bound = binding("web-deployment")
    bound["metadata"]["namespace"] = "shop"
    bound["spec"]["resource"].update(name="web", namespace="shop")
    world = world_of(
        priority_class("high", 100), deployment(), policy("p", source="KubePriorityClass", class_name="high"), bound
    )
    federation = FederationPolicy(world, Settings(feature_gates=GATES)).federation
    unit = unit_name("ResourceBinding", "shop", "web-deployment")
    assert [facts.priority for facts in federation.bindings] == [100]
    world.delete(PriorityClass, "high")
    federation.refresh()
    found = federation.find(unit)
    assert found is not None
    assert (found.priority, found.preemption_policy) == (0, "Never")
