"""`reprieve run` with other settings, and with a server that answers otherwise than was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cli.running import until
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.faults import Answer, Delay, Request, matching
from tests.kube.proxy import FaultyProxy
from tests.kube.second_scheduler import SecondScheduler
from tests.kube.stories import Story

GUARDED = {"guarded": "yes"}
OVER_BUDGET = Answer(429, cause="DisruptionBudget")
MakeNode = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def proxy(kube: Cluster) -> Iterator[FaultyProxy]:
    with FaultyProxy(kube.access, kube.url) as proxy:
        yield proxy


@contextmanager
def running(cluster: Cluster, settings: dict[str, Any], server: str) -> Iterator[None]:
    with cluster.client() as admin:
        scheduler = SecondScheduler(cluster, admin, settings, server).start()
        yield
        scheduler.stop()


@pytest.fixture(scope="module")
def respectful(busy_kube: Cluster, proxy: FaultyProxy) -> Iterator[FaultyProxy]:
    """One that may preempt anybody, as far as budgets allow."""
    with running(busy_kube, {"pdb": "Respect", "victims": "Any"}, proxy.url):
        yield proxy


@pytest.fixture
def tale(admin: KubeClient, namespace: str) -> Story:
    return Story(admin, namespace)


def is_eviction(request: Request, *, rehearsed: bool) -> bool:
    return request.path.endswith("/eviction") and ("dryRun" in request.parameters) is rehearsed


def evictions(proxy: FaultyProxy, namespace: str, *, rehearsed: bool) -> int:
    mine = [request for request in proxy.requests if f"/{namespace}/" in request.path]
    return sum(is_eviction(request, rehearsed=rehearsed) for request in mine)


@pytest.mark.usefixtures("respectful")
def test_with_any_victims_a_foreign_schedulers_pod_makes_way(tale: Story, one_node: str) -> None:
    tale.low("foreign", one_node, cpu="3", scheduler="default-scheduler")
    tale.runs("foreign")
    tale.high("preemptor", one_node, cpu="3")
    assert tale.bound("preemptor") == one_node
    assert tale.gone("foreign")


def test_a_budget_that_is_respected_keeps_its_pod_and_else_the_server_evicts_it(
    tale: Story, respectful: FaultyProxy, one_node: str
) -> None:
    tale.budget("keep", GUARDED, 1)
    tale.low("guarded", one_node, cpu="3", grace_seconds=2, labels=GUARDED)
    tale.runs("guarded")
    tale.high("preemptor", one_node, cpu="3")
    tale.waits("preemptor", "budgets are respected")
    assert evictions(respectful, tale.namespace, rehearsed=True) == 0
    tale.admin.delete("policy/v1", "PodDisruptionBudget", "keep", tale.namespace)
    leaving = tale.leaving("guarded")
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 2
    until(lambda: tale.condition("guarded", "DisruptionTarget").get("reason") == "PreemptionByScheduler")
    assert tale.bound("preemptor") == one_node
    assert [evictions(respectful, tale.namespace, rehearsed=each) for each in (True, False)] == [1, 1]
    assert respectful.count(verb="delete", path=f"/{tale.namespace}/pods/") == 0
    assert "Preempted by" in tale.told("guarded", "Preempted")["note"]


def test_what_a_budget_refuses_beforehand_has_never_been_begun(
    tale: Story, respectful: FaultyProxy, one_node: str
) -> None:
    """The server knows better than the decision did: nothing is promised and nobody is told."""
    tale.low("low", one_node, cpu="3")
    tale.runs("low")
    refusing = respectful.inject(OVER_BUDGET, lambda request: is_eviction(request, rehearsed=True), None)
    tale.high("preemptor", one_node, cpu="3")
    said = tale.waits("preemptor", "a PodDisruptionBudget keeps a pod")
    assert tale.told("preemptor", "FailedScheduling")["note"] == said
    until(lambda: len(refusing.hits) >= 2)
    assert "nominatedNodeName" not in tale.pod("preemptor")["status"]
    assert evictions(respectful, tale.namespace, rehearsed=False) == 0
    respectful.take_back(refusing)
    assert tale.bound("preemptor") == one_node


def test_a_budget_that_changes_in_between_takes_the_promise_back(
    tale: Story, respectful: FaultyProxy, one_node: str
) -> None:
    tale.low("low", one_node, cpu="3")
    tale.runs("low")
    refusing = respectful.inject(OVER_BUDGET, lambda request: is_eviction(request, rehearsed=False), None)
    tale.high("preemptor", one_node, cpu="3")
    until(lambda: refusing.hits)
    tale.waits("preemptor", "a PodDisruptionBudget keeps a pod")
    until(lambda: "nominatedNodeName" not in tale.pod("preemptor")["status"])
    assert "deletionTimestamp" not in tale.pod("low")["metadata"]
    respectful.take_back(refusing)
    assert tale.bound("preemptor") == one_node


def test_a_server_that_has_no_time_for_an_eviction_is_no_budget_that_forbids_it(
    tale: Story, respectful: FaultyProxy, one_node: str
) -> None:
    """Who was told by then would leave for nobody, were the promise taken back for that."""
    for name in ("first", "second"):
        tale.low(name, one_node, cpu="1500m", grace_seconds=2)
        tale.runs(name)
    busy = respectful.inject(
        Answer(429, retry_after=1),
        lambda request: is_eviction(request, rehearsed=False) and "/pods/second/" in request.path,
        times=4,
    )
    tale.high("preemptor", one_node, cpu="3")
    assert tale.bound("preemptor") == one_node
    assert "a PodDisruptionBudget keeps a pod" not in str(tale.events("preemptor", "FailedScheduling"))
    assert evictions(respectful, tale.namespace, rehearsed=False) == len(busy.hits) + 2 == 6


def test_who_is_bound_by_somebody_else_in_the_meantime_stays_there_and_costs_no_room(
    tale: Story, respectful: FaultyProxy, make_node: MakeNode
) -> None:
    mine, theirs = (make_node(cpu="4", labels={"tale": tale.namespace})["metadata"]["name"] for _ in range(2))
    tale.admin.patch("v1", "Node", theirs, {"spec": {"unschedulable": True}})
    slow = respectful.inject(Delay(1.5), matching(path=f"/{tale.namespace}/pods/contested/binding"))
    tale.low("contested", cpu="3", nodeSelector={"tale": tale.namespace})
    until(lambda: slow.hits)
    tale.admin.bind("contested", theirs, tale.namespace)
    tale.low("next", mine, cpu="3")
    assert tale.bound("next") == mine
    assert tale.node_of("contested") == theirs
    assert tale.events("contested", "Scheduled") == []
