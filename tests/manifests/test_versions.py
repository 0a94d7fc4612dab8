"""Different spellings of one idea become one internal type."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.kueue import ClusterQueue, QuotaWorkload, ResourceFlavor
from reprieve.manifests.loading import load_objects, load_text
from reprieve.manifests.scheduling import GroupPolicy, PodGroup, Workload
from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.model.resources import Quantity, Resources
from tests.builders.pods import config_map, container, manifest, metadata, pod, pod_group, to_yaml


def read(item: Any) -> Any:
    """The one object of a manifest."""
    loaded = load_objects([item])
    assert [str(problem) for problem in loaded.problems] == []
    return loaded.objects[0]


def kueue(version: str, kind: str, **parts: Any) -> Any:
    return read(manifest(f"kueue.x-k8s.io/{version}", kind, metadata("x"), **parts))


def quota(name: str, nominal: str, borrowing: str | None = None) -> dict[str, str]:
    return {"name": name, "nominalQuota": nominal} | ({"borrowingLimit": borrowing} if borrowing else {})


def groups(borrowing: str | None) -> list[dict[str, Any]]:
    """Spot before on-demand, for cpu and memory together; gpu by itself."""
    spot = {"name": "spot", "resources": [quota("cpu", "10", borrowing), quota("memory", "64Gi")]}
    demand = {"name": "on-demand", "resources": [quota("cpu", "5"), quota("memory", "32Gi")]}
    a100 = {"name": "a100", "resources": [quota("nvidia.com/gpu", "8")]}
    return [
        {"coveredResources": ["cpu", "memory"], "flavors": [spot, demand]},
        {"coveredResources": ["nvidia.com/gpu"], "flavors": [a100]},
    ]


def old_flavor(name: str, least: str, most: str | None = None) -> dict[str, Any]:
    return {"name": name, "quota": {"min": least} | ({"max": most} if most else {})}


def resources_v1alpha2(most: str | None) -> list[dict[str, Any]]:
    """The same as `groups`, resource by resource, with the most that could be used in place of what may be borrowed."""
    return [
        {"name": "cpu", "flavors": [old_flavor("spot", "10", most), old_flavor("on-demand", "5")]},
        {"name": "memory", "flavors": [old_flavor("spot", "64Gi"), old_flavor("on-demand", "32Gi")]},
        {"name": "nvidia.com/gpu", "flavors": [old_flavor("a100", "8")]},
    ]


RECLAIM = [("Never", "Never"), ("ReclaimFromLowerPriority", "LowerPriority"), ("ReclaimFromAny", "Any")]


@pytest.mark.parametrize(("old", "new"), RECLAIM)
@pytest.mark.parametrize("within", ["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
@pytest.mark.parametrize(("most", "borrowing"), [(None, None), ("12", "2"), ("10", "0")])
def test_a_cluster_queue_means_the_same_in_three_versions(
    old: Any, new: Any, within: Any, most: Any, borrowing: Any
) -> None:
    shared = {"queueingStrategy": "StrictFIFO", "namespaceSelector": {"matchLabels": {"team": "a"}}}
    preemption = {"reclaimWithinCohort": new, "withinClusterQueue": within}
    first = kueue(
        "v1alpha2",
        "ClusterQueue",
        spec={
            "cohort": "all",
            "resources": resources_v1alpha2(most),
            "preemption": {"withinCohort": old, "withinClusterQueue": within},
            **shared,
        },
    )
    body = {"resourceGroups": groups(borrowing), "preemption": preemption, **shared}
    second = kueue("v1beta1", "ClusterQueue", spec={"cohort": "all", **body})
    third = kueue("v1beta2", "ClusterQueue", spec={"cohortName": "all", **body})
    assert type(first) is type(second) is type(third) is ClusterQueue
    assert first == second == third
    assert third.spec.cohort_name == "all"
    assert third.spec.preemption.reclaim_within_cohort == new
    limit = third.spec.resource_groups[0].flavors[0].resources[0].borrowing_limit
    assert limit == (None if borrowing is None else Quantity.parse(borrowing))


def test_a_maximum_below_the_minimum_leaves_nothing_to_borrow() -> None:
    queue = kueue(
        "v1alpha2", "ClusterQueue", spec={"resources": [{"name": "cpu", "flavors": [old_flavor("f", "5", "3")]}]}
    )
    assert queue.spec.resource_groups[0].flavors[0].resources[0].borrowing_limit == Quantity(0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {}),
        ({"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}, {"whenCanPreempt": "MayStopSearch"}),
        ({"whenCanBorrow": "TryNextFlavor"}, {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}),
    ],
)
def test_flavor_fungibility_was_called_after_what_is_done(old: Any, new: Any) -> None:
    first = kueue("v1beta1", "ClusterQueue", spec={"flavorFungibility": old})
    assert first.spec == kueue("v1beta2", "ClusterQueue", spec={"flavorFungibility": new}).spec


def test_a_resource_flavor_means_the_same_in_three_versions() -> None:
    labels, taints = {"type": "spot"}, [{"key": "spot", "effect": "NoSchedule"}]
    first = kueue("v1alpha2", "ResourceFlavor", nodeSelector=labels, taints=taints)
    later = [kueue(f"v1beta{n}", "ResourceFlavor", spec={"nodeLabels": labels, "nodeTaints": taints}) for n in (1, 2)]
    assert {type(first), *map(type, later)} == {ResourceFlavor}
    assert first.spec == later[0].spec == later[1].spec
    assert first.spec.node_labels == labels


def test_a_quota_workload_means_the_same_in_three_versions() -> None:
    spec = {"containers": [container(cpu="1")]}
    pod_sets = [{"name": "main", "count": 3, "template": {"spec": spec}}]
    named = {"queueName": "q", "priority": 7}
    reference = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
    assignment = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "spot"}}]}
    first = kueue(
        "v1alpha2",
        "Workload",
        spec={
            "podSets": [{"name": "main", "count": 3, "spec": spec}],
            "priorityClassName": "high",
            "admission": {"clusterQueue": "cq", "podSetFlavors": [{"name": "main", "flavors": {"cpu": "spot"}}]},
            **named,
        },
    )
    second = kueue(
        "v1beta1",
        "Workload",
        spec={
            "podSets": pod_sets,
            "priorityClassName": "high",
            "priorityClassSource": "scheduling.k8s.io/priorityclass",
            **named,
        },
        status={"admission": assignment},
    )
    third = kueue(
        "v1beta2",
        "Workload",
        spec={"podSets": pod_sets, "priorityClassRef": reference, **named},
        status={"admission": assignment},
    )
    assert type(first) is type(second) is type(third) is QuotaWorkload
    assert first == second == third
    assert third.status.admission is not None
    assert third.status.admission.cluster_queue == "cq"


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("kueue.x-k8s.io/workloadpriorityclass", "WorkloadPriorityClass"),
        ("scheduling.k8s.io/priorityclass", "PriorityClass"),
    ],
)
def test_the_source_of_a_priority_class_became_its_kind(source: Any, want: Any) -> None:
    spec = {"podSets": [{"template": {"spec": pod()["spec"]}}], "priorityClassName": "a", "priorityClassSource": source}
    assert kueue("v1beta1", "Workload", spec=spec).spec.priority_class_ref.kind == want


POLICIES: list[tuple[dict[str, Any], dict[str, Any], GroupPolicy]] = [
    ({"basic": {}}, {"schedulingPolicy": {"basic": {}}}, GroupPolicy()),
    (
        {"gang": {"minCount": 4}},
        {"schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": {"single": {}}},
        GroupPolicy(min_count=4),
    ),
    (
        {"gang": {"minCount": 4, "preemptionMode": "PodGroup"}},
        {"schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": {"all": {}}},
        GroupPolicy(min_count=4, unit="PodGroup"),
    ),
]


@pytest.mark.parametrize(("old", "new", "want"), POLICIES)
def test_a_group_means_the_same_inside_a_workload_in_a_template_and_by_itself(old: Any, new: Any, want: Any) -> None:
    def workload(version: str, spec: dict[str, Any]) -> Any:
        return read(manifest(f"scheduling.k8s.io/{version}", "Workload", metadata("w"), spec=spec))

    inline = workload("v1alpha1", {"podGroups": [{"name": "g", "policy": old}]})
    template = workload("v1beta1", {"podGroupTemplates": [{"name": "g", **new}]})
    group = read(manifest("scheduling.k8s.io/v1beta1", "PodGroup", metadata("g"), spec=new))
    assert (type(inline), type(template), type(group)) == (Workload, Workload, PodGroup)
    assert inline.pod_groups == template.pod_groups
    assert inline.pod_groups[0].policy == group.policy == want
    assert (inline.holds_groups, template.holds_groups) == (True, False)


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha3", "v1beta1"])
def test_a_pod_group_means_the_same_in_every_version_that_has_it(version: Any) -> None:
    group = read(pod_group("g", gang=3, whole=True, version=version, priorityClassName="high", priority=5))
    assert group.policy == GroupPolicy(min_count=3, unit="PodGroup", priority_class_name="high", priority=5)


QUEUES = {
    "partitions": [
        {
            "name": "default",
            "queues": [
                {
                    "name": "root",
                    "queues": [
                        {
                            "name": "prod",
                            "resources": {"guaranteed": {"vcore": "2500m", "memory": "1Gi"}, "max": {"vcore": 10}},
                            "properties": {"preemption.delay": "45s"},
                        }
                    ],
                }
            ],
        }
    ]
}


def test_a_queue_configuration_means_the_same_bare_and_in_its_config_map() -> None:
    text = to_yaml(QUEUES)
    bare = load_text(text)
    mapped = load_objects([config_map("yunikorn-configs", {"queues.yaml": text}, "yunikorn")])
    assert bare.problems == mapped.problems == []
    assert [type(item) for item in bare.objects] == [QueueConfiguration]
    assert mapped.objects[1] == bare.objects[0]
    assert mapped.entries[1].unit == "ConfigMap/yunikorn/yunikorn-configs"
    assert mapped.entries[1].path == '$.data["queues.yaml"]'
    assert len(load_objects([config_map("other", {"queues.yaml": text})]).objects) == 1


def test_vcore_is_cpu_and_both_at_once_are_refused() -> None:
    bounds = read(QUEUES).partitions[0].queues[0].queues[0].resources
    assert bounds.guaranteed == Resources.parse({"cpu": "2500m", "memory": "1Gi"})
    assert bounds.max == Resources.parse({"cpu": 10})
    assert load_text(to_yaml(QUEUES).replace("vcore", "cpu")).objects == load_objects([QUEUES]).objects
    twice = load_text("partitions: [{name: default, queues: [{name: a, resources: {max: {cpu: 1, vcore: 1}}}]}]")
    (problem,) = twice.problems
    assert problem.field == "$.partitions[0].queues[0].resources.max.cpu"
    assert problem.message.startswith("cpu is named twice")
