"""The official Python client, as anybody would use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from tests.server.planes import Running, node_of, pod


@pytest.fixture
def api(server: Running) -> Iterator[client.ApiClient]:
    configuration = client.Configuration()
    configuration.host = server.url
    with client.ApiClient(configuration) as found:
        yield found
        found.rest_client.pool_manager.clear()


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def test_a_pod_is_created_read_listed_and_deleted(core: Any) -> None:
    made = core.create_namespaced_pod("default", pod("a"))
    assert (made.metadata.name, made.status.phase, made.spec.priority) == ("a", "Pending", 0)
    assert core.read_namespaced_pod("a", "default").metadata.uid == made.metadata.uid
    assert [item.metadata.name for item in core.list_namespaced_pod("default").items] == ["a"]
    assert [item.metadata.name for item in core.list_pod_for_all_namespaces(label_selector="app=b").items] == []
    core.delete_namespaced_pod("a", "default")
    with pytest.raises(ApiException, match="NotFound") as gone:
        core.read_namespaced_pod("a", "default")
    assert gone.value.status == 404


def test_typed_objects_are_taken_too(core: Any) -> None:
    container = client.V1Container(name="main", image="work")
    metadata = client.V1ObjectMeta(generate_name="made-")
    body = client.V1Pod(metadata=metadata, spec=client.V1PodSpec(containers=[container]))
    assert core.create_namespaced_pod("default", body).metadata.name.startswith("made-")


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        ("application/json-patch+json", [{"op": "add", "path": "/metadata/labels/tier", "value": "x"}]),
        ("application/merge-patch+json", {"metadata": {"labels": {"tier": "x"}}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"tier": "x"}}}),
    ],
)
def test_a_pod_is_patched_in_all_three_ways(core: Any, content_type: str, patch: Any) -> None:
    core.create_namespaced_pod("default", pod("a"))
    core.patch_namespaced_pod("a", "default", patch, _content_type=content_type)
    assert core.read_namespaced_pod("a", "default").metadata.labels == {"app": "a", "tier": "x"}


def test_a_replacement_of_an_old_version_is_a_conflict(core: Any) -> None:
    old = core.create_namespaced_config_map("default", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("c", "default", {"data": {"a": "2"}})
    old.data = {"a": "3"}
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_config_map("c", "default", old)
    assert refused.value.status == 409
    assert core.read_namespaced_config_map("c", "default").data == {"a": "2"}


def test_a_watch_tells_what_happens(core: Any) -> None:
    core.create_namespaced_pod("default", pod("before"))
    seen: list[tuple[str, str]] = []
    watching: Any = _any(watch).Watch()
    for event in watching.stream(core.list_namespaced_pod, "default", timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        match seen[-1]:
            case ("ADDED", "before"):
                core.create_namespaced_pod("default", pod("after"))
            case ("ADDED", "after"):
                core.patch_namespaced_pod("before", "default", {"metadata": {"labels": {"x": "y"}}})
            case ("MODIFIED", _):
                core.delete_namespaced_pod("before", "default")
            case ("DELETED", _):
                watching.stop()
    assert seen == [("ADDED", "before"), ("ADDED", "after"), ("MODIFIED", "before"), ("DELETED", "before")]


def test_status_is_written_apart_from_the_rest(core: Any) -> None:
    core.create_namespaced_pod("default", pod("a"))
    core.patch_namespaced_pod_status("a", "default", {"status": {"phase": "Running"}, "spec": {"nodeName": "n9"}})
    found = core.read_namespaced_pod_status("a", "default")
    assert (found.status.phase, found.spec.node_name) == ("Running", None)


def test_a_binding_gives_a_pod_its_node(core: Any) -> None:
    core.create_node(node_of("n1"))
    for name in ("a", "b"):
        core.create_namespaced_pod("default", pod(name))
        # The client expects a Binding back where Kubernetes answers with a Status: everybody has to say this.
        if name == "a":
            core.create_namespaced_pod_binding(name, "default", _binding(name), _preload_content=False)
        else:
            core.create_namespaced_binding("default", _binding(name), _preload_content=False)
        assert core.read_namespaced_pod(name, "default").spec.node_name == "n1"
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_pod_binding("a", "default", _binding("a"))
    assert refused.value.status == 409


def _any(found: Any) -> Any:
    """The client's types say that everything may be missing."""
    return found


