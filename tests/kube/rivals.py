"""Random pods for the real kube-scheduler to preempt, with Reprieve in shadow beside it."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.cli.command import REPRIEVE, environment
from tests.cli.running import until
from tests.kube.client import KubeClient
from tests.kube.conftest import MakeNode
from tests.kube.hollow import pod
from tests.kube.wishes import APPS, DEDICATED, ZONE, node_labels, some

# All nodes are looked at, so that chance has no other say than among equals.
ALL_NODES = {"percentageOfNodesToScore": 100}
_CLASSES = {f"rival-{value}": value for value in (10, 20, 30, 40, 500, 600)}
_LOW, _HIGH = list(_CLASSES)[:4], list(_CLASSES)[1:]
_ATTEMPT_SECONDS = 10.0
_MARKING_SECONDS = 0.2
"""Victims are told one after the other, some moments apart."""


class Shadow:
    """A `reprieve run --shadow` of its own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, history: Path) -> None:
        self.process = process
        self.log = log
        self.history = history

    @property
    def url(self) -> str:
        found = re.search(r"listens on (\S+)", self.log.read_text())
        return found.group(1) if found else ""


@contextmanager
def shadow(directory: Path, kubeconfig: str, *options: str) -> Iterator[Shadow]:
    """One that looks at the pods of kube-scheduler; it is stopped at the end."""
    log, history = directory / "shadow.log", directory / "history.db"
    command = [*REPRIEVE, "run", "--shadow", "--scheduler-name", "default-scheduler", "--kubeconfig", kubeconfig]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--history", str(history), "--port", "0", *options],
            stdout=output,
            stderr=output,
            env=environment(),
        )
    try:
        yield Shadow(process, log, history)
    finally:
        process.terminate()
        process.wait(30)


