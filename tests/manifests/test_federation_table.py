"""The table of Karmada's fields in docs/federation.md, field by field, and the warnings that it promises."""

from __future__ import annotations

import re

import pytest

from reprieve.manifests import karmada
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load_objects
from tests.builders import federation
from tests.manifests.field_names import field_names
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "federation.md").read_text()
TABLE = TEXT[TEXT.index("## What Karmada's users know") : TEXT.index("## Hollow member clusters")]
NAMED = set(re.findall(r"`([A-Za-z]+)`", TABLE))
MARKED = set(re.findall(r"`([A-Za-z]+)`[*]", TABLE))
ELSEWHERE = {"metadata", "apiVersion", "kind", "spec", "status"}
POLICY = {
    "propagateDeps": True,
    "dependentOverrides": ["a"],
    "failover": {"cluster": {"purgeMode": "Directly"}},
    "suspension": {"dispatching": True},
    "conflictResolution": "Overwrite",
    "activationPreference": "Lazy",
    "preserveResourcesOnDeletion": True,
}


@pytest.mark.parametrize("kind", [karmada.PropagationPolicy, karmada.ResourceBinding, karmada.Cluster])
def test_every_field_is_in_the_table(kind: type) -> None:
    assert sorted(field_names(kind) - NAMED - ELSEWHERE) == []


def test_check_warns_by_name_of_what_is_marked() -> None:
    policy = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **federation.policy("high")}
    policy["spec"] |= POLICY
    policy["spec"]["placement"] = {**policy["spec"].get("placement", {}), "workloadAffinity": {"affinity": {}}}
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a"}
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "a-deployment", "namespace": "default"},
        "spec": {"resource": template, "components": [{"name": "main", "replicas": 1}]},
    }
    problems = [str(problem) for problem in admit_all(load_objects([policy, binding]).entries)]
    assert {*POLICY, "workloadAffinity", "components"} == MARKED
    for name in MARKED:
        assert any(f".{name}: it has no effect here" in problem for problem in problems), (name, problems)


def test_nothing_is_warned_of_that_says_nothing() -> None:
    policy = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **federation.policy("high")}
    policy["spec"] |= {"conflictResolution": "Abort", "propagateDeps": False}
    problems = [str(problem) for problem in admit_all(load_objects([policy]).entries)]
    assert not [problem for problem in problems if "no effect" in problem]
