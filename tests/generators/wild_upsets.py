"""More hands in a running control plane: what is configured, named or owned changes under those who go by it."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_QUEUES,
    CLUSTERS,
    COHORTS,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOB_SETS,
    JOBS,
    LOCAL_QUEUES,
    NAMESPACES,
    NODES,
    PODS,
    PROPAGATION_POLICIES,
    QUOTA_WORKLOADS,
    RESOURCE_FLAVORS,
    RESOURCE_QUOTAS,
    RUNTIME_CLASSES,
    STATEFUL_SETS,
    VOLUME_CLAIMS,
    VOLUMES,
    WORKLOAD_PRIORITY_CLASSES,
)
from reprieve.stores.errors import StoreError
from tests.builders.pods import config_map, manifest, metadata
from tests.builders.quota import KUEUE, cohort
from tests.generators.upsets import Hand, Upsets
from tests.planes.running import Plane

QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def disk(random: Random, number: int) -> list[dict[str, Any]]:
    """A claim, for one pod or for all of a node, and its volume in one zone."""
    mode = random.choice(["ReadWriteOncePod", "ReadWriteOnce"])
    bound = {"volumeName": f"disk-{number}"} if random.random() < 0.8 else {}
    claim = {"accessModes": [mode], "storageClassName": "slow", **bound}
    said = {"pv.kubernetes.io/bind-completed": "yes"} if bound else None
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [random.choice(["z0", "z1"])]}]}
    spec: dict[str, Any] = {"accessModes": [mode], "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    made = manifest("v1", "PersistentVolumeClaim", metadata(f"data-{number}", "default", annotations=said), spec=claim)
    volume = manifest("v1", "PersistentVolume", metadata(f"disk-{number}"), spec=spec)
    return [{**made, "status": {"phase": "Bound" if bound else "Pending"}}, volume]


class WildUpsets(Upsets):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        parts = args[1]
        self._hands += [
            self._space_goes,
            self._space_comes,
            self._node_unready,
            self._evicted_for_good,
            self._labels_of_nodes,
            self._pods_bounded,
            self._bounds_go,
            self._job_changes,
            self._job_suspended,
            self._controller_changes,
            self._budget_for_many,
            self._claim_goes,
            self._disk_comes,
            self._disk_goes,
            self._others_place,
            self._somebody_evicts,
        ]
        own: dict[str, list[Hand]] = {
            "queues": [self._pod_changes_queue, self._defaults_of_queues, self._ours_goes],
            "quota": [
                self._borrowing_changes,
                self._preemption_changes,
                self._strategy_changes,
                self._weight_changes,
                self._cohort_moves,
                self._cohort_goes,
                self._cohort_comes,
                self._local_queue_elsewhere,
                self._flavor_changes,
                self._class_of_workloads,
                self._job_changes_queue,
                self._workload_goes,
                self._pods_given_back,
                self._selector_changes,
                self._overhead_changes,
            ],
            "federation": [
                self._binding_suspended,
                self._cluster_taint,
                self._cluster_unready,
                self._policy_changes,
                self._binding_goes,
            ],
        }
        self._hands += [hand for part in parts for hand in own.get(part, [])]

    def _one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # Namespaces, nodes and bounds

    async def _space_goes(self) -> None:
        await self._delete(await self._any(NAMESPACES, lambda one: one.name == "other"))

    async def _space_comes(self) -> None:
        await self._plane.apply(manifest("v1", "Namespace", metadata("other")))
        for name in (f"team-{number}" for number in range(3)):
            spec = {"clusterQueue": name}
            await self._plane.apply(manifest(KUEUE, "LocalQueue", metadata(name, "other"), spec=spec))

    async def _node_unready(self) -> None:
        said = {"type": "Ready", "status": self._one("True", "False", "Unknown"), "reason": "Wild"}
        await self._patch(await self._any(NODES), {"status": {"conditions": [said]}}, "status")

    async def _evicted_for_good(self) -> None:
        taints = self._one(None, None, None, [{"key": "drain", "effect": "NoExecute"}])
        await self._patch(await self._any(NODES), {"spec": {"taints": taints}})

    async def _labels_of_nodes(self) -> None:
        labels = {self._one("zone", "pool"): self._one("z0", "z1", "a", None)}
        await self._patch(await self._any(NODES), {"metadata": {"labels": labels}})

    async def _pods_bounded(self) -> None:
        hard = {"pods": str(self.random.randint(2, 6))}
        await self._plane.apply(manifest("v1", "ResourceQuota", metadata("bound", "default"), spec={"hard": hard}))

    async def _bounds_go(self) -> None:
        await self._delete(await self._any(RESOURCE_QUOTAS))

    async def _budget_for_many(self) -> None:
        spec = {"selector": {"matchLabels": {"kind": self._one("x", "y")}}, "maxUnavailable": self._one(0, 1, "50%")}
        name = f"kind-{self.random.randint(0, 2)}"
        await self._plane.apply(manifest("policy/v1", "PodDisruptionBudget", metadata(name, "default"), spec=spec))

    async def _claim_goes(self) -> None:
        await self._delete(await self._any(VOLUME_CLAIMS))

    async def _disk_comes(self) -> None:
        for made in disk(self.random, self.random.randint(0, 2)):
            with suppress(StoreError):
                await self._plane.apply(made)

    async def _disk_goes(self) -> None:
        await self._delete(await self._any(VOLUMES))

    async def _others_place(self) -> None:
        """Another scheduler binds one of its pods, whether there is room or not."""
        foreign = await self._any(PODS, lambda one: one.data["spec"].get("schedulerName") == "somebody-else")
        node = await self._any(NODES)
        if foreign is not None and node is not None:
            await self._plane.store.bind(foreign.name, foreign.namespace, node.name)

    async def _somebody_evicts(self) -> None:
        """As `kubectl drain` does it."""
        known = await self._any(PODS, lambda one: one.data["spec"].get("nodeName"))
        if known is not None:
            await self._plane.store.evict(known.name, known.namespace)

    # Who makes pods

    async def _job_changes(self) -> None:
        await self._patch(await self._any(JOBS), {"spec": {"parallelism": self.random.randint(0, 4)}})

    async def _job_suspended(self) -> None:
        await self._patch(await self._any(JOBS), {"spec": {"suspend": self._one(True, False)}})

    async def _controller_changes(self) -> None:
        kind = self._one(STATEFUL_SETS, DEPLOYMENTS, DAEMON_SETS, JOB_SETS)
        known = await self._any(kind)
        if self._one(True, False):
            await self._delete(known)
        elif kind is JOB_SETS:
            await self._patch(known, {"spec": {"suspend": self._one(True, False)}})
        elif kind is DAEMON_SETS:
            labels = self._one({}, {"zone": "z0"})
            await self._patch(known, {"spec": {"template": {"spec": {"nodeSelector": labels}}}})
        else:
            await self._patch(known, {"spec": {"replicas": self.random.randint(0, 3)}})

    async def restore_classes(self, plane: Plane) -> None:
        """And by no bounds; and most nodes are open again."""
        await super().restore_classes(plane)
        for record in (await plane.store.list(NODES)).records:
            if self.random.random() < 0.7:
                await self._patch(record, {"spec": {"taints": None, "unschedulable": None}})
        for record in (await plane.store.list(RESOURCE_QUOTAS)).records:
            await self._delete(record)

    # Queues

    async def _pod_changes_queue(self) -> None:
        known = await self._any(PODS, lambda one: "queue" in (one.metadata.get("labels") or {}))
        if known is not None:
            other = await self._any(PODS, lambda one: "queue" in (one.metadata.get("labels") or {}))
            assert other is not None
            name = self._one("queue", "applicationId")
            await self._patch(known, {"metadata": {"labels": {name: other.metadata["labels"].get(name)}}})

    async def _defaults_of_queues(self) -> None:
        config = self._queue_tree(self.random, [])
        made = config_map("yunikorn-defaults", config["data"], "default")
        try:
            await self._plane.apply(made)
        except StoreError:
            await self._delete(await self._any(CONFIG_MAPS, lambda one: one.name == "yunikorn-defaults"))

    async def _ours_goes(self) -> None:
        await self._delete(await self._any(CONFIG_MAPS))

    # Quota

    async def _borrowing_changes(self) -> None:
        known = await self._any(self._one(CLUSTER_QUEUES, CLUSTER_QUEUES, COHORTS))
        spec: dict[str, Any] = (known.data.get("spec") or {}) if known is not None else {}
        groups = [dict(group) for group in spec.get("resourceGroups") or ()]
        for group in groups:
            group["flavors"] = [
                {
                    **each,
                    "resources": [
                        {**item, "borrowingLimit": self._one(None, "0", "1"), "lendingLimit": self._one(None, "0")}
                        for item in each["resources"]
                    ],
                }
                for each in group["flavors"]
            ]
        await self._patch(known, {"spec": {"resourceGroups": groups}})

    async def _preemption_changes(self) -> None:
        policy = {
            "withinClusterQueue": self._one("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
            "reclaimWithinCohort": self._one("Never", "LowerPriority", "Any"),
            "borrowWithinCohort": None,
        }
        if policy["reclaimWithinCohort"] != "Never":
            policy["borrowWithinCohort"] = self._one(None, {"policy": "LowerPriority"})
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": {"preemption": policy}})

    async def _strategy_changes(self) -> None:
        said = {
            "queueingStrategy": self._one("StrictFIFO", "BestEffortFIFO"),
            "flavorFungibility": {
                "whenCanBorrow": self._one("MayStopSearch", "TryNextFlavor"),
                "whenCanPreempt": self._one("MayStopSearch", "TryNextFlavor"),
            },
        }
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": said})

    async def _weight_changes(self) -> None:
        said = {"fairSharing": {"weight": self._one("0", "1", "3")}}
        await self._patch(await self._any(self._one(CLUSTER_QUEUES, COHORTS)), {"spec": said})

    async def _cohort_moves(self) -> None:
        said = {"parentName": self._one("all", "in", "new", None)}
        await self._patch(await self._any(COHORTS), {"spec": said})

    async def _cohort_goes(self) -> None:
        await self._delete(await self._any(COHORTS))

    async def _cohort_comes(self) -> None:
        await self._plane.apply(cohort(self._one("all", "in", "new"), parent=self._one(None, "all")))

    async def _local_queue_elsewhere(self) -> None:
        known = await self._any(LOCAL_QUEUES)
        if known is not None:
            await self._delete(known)
            spec = {"clusterQueue": f"team-{self.random.randint(0, 2)}"}
            await self._plane.apply(manifest(KUEUE, "LocalQueue", metadata(known.name, known.namespace), spec=spec))

    async def _flavor_changes(self) -> None:
        said = self._one(
            {"nodeLabels": {"pool": self._one("a", "b")}},
            {"nodeTaints": self._one(None, [{"key": "spot", "effect": "NoSchedule"}])},
            {"tolerations": self._one(None, [{"key": "spot", "operator": "Exists"}])},
        )
        await self._patch(await self._any(RESOURCE_FLAVORS), {"spec": said})

    async def _class_of_workloads(self) -> None:
        known = await self._any(WORKLOAD_PRIORITY_CLASSES)
        if self._one(True, False):
            await self._patch(known, {"value": self._one(0, 5, 50)})
        else:
            await self._delete(known)

    async def _job_changes_queue(self) -> None:
        said = {QUEUE_NAME: f"team-{self.random.randint(0, 2)}"}
        await self._patch(await self._any(self._one(JOBS, QUOTA_WORKLOADS)), {"metadata": {"labels": said}})

    async def _workload_goes(self) -> None:
        await self._delete(await self._any(QUOTA_WORKLOADS))

    async def _pods_given_back(self) -> None:
        known = await self._any(QUOTA_WORKLOADS, lambda one: not one.metadata.get("ownerReferences"))
        if known is not None:
            said = [{"name": known.data["spec"]["podSets"][0]["name"], "count": self._one(0, 1)}]
            await self._patch(known, {"status": {"reclaimablePods": said}}, "status")

    async def _selector_changes(self) -> None:
        selector = self._one({}, {"matchLabels": {"kubernetes.io/metadata.name": "default"}}, None)
        await self._patch(await self._any(CLUSTER_QUEUES), {"spec": {"namespaceSelector": selector}})

    async def _overhead_changes(self) -> None:
        known = await self._any(RUNTIME_CLASSES)
        if known is None:
            kind: Any = {"handler": "kata", "overhead": {"podFixed": {"cpu": "1"}}}
            await self._plane.apply(manifest("node.k8s.io/v1", "RuntimeClass", metadata("kata"), **kind))
        else:
            await self._delete(known)

    # Federation

    async def _binding_suspended(self) -> None:
        said = {"suspension": {"scheduling": self._one(True, False)}}
        await self._patch(await self._any(BINDINGS), {"spec": said})

    async def _cluster_taint(self) -> None:
        taints = self._one(None, [{"key": "closed", "effect": self._one("NoSchedule", "NoExecute")}])
        await self._patch(await self._any(CLUSTERS), {"spec": {"taints": taints}})

    async def _cluster_unready(self) -> None:
        said = {"type": "Ready", "status": self._one("True", "False"), "reason": "Wild"}
        await self._patch(await self._any(CLUSTERS), {"status": {"conditions": [said]}}, "status")

    async def _policy_changes(self) -> None:
        known = await self._any(PROPAGATION_POLICIES)
        if self._one(True, True, False):
            said = {"schedulePriority": {"priorityClassName": self._one(*"abcd")}}
            await self._patch(known, {"spec": said})
        else:
            await self._delete(known)

    async def _binding_goes(self) -> None:
        await self._delete(await self._any(BINDINGS))
