"""A scheduler on a real cluster, under load and with everything going wrong: it comes to rest, and nobody is wronged.

Pods of several priorities come and go, alone and from ReplicaSets and Jobs, while the scheduler is killed, its
connections break, and the server refuses, forgets and is restarted. All that time every version of every pod is looked
at; see `tests.kube.eye`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from reprieve.configuration import Settings
from reprieve.manifests.loading import load_objects
from reprieve.planning.planner import Planner
from tests.kube import programs
from tests.kube.client import KubeClient, Refused
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.eye import Eye
from tests.kube.hollow import pod
from tests.kube.proxy import FaultyProxy
from tests.kube.replicas import Replica, until
from tests.kube.trouble import Trouble

FAULTS = int(os.environ.get("REPRIEVE_KUBE_FAULTS", "12"))
SEED = int(os.environ.get("REPRIEVE_KUBE_SEED", "1"))
PRIORITIES = {"low": 0, "middle": 100, "high": 1000, "highest": 10_000}
NODES = 4
CPU = 4
REPLICAS = 10
SETTLES_WITHIN = 120.0


class Load:
    """Whoever uses the cluster: each step somebody comes or goes."""

    def __init__(self, seed: int, admin: KubeClient, namespace: str) -> None:
        self._random = Random(f"load {seed}")  # noqa: S311 - not a secret
        self._admin = admin
        self._namespace = namespace
        self._number = 0

    def begin(self) -> None:
        for name, value in PRIORITIES.items():
            self._class(name, value)
        for replicas in (4, REPLICAS - 4):
            self._create(self._replica_set(replicas))

    def end(self) -> None:
        for name in PRIORITIES:
            self._admin.delete("scheduling.k8s.io/v1", "PriorityClass", f"{self._namespace}-{name}")

    def step(self) -> None:
        """A server that is away for a moment makes no difference: then nobody comes or goes."""
        leaves = self._somebody_leaves
        steps = [self._pod, self._pod, self._pod, self._job, leaves, leaves]
        with suppress(httpx.TransportError, Refused):
            self._random.choice(steps)()

    def _pod(self) -> None:
        name = self._name("pod")
        priority = self._random.choice(["middle", "high", "highest"])
        self._create(self._template(priority, self._random.randint(1, 3), name))

    def _job(self) -> None:
        template = self._template("middle", 1)
        template["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": 2, "completions": 4, "template": template}
        self._create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": self._name("job")}, "spec": spec})

    def _replica_set(self, replicas: int) -> dict[str, Any]:
        name = self._name("set")
        template = self._template("low", 1)
        template["metadata"] = {"labels": {"set": name}}
        spec = {"replicas": replicas, "selector": {"matchLabels": {"set": name}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}

    def _somebody_leaves(self) -> None:
        alone = [each for each in self._pods() if _comes_alone(each) and each["spec"].get("nodeName")]
        if len(alone) > 3:
            self._admin.delete("v1", "Pod", self._random.choice(alone)["metadata"]["name"], self._namespace)

    def _pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._admin.list("v1", "Pod", self._namespace)
        return found

    def _template(self, priority: str, cpu: int, name: str = "") -> dict[str, Any]:
        named = f"{self._namespace}-{priority}"
        return pod(name, cpu=str(cpu), grace_seconds=1, scheduler=self._namespace, priorityClassName=named)

    def _class(self, name: str, value: int) -> None:
        metadata = {"name": f"{self._namespace}-{name}"}
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        self._admin.create({**kind, "metadata": metadata, "value": value})

    def _name(self, what: str) -> str:
        self._number += 1
        return f"{what}-{self._number}"

    def _create(self, manifest: dict[str, Any]) -> None:
        self._admin.create(manifest, self._namespace)


@pytest.fixture
def load(admin: KubeClient, namespace: str) -> Iterator[Load]:
    found = Load(SEED, admin, namespace)
    found.begin()
    yield found
    found.end()


def test_it_comes_to_rest_whatever_goes_wrong(
    kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode, load: Load, tmp_path: Path
) -> None:
    programs.folder("kube-controller-manager", "kwok")
    helpers = [kube.start_controller_manager(), kube.start_kwok(complete_after_ms=1500)]
    nodes = [f"{namespace}-{number}" for number in range(NODES)]
    for name in nodes:
        make_node(name, cpu=str(CPU))
    random = Random(f"pace {SEED}")  # noqa: S311 - not a secret
    with (
        FaultyProxy(kube.access, kube.url) as proxy,
        kube.client() as watcher,
        Eye(watcher, namespace, dict.fromkeys(nodes, 1000 * CPU)) as eye,
    ):
        replica = Replica(
            tmp_path, kube.kubeconfig(server=proxy.url), ["--no-leader-elect", f"--scheduler-name={namespace}"]
        )
        trouble = Trouble(SEED, kube, proxy, replica)
        try:
            replica.process.start()
            until(lambda: sum(bool(life.node) for life in eye.lives.values()) >= REPLICAS)
            for _ in range(FAULTS):
                for _ in range(random.randint(1, 3)):
                    load.step()
                    time.sleep(random.uniform(0.05, 0.5))
                trouble.strike()
                for helper in helpers:  # controllers that are still starting end when the server does
                    helper.start()
                time.sleep(random.uniform(0.2, 2.0))
            begun = time.monotonic()
            until(lambda: not (_unrest(admin, namespace, nodes)), SETTLES_WITHIN, every=1.0)
            took = time.monotonic() - begun
        finally:
            replica.process.stop()
            print(f"seed {SEED}: {sum(trouble.happened.values())} faults {dict(trouble.happened)}")
            print(f"{len(eye.lives)} pods, {len(eye.victims)} victims, {eye.gaps} gaps in what was seen")
            print(f"{eye.room_came_free()} victims whose preemptor found room elsewhere while they left")
    assert eye.victims
    print(f"at rest after {took:.0f} seconds")
    assert eye.faults == []
    assert not eye.in_vain(), "\n".join(eye.in_vain())
    assert "Traceback" not in replica.said()


def test_the_eye_sees_a_node_that_gives_more_than_it_has(
    kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode
) -> None:
    make_node(f"{namespace}-a", cpu="2")
    with kube.client() as watcher, Eye(watcher, namespace, {f"{namespace}-a": 2000}) as eye:
        for name in ("one", "two", "three"):
            admin.create(pod(name, scheduler="nobody"), namespace)
            admin.bind(name, f"{namespace}-a", namespace)
        until(lambda: eye.faults)
    assert eye.faults[0] == f"{namespace}-a has 2000 and gives 3000: one, three, two"


def _unrest(admin: KubeClient, namespace: str, nodes: list[str]) -> list[str]:
    """What is still going on, and what a scheduler that starts now would do."""
    pods = admin.list("v1", "Pod", namespace)
    active = [each["metadata"]["name"] for each in admin.list("batch/v1", "Job", namespace) if _goes_on(each)]
    leaving = [each["metadata"]["name"] for each in pods if "deletionTimestamp" in each["metadata"]]
    if (active and any(each["spec"].get("nodeName") for each in pods if _of_a_job(each))) or leaving:
        return [*active, *leaving]
    classes = admin.list("scheduling.k8s.io/v1", "PriorityClass")
    there = [each for each in admin.list("v1", "Node") if each["metadata"]["name"] in nodes]
    spaces = [admin.get("v1", "Namespace", namespace)]
    typed = [*_typed(pods, "v1", "Pod"), *_typed(there, "v1", "Node"), *_typed(spaces, "v1", "Namespace")]
    typed += _typed(classes, "scheduling.k8s.io/v1", "PriorityClass")
    planner = Planner(load_objects(typed), Settings(), datetime.now(UTC), names=frozenset({namespace}))
    acts = [made for made in planner.cycle().decisions if made.outcome in ("Fits", "Preempt")]
    silent = [each["metadata"]["name"] for each in pods if _waits_silently(each)]
    return [*(f"{made.preemptor}: {made.outcome}" for made in acts), *silent]


def _typed(items: list[dict[str, Any]], api_version: str, kind: str) -> list[dict[str, Any]]:
    return [{**item, "apiVersion": api_version, "kind": kind} for item in items]


def _goes_on(job: dict[str, Any]) -> bool:
    return not any(each["type"] == "Complete" for each in job["status"].get("conditions", ()))


def _of_a_job(each: dict[str, Any]) -> bool:
    running = each["status"].get("phase") not in ("Succeeded", "Failed")
    return running and any(owner["kind"] == "Job" for owner in each["metadata"].get("ownerReferences", ()))


def _comes_alone(each: dict[str, Any]) -> bool:
    return not each["metadata"].get("ownerReferences") and "deletionTimestamp" not in each["metadata"]


def _waits_silently(each: dict[str, Any]) -> bool:
    conditions = {found["type"]: found for found in each["status"].get("conditions", ())}
    told = conditions.get("PodScheduled", {})
    return not each["spec"].get("nodeName") and not (told.get("status") == "False" and told.get("message"))
