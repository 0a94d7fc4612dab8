"""Agreement, rest and peace where flavors have topologies, in random lives on the real loop in virtual time.

Jobs with any wish come and end, other pods come and go, nodes are cordoned and opened again. All the time no
domain has more than it holds, and pods run where their workloads were admitted.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from reprieve.manifests.kinds import JOBS, NODES, PODS, QUOTA_WORKLOADS
from reprieve.manifests.pods import pod_slots
from reprieve.stores.errors import NotFound
from tests.builders.quota import queue
from tests.builders.topology import HOSTNAME, domains, topology
from tests.planes.agreement import judged
from tests.planes.rest import could_still_act
from tests.planes.running import Plane, job, live, pod

LIVES = int(os.environ.get("REPRIEVE_LIVES", "6"))
_PREFIX = "kueue.x-k8s.io/podset"
_LASTS = 300.0

pytestmark = pytest.mark.usefixtures("no_last_resort")


class TopologyLife:
    """One life, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - lives, no secrets
        self.faults: list[str] = []

    async def begin(self, plane: Plane) -> None:
        chance = self._random
        await plane.apply(*topology("default", "block", "rack", HOSTNAME))
        for name in ("a", "b"):
            cpu = chance.randint(2, 12)
            made = queue(name, {"default": {"cpu": cpu}}, cohort="all", within="LowerPriority", reclaim="Any")
            await plane.apply(*made)
        above = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 9}
        await plane.apply({**above, "metadata": {"name": "high"}})
        self._nodes = [f"n{number}" for number in range(chance.randint(2, 6))]
        for name in self._nodes:
            labels = {"block": f"b{chance.randint(1, 2)}", "rack": f"r{chance.randint(1, 2)}"}
            await plane.node(name, cpu=str(chance.randint(1, 4)))
            await plane.change(NODES, name, {"metadata": {"labels": {"pool": "default", HOSTNAME: name, **labels}}})
        for number in range(25):
            await plane.passes(chance.uniform(0, _LASTS / 12))
            await self._something(plane, number)
            await self._look(plane)
        for name in self._nodes:
            await plane.change(NODES, name, {"spec": {"unschedulable": False}})

    async def _something(self, plane: Plane, number: int) -> None:
        chance = self._random
        match chance.choice(["job", "job", "job", "job", "pod", "cordon", "gone"]):
            case "job":
                await plane.apply(self._job(number))
            case "pod":
                run = chance.uniform(5, 60)
                await plane.apply(pod(f"other-{number}", run=run, nodeName=chance.choice(self._nodes)))
            case "cordon":
                shut = {"spec": {"unschedulable": chance.random() < 0.5}}
                await plane.change(NODES, chance.choice(self._nodes), shut)
            case "gone":
                try:
                    await plane.store.delete(JOBS, f"job-{chance.randint(0, number)}", "default")
                except NotFound:
                    return

    def _job(self, number: int) -> dict[str, Any]:
        chance = self._random
        wish = chance.choice(["required", "required", "preferred", "unconstrained"])
        level = "true" if wish == "unconstrained" else chance.choice(["block", "rack", HOSTNAME])
        labels = {"kueue.x-k8s.io/queue-name": chance.choice("ab")}
        if chance.random() < 0.3:
            labels["kueue.x-k8s.io/priority-class"] = "high"
        annotations = {f"{_PREFIX}-{wish}-topology": level}
        parts: dict[str, Any] = {"run": chance.uniform(20, 120), "leaves": chance.choice([0, 3])}
        return job(f"job-{number}", replicas=chance.randint(1, 4), labels=labels, annotations=annotations, **parts)

    async def _look(self, plane: Plane) -> None:
        """No node gives more than it has, and every pod is where its workload was sent."""
        sent: dict[str, set[str]] = {}
        for record in (await plane.store.list(QUOTA_WORKLOADS)).records:
            admission = record.data.get("status", {}).get("admission")
            if admission is not None:
                placed = domains(admission["podSetAssignments"][0]["topologyAssignment"])
                sent[record.name] = {values[0] for values in placed}
        used: dict[str, int] = {}
        for record in (await plane.store.list(PODS)).records:
            node = record.data["spec"].get("nodeName", "")
            if not node or record.manifest.finished:
                continue
            workload = record.annotations.get("kueue.x-k8s.io/workload", "")
            if workload in sent and node not in sent[workload]:
                self.faults.append(f"{record.unit} runs on {node}, and was sent to {sent[workload]}")
            if workload:
                used[node] = used.get(node, 0) + pod_slots(record.manifest.spec).of("cpu")
        for record in (await plane.store.list(NODES)).records:
            if used.get(record.name, 0) > record.manifest.allocatable.of("cpu"):
                self.faults.append(f"{record.name} gives {used[record.name]}, more than it has")


@pytest.mark.parametrize("seed", range(LIVES))
def test_the_loop_decides_as_plan_does_and_nobody_sleeps_on_a_place(seed: int) -> None:
    async def story(plane: Plane) -> tuple[list[str], int]:
        life = TopologyLife(seed)
        judge = await judged(plane, life)  # type: ignore[arg-type]
        return [*judge.faults, *life.faults, *await could_still_act(plane)], judge.asked

    faults, asked = live(story, longest=120)
    assert faults == []
    assert asked > 0
