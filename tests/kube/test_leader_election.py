"""Of several replicas one acts, and when it cannot any more, the next one does: with nothing lost and nothing twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.faults import Answer, Cut, Delay, Request, matching
from tests.kube.hollow import pod
from tests.kube.proxy import FaultyProxy
from tests.kube.replicas import Replica, until

DURATION, DEADLINE, RETRY = 5.0, 4.0, 0.5
# What comes on top of the lease on a machine that has other things to do: listing everything, and deciding.
SLACK = 10.0


class Pair:
    """Two replicas with one lease; the first one goes through a proxy and leads."""

    def __init__(
        self, cluster: Cluster, proxy: FaultyProxy, admin: KubeClient, namespace: str, directory: Path
    ) -> None:
        self.proxy = proxy
        self.admin = admin
        self.namespace = namespace
        timing = [f"--leader-elect-lease-duration={DURATION}", f"--leader-elect-renew-deadline={DEADLINE}"]
        timing += [f"--leader-elect-retry-period={RETRY}", f"--lease={namespace}/reprieve"]
        options = [*timing, f"--scheduler-name={namespace}"]
        self.leader = Replica(directory, cluster.kubeconfig(server=proxy.url), options)
        self.standby = Replica(directory, cluster.kubeconfig(), options)

    def start(self) -> None:
        self.leader.process.launch()
        until(lambda: self.holder() and self.leader.answer("/readyz") == 200)
        self.first = self.holder()
        self.standby.process.start()

    def stop(self) -> None:
        for replica in (self.leader, self.standby):
            replica.process.stop()

    def holder(self) -> str:
        lease = self.admin.find("coordination.k8s.io/v1", "Lease", "reprieve", self.namespace)
        return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")

    def taken_over(self) -> bool:
        return self.holder() not in ("", self.first)

    def pod(self, name: str, **more: Any) -> None:
        self.admin.create(pod(name, scheduler=self.namespace, **more), self.namespace)

    def found(self, name: str) -> Any:
        return self.admin.find("v1", "Pod", name, self.namespace)

    def bound(self, name: str) -> str:
        found = self.found(name)
        return str(found["spec"].get("nodeName", "")) if found else ""

    def until_bound(self, name: str) -> str:
        return str(until(lambda: self.bound(name)))


@pytest.fixture
def pair(kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode, tmp_path: Path) -> Iterator[Pair]:
    kube.start_kwok()
    make_node(f"{namespace}-a", cpu="4")
    with FaultyProxy(kube.access, kube.url) as proxy:
        found = Pair(kube, proxy, admin, namespace, tmp_path)
        try:
            found.start()
            yield found
        finally:
            found.stop()


@pytest.fixture
def high(admin: KubeClient, namespace: str) -> Iterator[str]:
    admin.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{namespace}-high"},
            "value": 1000,
        }
    )
    yield f"{namespace}-high"
    admin.delete("scheduling.k8s.io/v1", "PriorityClass", f"{namespace}-high")


def test_a_standby_is_healthy_and_ready_and_acts_within_a_moment_when_the_leader_ends(pair: Pair) -> None:
    for replica in (pair.leader, pair.standby):
        assert [replica.answer(path) for path in ("/healthz", "/livez", "/readyz", "/metrics")] == [200] * 4
    pair.pod("first")
    pair.until_bound("first")
    begun = time.monotonic()
    pair.leader.process.stop()
    assert pair.leader.process.exit_code == 0, pair.leader.said()
    pair.pod("second")
    pair.until_bound("second")
    assert pair.taken_over()
    # It did not have to run out: the leader gave it back.
    assert (
        pair.admin.get("coordination.k8s.io/v1", "Lease", "reprieve", pair.namespace)["spec"]["leaseTransitions"] >= 1
    )
    assert time.monotonic() - begun < DURATION + SLACK


def test_a_leader_killed_in_the_middle_of_a_preemption_is_succeeded_by_one_that_finishes_it(
    pair: Pair, high: str
) -> None:
    for name in ("one", "two"):
        pair.pod(name, cpu="2")
        pair.until_bound(name)
    # One victim is told to go; of the other one the leader never gets to know.
    stuck = pair.proxy.inject(Delay(3600), _deletion_but_of_the_first(), times=None)
    pair.pod("urgent", cpu="4", priorityClassName=high)
    until(lambda: stuck.hits)
    pair.leader.process.kill()
    killed = time.monotonic()
    until(pair.taken_over)
    assert time.monotonic() - killed < DURATION + RETRY + SLACK
    assert pair.until_bound("urgent") == f"{pair.namespace}-a"
    assert pair.found("one") is None
    assert pair.found("two") is None
    events = pair.admin.list("events.k8s.io/v1", "Event", pair.namespace)
    assert len([event for event in events if event["reason"] == "Scheduled"]) <= 3


def test_a_leader_that_slept_longer_than_its_lease_writes_nothing_any_more(pair: Pair) -> None:
    pair.pod("before")
    pair.until_bound("before")
    pair.leader.process.halt()
    until(pair.taken_over)
    for number in range(3):
        pair.pod(f"pod-{number}")
        pair.until_bound(f"pod-{number}")
    pair.pod("nobodys", cpu="64")
    writes = _writes(pair.proxy)
    pair.leader.process.go_on()
    until(lambda: pair.leader.process.exit_code is not None, DEADLINE + SLACK)
    assert pair.leader.process.exit_code == 1
    assert "is lost" in pair.leader.said()
    assert _writes(pair.proxy) == writes
    assert pair.standby.process.running


def test_a_leader_whose_lease_somebody_has_touched_goes_on(pair: Pair) -> None:
    """A label from a tool of the cluster, say, between reading and renewing: nobody else leads because of that."""
    touched = pair.proxy.inject(Answer(409), matching(verb="update", path="/leases/"), times=2)
    until(lambda: len(touched.hits) == 2)
    time.sleep(2 * RETRY)
    pair.pod("first")
    pair.until_bound("first")
    assert pair.leader.process.running, pair.leader.said()
    assert pair.holder() == pair.first


def test_a_leader_that_reaches_nobody_stops_and_another_one_acts(pair: Pair) -> None:
    pair.proxy.inject(Cut(), times=None)
    pair.proxy.cut_all()
    cut = time.monotonic()
    pair.pod("alone")
    until(lambda: pair.leader.process.exit_code is not None)
    assert time.monotonic() - cut < DEADLINE + RETRY + 2
    assert pair.leader.process.exit_code == 1
    pair.until_bound("alone")
    assert pair.taken_over()


def test_a_leader_is_told_to_end_while_nobody_answers(pair: Pair) -> None:
    pair.proxy.inject(Delay(3600), times=None)
    pair.pod("waits")
    time.sleep(0.5)
    begun = time.monotonic()
    pair.leader.process.stop()
    assert time.monotonic() - begun < 10
    pair.until_bound("waits")


def _deletion_but_of_the_first() -> Any:
    deletes, first = matching(verb="delete", path="/pods/"), set[str]()

    def matches(request: Request) -> bool:
        if deletes(request) and not first:
            first.add(request.path)
        return deletes(request) and request.path not in first

    return matches


def _writes(proxy: FaultyProxy) -> int:
    return sum(1 for request in list(proxy.requests) if request.method != "GET")
