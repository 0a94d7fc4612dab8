"""Which priority a unit has, whether it preempts, and what it takes to preempt it."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.loading import load_objects
from reprieve.manifests.meta import PreemptionPolicy
from reprieve.manifests.priorities import (
    PreemptionToleration,
    Priority,
    PriorityClasses,
    of_scheduled_binding,
    preemption_toleration,
)
from reprieve.manifests.scheduling import MINIMUM_PREEMPTABLE_PRIORITY, TOLERATION_SECONDS
from tests.builders.pods import manifest, metadata, pod, pod_group, priority_class

HIGH = priority_class("high", 1000)
QUIET = priority_class("quiet", 500, policy="Never")
LOW = priority_class("low", -10)
DEFAULT = priority_class("usual", 100, default=True)
SMALLER = priority_class("smaller", 20, default=True, policy="Never")
ALL = [HIGH, QUIET, LOW]
LOWER: PreemptionPolicy = "PreemptLowerPriority"


def read(item: dict[str, Any]) -> Any:
    loaded = load_objects([item])
    assert [str(problem) for problem in loaded.problems] == []
    return loaded.objects[0]


def classes(*items: dict[str, Any]) -> PriorityClasses:
    return PriorityClasses(read(item) for item in items)


@pytest.mark.parametrize(
    ("name", "want"), [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
)
def test_two_classes_are_built_in(name: Any, want: Any) -> None:
    assert classes().resolve(name) == Priority(want, LOWER, name)
    assert classes(HIGH).names() == ["high", "system-cluster-critical", "system-node-critical"]


# The classes there are, the name asked for, and what comes of it.
RESOLVED: list[tuple[list[dict[str, Any]], str, Priority]] = [
    ([], "", Priority(0, LOWER)),
    (ALL, "", Priority(0, LOWER)),
    (ALL, "high", Priority(1000, LOWER, "high")),
    (ALL, "quiet", Priority(500, "Never", "quiet")),
    (ALL, "low", Priority(-10, LOWER, "low")),
    (ALL, "gone", Priority(0, LOWER, found=False)),
    ([*ALL, DEFAULT], "", Priority(100, LOWER, "usual")),
    ([*ALL, DEFAULT], "high", Priority(1000, LOWER, "high")),
    ([*ALL, DEFAULT], "gone", Priority(100, LOWER, "usual", found=False)),
    ([DEFAULT, SMALLER], "", Priority(20, "Never", "smaller")),
    ([SMALLER, DEFAULT], "", Priority(20, "Never", "smaller")),
    ([priority_class("b", 5, default=True), priority_class("a", 5, default=True)], "", Priority(5, LOWER, "a")),
    ([priority_class("z", -3, default=True), DEFAULT], "", Priority(-3, LOWER, "z")),
]


@pytest.mark.parametrize(("known", "name", "want"), RESOLVED)
def test_a_class_is_found_by_name_else_by_the_smallest_global_default_else_it_is_0(
    known: Any, name: Any, want: Any
) -> None:
    assert classes(*known).resolve(name) == want


PODS: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({}, (100, LOWER)),
    ({"priority_class": "high"}, (1000, LOWER)),
    ({"priority_class": "quiet"}, (500, "Never")),
    ({"priority_class": "gone"}, (100, LOWER)),
    ({"priority": 7}, (7, LOWER)),
    ({"priority": 0, "priority_class": "high"}, (0, LOWER)),
    ({"priority": 7, "priority_class": "gone"}, (7, LOWER)),
    ({"priority": -5, "policy": "Never"}, (-5, "Never")),
    ({"priority_class": "quiet", "policy": LOWER}, (500, LOWER)),
]


@pytest.mark.parametrize(("fields", "want"), PODS)
def test_what_a_pod_carries_itself_comes_before_its_class(fields: Any, want: Any) -> None:
    resolved = classes(*ALL, DEFAULT).of_pod(read(pod("p", **fields)).spec)
    assert (resolved.value, resolved.preemption_policy) == want
    assert resolved.found is (fields.get("priority_class") != "gone")


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({}, (100, LOWER)),
        ({"priorityClassName": "quiet"}, (500, "Never")),
        ({"priorityClassName": "gone"}, (100, LOWER)),
        ({"priorityClassName": "high", "priority": 3}, (3, LOWER)),
        ({"priority": 0}, (0, LOWER)),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, (1000, "Never")),
    ],
)
def test_what_a_pod_group_carries_itself_comes_before_its_class(fields: Any, want: Any) -> None:
    resolved = classes(*ALL, DEFAULT).of_group(read(pod_group("g", gang=2, **fields)).policy)
    assert (resolved.value, resolved.preemption_policy) == want


# The class of a workload, the class it takes to preempt it, and both priorities.
WORKLOADS: list[tuple[str | None, str | None, int, int]] = [
    (None, None, 100, 100),
    ("low", None, -10, -10),
    ("low", "high", -10, 1000),
    ("high", "high", 1000, 1000),
    ("high", "low", 1000, 1000),
    (None, "low", 100, 100),
    (None, "high", 100, 1000),
    ("low", "gone", -10, -10),
    ("gone", "high", 100, 1000),
    ("high", "system-node-critical", 1000, 2_000_001_000),
]


@pytest.mark.parametrize(("own", "to_preempt", "want_own", "want_to_preempt"), WORKLOADS)
def test_it_never_takes_less_to_preempt_a_workload_than_its_own_priority(
    own: Any, to_preempt: Any, want_own: Any, want_to_preempt: Any
) -> None:
    spec: dict[str, Any] = {"podGroups": [{"name": "g", "policy": {"basic": {}}}]}
    spec |= {"priorityClassName": own} if own else {}
    spec |= {"preemptionPriorityClassName": to_preempt} if to_preempt else {}
    workload = read(manifest("scheduling.k8s.io/v1alpha1", "Workload", metadata("w"), spec=spec))
    known = classes(*ALL, DEFAULT)
    assert known.of_workload(workload).value == want_own
    assert known.to_preempt_workload(workload).value == want_to_preempt
    assert known.to_preempt_workload(workload).found is ("gone" not in (own, to_preempt))


# What the policy says, the class in the pod template, and what it is with and without a global default.
BINDINGS: list[tuple[dict[str, str] | None, str | None, tuple[int, str], tuple[int, str]]] = [
    (None, "high", (0, "Never"), (0, "Never")),
    ({}, None, (100, LOWER), (0, "Never")),
    ({"priorityClassName": "high"}, None, (1000, LOWER), (1000, LOWER)),
    ({"priorityClassName": "quiet"}, "high", (500, "Never"), (500, "Never")),
    ({"priorityClassName": "gone"}, "high", (100, LOWER), (0, "Never")),
    ({"priorityClassSource": "KubePriorityClass"}, "high", (100, LOWER), (0, "Never")),
    ({"priorityClassSource": "KubePriorityClass", "priorityClassName": "low"}, None, (-10, LOWER), (-10, LOWER)),
    ({"priorityClassSource": "PodPriorityClass"}, "high", (1000, LOWER), (1000, LOWER)),
    ({"priorityClassSource": "PodPriorityClass"}, "gone", (100, LOWER), (0, "Never")),
    ({"priorityClassSource": "PodPriorityClass"}, "", (100, LOWER), (0, "Never")),
    ({"priorityClassSource": "PodPriorityClass"}, None, (100, LOWER), (0, "Never")),
    ({"priorityClassSource": "PodPriorityClass", "priorityClassName": "high"}, "low", (-10, LOWER), (-10, LOWER)),
    (
        {"priorityClassSource": "FederatedPriorityClass", "priorityClassName": "high"},
        "high",
        (0, "Never"),
        (0, "Never"),
    ),
]


@pytest.mark.parametrize(("source", "template", "want", "want_without_default"), BINDINGS)
def test_a_binding_falls_back_to_the_global_default_and_then_to_0_and_never(
    source: Any, template: Any, want: Any, want_without_default: Any
) -> None:
    spec: dict[str, Any] = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}
    spec |= {} if source is None else {"schedulePriority": source}
    policy = read(manifest("policy.karmada.io/v1alpha1", "PropagationPolicy", metadata("p"), spec=spec))
    pod_spec = None if template is None else read(pod(priority_class=template or None)).spec
    for known, expected in ((classes(*ALL, DEFAULT), want), (classes(*ALL), want_without_default)):
        resolved = known.of_binding(policy.spec.schedule_priority, pod_spec)
        assert (resolved.value, resolved.preemption_policy) == expected


@pytest.mark.parametrize(
    ("carried", "want"),
    [
        (None, None),
        ({}, Priority(0, "Never")),
        ({"priority": 9}, Priority(9, "Never")),
        ({"priority": -9, "preemptionPolicy": LOWER}, Priority(-9, LOWER)),
    ],
)
def test_a_binding_keeps_the_priority_that_was_written_into_it(carried: Any, want: Any) -> None:
    spec: dict[str, Any] = {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    spec |= {} if carried is None else {"schedulePriority": carried}
    binding = read(manifest("work.karmada.io/v1alpha2", "ResourceBinding", metadata("b"), spec=spec))
    assert of_scheduled_binding(binding) == want


# Annotations of a class of value 1000, and the toleration that they grant.
TOLERATIONS: list[tuple[str | None, str | None, tuple[int, int] | None]] = [
    (None, None, (1001, 0)),
    ("5000", None, (5000, 0)),
    (None, "600", (1001, 600)),
    ("5000", "-1", (5000, -1)),
    ("-5", "+3", (-5, 3)),
    ("2147483647", "9223372036854775807", (2147483647, 9223372036854775807)),
    ("2147483648", None, None),
    ("4000000000", None, None),
    (None, "9223372036854775808", None),
    ("high", None, None),
    (None, "10m", None),
    ("5000", "1.5", None),
    ("1e3", "60", None),
    (" 5", None, None),
    ("", None, None),
    ("0x10", None, None),
    ("1_000", None, None),
]


@pytest.mark.parametrize(("minimum", "seconds", "want"), TOLERATIONS)
def test_annotations_that_are_no_numbers_grant_no_toleration(minimum: Any, seconds: Any, want: Any) -> None:
    written = {MINIMUM_PREEMPTABLE_PRIORITY: minimum, TOLERATION_SECONDS: seconds}
    annotations = {key: value for key, value in written.items() if value is not None}
    granted = preemption_toleration(read(priority_class("c", 1000, annotations=annotations)))
    assert granted == (None if want is None else PreemptionToleration(*want))


def test_the_default_of_the_highest_class_is_one_more_than_an_int32_holds() -> None:
    assert preemption_toleration(read(priority_class("c", 2**31 - 1))) == PreemptionToleration(2**31, 0)
