"""One control plane for all tests here, a namespace for each, and nodes that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.kube import programs
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.hollow import node
from tests.kube.namespaces import make_namespace, remove_namespace
from tests.kube.second_scheduler import SecondScheduler
from tests.kube.stories import CLASSES, Story, create_classes

GANGS = {"featureGates": {"GenericWorkload": True}}
MakeNode = Callable[..., dict[str, Any]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker runs, where several share the work")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One server is enough for all workers; with workers that know no groups each has its own."""
    for item in items:
        if "kube" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("kube"))


@pytest.fixture(scope="session")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """etcd and an API server, shared. Whoever stops one of them starts it again."""
    with Cluster(tmp_path_factory.mktemp("kube"), programs.folder()) as cluster:
        yield cluster


@pytest.fixture
def admin(kube: Cluster) -> Iterator[KubeClient]:
    with kube.client() as client:
        yield client


@pytest.fixture
def working_kube(kube: Cluster) -> Cluster:
    """The shared one with controllers, kube-scheduler, and kwok for its nodes."""
    programs.folder("kube-controller-manager", "kube-scheduler", "kwok")
    kube.start_controller_manager()
    kube.start_scheduler()
    kube.start_kwok()
    return kube


@pytest.fixture
def namespace(admin: KubeClient) -> Iterator[str]:
    """A fresh one; what is left in it is removed at once, so that no pod takes room from the next test."""
    name = make_namespace(admin)
    yield name
    remove_namespace(admin, name)


@pytest.fixture
def make_node(admin: KubeClient) -> Iterator[MakeNode]:
    """Nodes as `tests.kube.hollow.node` has them, schedulable at once, and gone after the test."""
    made: list[str] = []

    def make(name: str = "", **more: Any) -> dict[str, Any]:
        asked = node(name or f"node-{uuid4().hex[:8]}", **more)
        made.append(asked["metadata"]["name"])
        admin.create(asked)
        # Admission calls every new node not ready; a controller would take that back some moments later.
        found: dict[str, Any] = admin.patch("v1", "Node", made[-1], {"spec": {"taints": None}})
        return found

    yield make
    for name in made:
        admin.delete("v1", "Node", name)


# Beside kube-scheduler


@pytest.fixture(scope="module")
def busy_kube(kube: Cluster) -> Cluster:
    """With its controllers, kube-scheduler, and kwok, whose pods take their whole grace period to leave."""
    programs.folder("kube-controller-manager", "kube-scheduler", "kwok")
    kube.start_controller_manager()
    kube.start_scheduler()
    kube.start_kwok()
    with kube.client() as admin:
        create_classes(admin, CLASSES)
    return kube


@pytest.fixture(scope="module")
def second(busy_kube: Cluster) -> Iterator[SecondScheduler]:
    """With the settings that somebody has who has said nothing, but that gangs count."""
    with busy_kube.client() as admin:
        scheduler = SecondScheduler(busy_kube, admin, GANGS).start()
        yield scheduler
        scheduler.stop()


@pytest.fixture
def story(second: SecondScheduler, admin: KubeClient, namespace: str) -> Story:  # noqa: ARG001 - it runs
    return Story(admin, namespace)


@pytest.fixture
def one_node(make_node: MakeNode) -> str:
    """With four cpus."""
    return str(make_node(cpu="4")["metadata"]["name"])
