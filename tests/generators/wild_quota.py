"""Lives of quota alone in which everything about it changes: what `quota_lives` has, and what stands still there.

Pod sets of several sizes and wishes, groups of resources, topologies over nodes that come and go; queues, cohorts and
flavors that are deleted and made again, hung elsewhere, given other rights, weights and limits; workloads that get
another queue, priority or boost, give pods back, run out of time, end when they are preempted.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from reprieve.configuration import Settings
from reprieve.manifests.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    NODES,
    QUOTA_WORKLOADS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
)
from reprieve.stores.errors import StoreError
from tests.builders.pods import manifest, metadata
from tests.builders.quota import KUEUE, cohort, flavor, quotas
from tests.builders.topology import HOSTNAME, node, topology
from tests.generators.lives import Life, Step, arrives, changes, goes
from tests.generators.quota import Dict
from tests.generators.quota_lives import LASTS, QuotaLife
from tests.planes.running import Plane

_BOOST = "kueue.x-k8s.io/priority-boost"
_LEVELS = ("block", HOSTNAME)
_WISHES: tuple[Dict, ...] = (
    {"required": "block"},
    {"required": HOSTNAME},
    {"preferred": HOSTNAME},
    {"unconstrained": True},
)


def wild_quota_life(seed: int) -> Life:
    return _WildQuota(Random(f"wild quota {seed}")).life()  # noqa: S311 - not a secret


def tried(step: Step) -> Step:
    """What the store refuses has simply not been done."""

    async def attempt(plane: Plane) -> None:
        try:
            await step(plane)
        except StoreError:
            return

    return attempt


class _WildQuota(QuotaLife):
    def __init__(self, random: Random) -> None:
        super().__init__(random, closed=False)
        self.features = {
            name
            for name in ("sets", "topology", "groups", "boost", "ends", "options", "taints")
            if random.random() < 0.35
        }
        self._names: list[str] = []
        self._hot = random.random() < 0.8
        self._factor = random.choice([1, 2, 2])
        """There is room for several, so that there is somebody who can make way."""

    def has(self, feature: str, share: float) -> bool:
        return feature in self.features and self.random.random() < share

    def life(self) -> Life:
        made = super().life()
        self._names = [item["metadata"]["name"] for item in made.first if item["kind"] == "Cohort"]
        for _ in range(self.random.randint(2, 9)):
            self._at(tried(self._upset()), LASTS / 5)
        first = [each for each in made.first if each["kind"] != "ResourceFlavor"]
        first += [self._flavor(name) for name in self.flavors]
        if "topology" in self.features:
            first += [topology("floors", *_LEVELS)[0], *(self._node(number) for number in range(3))]
        return made._replace(first=first)

    def _settings(self) -> Settings:
        made = super()._settings()
        gates = {"PriorityBoost": True} if "boost" in self.features else {}
        if not made.quota.as_written and "options" in self.features:
            search: Any = self.random.choice([None, "Design", "Best"])
            made = msgspec.structs.replace(made, search=search)
        return msgspec.structs.replace(made, feature_gates=gates)

    def _node(self, number: int) -> Dict:
        size = self.random.randint(2, 6)
        return node(f"n{number}", cpu=size, block=f"b{number % 2}", pods=self.random.choice([110, 110, 2]))

    def _flavor(self, name: str) -> Dict:
        spec: Dict = {}
        if "topology" in self.features and (name == self.flavors[0] or self.random.random() < 0.5):
            spec |= {"nodeLabels": {"pool": "default"}, "topologyName": "floors"}
        if self.has("taints", 0.4):
            spec["nodeTaints"] = [{"key": name, "effect": "NoSchedule"}]
        return flavor(name, **spec)

    def queue(self, name: str, parent: str | None) -> list[Dict]:
        made = super().queue(name, parent)
        if "groups" in self.features and len(self.resources) > 1:
            given = self.quotas(limited=parent is not None)
            made[0]["spec"]["resourceGroups"] = [
                group
                for resource in self.resources
                for group in quotas({each: {resource: sizes[resource]} for each, sizes in given.items()})
            ]
            for place, group in enumerate(made[0]["spec"]["resourceGroups"]):
                group["flavors"] = group["flavors"][place % len(group["flavors"]) :][:1]
            names = [group["flavors"][0]["name"] for group in made[0]["spec"]["resourceGroups"]]
            if len(set(names)) < len(names):
                del made[0]["spec"]["resourceGroups"][1:]
        return made

    def amounts(self, limited: bool) -> tuple[int | None, ...]:
        nominal, *limits = super().amounts(limited)
        return self._factor * (nominal or 0), *limits

    def workload(self, name: str, on: str | None) -> Dict:
        made = super().workload(name, on)
        spec = made["spec"]
        if self.has("sets", 0.5):
            spec["podSets"] = self._two(*spec["podSets"])
        for pods in spec["podSets"] if self.has("topology", 0.5) else ():
            pods["topologyRequest"] = self.random.choice(_WISHES)
        for pods in spec["podSets"] if self.has("taints", 0.6) else ():
            tolerated = {"key": self.random.choice(self.flavors), "operator": "Exists"}
            pods["template"]["spec"] = {**pods["template"]["spec"], "tolerations": [tolerated]}
        if self.has("ends", 0.3):
            spec["maximumExecutionTimeSeconds"] = self.random.choice([10, 30])
        made["metadata"]["annotations"] = self._annotations()
        return made

    def _two(self, pods: Dict) -> list[Dict]:
        other = {key: value for key, value in pods.items() if key != "minCount"}
        sizes = self.random.randint(1, 3), self.random.randint(1, 2)
        return [{**pods, "count": sizes[0]}, {**other, "name": "more", "count": sizes[1]}]

    def _annotations(self) -> dict[str, str]:
        said = {}
        if self.has("boost", 0.4):
            said[_BOOST] = str(self.random.randint(-2, 2))
        if self.has("options", 0.2):
            said["reprieve.scheduling/wait-before-preemption-seconds"] = self.random.choice(["5", "30"])
        if self.has("options", 0.2):
            said["reprieve.scheduling/on-preemption"] = "Terminate"
        if self.has("options", 0.2):
            said["reprieve.scheduling/disruption-cost-milestones"] = "10:100,40:0"
        return said

    # What changes

    def _upset(self) -> Step:
        random = self.random
        return random.choice(
            [
                self._of_queue,
                self._of_queue,
                self._of_queue,
                self._of_cohort,
                self._of_flavor,
                self._of_local_queue,
                self._of_workload,
                self._of_workload,
                self._of_workload,
                self._of_node,
            ]
        )()

    def _of_queue(self) -> Step:
        random, name = self.random, self.random.choice(self.queues)
        reclaim = random.choice(["Never", "LowerPriority", "Any"])
        rights = {
            "withinClusterQueue": random.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaimWithinCohort": reclaim,
            "borrowWithinCohort": random.choice([None, {"policy": "LowerPriority"}]) if reclaim != "Never" else None,
        }
        spec: Dict = random.choice(
            [
                {"preemption": rights},
                {"preemption": rights},
                {"queueingStrategy": random.choice(["StrictFIFO", "BestEffortFIFO"])},
                {"fairSharing": {"weight": random.choice(["0", "1", "3"])}},
                {"resourceGroups": quotas(self.quotas(limited=True))},
                {"cohortName": random.choice([*self._names, "new", None])},
                {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"}},
                {"namespaceSelector": random.choice([None, {}])},
                {},
            ]
        )
        if spec:
            return changes(CLUSTER_QUEUES, name, {"spec": spec}, "")
        if random.random() < 0.5:
            self._at(tried(arrives(*self.queue(name, random.choice(self._names)))), LASTS / 2)
        return goes(CLUSTER_QUEUES, name, "")

    def _of_cohort(self) -> Step:
        random, name = self.random, self.random.choice(self._names)
        match random.randrange(4):
            case 0:
                self._at(tried(arrives(cohort(name, parent=random.choice([None, *self._names])))), LASTS / 2)
                return goes(COHORTS, name, "")
            case 1:
                return changes(COHORTS, name, {"spec": {"parentName": random.choice([None, *self._names])}}, "")
            case 2:
                return changes(COHORTS, name, {"spec": {"fairSharing": {"weight": random.choice(["0", "2"])}}}, "")
            case _:
                spec = {"resourceGroups": quotas(self.quotas(limited=True))}
                return changes(COHORTS, name, {"spec": spec}, "")

    def _of_flavor(self) -> Step:
        name = self.random.choice(self.flavors)
        match self.random.randrange(4):
            case 0:
                self._at(tried(arrives(self._flavor(name))), LASTS / 2)
                return goes(RESOURCE_FLAVORS, name, "")
            case 1:
                taints = self.random.choice([None, [{"key": name, "effect": "NoSchedule"}]])
                return changes(RESOURCE_FLAVORS, name, {"spec": {"nodeTaints": taints}}, "")
            case 2 if "topology" in self.features:
                self._at(tried(arrives(topology("floors", *_LEVELS)[0])), LASTS / 2)
                return goes(TOPOLOGIES, "floors", "")
            case _:
                return changes(RESOURCE_FLAVORS, name, {"spec": {"tolerations": [{"operator": "Exists"}]}}, "")

    def _of_local_queue(self) -> Step:
        """It leads elsewhere, from some time on."""
        name = self.random.choice(self.queues)
        spec = {"clusterQueue": self.random.choice(self.queues)}
        made = manifest(KUEUE, "LocalQueue", metadata(name, "default"), spec=spec)
        self._at(tried(arrives(made)), LASTS / 2)
        return goes(LOCAL_QUEUES, name)

    def _of_workload(self) -> Step:
        random, name = self.random, f"w{self.random.randrange(8)}"
        match random.randrange(5):
            case 0:
                return changes(QUOTA_WORKLOADS, name, {"spec": {"queueName": random.choice(self.queues)}})
            case 1:
                return changes(QUOTA_WORKLOADS, name, {"spec": {"priority": random.randint(-2, 4)}})
            case 2:
                boost = {"annotations": {_BOOST: str(random.randint(-2, 3))}}
                return changes(QUOTA_WORKLOADS, name, {"metadata": boost})
            case 3:
                done = [{"name": "main", "count": random.randint(0, 2)}]
                return changes(QUOTA_WORKLOADS, name, {"status": {"reclaimablePods": done}}, "default", "status")
            case _:
                return changes(QUOTA_WORKLOADS, name, {"spec": {"active": random.choice([True, False])}})

    def _of_node(self) -> Step:
        random, number = self.random, self.random.randrange(4)
        match random.randrange(4):
            case 0:
                return arrives(self._node(number))
            case 1:
                return goes(NODES, f"n{number}", "")
            case 2:
                ready = {"type": "Ready", "status": random.choice(["True", "False"])}
                return changes(NODES, f"n{number}", {"status": {"conditions": [ready]}}, "", "status")
            case _:
                return changes(NODES, f"n{number}", {"spec": {"unschedulable": random.choice([True, None])}}, "")
