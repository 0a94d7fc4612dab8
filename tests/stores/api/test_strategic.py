"""Strategic merge patches: which lists are merged, in which order, and what the directives do."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.kinds import BUDGETS, CONFIG_MAPS, PODS, find_resource
from reprieve.manifests.resource import Resource
from reprieve.stores.api.json_patch import BadPatch
from reprieve.stores.api.strategic import strategic_merge

Dict = dict[str, Any]
Items = list[Any]


def container(name: str, **fields: Any) -> Dict:
    return {"name": name, **fields}


def pod(*containers: Dict, **spec: Any) -> Dict:
    return {"spec": {"containers": list(containers), **spec}}


A, B, C = container("a", image="1"), container("b", image="1"), container("c", image="1")


def order(*names: str) -> Dict:
    return {"$setElementOrder/containers": [{"name": name} for name in names]}


MERGED: list[tuple[str, Items, Dict, Items]] = [
    ("an item that is there is merged", [A, B], pod(container("b", image="2")), [A, container("b", image="2")]),
    ("an item that is not there comes first", [A], pod(B), [B, A]),
    ("a field of an item is removed", [A], pod(container("a", image=None)), [container("a")]),
    ("merged items stand as in the patch", [A, B, C], pod(C, A), [B, C, A]),
    ("an item is deleted", [A, B], pod({"$patch": "delete", "name": "a"}), [B]),
    ("an item that is not there is deleted", [A], pod({"$patch": "delete", "name": "x"}), [A]),
    (
        "an item is deleted and given anew",
        [A],
        pod({"$patch": "delete", "name": "a"}, container("a")),
        [container("a")],
    ),
    (
        "merge is what happens anyway",
        [A, B],
        pod({"$patch": "merge", **container("b", image="2")}),
        [A, {**B, "image": "2"}],
    ),
    ("the list is replaced", [A, B], pod({"$patch": "replace"}, C), [C]),
    ("the list is emptied", [A, B], pod({"$patch": "replace"}), []),
    ("a list that says nothing", [A, B], pod(), [A, B]),
    ("items are put in order", [A, B, C], {"spec": order("c", "a", "b")}, [C, A, B]),
    ("a new item gets its place", [A, B], {"spec": {"containers": [C], **order("a", "c", "b")}}, [A, C, B]),
    ("others keep their place", [A, B, C], {"spec": order("c", "a")}, [B, C, A]),
    (
        "an item goes and the rest is ordered",
        [A, B, C],
        {"spec": {"containers": [{"$patch": "delete", "name": "b"}], **order("c", "a")}},
        [C, A],
    ),
]


@pytest.mark.parametrize(("current", "patch", "want"), [case[1:] for case in MERGED], ids=[case[0] for case in MERGED])
def test_containers(current: Items, patch: Dict, want: Items) -> None:
    assert strategic_merge(pod(*current), patch, PODS) == pod(*want)


KEYS = [
    ("Pod", "spec.initContainers", "name"),
    ("Pod", "spec.ephemeralContainers", "name"),
    ("Pod", "spec.volumes", "name"),
    ("Pod", "spec.imagePullSecrets", "name"),
    ("Pod", "spec.hostAliases", "ip"),
    ("Pod", "spec.topologySpreadConstraints", "topologyKey"),
    ("Pod", "spec.schedulingGates", "name"),
    ("Pod", "status.conditions", "type"),
    ("Pod", "status.podIPs", "ip"),
    ("Pod", "metadata.ownerReferences", "uid"),
    ("Node", "status.conditions", "type"),
    ("Node", "status.addresses", "type"),
    ("Job", "spec.template.spec.containers", "name"),
    ("Job", "status.conditions", "type"),
    ("Deployment", "spec.template.spec.volumes", "name"),
    ("ReplicaSet", "spec.template.spec.containers", "name"),
    ("StatefulSet", "spec.template.metadata.ownerReferences", "uid"),
    ("DaemonSet", "spec.template.spec.schedulingGates", "name"),
    ("PodGroup", "status.conditions", "type"),
    ("Namespace", "status.conditions", "type"),
    ("PodDisruptionBudget", "status.conditions", "type"),
]


def at(path: str, value: Any) -> Dict:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value  # type: ignore[no-any-return]


def resource(kind: str) -> Resource:
    found = find_resource(kind)
    assert found is not None
    return found


@pytest.mark.parametrize(("kind", "path", "key"), KEYS)
def test_lists_that_are_merged_by_their_key(kind: str, path: str, key: str) -> None:
    current = at(path, [{key: "1", "kept": 1}, {key: "2"}])
    assert strategic_merge(current, at(path, [{key: "1", "x": 1}]), resource(kind)) == at(
        path, [{key: "1", "kept": 1, "x": 1}, {key: "2"}]
    )


@pytest.mark.parametrize("field", ["env/name", "ports/containerPort", "volumeMounts/mountPath"])
@pytest.mark.parametrize("containers", ["containers", "initContainers", "ephemeralContainers"])
def test_lists_inside_containers(containers: str, field: str) -> None:
    name, key = field.split("/")
    current = at(f"spec.{containers}", [container("c", **{name: [{key: 1, "value": "x"}, {key: 2}]})])
    patch = at(f"spec.{containers}", [container("c", **{name: [{key: 2, "value": "y"}]})])
    want = [container("c", **{name: [{key: 1, "value": "x"}, {key: 2, "value": "y"}]})]
    assert strategic_merge(current, patch, PODS) == at(f"spec.{containers}", want)


REPLACED = [
    ("Pod", "spec.tolerations"),
    ("Pod", "status.containerStatuses"),
    ("Node", "spec.taints"),
    ("Node", "status.images"),
    ("Job", "spec.containers"),
    ("Pod", "spec.unheardOf"),
]


@pytest.mark.parametrize(("kind", "path"), REPLACED)
def test_lists_that_are_replaced(kind: str, path: str) -> None:
    current, patch = at(path, [{"key": "a", "name": "a"}]), at(path, [{"key": "b", "name": "b"}])
    assert strategic_merge(current, patch, resource(kind)) == patch


def test_the_selector_of_a_budget_is_replaced() -> None:
    current = at("spec.selector", {"matchLabels": {"app": "a", "tier": "x"}})
    patch = at("spec.selector", {"matchLabels": {"app": "b"}})
    assert strategic_merge(current, patch, BUDGETS) == patch


def finalizers(*names: str) -> Dict:
    return {"metadata": {"finalizers": list(names)}}


FINALIZERS: list[tuple[str, Dict, list[str]]] = [
    ("one is added", finalizers("c"), ["c", "a", "b"]),
    ("one that is there is not added again", finalizers("b"), ["a", "b"]),
    ("one is removed", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}, ["b"]),
    (
        "one goes and one comes",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}},
        ["c", "b"],
    ),
    ("they are put in order", {"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}, ["b", "a"]),
    ("all are removed", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "b"]}}, []),
]


@pytest.mark.parametrize(("patch", "want"), [case[1:] for case in FINALIZERS], ids=[case[0] for case in FINALIZERS])
def test_finalizers_are_a_set(patch: Dict, want: list[str]) -> None:
    assert strategic_merge(finalizers("a", "b"), patch, PODS) == finalizers(*want)


def test_all_finalizers_are_removed_with_null() -> None:
    assert strategic_merge(finalizers("a"), {"metadata": {"finalizers": None}}, PODS) == {"metadata": {}}


OBJECTS: list[tuple[str, Dict, Dict, Dict]] = [
    ("an object is replaced", {"a": 1, "b": 2}, {"$patch": "replace", "c": 3}, {"c": 3}),
    ("an object is emptied", {"a": 1}, {"$patch": "delete"}, {}),
    ("an object is merged", {"a": 1}, {"$patch": "merge", "b": 2}, {"a": 1, "b": 2}),
    ("only some fields stay", {"a": 1, "b": 2, "c": 3}, {"$retainKeys": ["a", "d"], "d": 4}, {"a": 1, "d": 4}),
    ("retained fields may be removed", {"a": 1, "b": 2}, {"$retainKeys": ["b"], "a": None}, {"b": 2}),
    ("directives do not stay in what is new", {}, {"x": {"$patch": "replace", "y": None, "z": 1}}, {"x": {"z": 1}}),
]


@pytest.mark.parametrize(
    ("current", "patch", "want"), [case[1:] for case in OBJECTS], ids=[case[0] for case in OBJECTS]
)
def test_directives_in_objects(current: Dict, patch: Dict, want: Dict) -> None:
    assert strategic_merge({"data": current}, {"data": patch}, CONFIG_MAPS) == {"data": want}


def test_a_volume_changes_its_source_with_retain_keys() -> None:
    current = at("spec.volumes", [{"name": "v", "emptyDir": {}}])
    patch = at("spec.volumes", [{"$retainKeys": ["name", "hostPath"], "name": "v", "hostPath": {"path": "/x"}}])
    assert strategic_merge(current, patch, PODS) == at("spec.volumes", [{"name": "v", "hostPath": {"path": "/x"}}])


def test_a_list_that_only_its_sender_knows_to_be_merged() -> None:
    current = at("spec.newer", [{"id": 1, "kept": True}, {"id": 2}])
    patch = {"spec": {"newer": [{"id": 2, "x": 1}], "$setElementOrder/newer": [{"id": 2}, {"id": 1}]}}
    assert strategic_merge(current, patch, PODS) == at("spec.newer", [{"id": 2, "x": 1}, {"id": 1, "kept": True}])


def test_a_number_and_a_text_are_different_keys() -> None:
    current = pod(container("c", ports=[{"containerPort": 80}]))
    patched = strategic_merge(current, pod(container("c", ports=[{"containerPort": "80"}])), PODS)
    assert patched == pod(container("c", ports=[{"containerPort": "80"}, {"containerPort": 80}]))


BAD: list[tuple[Dict, str]] = [
    (pod({"image": "x"}), '$.spec.containers[0]: is an object; each item needs a "name", by which it is merged'),
    (pod(A, {"name": ["x"]}), '$.spec.containers[1]: is an object; each item needs a "name", by which it is merged'),
    (
        {"spec": {"containers": ["x"]}},
        '$.spec.containers[0]: is "x"; each item needs a "name", by which it is merged',
    ),
    (pod({"$patch": "delete"}), '$.spec.containers[0]: is an object; each item needs a "name", by which it is merged'),
    ({"metadata": {"finalizers": [{"a": 1}]}}, "$.metadata.finalizers[0]: is an object; each must be a text"),
    ({"spec": {"$patch": "remove"}}, '$.spec: $patch is "remove"; allowed: replace, delete, merge'),
    ({"spec": {"$patch": ["x"]}}, "$.spec: $patch is a list; allowed: replace, delete, merge"),
    (pod({"$patch": "no", "name": "a"}), '$.spec.containers: $patch is "no"; allowed: replace, delete, merge'),
    ({"spec": {"$retainKeys": "a"}}, '$.spec: $retainKeys is "a"; it must be a list'),
    (
        {"spec": {"$retainKeys": ["a"], "b": 1}},
        "$.spec.b: set, but $retainKeys does not name it; it must name all that is set",
    ),
    (
        {"spec": {"$setElementOrder/containers": {"name": "a"}}},
        "$.spec.containers: $setElementOrder/containers is an object; it must be a list",
    ),
    (
        {"spec": {"containers": [A, B], **order("a")}},
        "$.spec.containers[1]: is missing in $setElementOrder; it must name all, in this order",
    ),
    (
        {"spec": {"containers": [A, B], **order("b", "a")}},
        "$.spec.containers[1]: comes in another order than $setElementOrder; it must name all, in this order",
    ),
    (
        {"spec": {"$deleteFromPrimitiveList/nodeName": ["a"]}},
        '$.spec.nodeName: is "n1", and the patch orders or removes items of a list',
    ),
]


@pytest.mark.parametrize(("patch", "want"), BAD)
def test_what_is_wrong_is_named_with_its_place(patch: Dict, want: str) -> None:
    with pytest.raises(BadPatch) as failure:
        strategic_merge(pod(A, B, nodeName="n1"), patch, PODS)
    assert str(failure.value) == want
