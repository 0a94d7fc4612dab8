"""What admission says to policies and bindings."""

from __future__ import annotations

import pytest

from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load_objects
from tests.builders.pods import Dict, manifest, metadata, priority_class
from tests.generators.federations import binding


def said(*objects: Dict) -> list[str]:
    loaded = load_objects(objects)
    return [f"{problem.severity} {problem.field}" for problem in [*loaded.errors, *admit_all(loaded.entries)]]


def policy(**spec: object) -> Dict:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    meta = metadata("p", "default")
    whole = {"resourceSelectors": selectors, **spec}
    return manifest("policy.karmada.io/v1alpha1", "PropagationPolicy", meta, spec=whole)


def asks(source: str | None, name: str | None = None) -> Dict:
    given = {"priorityClassSource": source, "priorityClassName": name}
    return policy(schedulePriority={key: value for key, value in given.items() if value})


def within(**placement: object) -> Dict:
    return policy(placement=placement)


def fields(**expression: object) -> Dict:
    return within(clusterAffinity={"fieldSelector": {"matchExpressions": [expression]}})


PRIORITY = "$.spec.schedulePriority"
FIELD = "$.spec.placement.clusterAffinity.fieldSelector.matchExpressions[0]"
WRONG = [
    ("a class that is missing", asks("KubePriorityClass", "gone"), f"warning {PRIORITY}.priorityClassName"),
    ("a class beside that of the pods", asks("PodPriorityClass", "c"), f"error {PRIORITY}.priorityClassName"),
    ("a source that no API defines", asks("FederatedPriorityClass", "c"), f"warning {PRIORITY}.priorityClassSource"),
    ("a source nobody knows", asks("OtherClass", "c"), f"error {PRIORITY}.priorityClassSource"),
    ("a field that clusters do not have", fields(key="colour", operator="In", values=["red"]), f"error {FIELD}.key"),
    ("an operator that fields do not know", fields(key="zone", operator="Exists"), f"error {FIELD}.operator"),
    ("no values to be in", fields(key="zone", operator="In", values=[]), f"error {FIELD}.values"),
    (
        "a minimum above the maximum",
        within(spreadConstraints=[{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]),
        "error $.spec.placement.spreadConstraints[0].minGroups",
    ),
    (
        "regions without clusters",
        within(spreadConstraints=[{"spreadByField": "region", "minGroups": 1}]),
        "error $.spec.placement.spreadConstraints",
    ),
    (
        "weights that are not divided by",
        within(replicaScheduling={"replicaSchedulingType": "Divided", "weightPreference": {}}),
        "error $.spec.placement.replicaScheduling.weightPreference",
    ),
    (
        "an affinity group without a name",
        within(clusterAffinities=[{"affinityName": "", "clusterNames": ["m1"]}]),
        "error $.spec.placement.clusterAffinities[0].affinityName",
    ),
    (
        "a preemption policy nobody knows",
        binding("b", priority=1, policy="Sometimes"),
        f"error {PRIORITY}.preemptionPolicy",
    ),
    (
        "a cluster-scoped binding that would preempt",
        binding("b", priority=1, kind="ClusterResourceBinding"),
        f"warning {PRIORITY}.preemptionPolicy",
    ),
    ("more replicas in clusters than there are", binding("b", replicas=2, on={"m1": 3}), "warning $.spec.clusters"),
]


@pytest.mark.parametrize(("object_", "want"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_admission_finds(object_: Dict, want: str) -> None:
    assert said(priority_class("c", 1), object_) == [want]


def test_admission_has_nothing_to_say_to_what_is_right() -> None:
    spread = [{"spreadByField": "region", "minGroups": 1}, {"spreadByField": "cluster", "minGroups": 2}]
    right = [
        asks("KubePriorityClass", "c"),
        asks("PodPriorityClass"),
        within(spreadConstraints=spread, clusterTolerations=[{"key": "gpu", "operator": "Exists"}]),
        fields(key="region", operator="NotIn", values=["west"]),
        binding("b", priority=1, replicas=3, on={"m1": 2, "m2": 1}),
    ]
    for item in right:
        assert said(priority_class("c", 1), item) == []
