"""Whatever is read, nothing is raised, and nothing is dropped in silence: there is an object, or there is a problem."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.manifests.admission import admit_all
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects, load_text

_POD_SPEC = {
    "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}],
    "priority": 5,
    "preemptionPolicy": "Never",
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "nodeSelector": {"disk": "fast"},
    "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
}
_QUOTA = {"name": "cpu", "nominalQuota": "5", "lendingLimit": 1}
_RESOURCE_GROUP = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [_QUOTA]}]}
_QUEUE = {"name": "a", "properties": {"preemption.delay": "5s"}, "resources": {"guaranteed": {"vcore": 1}}}
_QUEUES: dict[str, Any] = {"partitions": [{"name": "default", "queues": [{"name": "root", "queues": [_QUEUE]}]}]}
_TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}


def manifest(kind: str, **fields: Any) -> dict[str, Any]:
    api_version, kind = kind.split()
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "labels": {"a": "b"}}, **fields}


VALID: list[dict[str, Any]] = [
    manifest("v1 Pod", spec=_POD_SPEC, status={"phase": "Running", "conditions": [{"type": "a", "status": "True"}]}),
    manifest("v1 Node", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}, status={"allocatable": {"cpu": 4}}),
    manifest("policy/v1 PodDisruptionBudget", spec={"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}),
    manifest("scheduling.k8s.io/v1 PriorityClass", value=5, globalDefault=True),
    manifest(
        "scheduling.k8s.io/v1alpha1 Workload",
        spec={"podGroups": [{"name": "a", "policy": {"gang": {"minCount": 2, "preemptionMode": "Pod"}}}]},
    ),
    manifest("scheduling.k8s.io/v1beta1 PodGroup", spec={"schedulingPolicy": {"gang": {"minCount": 2}}}),
    manifest("batch/v1 Job", spec={"parallelism": 2, "template": {"spec": _POD_SPEC}}),
    manifest(
        "kueue.x-k8s.io/v1beta2 ClusterQueue",
        spec={
            "cohortName": "c",
            "resourceGroups": [_RESOURCE_GROUP],
            "preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}},
            "fairSharing": {"weight": 2},
        },
    ),
    manifest(
        "kueue.x-k8s.io/v1alpha2 ClusterQueue",
        spec={"resources": [{"name": "cpu", "flavors": [{"name": "f", "quota": {"min": 1, "max": "2"}}]}]},
    ),
    manifest("kueue.x-k8s.io/v1beta1 Workload", spec={"podSets": [{"template": {"spec": _POD_SPEC}}]}),
    manifest("v1 ConfigMap", data={"queues.yaml": json.dumps(_QUEUES)}) | {"metadata": {"name": "yunikorn-configs"}},
    _QUEUES,
    manifest(
        "policy.karmada.io/v1alpha1 PropagationPolicy",
        spec={
            "resourceSelectors": [_TARGET],
            "schedulePriority": {"priorityClassSource": "PodPriorityClass"},
            "placement": {"spreadConstraints": [{"spreadByField": "cluster"}]},
        },
    ),
    manifest("work.karmada.io/v1alpha2 ResourceBinding", spec={"resource": _TARGET, "clusters": [{"name": "m"}]}),
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [manifest("v1 Namespace"), manifest("v1 ConfigMap", data={"a": "b"})],
    },
]

ANY_TEXT = st.text(max_size=20) | st.sampled_from(["", "1", "1Gi", "-1", "1e99", "5s", "true", "a\nb", "Never", "\x1b"])
ANY_NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([10**30, -(2**31), 0])
ANY_DATA = st.recursive(
    st.none() | st.booleans() | ANY_NUMBER | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


def paths(data: Any) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path for key, value in items for path in [(key,), *((key, *rest) for rest in paths(value))]]


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(data)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return changed


def assert_answered(loaded: Loaded, data: Any) -> None:
    problems = [*loaded.problems, *admit_all(loaded.entries)]
    empty = data.get("kind") == "List" and data.get("items") in (None, [])
    assert loaded.entries or loaded.problems or empty
    for problem in problems:
        assert str(problem).isprintable()


@pytest.mark.parametrize("data", VALID, ids=lambda data: str(data.get("kind", "queues.yaml")))
def test_the_manifests_to_break_are_whole(data: dict[str, Any]) -> None:
    loaded = load_objects([data], strict=True)
    assert loaded.problems == []
    assert loaded.entries


@given(content=st.binary(max_size=200), name=st.sampled_from(["a.yaml", "a.json"]))
@settings(max_examples=300)
def test_any_bytes_can_be_read(content: bytes, name: str) -> None:
    loaded = load_text(content, name=name)
    admit_all(loaded.entries)
    assert all(str(problem).isprintable() for problem in loaded.problems)


YAML_PARTS = [
    "a",
    "b: ",
    "- ",
    "\n",
    "  ",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "&x ",
    "*x",
    "<<: ",
    '"',
    "'",
    "|",
    ": ",
    "---\n",
    "#",
]


@given(text=st.lists(st.sampled_from([*YAML_PARTS, "...\n", "%", "!!str ", "0x", "1_0", "? ", ","]), max_size=30))
@settings(max_examples=300)
def test_any_mixture_of_what_yaml_is_made_of_can_be_read(text: list[str]) -> None:
    loaded = load_text("".join(text), name="a.yaml")
    assert loaded.entries == []
    assert all(str(problem).isprintable() for problem in loaded.problems)


@given(data=st.data(), value=ANY_DATA, strict=st.booleans())
@settings(max_examples=400)
def test_any_value_in_place_of_any_field_is_an_object_or_an_error(
    data: st.DataObject, value: Any, strict: bool
) -> None:
    original = data.draw(st.sampled_from(VALID))
    broken = replaced(original, data.draw(st.sampled_from(paths(original))), value)
    assert_answered(load_objects([broken], strict=strict), broken)


@given(data=st.data(), value=ANY_DATA)
@settings(max_examples=400)
def test_json_and_plain_data_are_answered_alike(data: st.DataObject, value: Any) -> None:
    original = data.draw(st.sampled_from(VALID))
    broken = replaced(original, data.draw(st.sampled_from(paths(original))), value)
    text = json.dumps(broken)
    from_json = load_text(text, name="a")
    assert_answered(from_json, broken)
    assert_answered(load_text(text, name="a.yaml"), broken)
    from_data = load_objects([json.loads(text, parse_float=Decimal)], name="a")
    # Only a text has lines, and a way in which values are written.
    assert [(problem.field, problem.stage, problem.allowed) for problem in from_json.problems] == [
        (problem.field, problem.stage, problem.allowed) for problem in from_data.problems
    ]
    assert [entry.unit for entry in from_json.entries] == [entry.unit for entry in from_data.entries]