class Rivals:
    """One namespace with nodes of its own, full of pods that may be preempted."""

    def __init__(self, admin: KubeClient, namespace: str, make_node: MakeNode, seed: int, *, wishes: int = 0) -> None:
        """`wishes`: so many things at most does a pod ask for beside cpu."""
        self._admin = admin
        self.wishes = wishes
        self._namespace = namespace
        self._make_node = make_node
        self._random = random.Random(seed)  # noqa: S311 - a test that can be repeated
        self._made = 0
        self._nodes: dict[str, int] = {}
        self._uids: dict[str, str] = {}
        self._taken_ports: set[int] = set()
        for name, value in _CLASSES.items():
            if admin.find("scheduling.k8s.io/v1", "PriorityClass", name) is None:
                manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
                admin.create({**manifest, "value": value})

    def fill(self, nodes: int) -> None:
        """Nodes of several sizes, all full; some of the pods have a budget."""
        for number in range(nodes):
            cpu = self._random.choice((4, 6, 8))
            zone = self._zones[number % 3]
            labels = {"test": self._namespace, **(node_labels(self._random, zone) if self.wishes else {ZONE: zone})}
            name = self._make_node(cpu=str(cpu), labels=labels)["metadata"]["name"]
            self._nodes[name] = cpu * 1000
            if self.wishes and number % 4 == 3:
                self._admin.patch("v1", "Node", name, {"spec": {"taints": [DEDICATED]}})
        for app in ("a", "b"):
            budget = {"minAvailable": self._random.randrange(2, 6), "selector": {"matchLabels": {"app": app}}}
            metadata = {"name": app, "namespace": self._namespace}
            self._admin.create(
                {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
            )
        self.renew()

    @property
    def _zones(self) -> list[str]:
        return [f"{self._namespace}-{number}" for number in range(3)]

    def renew(self) -> None:
        """Other pods on the same nodes: after a while only important ones are left."""
        path = self._admin.path("v1", "Pod", self._namespace)
        # Who waits goes first: else it would be given a place while all the others go.
        for which in ({"fieldSelector": "spec.nodeName="}, {}):
            self._admin.request("DELETE", path, params={"gracePeriodSeconds": 0, **which})
        until(lambda: not self._admin.list("v1", "Pod", self._namespace))
        for node, room in self._nodes.items():
            self._fill_node(node, room)

    def _fill_node(self, node: str, room: int) -> None:
        self._taken_ports = set()
        while room >= 500:
            cpu = self._random.choice([each for each in (500, 1000, 1500, 2000, 3000) if each <= room])
            name = self._create(f"{cpu}m", self._random.choice(_LOW), scheduler="nobody")
            self._admin.bind(name, node, self._namespace)
            self._start(name)
            room -= cpu

    def _start(self, name: str) -> None:
        """It runs since a moment of its own: else many would be as old as each other."""
        since = datetime.now(UTC) - timedelta(seconds=self._random.randrange(100, 100_000))
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "startTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"), "conditions": [ready]}
        self._admin.patch("v1", "Pod", name, {"status": status}, self._namespace, "status")

    def _create(self, cpu: str, class_name: str, scheduler: str = "default-scheduler", **spec: Any) -> str:
        self._made += 1
        name = f"{'p' if scheduler == 'default-scheduler' else 'v'}{self._made}-{uuid4().hex[:4]}"
        labels = {"app": self._random.choice(APPS)}
        grace = self._random.choice((0, 1))
        wishes = some(self._random, self._zones, self.wishes) if self.wishes else {}
        asked = wishes.pop("container", {})
        wanted = pod(name, cpu=cpu, grace_seconds=grace, scheduler=scheduler, labels=labels, **spec, **wishes)
        (container,) = wanted["spec"]["containers"]
        container["ports"] = self._free_ports(asked) if scheduler == "nobody" else asked.get("ports", [])
        container["resources"]["requests"].update({key: asked[key] for key in ("memory",) if key in asked})
        wanted["spec"]["priorityClassName"] = class_name
        self._uids[self._admin.create(wanted, self._namespace)["metadata"]["uid"]] = name
        return name

    def _free_ports(self, asked: dict[str, Any]) -> list[dict[str, int]]:
        """Nobody has a port that somebody else has on that node: kube-scheduler would take it for free when they go."""
        found = [port for port in asked.get("ports", []) if port["hostPort"] not in self._taken_ports]
        self._taken_ports |= {port["hostPort"] for port in found}
        return found

    def challenge(self, *, wait: bool = True) -> str:
        """One more pod that does not fit; returns when kube-scheduler has decided on it."""
        selector = {"test": self._namespace}
        if self._random.random() < 0.3:
            selector[ZONE] = self._random.choice(self._zones)
        cpu = self._random.choice((500, 1000, 1500, 2000, 2500, 3000, 4000))
        name = self._create(f"{cpu}m", self._random.choice(_HIGH), nodeSelector=selector)
        if wait:
            until(lambda: self._is_decided(name), _ATTEMPT_SECONDS)
        return name

    def _is_decided(self, name: str) -> bool:
        found = self._admin.find("v1", "Pod", name, self._namespace)
        if found is None or found["spec"].get("nodeName") or found["status"].get("nominatedNodeName"):
            return True
        return any(each["reason"] == "Unschedulable" for each in found["status"].get("conditions", ()))

    def _is_bound(self, name: str) -> bool:
        found = self._admin.find("v1", "Pod", name, self._namespace)
        return found is None or bool(found["spec"].get("nodeName"))

    def victims(self) -> dict[str, set[str]]:
        """Who made way for whom, as the events of kube-scheduler say."""
        found: dict[str, set[str]] = {}
        for event in self._admin.list("v1", "Event", self._namespace, fieldSelector="reason=Preempted"):
            uid = event["message"].split()[3]
            found.setdefault(self._uids[uid], set()).add(event["involvedObject"]["name"])
        return found

    def settle(self, name: str = "", seconds: float = 5.0) -> None:
        """Until the victims of a pod have been told, if it is to have any, and nobody is leaving any more."""
        found = self._admin.find("v1", "Pod", name, self._namespace) if name else None
        if found is not None and found["status"].get("nominatedNodeName"):
            until(lambda: name in self.victims() or self._is_bound(name), _ATTEMPT_SECONDS)
        time.sleep(_MARKING_SECONDS)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pods = self._admin.list("v1", "Pod", self._namespace)
            if not any("deletionTimestamp" in each["metadata"] for each in pods):
                return
            time.sleep(0.05)
