"""Random lives of control planes, made from a number: what is there first, and what arrives, changes and goes later.

Each life is about one policy, or (`mixed`) about all at once. Victims are made again by Jobs and ReplicaSets, as in
real clusters: that is what could go on for ever. Whatever ends, ends by itself within minutes; nothing arrives later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

from reprieve.agents.clusters import hollow_cluster
from reprieve.agents.hollow import hollow_node
from reprieve.configuration import FairSharing, Quota, Settings
from reprieve.stores.errors import NotFound
from reprieve.stores.resources import CONFIG_MAPS, JOBS, NODES, REPLICA_SETS, named
from tests import federated
from tests.builders import budget, pod_group, priority_class
from tests.planes import Dict, Plane, job, pod, replica_set
from tests.queue_builders import queues, tree
from tests.quota_builders import cohort, flavor, queue

POLICIES = ("pods", "groups", "quota", "queues", "federation", "mixed")
ARRIVALS = 180.0
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
DEPLOYMENTS = named("apps", "Deployment")
TOLERATION = "preemption-toleration.scheduling.x-k8s.io"
Step = Callable[[Plane], Awaitable[Any]]


class Life(NamedTuple):
    """One random life."""

    settings: Settings
    first: list[Dict]
    later: list[tuple[float, Step]]

    async def begin(self, plane: Plane) -> None:
        """All that happens, at its moments."""
        await plane.apply(*self.first)
        passed = 0.0
        for moment, step in sorted(self.later, key=lambda item: item[0]):
            await plane.passes(moment - passed)
            passed = moment
            await step(plane)


def life(policy: str, seed: int) -> Life:
    return _Maker(Random(f"{policy} {seed}")).life(policy)  # noqa: S311 - not a secret


def _arrives(*manifests: Dict) -> Step:
    return lambda plane: plane.apply(*manifests)


def _goes(resource: Any, name: str) -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.store.delete(resource, name, "default")
        except NotFound:
            return  # it was not there yet, or is gone already

    return step


def _changes(resource: Any, name: str, patch: Dict, namespace: str = "default") -> Step:
    async def step(plane: Plane) -> None:
        try:
            await plane.store.patch(resource, name, namespace, patch)
        except NotFound:
            return

    return step


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._first: list[Dict] = []
        self._later: list[tuple[float, Step]] = []
        self._classes: list[str] = []
        self._number = 0

    def life(self, policy: str) -> Life:
        self._priorities()
        parts = POLICIES[:-1] if policy == "mixed" else (policy,)
        if policy != "federation":
            self._nodes(most=9 if policy == "quota" else 5)
        for part in parts:
            getattr(self, f"_{part}")(few=policy == "mixed")
        return Life(self._settings(), self._first, self._later)

    def _settings(self) -> Settings:
        fair = FairSharing(enable=self._chance(0.3))
        quota = Quota(wait_before_preemption_seconds=self._random.choice([0, 0, 20]))
        return Settings(
            validate=True,
            pdb=self._random.choice(["BestEffort", "BestEffort", "Respect"]),
            scoring=self._random.choice(["LeastAllocated", "MostAllocated"]),
            fair_sharing=fair,
            quota=quota,
        )

    # Parts

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _at(self, step: Step, earliest: float = 0.0) -> None:
        self._later.append((round(self._random.uniform(earliest, ARRIVALS), 1), step))

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}"

    def _how_many(self, most: int, *, few: bool) -> int:
        return self._random.randint(1, 2) if few else self._random.randint(3, most)

    def _priorities(self) -> None:
        for number, value in enumerate(self._random.sample([0, 1, 5, 10, 50, 100], self._random.randint(2, 4))):
            name = f"class-{number}"
            said = {}
            if self._chance(0.2):
                said = {
                    f"{TOLERATION}/minimum-preemptable-priority": str(value + self._random.randint(1, 60)),
                    f"{TOLERATION}/toleration-seconds": str(self._random.choice([10, 45, -1])),
                }
            policy = "Never" if self._chance(0.1) else None
            self._classes.append(name)
            self._first.append(priority_class(name, value, policy=policy, annotations=said))

    def _nodes(self, most: int) -> None:
        for number in range(self._random.randint(1, 3)):
            node = hollow_node(
                f"n{number}", cpu=str(self._random.randint(2, most)), labels={"zone": f"z{number % 2}", "pool": "a"}
            )
            if number and self._chance(0.2):
                self._at(_arrives(node))
                continue
            self._first.append(node)
            if self._chance(0.1):
                self._at(_changes(NODES, f"n{number}", {"spec": {"unschedulable": True}}, ""))
                self._at(_changes(NODES, f"n{number}", {"spec": {"unschedulable": None}}, ""), ARRIVALS / 2)

    def _body(self) -> Dict:
        """What all pods of a workload have in common."""
        random = self._random
        body: Dict = {
            "cpu": str(random.choice([1, 1, 1, 2, 2, 3])),
            "priority": random.choice(self._classes),
            "leaves": random.choice([0, 0, 3, 12]),
        }
        if self._chance(0.4):
            body["run"] = random.choice([20, 60, 200])
        return body

    def _company(self, body: Dict, name: str) -> None:
        """Now and then pods mind whom they are with."""
        labels = {"kind": name}
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        if self._chance(0.12):
            body["labels"] = {**body.get("labels", {}), **labels}
            kind = self._random.choice(["podAntiAffinity", "podAntiAffinity", "podAffinity"])
            body["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif self._chance(0.08):
            body["labels"] = {**body.get("labels", {}), **labels}
            spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            body["topologySpreadConstraints"] = [{**spread, "labelSelector": term["labelSelector"]}]

    def _work(self, body: Dict, replicas: int) -> None:
        """A Job or a ReplicaSet that arrives, and perhaps changes and goes."""
        if "run" in body or self._chance(0.5):
            name = self._name("job")
            self._at(_arrives(job(name, replicas=replicas, pod_labels=body.pop("labels", None), **body)))
            if self._chance(0.15):
                self._at(_goes(JOBS, name), ARRIVALS / 2)
            return
        name = self._name("set")
        self._at(_arrives(replica_set(name, replicas=replicas, **body)))
        if self._chance(0.25):
            size = {"spec": {"replicas": self._random.randint(0, 4)}}
            self._at(_changes(REPLICA_SETS, name, size), ARRIVALS / 2)
        elif self._chance(0.2):
            guard = budget(f"guard-{name}", {"app": name}, allowed=0)
            guard["spec"]["minAvailable"] = self._random.randint(1, replicas)
            del guard["status"]
            self._at(_arrives(guard))

    def _gang(self, body: Dict) -> None:
        """A group, and the Job or ReplicaSet that makes its pods; either may come first."""
        name, size = self._name("gang"), self._random.randint(2, 4)
        least = size if self._chance(0.7) else self._random.randint(1, size)
        group = pod_group(name, gang=least, whole=self._chance(0.6), priorityClassName=body["priority"])
        if self._chance(0.15):
            group["spec"]["schedulingPolicy"] = {"basic": {}}
        self._at(_arrives(group))
        self._work({**body, "schedulingGroup": {"podGroupName": name}}, size)

    # The five policies

    def _pods(self, *, few: bool) -> None:
        for _ in range(self._how_many(8, few=few)):
            body = self._body()
            self._company(body, self._name("kind"))
            if self._chance(0.2):
                body["schedulerName"] = "reprieve"
            if self._chance(0.2):
                self._at(_arrives(pod(self._name("pod"), **body)))
            else:
                self._work(body, self._random.randint(1, 4))

    def _groups(self, *, few: bool) -> None:
        for _ in range(self._how_many(5, few=few)):
            self._gang(self._body())
        for _ in range(0 if few else self._random.randint(0, 3)):
            self._work(self._body(), self._random.randint(1, 3))

    def _quota(self, *, few: bool) -> None:
        random = self._random
        flavors = ["default", "spot"] if self._chance(0.3) else ["default"]
        self._first += [flavor(name, nodeLabels={"pool": "a"}) for name in flavors]
        cohorts = self._cohorts()
        names = [f"team-{number}" for number in range(random.randint(1, 3))]
        for name in names:
            self._first += self._cluster_queue(name, flavors, random.choice(cohorts) if len(names) > 1 else None)
        for _ in range(self._how_many(8, few=few)):
            body = self._body()
            labels = {QUEUE_LABEL: random.choice(names)}
            if self._chance(0.15):
                body["labels"] = labels
                self._at(_arrives(pod(self._name("pod"), **body)))
            else:
                name = self._name("job")
                made = job(name, replicas=random.randint(1, 4), labels=labels, **body)
                if self._chance(0.2):
                    made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
                self._at(_arrives(made))
                if self._chance(0.15):
                    self._at(_goes(JOBS, name), ARRIVALS / 2)

    def _cohorts(self) -> list[str]:
        """One cohort for all, or a small tree of them; the root may have quota of its own."""
        if self._chance(0.6):
            return ["all"]
        extra = {"default": {"cpu": 2}} if self._chance(0.5) else None
        self._first += [cohort("all", extra), cohort("left", parent="all"), cohort("right", parent="all")]
        return ["left", "right"]

    def _cluster_queue(self, name: str, flavors: list[str], belongs_to: str | None) -> list[Dict]:
        random = self._random
        reclaim = random.choice(["Never", "LowerPriority", "Any"])
        may_borrow = reclaim != "Never" and self._chance(0.4)
        borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 50} if may_borrow else None
        quotas: Dict = {}
        for each in flavors:
            amount = random.randint(1, 4)
            limits = random.choice([(), (), (2,), (2, 1)]) if belongs_to else ()
            quotas[each] = {"cpu": (amount, *limits)}
        return queue(
            name,
            quotas,
            cohort=belongs_to,
            within=random.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            reclaim=reclaim,
            borrow=borrow,
            weight=random.choice([None, None, "2"]),
            queueingStrategy=random.choice(["StrictFIFO", "BestEffortFIFO"]),
        )

    def _queues(self, *, few: bool) -> None:
        leaves: list[str] = []
        configuration = self._queue_configuration(leaves)
        self._first.append(configuration)
        if self._chance(0.3):
            other = self._queue_configuration([])
            self._at(_changes(CONFIG_MAPS, "yunikorn-configs", {"data": other["data"]}))
        for _ in range(self._how_many(8, few=few)):
            where = {"queue": self._random.choice(leaves), "applicationId": self._name("app")}
            said = {"yunikorn.apache.org/allow-preemption": "false"} if self._chance(0.15) else {}
            body = {**self._body(), "labels": where, "annotations": said}
            if self._chance(0.1):
                self._gang(body)
            else:
                outside = {"schedulerName": "reprieve"} if self._chance(0.15) else {}
                self._work({**body, **outside}, self._random.randint(1, 4))

    def _queue_configuration(self, leaves: list[str]) -> Dict:
        top = []
        for number in range(3):
            below = [self._queue(f"c{child}") for child in range(2 if self._chance(0.3) else 0)]
            leaves += [f"root.q{number}.{child['name']}" for child in below] or [f"root.q{number}"]
            top.append(self._queue(f"q{number}", *below))
        made = queues(*top, quotapreemptionenabled=True)
        return {**made, "metadata": {**made["metadata"], "namespace": "default"}}

    def _queue(self, name: str, *below: Dict) -> Dict:
        random = self._random
        least = sum(int(child.get("resources", {}).get("guaranteed", {}).get("vcore", 0)) for child in below)
        guaranteed = random.choice([None, least + 1] if below and least else [None] if below else [None, 1, 2, 3])
        most = {"vcore": str((guaranteed or 0) + random.randint(1, 4))} if not below and self._chance(0.4) else None
        properties: Dict = {"preemption_delay": random.choice(["1s", "10s", "30s"])}
        if self._chance(0.2):
            properties["preemption_policy"] = random.choice(["fence", "disabled"])
        if self._chance(0.2):
            properties["priority_offset"] = random.choice([-10, 5, 20])
        if self._chance(0.1):
            properties["priority_policy"] = "fence"
        if self._chance(0.3):
            properties["quota_preemption_delay"] = "15s"
        return tree(name, *below, cpu=guaranteed, most=most, **properties)

    def _federation(self, *, few: bool) -> None:
        random = self._random
        for number in range(random.randint(1, 3)):
            self._first.append(
                hollow_cluster(f"m{number}", {"cpu": str(random.randint(2, 6))}, grace=random.choice([1, 10]))
            )
        for tier, value in (("low", 1), ("middle", 10), ("high", 100)):
            self._first.append(priority_class(tier, value))
            for kind, group in (("Deployment", "Deployment"), ("Job", "Job")):
                how = federated.DIVIDED if self._chance(0.8) else federated.DUPLICATED
                made = federated.policy(tier, kind=group, scheduling=how if kind == "Deployment" else None)
                self._first.append({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
        for _ in range(self._how_many(8, few=few)):
            self._template(random.choice(["low", "middle", "high"]))

    def _template(self, tier: str) -> None:
        cpu = str(self._random.choice([1, 1, 2, 3]))
        if self._chance(0.3):
            seconds = self._random.choice([10, 60, None])
            made = federated.job(self._name("task"), seconds=seconds, cpu=cpu, tier=tier)
            return self._at(_arrives({"apiVersion": "batch/v1", "kind": "Job", **made}))
        name, replicas = self._name("web"), self._random.randint(1, 4)
        made = federated.deployment(name, cpu=cpu, replicas=replicas, tier=tier)
        self._at(_arrives({"apiVersion": "apps/v1", "kind": "Deployment", **made}))
        if self._chance(0.3):
            size = {"spec": {"replicas": self._random.randint(0, 5)}}
            self._at(_changes(DEPLOYMENTS, name, size), ARRIVALS / 2)
        return None
