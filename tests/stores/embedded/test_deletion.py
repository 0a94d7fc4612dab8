"""How objects end: grace periods, finalizers, propagation, namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS, JOBS, NAMESPACES, NODES, PODS, PRIORITY_CLASSES
from reprieve.model.clock import timestamp
from reprieve.stores.errors import Conflict, Forbidden, Invalid, NotFound
from tests.stores.embedded.scene import Scene, job, node, pod


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


def _deletion(scene: Scene, name: str = "a") -> tuple[str, int]:
    metadata = scene.pod(name)["metadata"]
    return metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]


def test_a_running_pod_gets_its_grace_period(scene: Scene) -> None:
    running = scene.running(terminationGracePeriodSeconds=20)
    deleted = scene.delete(PODS, "a")
    assert _deletion(scene) == (timestamp(scene.now + timedelta(seconds=20)), 20)
    assert deleted.version > running.version
    assert deleted.manifest.terminating
    assert deleted.data["status"] == running.data["status"]


def test_a_grace_period_can_be_asked_for(scene: Scene) -> None:
    scene.running()
    scene.delete(PODS, "a", grace=5)
    assert _deletion(scene) == (timestamp(scene.now + timedelta(seconds=5)), 5)


def test_asked_again_it_can_only_become_shorter(scene: Scene) -> None:
    scene.running()
    begun = scene.now
    scene.delete(PODS, "a")
    version = scene.store.version
    scene.later(3)
    scene.delete(PODS, "a")
    scene.delete(PODS, "a", grace=60)
    assert scene.store.version == version
    assert _deletion(scene) == (timestamp(begun + timedelta(seconds=30)), 30)
    scene.delete(PODS, "a", grace=10)
    assert _deletion(scene) == (timestamp(begun + timedelta(seconds=10)), 10)
    gone = scene.delete(PODS, "a", grace=0)
    assert gone.name == "a"
    assert scene.names(PODS) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_goes_at_once(scene: Scene, phase: str) -> None:
    scene.running()
    scene.status(PODS, "a", {"phase": phase})
    scene.delete(PODS, "a")
    assert scene.names(PODS) == []


def test_a_pod_without_a_node_goes_at_once(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    scene.delete(PODS, "a", grace=30)
    assert scene.names(PODS) == []


def test_a_name_is_free_again_for_another_object(scene: Scene) -> None:
    first = scene.create(PODS, pod("a"))
    scene.delete(PODS, "a")
    second = scene.create(PODS, pod("a"))
    assert second.uid != first.uid
    with pytest.raises(Conflict):
        scene.delete(PODS, "a", uid=first.uid)
    with pytest.raises(Conflict):
        scene.delete(PODS, "a", version=first.version)
    scene.delete(PODS, "a", uid=second.uid, version=second.version)


def test_finalizers_keep_an_object_until_the_last_is_removed(scene: Scene) -> None:
    data: dict[str, Any] = {"metadata": {"name": "m", "finalizers": ["example.com/one", "example.com/two"]}}
    scene.create(CONFIG_MAPS, data)
    scene.delete(CONFIG_MAPS, "m")
    kept = scene.get(CONFIG_MAPS, "m", "default")["metadata"]
    assert kept["deletionTimestamp"] == timestamp(scene.now)
    scene.later(60)
    scene.delete(CONFIG_MAPS, "m")
    assert scene.get(CONFIG_MAPS, "m", "default")["metadata"] == kept
    scene.patch(CONFIG_MAPS, "m", {"metadata": {"finalizers": ["example.com/two"]}})
    scene.patch(CONFIG_MAPS, "m", {"metadata": {"finalizers": []}})
    with pytest.raises(NotFound):
        scene.get(CONFIG_MAPS, "m", "default")


def test_an_object_on_its_way_out_gets_no_new_finalizers(scene: Scene) -> None:
    scene.create(CONFIG_MAPS, {"metadata": {"name": "m", "finalizers": ["example.com/one"]}})
    scene.delete(CONFIG_MAPS, "m")
    with pytest.raises(Invalid, match="finalizers can only be removed"):
        scene.patch(CONFIG_MAPS, "m", {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}})
    with pytest.raises(Invalid):
        scene.patch(CONFIG_MAPS, "m", {"metadata": {"finalizers": 5}})


def test_a_pod_with_finalizers_waits_for_both_its_agent_and_them(scene: Scene) -> None:
    data = pod("a")
    data["metadata"]["finalizers"] = ["example.com/one"]
    scene.create(NODES, node())
    scene.create(PODS, data)
    scene.bind("a")
    scene.delete(PODS, "a")
    scene.patch(PODS, "a", {"metadata": {"finalizers": None}})
    assert _deletion(scene)[1] == 30
    scene.delete(PODS, "a", grace=0)
    assert scene.names(PODS) == []


def test_the_agent_may_be_first(scene: Scene) -> None:
    data = pod("a")
    data["metadata"]["finalizers"] = ["example.com/one"]
    scene.create(NODES, node())
    scene.create(PODS, data)
    scene.bind("a")
    scene.delete(PODS, "a", grace=0)
    assert _deletion(scene) == (timestamp(scene.now), 0)
    scene.patch(PODS, "a", {"metadata": {"finalizers": None}})
    assert scene.names(PODS) == []


@pytest.mark.parametrize(("propagation", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
def test_propagation_is_a_finalizer(scene: Scene, propagation: str, finalizer: str) -> None:
    scene.create(JOBS, job("j"))
    scene.delete(JOBS, "j", propagation=propagation)
    assert scene.get(JOBS, "j", "default")["metadata"]["finalizers"] == [finalizer]
    # Who deletes it again without saying how does not cut it short.
    scene.delete(JOBS, "j")
    assert scene.get(JOBS, "j", "default")["metadata"]["finalizers"] == [finalizer]
    scene.patch(JOBS, "j", {"metadata": {"finalizers": []}})
    assert scene.names(JOBS) == []


def test_in_the_background_an_object_goes_at_once(scene: Scene) -> None:
    scene.create(JOBS, job("j"))
    scene.delete(JOBS, "j")
    assert scene.names(JOBS) == []


def test_a_namespace_stays_until_its_controller_has_emptied_it(scene: Scene) -> None:
    namespace = scene.namespace("team")
    assert namespace.data["spec"]["finalizers"] == ["kubernetes"]
    assert namespace.data["status"]["phase"] == "Active"
    scene.create(PODS, pod("a", namespace="team"))
    scene.delete(NAMESPACES, "team", grace=0)
    scene.delete(NAMESPACES, "team", grace=0)
    leaving = scene.get(NAMESPACES, "team")
    assert leaving["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="being deleted") as refused:
        scene.create(PODS, pod("b", namespace="team"))
    assert refused.value.causes[0][0] == "NamespaceTerminating"
    scene.patch(NAMESPACES, "team", {"metadata": {"labels": {"a": "b"}}, "spec": {"finalizers": []}})
    scene.replace(NAMESPACES, {"metadata": {"name": "team"}, "spec": {}}, subresource="finalize")
    assert "team" not in scene.names(NAMESPACES)


def test_what_belongs_to_the_system_stays(scene: Scene) -> None:
    assert scene.names(NAMESPACES) == ["default", "kube-public", "kube-system"]
    assert scene.names(PRIORITY_CLASSES) == ["system-cluster-critical", "system-node-critical"]
    for resource, name in ((NAMESPACES, "default"), (PRIORITY_CLASSES, "system-node-critical")):
        with pytest.raises(Forbidden):
            scene.delete(resource, name)
