"""Loading: the same objects, whichever way they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load_objects, load_text
from reprieve.model.resources import Resources
from tests.builders.pods import budget, item_list, manifest, metadata, node, pod, priority_class, to_json, to_yaml

WORLD = [
    node("n1", cpu="4", labels={"zone": "a"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]),
    pod("a", cpu="500m", node="n1", priority_class="high", started="2026-01-01T12:00:00Z"),
    pod("b", cpu="0.5", memory="1Gi", namespace="team", policy="Never"),
    priority_class("high", 1000, annotations={"yunikorn.apache.org/allow-preemption": "false"}),
    budget("few", {"app": "a"}, allowed=1),
    manifest("kueue.x-k8s.io/v1beta1", "LocalQueue", metadata("q", "team"), spec={"clusterQueue": "cq"}),
]
UNITS = ["Node//n1", "Pod/default/a", "Pod/team/b", "PriorityClass//high", "PodDisruptionBudget/default/few"]
UNITS += ["LocalQueue/team/q"]


def units(loaded: Loaded) -> list[str]:
    return [entry.unit for entry in loaded.entries]


def problems(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]


SPELLINGS: dict[str, str] = {
    "YAML documents": to_yaml(*WORLD),
    "a YAML List": to_yaml(item_list(*WORLD)),
    "a JSON List": to_json(item_list(*WORLD)),
    "a JSON List without a space": json.dumps(item_list(*WORLD), separators=(",", ":")),
    "a JSON List with keys in any order": json.dumps(item_list(*(dict(reversed(item.items())) for item in WORLD))),
    "Lists in a List": to_json(item_list(item_list(*WORLD[:2]), item_list(*WORLD[2:]))),
    "JSON after JSON": "\n".join(to_json(item) for item in WORLD),
    "JSON without anything between": "".join(json.dumps(item) for item in WORLD),
    "one line of JSON each": "\n".join(json.dumps(item) for item in WORLD) + "\n",
    "JSON between YAML markers": "\n---\n".join(to_json(item) for item in WORLD),
    "YAML with Windows line ends": to_yaml(*WORLD).replace("\n", "\r\n"),
    "YAML with a byte order mark": "\ufeff" + to_yaml(*WORLD),
    "YAML in braces": yaml.safe_dump(item_list(*WORLD), default_flow_style=True, width=40),
    "JSON with a byte order mark": "\ufeff" + to_json(item_list(*WORLD)),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("strict", [False, True], ids=["", "strictly"])
def test_every_way_to_write_objects_gives_the_same_objects(text: Any, strict: Any) -> None:
    loaded = load_text(text, strict=strict)
    assert problems(loaded) == []
    assert units(loaded) == UNITS
    assert loaded.objects == load_objects(WORLD).objects


def as_the_server_prints(item: dict[str, Any]) -> dict[str, Any]:
    """With all that an API server adds, and the nulls that Go writes for what is empty."""
    extra = {
        "creationTimestamp": None,
        "uid": "7d5b",
        "resourceVersion": "12",
        "generation": 1,
        "finalizers": ["kubernetes"],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}],
    }
    spec = {**item["spec"], "tolerations": None, "nodeSelector": None, "affinity": None, "restartPolicy": "Always"}
    spec["containers"] = [
        {**part, "imagePullPolicy": "Always", "ports": None, "env": None} for part in spec["containers"]
    ]
    status = {**item["status"], "conditions": None, "podIP": "10.0.0.1", "qosClass": "Burstable"}
    return {**item, "metadata": {**item["metadata"], **extra}, "spec": spec, "status": status}


@pytest.mark.parametrize("strict", [False, True], ids=["", "strictly"])
@pytest.mark.parametrize("kind", ["List", "PodList"])
@pytest.mark.parametrize("write", [to_json, to_yaml], ids=["json", "yaml"])
def test_the_output_of_kubectl_get_is_read_as_what_was_applied(write: Any, kind: Any, strict: Any) -> None:
    applied = [pod("a", cpu="1", node="n1"), pod("b", memory="1Gi", priority=3)]
    shown = item_list(*(as_the_server_prints(item) for item in applied), kind=kind)
    loaded = load_text(write(shown), strict=strict)
    assert problems(loaded) == []
    assert [item.spec for item in loaded.objects] == [item.spec for item in load_objects(applied).objects]
    assert [item.metadata.uid for item in loaded.objects] == ["7d5b", "7d5b"]
    assert [(entry.origin.document, entry.origin.item) for entry in loaded.entries] == [(1, 1), (1, 2)]


TYPED_LISTS: list[tuple[str, str, dict[str, Any]]] = [
    ("v1", "Pod", pod("a")),
    ("v1", "Node", node("a")),
    ("scheduling.k8s.io/v1", "PriorityClass", priority_class("a", 1)),
    (
        "apps/v1",
        "Deployment",
        {
            "metadata": {"name": "a"},
            "spec": {"template": {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}},
        },
    ),
    ("kueue.x-k8s.io/v1beta1", "ClusterQueue", {"metadata": {"name": "a"}, "spec": {"cohort": "c"}}),
]


@pytest.mark.parametrize(("api_version", "kind", "item"), TYPED_LISTS)
@pytest.mark.parametrize("write", [to_json, to_yaml], ids=["json", "yaml"])
def test_items_of_a_typed_list_need_not_say_what_they_are(write: Any, api_version: Any, kind: Any, item: Any) -> None:
    anonymous = {key: value for key, value in item.items() if key not in ("apiVersion", "kind")}
    loaded = load_text(write(item_list(anonymous, kind=f"{kind}List", api_version=api_version)))
    assert problems(loaded) == []
    assert loaded.objects == load_objects([{"apiVersion": api_version, "kind": kind, **anonymous}]).objects


@pytest.mark.parametrize("write", [to_json, to_yaml], ids=["json", "yaml"])
@pytest.mark.parametrize("gone", ["kind", "apiVersion"])
def test_items_of_a_plain_list_must_say_what_they_are(write: Any, gone: Any) -> None:
    second = {key: value for key, value in node("n2").items() if key != gone}
    loaded = load_text(write(item_list(node("n1"), second, node("n3"))))
    assert units(loaded) == ["Node//n1", "Node//n3"]
    (problem,) = loaded.problems
    assert (problem.origin.item, problem.field, problem.message) == (2, f"$.{gone}", "missing")


@pytest.mark.parametrize("write", [to_json, to_yaml], ids=["json", "yaml"])
@pytest.mark.parametrize(
    ("items", "want"), [([], []), (None, []), ({}, ["not a list"]), ("pods", ["not a list"]), (3, ["not a list"])]
)
def test_a_list_may_be_empty_but_must_be_a_list(write: Any, items: Any, want: Any) -> None:
    loaded = load_text(write({"apiVersion": "v1", "kind": "PodList", "items": items}))
    assert [problem.message for problem in loaded.problems] == want


@pytest.mark.parametrize("write", [to_json, to_yaml], ids=["json", "yaml"])
def test_an_unknown_kind_is_warned_of_once_and_counted(write: Any) -> None:
    services = [manifest("v1", "Service", metadata(name, "x")) for name in ("a", "b", "c")]
    lists = manifest("shop.example/v1", "PriceList", metadata("d"))
    loaded = load_text(write(item_list(services[0], node("n1"), *services[1:], lists)))
    assert units(loaded) == ["Node//n1"]
    assert loaded.unknown == {"v1 Service": 3, "shop.example/v1 PriceList": 1}
    assert [problem.severity for problem in loaded.problems] == ["warning", "warning"]
    line = 10 if write is to_json else 7
    assert problems(loaded)[0] == (
        f"text: document 1, item 1, line {line}: Service/x/a: $.kind: v1 Service is not a kind Reprieve reads; ignored"
    )


def test_a_known_kind_in_an_unknown_version_is_an_error() -> None:
    loaded = load_objects(
        [{**node("n1"), "apiVersion": "v2"}, {**priority_class("a", 1), "apiVersion": "scheduling.k8s.io/v2"}]
    )
    assert problems(loaded) == [
        'objects: document 1: Node/n1: $.apiVersion: found "v2"; allowed for Node: v1',
        'objects: document 2: PriorityClass/a: $.apiVersion: found "scheduling.k8s.io/v2"; '
        "allowed for PriorityClass: scheduling.k8s.io/v1",
    ]


def test_what_has_no_namespace_is_in_the_default_one_unless_it_can_have_none() -> None:
    bare = pod("a")
    del bare["metadata"]["namespace"]
    stray = node("n1")
    stray["metadata"]["namespace"] = "x"
    loaded = load_objects([bare, stray])
    assert units(loaded) == ["Pod/default/a", "Node//n1"]
    assert loaded.objects[0].namespace == "default"


def test_what_asks_for_a_name_is_given_the_same_each_time() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: train-}\nspec: {containers: [{name: c}]}\n"
    loaded = load_text("---\n".join([text, text]))
    assert not loaded.problems
    assert [entry.unit for entry in loaded.entries] == ["Pod/default/train-00001", "Pod/default/train-00002"]


def test_the_same_object_twice_is_named_with_where_it_was_first() -> None:
    quota = {"podSets": [{"template": {"spec": pod()["spec"]}}]}
    groups = {"podGroupTemplates": [{"name": "g", "schedulingPolicy": {"basic": {}}}]}
    workloads = [
        manifest("kueue.x-k8s.io/v1beta2", "Workload", metadata("w"), spec=quota),
        manifest("scheduling.k8s.io/v1beta1", "Workload", metadata("w"), spec=groups),
    ]
    loaded = load_objects([pod("a"), pod("a", namespace="b"), *workloads, pod("a")], name="x")
    assert problems(loaded) == [
        "x: document 5: Pod/default/a: $.metadata.name: already read from x: document 1; allowed: each object once"
    ]
    assert loaded.problems[0].stage == "admission"


def test_null_is_the_same_as_not_set() -> None:
    plain = pod("a", cpu="1")
    nulls = pod(
        "a",
        spec={
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": None}, "limits": None}}]
        },
    )
    nulls["metadata"] |= {"labels": None, "annotations": {"a": None}, "ownerReferences": None}
    nulls["spec"] |= {"priorityClassName": None, "schedulerName": None, "hostNetwork": None, "overhead": None}
    for text in (to_json(nulls), to_yaml(nulls)):
        loaded = load_text(text)
        assert problems(loaded) == []
        assert loaded.objects == load_objects([plain]).objects


def test_numbers_are_exact_in_either_format() -> None:
    text = """{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
               "status": {"allocatable": {"cpu": 0.3, "memory": 1e3}}}"""
    for loaded in (load_text(text), load_text(f"---\n{text}"), load_objects([json.loads(text)])):
        assert loaded.objects[0].allocatable == Resources({"cpu": 300, "memory": 1000})


def test_a_mistake_in_one_item_hides_no_other() -> None:
    bad = pod("bad", spec={"containers": "none", "priority": "high"})
    for text in (to_json(item_list(pod("a"), bad, node("n1"), pod("b"))), to_yaml(pod("a"), bad, node("n1"), pod("b"))):
        loaded = load_text(text)
        assert units(loaded) == ["Pod/default/a", "Node//n1", "Pod/default/b"]
        assert [problem.field for problem in loaded.problems] == ["$.spec.containers", "$.spec.priority"]
        assert {problem.object for problem in loaded.problems} == {"Pod/default/bad"}