def _binding(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}


def test_an_eviction_respects_a_budget(core: Any, api: Any) -> None:
    core.create_node(node_of("n1"))
    core.create_namespaced_pod("default", pod("a", node="n1"))
    core.patch_namespaced_pod_status("a", "default", {"status": {"phase": "Running"}})
    budgets: Any = client.PolicyV1Api(api)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    budgets.create_namespaced_pod_disruption_budget("default", {"metadata": {"name": "b"}, "spec": spec})
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="a"))
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_pod_eviction("a", "default", eviction)
    assert refused.value.status == 429
    budgets.delete_namespaced_pod_disruption_budget("b", "default")
    core.create_namespaced_pod_eviction("a", "default", eviction)
    assert core.read_namespaced_pod("a", "default").metadata.deletion_timestamp is not None


def test_logs_are_read_with_their_options(core: Any, server: Running) -> None:
    core.create_namespaced_pod("default", pod("a"))
    server.plane.written["default", "a", "main"] = [b"one\n", b"two\n", b"three\n"]
    assert core.read_namespaced_pod_log("a", "default") == "one\ntwo\nthree\n"
    assert (
        core.read_namespaced_pod_log("a", "default", container="main", tail_lines=2, timestamps=True) == "two\nthree\n"
    )
    last = server.plane.asked[-1]
    assert (last["tail"], last["timestamps"], last["follow"], last["previous"]) == (2, True, False, False)


def test_custom_resources_and_all_groups(api: Any) -> None:
    custom: Any = client.CustomObjectsApi(api)
    place = ("kueue.x-k8s.io", "v1beta2", "clusterqueues")
    custom.create_cluster_custom_object(
        *place,
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "q"},
        },
    )
    custom.patch_cluster_custom_object(*place, "q", {"spec": {"cohortName": "team"}})
    (found,) = custom.list_cluster_custom_object(*place)["items"]
    assert found["spec"]["cohortName"] == "team"
    groups = {group.name for group in _any(client.ApisApi(api)).get_api_versions().groups}
    assert {"apps", "batch", "policy", "kueue.x-k8s.io", "work.karmada.io"} <= groups
    assert _any(client.VersionApi(api)).get_code().major == "1"
    names = {item.name for item in _any(client.CoreV1Api(api)).get_api_resources().resources}
    assert {"pods", "pods/log", "pods/eviction", "nodes/status"} <= names


def test_a_dry_run_changes_nothing(core: Any) -> None:
    before = core.list_namespaced_pod("default").metadata.resource_version
    assert core.create_namespaced_pod("default", pod("a"), dry_run="All").metadata.uid
    assert core.list_namespaced_pod("default").items == []
    assert core.list_namespaced_pod("default").metadata.resource_version == before


def test_long_lists_come_in_parts_of_one_moment(core: Any) -> None:
    for number in range(5):
        core.create_namespaced_pod("default", pod(f"p{number}"))
    first = core.list_namespaced_pod("default", limit=2)
    core.delete_namespaced_pod("p3", "default")
    assert first.metadata.remaining_item_count == 3
    second = core.list_namespaced_pod("default", limit=2, _continue=first.metadata._continue)
    third = core.list_namespaced_pod("default", limit=2, _continue=second.metadata._continue)
    names = [item.metadata.name for part in (first, second, third) for item in part.items]
    assert names == ["p0", "p1", "p2", "p3", "p4"]
    assert third.metadata._continue is None
    assert {part.metadata.resource_version for part in (first, second, third)} == {first.metadata.resource_version}
