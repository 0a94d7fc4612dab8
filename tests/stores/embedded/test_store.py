"""The embedded store: objects are made, read, listed, changed; names, versions and conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, CONFIG_MAPS, EVENTS, JOBS, NODES, PODS
from reprieve.model.clock import timestamp
from reprieve.stores.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Invalid,
    MethodNotAllowed,
    NotFound,
    StoreError,
    TooLarge,
    Unavailable,
)
from tests.stores.embedded.scene import Scene, at_once, job, node, pod


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


def test_a_new_object_gets_its_identity(scene: Scene) -> None:
    record = scene.create(PODS, pod("a"))
    metadata = record.metadata
    assert metadata["resourceVersion"] == str(record.version) == str(scene.store.version)
    assert len(metadata["uid"]) == 36
    assert metadata["uid"] == record.uid
    assert metadata["creationTimestamp"] == timestamp(scene.now)
    assert metadata["generation"] == 1
    assert scene.get(PODS, "a", "default") == record.data
    assert record.manifest.metadata.uid == record.uid


def test_what_the_store_says_cannot_be_sent(scene: Scene) -> None:
    data = pod("a")
    sent = {"uid": "mine", "generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z", "managedFields": [{"a": 1}]}
    data["metadata"] |= sent | {"resourceVersion": "99", "deletionTimestamp": "2020-01-01T00:00:00Z"}
    metadata = scene.create(PODS, data).metadata
    assert metadata["uid"] != "mine"
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"] == timestamp(scene.now)
    assert not {"managedFields", "deletionTimestamp"} & set(metadata)


def test_what_was_sent_is_left_alone(scene: Scene) -> None:
    data = pod("a")
    before = repr(data)
    record = scene.create(PODS, data)
    data["spec"]["containers"][0]["name"] = "other"
    assert scene.pod()["spec"]["containers"][0]["name"] == "c"
    data["spec"]["containers"][0]["name"] = "c"
    assert repr(data) == before
    assert record.data["spec"]["schedulerName"] == "default-scheduler"


def test_names_are_taken_once_in_each_namespace(scene: Scene) -> None:
    scene.namespace("other")
    scene.create(PODS, pod("a"))
    scene.create(PODS, pod("a", namespace="other"))
    with pytest.raises(AlreadyExists, match='pods "a" already exists'):
        scene.create(PODS, pod("a"))
    assert scene.names(PODS) == ["a", "a"]
    assert scene.names(PODS, "other") == ["a"]


def test_names_are_generated_until_one_is_free() -> None:
    data = pod("x")
    data["metadata"] = {"namespace": "default", "generateName": "train-"}
    with Scene(seed=1) as scene:
        first = scene.create(PODS, data)
    assert first.name.startswith("train-")
    assert len(first.name) == len("train-") + 5
    with Scene(seed=1) as again:
        # The same seed would give the same name, but that is taken now; so the next one is tried.
        again.create(PODS, {**pod(first.name)})
        assert again.create(PODS, data).name != first.name


def test_a_seed_makes_uids_the_same_each_time() -> None:
    with Scene(seed=7) as one, Scene(seed=7) as other, Scene(seed=8) as third:
        uids = [scene.create(PODS, pod("a")).uid for scene in (one, other, third)]
    assert uids[0] == uids[1] != uids[2]


def test_a_name_is_needed(scene: Scene) -> None:
    data = pod("a")
    del data["metadata"]["name"]
    with pytest.raises(Invalid, match=r"metadata\.name: missing") as refused:
        scene.create(PODS, data)
    assert refused.value.causes[0][::2] == ("FieldValueRequired", "metadata.name")


def test_what_is_not_there_is_not_found(scene: Scene) -> None:
    with pytest.raises(NotFound, match='pods "a" not found'):
        scene.pod()
    with pytest.raises(NotFound):
        scene.patch(PODS, "a", {})
    with pytest.raises(NotFound):
        scene.delete(PODS, "a")
    with pytest.raises(NotFound) as refused:
        scene.create(PODS, pod("a", namespace="nowhere"))
    assert str(refused.value) == 'namespaces "nowhere" not found'


def test_a_namespace_is_optional_in_the_default_one(scene: Scene) -> None:
    data = pod("a")
    del data["metadata"]["namespace"]
    assert scene.create(PODS, data).namespace == "default"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "a"}}, BadRequest),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}, BadRequest),
        ({"apiVersion": ["v1"], "kind": {}, "metadata": {"name": "a"}}, BadRequest),
        ({"metadata": "a"}, Invalid),
        ({"metadata": {"name": 5}}, Invalid),
        ({"metadata": {"name": "a", "namespace": 5}}, Invalid),
        ({"metadata": {"generateName": 5}}, Invalid),
        ({"metadata": {"name": "a", "finalizers": "x"}, "spec": {"containers": [{"name": "c"}]}}, Invalid),
        ({"metadata": {"name": "A b"}, "spec": {"containers": [{"name": "c"}]}}, Invalid),
        ({"metadata": {"name": "a"}, "spec": []}, Invalid),
        ({"metadata": {"name": "a"}}, Invalid),
        ({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "command": "sleep 1"}]}}, Invalid),
        ({"metadata": {"name": "a"}, "spec": {"containers": object()}}, BadRequest),
        ({"metadata": {"name": "a"}, "x": "y" * 3 * 1024 * 1024}, TooLarge),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    scene: Scene, data: dict[str, Any], error: type[StoreError]
) -> None:
    before = scene.store.version
    with pytest.raises(error):
        scene.create(PODS, data)
    assert scene.store.version == before
    assert scene.names(PODS) == []


def test_data_that_is_nested_without_end_is_refused(scene: Scene) -> None:
    data: dict[str, Any] = {}
    for _ in range(5000):
        data = {"a": data, "b": None}
    with pytest.raises(BadRequest):
        scene.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": data})


def test_nulls_are_not_kept(scene: Scene) -> None:
    data = pod("a", nodeSelector=None)
    data["metadata"]["creationTimestamp"] = None
    assert "nodeSelector" not in scene.create(PODS, data).data["spec"]


def test_fields_that_nobody_reads_are_kept(scene: Scene) -> None:
    scene.create(PODS, pod("a", volumes=[{"name": "v", "emptyDir": {}}]))
    assert scene.pod()["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_lists_are_sorted_and_selected(scene: Scene) -> None:
    scene.create(NODES, node())
    for name, labels in (("b", {"app": "x"}), ("a", {"app": "y"}), ("c", {"app": "x"})):
        scene.create(PODS, pod(name, labels=labels))
    scene.bind("c")
    assert scene.names(PODS) == ["a", "b", "c"]
    assert scene.names(PODS, labels="app=x") == ["b", "c"]
    assert scene.names(PODS, labels="app=x", fields="spec.nodeName=n") == ["c"]
    assert scene.names(PODS, fields="spec.nodeName=") == ["a", "b"]
    listing = at_once(scene.store.list(PODS, "default"))
    assert listing.version == scene.store.version
    with pytest.raises(BadRequest):
        scene.names(PODS, labels="app in")


def test_replacing_takes_the_version_into_account(scene: Scene) -> None:
    old = scene.create(CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a": "1"}}).data
    new = scene.replace(CONFIG_MAPS, {**old, "data": {"a": "2"}})
    assert new.data["data"] == {"a": "2"}
    assert new.uid == old["metadata"]["uid"]
    with pytest.raises(Conflict, match='Operation cannot be fulfilled on configmaps "m"'):
        scene.replace(CONFIG_MAPS, {**old, "data": {"a": "3"}})
    unconditional = scene.replace(CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a": "4"}})
    assert unconditional.metadata["creationTimestamp"] == old["metadata"]["creationTimestamp"]
    with pytest.raises(NotFound):
        scene.replace(CONFIG_MAPS, {"metadata": {"name": "other"}})
    with pytest.raises(BadRequest):
        scene.replace(CONFIG_MAPS, {"metadata": {}})


def test_a_patch_can_name_the_version_and_the_uid(scene: Scene) -> None:
    first = scene.create(PODS, pod("a"))
    label: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}}
    second = scene.patch(PODS, "a", label, version=first.version, uid=first.uid)
    with pytest.raises(Conflict):
        scene.patch(PODS, "a", {"metadata": {"labels": {"a": "c"}}}, version=first.version)
    with pytest.raises(Conflict):
        scene.patch(PODS, "a", {"metadata": {"resourceVersion": str(first.version)}})
    with pytest.raises(Conflict):
        scene.patch(PODS, "a", {"metadata": {"labels": {"a": "c"}}}, uid="other")
    with pytest.raises(Conflict):
        scene.patch(PODS, "a", {"metadata": {"uid": "other"}})
    assert scene.pod() == second.data


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ({"metadata": {"labels": {"x": "y"}}}, "merge"),
        ({"metadata": {"labels": {"x": "y"}}}, "strategic"),
        ({"metadata": {"labels": {"x": "y"}}}, "apply"),
        ([{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}], "json"),
    ],
)
def test_all_four_patches_change_an_object(scene: Scene, patch: Any, kind: str) -> None:
    scene.create(PODS, pod("a"))
    assert scene.patch(PODS, "a", patch, kind=kind).metadata["labels"] == {"x": "y"}


def test_applying_what_is_not_there_makes_it(scene: Scene) -> None:
    applied = scene.patch(CONFIG_MAPS, "m", {"data": {"a": "1"}}, kind="apply")
    assert (applied.name, applied.namespace, applied.data["data"]) == ("m", "default", {"a": "1"})
    scene.patch(CONFIG_MAPS, "m", {"data": {"b": "2"}}, kind="apply")
    assert scene.get(CONFIG_MAPS, "m", "default")["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize("field", ["name", "namespace", "creationTimestamp", "deletionTimestamp"])
def test_identity_cannot_be_changed(scene: Scene, field: str) -> None:
    scene.create(PODS, pod("a"))
    with pytest.raises(Invalid) as refused:
        scene.patch(PODS, "a", {"metadata": {field: "2020-01-01T00:00:00Z"}})
    assert refused.value.causes[0][2] == f"metadata.{field}"


def test_nothing_changed_is_nothing_written(scene: Scene) -> None:
    record = scene.create(PODS, pod("a", labels={"a": "b"}))
    again = scene.patch(PODS, "a", {"metadata": {"labels": {"a": "b"}}})
    assert again is record
    assert scene.replace(PODS, record.data) is record
    assert scene.store.version == record.version


def test_generation_counts_changes_of_the_spec(scene: Scene) -> None:
    scene.create(JOBS, job("j"))
    assert scene.patch(JOBS, "j", {"metadata": {"labels": {"a": "b"}}}).metadata["generation"] == 1
    assert scene.patch(JOBS, "j", {"spec": {"parallelism": 2}}).metadata["generation"] == 2
    assert scene.status(JOBS, "j", {"active": 1}).metadata["generation"] == 2
    assert "generation" not in scene.create(CONFIG_MAPS, {"metadata": {"name": "m"}}).metadata


def test_spec_and_status_are_written_apart(scene: Scene) -> None:
    scene.create(JOBS, job("j"))
    scene.status(JOBS, "j", {"active": 1})
    changed = scene.patch(JOBS, "j", {"spec": {"parallelism": 3}, "status": {"active": 9}}).data
    assert (changed["spec"]["parallelism"], changed["status"]["active"]) == (3, 1)
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"parallelism": 5}, "status": {"active": 2}}
    changed = scene.patch(JOBS, "j", patch, subresource="status").data
    assert (changed["spec"]["parallelism"], changed["status"]["active"]) == (3, 2)
    assert "labels" not in changed["metadata"]
    replaced = scene.replace(JOBS, {**job("j"), "status": {"active": 4}}, subresource="status").data
    assert (replaced["spec"]["parallelism"], replaced["status"]["active"]) == (3, 4)


def test_a_pods_agent_may_label_it_with_its_status(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    patch = {"metadata": {"annotations": {"x": "y"}}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    changed = scene.patch(PODS, "a", patch, subresource="status").data
    assert changed["metadata"]["annotations"] == {"x": "y"}
    assert "nodeName" not in changed["spec"]


def test_a_status_is_checked_too(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    with pytest.raises(Invalid) as refused:
        scene.status(PODS, "a", {"phase": "Sleeping", "conditions": [{"type": "x", "status": True}]})
    assert [cause[2] for cause in refused.value.causes] == ["status.phase", "status.conditions[0].status"]
    with pytest.raises(Invalid):
        scene.patch(PODS, "a", {"status": "good"}, subresource="status")
    with pytest.raises(MethodNotAllowed):
        scene.patch(CONFIG_MAPS, scene.create(CONFIG_MAPS, {"metadata": {"name": "m"}}).name, {}, subresource="status")


def test_events_are_dropped_when_old_or_too_many(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprieve.stores.embedded.retention.MOST", 100)

    def say(count: int, base: str) -> None:
        for number in range(count):
            scene.create(EVENTS, {"metadata": {"name": f"{base}{number:03}", "namespace": "default"}})

    say(400, "a")
    assert scene.names(EVENTS) == [f"a{number:03}" for number in range(300, 400)]
    scene.later(3601)
    say(200, "b")
    assert scene.names(EVENTS) == [f"b{number:03}" for number in range(100, 200)]
    scene.later(3601)
    say(200, "c")
    assert not [name for name in scene.names(EVENTS) if name.startswith("b")]


def test_a_closed_store_says_so() -> None:
    scene = Scene()
    watch = scene.store.watch(PODS, scene.store.version)
    scene.store.close()
    scene.store.close()
    for use in (lambda: scene.names(PODS), lambda: scene.create(PODS, pod("a")), watch.take):
        with pytest.raises(Unavailable):
            use()


@pytest.mark.parametrize("version", [[True], {"a": 1}, 7, "kueue.x-k8s.io/v9"])
def test_an_applied_version_that_there_is_not_is_refused(scene: Scene, version: object) -> None:
    at_once(scene.store.create(CLUSTER_QUEUES, {"metadata": {"name": "q"}, "spec": {}}))
    with pytest.raises(BadRequest, match="was sent where"):
        at_once(scene.store.patch(CLUSTER_QUEUES, "q", "", {"apiVersion": version, "spec": {}}, "apply"))
