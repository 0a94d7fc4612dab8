"""Hands in a running control plane: each does one thing to something that is there at that moment, or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from reprieve.agents.hollow.clusters import ALLOCATABLE
from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import (
    ADMISSION_CHECKS,
    BUDGETS,
    CLUSTER_QUEUES,
    CLUSTERS,
    COHORTS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JOBS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    REPLICA_SETS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
)
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import AlreadyExists, StoreError
from reprieve.stores.records import Record
from tests.builders.federation import hollow_cluster
from tests.builders.pods import Dict, budget, pod_group, priority_class
from tests.builders.quota import cohort, flavor, quotas
from tests.builders.topology import HOSTNAME, topology
from tests.generators import quota_terms
from tests.generators.lives import TOLERATION
from tests.planes.running import Plane

Hand = Callable[[], Awaitable[Any]]


class Upsets:
    """`parts` are the policies that a life is about; what is configured anew is made by whoever made it first."""

    def __init__(
        self,
        random: Random,
        parts: Sequence[str],
        queue_tree: Callable[[Random, list[str]], Dict],
        cluster_queue: Callable[[Random, str], list[Dict]],
    ) -> None:
        self.random = random
        self._queue_tree = queue_tree
        self._cluster_queue = cluster_queue
        self._plane: Plane
        on_nodes: list[Hand] = [
            self._delete_waiting,
            self._delete_nominated,
            self._delete_nominated,
            self._delete_running,
            self._force_leaving,
            self._delete_owner,
            self._scale,
            self._class_goes,
            self._class_returns,
            self._class_tolerates,
            self._cordon,
            self._taint,
            self._resize,
            self._node_goes,
            self._node_comes,
            self._budget,
            self._budget_goes,
            self._label,
            self._ungate,
        ]
        own: dict[str, list[Hand]] = {
            "groups": [self._group_goes, self._group_comes, self._group_changes],
            "queues": [self._queues_change, self._queues_change, self._queues_go, self._queues_break],
            "quota": [
                self._quota_lowered,
                self._quota_lowered,
                self._queue_stops,
                self._queue_moves,
                self._queue_goes,
                self._queue_returns,
                self._flavor_goes,
                self._flavor_returns,
                self._cohort_changes,
                self._deactivate,
                self._check_comes,
                self._check_says,
                self._check_says,
                self._check_goes,
                self._gate_opens,
                self._defaults_change,
                self._topology_goes,
                self._topology_comes,
            ],
            "federation": [self._cluster_resized, self._cluster_goes, self._cluster_comes, self._scale_deployment],
        }
        self._hands = on_nodes + [hand for part in parts for hand in own.get(part, []) * 2]

    async def upset(self, plane: Plane) -> None:
        """Whatever the store refuses has simply not been done."""
        self._plane = plane
        try:
            await self.random.choice(self._hands)()
        except StoreError:
            return

    # Parts

    async def _any(self, resource: Resource, wanted: Callable[[Record], Any] = lambda _: True) -> Record | None:
        found = [record for record in (await self._plane.store.list(resource)).records if wanted(record)]
        return self.random.choice(sorted(found, key=lambda record: record.key)) if found else None

    async def _patch(self, record: Record | None, patch: Dict, subresource: str = "") -> None:
        if record is not None:
            await self._plane.store.patch(
                record.resource, record.name, record.namespace, patch, subresource=subresource
            )

    async def _delete(self, record: Record | None, grace: int | None = None) -> None:
        if record is not None:
            await self._plane.store.delete(record.resource, record.name, record.namespace, grace=grace)

    # Pods and who makes them

    async def _delete_waiting(self) -> None:
        await self._delete(await self._any(PODS, lambda pod: not pod.data["spec"].get("nodeName")))

    async def _delete_nominated(self) -> None:
        """The preemptor goes while its victims leave."""
        await self._delete(await self._any(PODS, lambda pod: pod.data["status"].get("nominatedNodeName")))

    async def _delete_running(self) -> None:
        await self._delete(
            await self._any(PODS, lambda pod: pod.data["spec"].get("nodeName")), self.random.choice([None, 0])
        )

    async def _force_leaving(self) -> None:
        await self._delete(await self._any(PODS, lambda pod: "deletionTimestamp" in pod.metadata), 0)

    async def _delete_owner(self) -> None:
        await self._delete(await self._any(self.random.choice([JOBS, REPLICA_SETS])))

    async def _scale(self) -> None:
        await self._patch(await self._any(REPLICA_SETS), {"spec": {"replicas": self.random.randint(0, 4)}})

    async def _label(self) -> None:
        labels = {"kind": self.random.choice(["x", "y", None])}
        await self._patch(await self._any(PODS), {"metadata": {"labels": labels}})

    async def _ungate(self) -> None:
        gated = await self._any(PODS, lambda pod: pod.data["spec"].get("schedulingGates"))
        await self._patch(gated, {"spec": {"schedulingGates": None}})

    # Classes, budgets, nodes

    async def _class_goes(self) -> None:
        await self._delete(await self._any(PRIORITY_CLASSES, lambda item: len(item.name) == 1))

    async def _class_returns(self) -> None:
        name, value = self.random.choice("abcd"), self.random.choice([0, 10, 50, 100])
        await self._plane.apply(priority_class(name, value))

    async def restore_classes(self, plane: Plane) -> None:
        """At the end nobody is kept from making pods again by a class that is not there."""
        self._plane = plane
        for name in "abcd":
            try:
                await plane.apply(priority_class(name, self.random.choice([0, 10, 50])))
            except StoreError:
                continue  # that one is still there

    async def _class_tolerates(self) -> None:
        said = {
            f"{TOLERATION}/minimum-preemptable-priority": self.random.choice(["11", "101", None]),
            f"{TOLERATION}/toleration-seconds": self.random.choice(["5", "-1"]),
        }
        await self._patch(await self._any(PRIORITY_CLASSES), {"metadata": {"annotations": said}})

    async def _cordon(self) -> None:
        await self._patch(await self._any(NODES), {"spec": {"unschedulable": self.random.choice([True, None])}})

    async def _taint(self) -> None:
        taints = self.random.choice([None, [{"key": "closed", "effect": "NoSchedule"}]])
        await self._patch(await self._any(NODES), {"spec": {"taints": taints}})

    async def _resize(self) -> None:
        amounts = {"cpu": str(self.random.randint(1, 5)), "memory": "32Gi", "pods": self.random.choice(["110", "2"])}
        await self._patch(await self._any(NODES), {"status": {"allocatable": amounts}}, "status")

    async def _node_goes(self) -> None:
        await self._delete(await self._any(NODES))

    async def _node_comes(self) -> None:
        number = self.random.randint(0, 3)
        size = str(self.random.randint(1, 4))
        await self._plane.apply(hollow_node(f"n{number}", cpu=size, labels={"zone": "z1", "pool": "a"}))

    async def _budget(self) -> None:
        owner = await self._any(REPLICA_SETS)
        if owner is not None:
            guard = budget(f"guard-{owner.name}", {"app": owner.name}, allowed=0)
            guard["spec"]["minAvailable"] = self.random.randint(1, 3)
            del guard["status"]
            await self._plane.apply(guard)

    async def _budget_goes(self) -> None:
        await self._delete(await self._any(BUDGETS))

    # Groups

    async def _group_goes(self) -> None:
        await self._delete(await self._any(POD_GROUPS))

    async def _group_comes(self) -> None:
        gang = self.random.choice([None, 1, 2])
        made = pod_group(f"g{self.random.randint(0, 2)}", gang=gang, priorityClassName=self.random.choice("abcd"))
        await self._plane.apply(made)

    async def _group_changes(self) -> None:
        policy = {"gang": {"minCount": self.random.randint(1, 4)}}
        await self._patch(await self._any(POD_GROUPS), {"spec": {"schedulingPolicy": policy}})

    # Queues

    async def _queues_change(self) -> None:
        config = self._queue_tree(self.random, [])
        known = await self._any(CONFIG_MAPS)
        if known is None:
            await self._plane.apply(config)
        await self._patch(known, {"data": config["data"]})

    async def _queues_go(self) -> None:
        await self._delete(await self._any(CONFIG_MAPS))

    async def _queues_break(self) -> None:
        await self._patch(await self._any(CONFIG_MAPS), {"data": {"queues.yaml": "partitions: [7"}})

    # Quota

    async def _quota_lowered(self) -> None:
        size = self.random.choice([0, 0, 1, 2])
        groups = quotas({"default": {"cpu": size}})
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": {"resourceGroups": groups}})

    async def _queue_stops(self) -> None:
        stop = {"spec": {"stopPolicy": self.random.choice(["None", "None", "Hold", "HoldAndDrain"])}}
        await self._patch(await self._any(self.random.choice([CLUSTER_QUEUES, LOCAL_QUEUES])), stop)

    async def _queue_moves(self) -> None:
        spec = {"cohortName": self.random.choice(["all", "in", None])}
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": spec})

    async def _queue_goes(self) -> None:
        await self._delete(await self._any(self.random.choice([CLUSTER_QUEUES, LOCAL_QUEUES])))

    async def _queue_returns(self) -> None:
        for made in self._cluster_queue(self.random, f"team-{self.random.randint(0, 2)}"):
            try:
                await self._plane.apply(made)
            except StoreError:
                continue  # that one is still there

    async def _flavor_goes(self) -> None:
        await self._delete(await self._any(RESOURCE_FLAVORS))

    async def _flavor_returns(self) -> None:
        await self._plane.apply(flavor(self.random.choice(["default", "spot"])))

    async def _cohort_changes(self) -> None:
        spec = cohort("all", {"default": {"cpu": self.random.randint(0, 2)}})["spec"]
        await self._patch(await self._any(COHORTS), {"spec": {"resourceGroups": spec["resourceGroups"]}})

    async def _deactivate(self) -> None:
        active = {"spec": {"active": self.random.choice([True, False])}}
        await self._patch(await self._any(QUOTA_WORKLOADS), active)

    async def _check_comes(self) -> None:
        """And a queue goes by it from now on, or no longer."""
        with suppress(AlreadyExists):
            await self._plane.apply(quota_terms.check("fuel"))
        await quota_terms.active("fuel", self.random.choice(["True", "True", "False"]))(self._plane)
        checks = self.random.choice([[{"name": "fuel"}], []])
        spec = {"admissionChecksStrategy": {"admissionChecks": checks}}
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": spec})

    async def _check_says(self) -> None:
        known = await self._any(QUOTA_WORKLOADS, lambda one: one.data.get("status", {}).get("admissionChecks"))
        if known is not None:
            await quota_terms.any_verdict(self.random, known.name)(self._plane)

    async def _check_goes(self) -> None:
        await self._delete(await self._any(ADMISSION_CHECKS))

    async def _gate_opens(self) -> None:
        state = {"name": "go", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        known = await self._any(QUOTA_WORKLOADS, lambda one: one.data["spec"].get("preemptionGates"))
        await self._patch(known, {"status": {"preemptionGates": [state]}}, "status")

    async def _defaults_change(self) -> None:
        known = await self._any(LIMIT_RANGES)
        made = quota_terms.defaults(str(self.random.randint(0, 2)))
        if known is None:
            await self._plane.apply(made)
        elif self.random.random() < 0.4:
            await self._delete(known)
        else:
            await self._patch(known, {"spec": made["spec"]})

    async def _topology_goes(self) -> None:
        await self._delete(await self._any(TOPOLOGIES))

    async def _topology_comes(self) -> None:
        made, _ = topology("floors", "zone", HOSTNAME)
        await self._plane.apply(made)

    # Federation

    async def _cluster_resized(self) -> None:
        said = {ALLOCATABLE: f'{{"cpu":"{self.random.randint(1, 4)}"}}'}
        await self._patch(await self._any(CLUSTERS), {"metadata": {"annotations": said}})

    async def _cluster_goes(self) -> None:
        await self._delete(await self._any(CLUSTERS))

    async def _cluster_comes(self) -> None:
        await self._plane.apply(hollow_cluster(f"m{self.random.randint(0, 3)}", {"cpu": "2"}, grace=5))

    async def _scale_deployment(self) -> None:
        await self._patch(await self._any(DEPLOYMENTS), {"spec": {"replicas": self.random.randint(0, 4)}})
