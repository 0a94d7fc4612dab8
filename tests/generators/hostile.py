"""Lives in which nobody behaves: all policies on one plane, small nodes, many ties, bursts, and hands in everything.

What happens is chosen at its moment, from what is there then: the preemptor is deleted while its victims leave, the
class of a running pod goes, a quota is lowered below what is used, a group that pods name goes and comes back, queues
are configured otherwise, or in a way that is refused. Everything of a life comes from its number.
"""

from __future__ import annotations

from random import Random
from typing import Any

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import FairSharingSettings, QuotaSettings, Settings
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import pod_group, priority_class, workload
from tests.builders.queues import queues, tree
from tests.builders.quota import cohort, flavor, queue
from tests.builders.quota import workload as quota_workload
from tests.builders.topology import HOSTNAME, topology
from tests.generators import queue_terms
from tests.generators.lives import TOLERATION, Life, Step, arrives
from tests.generators.upsets import Upsets
from tests.planes.running import Dict, job, pod, replica_set

LASTS = 90.0
CLASSES = {"a": 0, "b": 10, "c": 10, "d": 100}
PARTS = ("pods", "groups", "queues", "quota", "federation")
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
GROUPS = ("g0", "g1", "g2")
TOPOLOGY, _ = topology("floors", "zone", HOSTNAME)


def hostile_life(seed: int, *, upsets: bool = True) -> Life:
    """`upsets`: without them nothing is changed or deleted, and only arrivals come in bursts."""
    return Hostile(Random(f"hostile {seed}")).life(upsets=upsets)  # noqa: S311 - not a secret


class Hostile:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.first: list[Dict] = []
        self.later: list[tuple[float, Step]] = []
        self.number = 0
        self.parts = [part for part in PARTS if self.chance(0.55)] or ["pods"]
        self.bursts = [float(random.randint(0, int(LASTS))) for _ in range(random.randint(2, 6))]
        self.leaves: list[str] = []
        self.topology = False

    def life(self, *, upsets: bool) -> Life:
        random = self.random
        self._classes()
        for number in range(random.randint(1, 3)):
            labels = {"zone": f"z{number % 2}", "pool": "a"}
            self.first.append(hollow_node(f"n{number}", cpu=str(random.randint(1, 4)), labels=labels))
        for part in self.parts:
            getattr(self, f"_{part}")()
        for _ in range(random.randint(6, 16)):
            self._arrival(random.choice(self.parts))
        if upsets:
            hands = self.hands(Random(random.random()))  # noqa: S311 - not a secret
            for _ in range(random.randint(3, 18)):
                moment = random.choice(self.bursts) if self.chance(0.3) else random.uniform(0, LASTS)
                self.later.append((round(moment + random.choice([0, 0, 0.05, 1]), 2), hands.upset))
            self.later.append((LASTS + 5, hands.restore_classes))
        return Life(self.settings(), self.first, self.later)

    def hands(self, random: Random) -> Upsets:
        return Upsets(random, self.parts, self.queue_tree, self.cluster_queue)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}-{self.number}"

    def at(self, *manifests: Dict) -> None:
        moment = self.random.choice(self.bursts) if self.chance(0.7) else self.random.uniform(0, LASTS)
        self.later.append((round(moment, 2), arrives(*manifests)))

    def settings(self) -> Settings:
        random = self.random
        return Settings(
            validate=True,
            feature_gates=GANGS_AND_BINDINGS if self.chance(0.9) else {},
            pdb=random.choice(["BestEffort", "Respect"]),
            scoring=random.choice(["LeastAllocated", "MostAllocated"]),
            fair_sharing=FairSharingSettings(enable=self.chance(0.3)),
            quota=QuotaSettings(
                wait_before_preemption_seconds=random.choice([0, 0, 20]),
                stop_borrowing_after_non_borrower=self.chance(0.2),
            ),
        )

    # What is there first

    def _classes(self) -> None:
        for name, value in CLASSES.items():
            said = {}
            if self.chance(0.25):
                said = {
                    f"{TOLERATION}/minimum-preemptable-priority": str(self.random.choice([value + 1, 11, 101])),
                    f"{TOLERATION}/toleration-seconds": str(self.random.choice([5, 30, -1])),
                }
            policy = "Never" if self.chance(0.1) else None
            self.first.append(priority_class(name, value, policy=policy, annotations=said))

    def _pods(self) -> None:
        return

    def _groups(self) -> None:
        for name in GROUPS:
            if self.chance(0.6):
                made = self._group(name)
                if self.chance(0.5):
                    self.first.append(made)
                else:
                    self.at(made)

    def _group(self, name: str) -> Dict:
        gang = self.random.choice([None, 1, 2, 3])
        return pod_group(name, gang=gang, whole=self.chance(0.6), priorityClassName=self.random.choice([*CLASSES]))

    def _queues(self) -> None:
        self.first.append(self.queue_tree(self.random, self.leaves))
        queue_terms.opting_out(self.random, self.first)

    def queue_tree(self, random: Random, leaves: list[str]) -> Dict:
        """A configuration of queues; the names of its leaves are added."""

        def made(name: str, path: str, level: int) -> Dict:
            names = "xy" if level < 3 and random.random() < 0.45 else ""
            below = [made(f"{name}{letter}", f"{path}.{name}", level + 1) for letter in names]
            if not below:
                leaves.append(f"{path}.{name}")
            return tree(name, *below, **self._queue_terms(random, below))

        top = [made(f"q{number}", "root", 1) for number in range(random.randint(1, 3))]
        config = queues(*top, quotapreemptionenabled=random.random() < 0.5, enabled=random.random() < 0.95)
        config = queue_terms.with_terms(random, config, leaves)
        return {**config, "metadata": {**config["metadata"], "namespace": "default"}}

    def _queue_terms(self, random: Random, below: list[Dict]) -> Dict:
        least = sum(int(child.get("resources", {}).get("guaranteed", {}).get("vcore", 0)) for child in below)
        cpu = random.choice([None, least + random.randint(0, 2)]) if below else random.choice([None, 0, 1, 2])
        more: Dict = {"cpu": cpu, "preemption_delay": random.choice(["1s", "1s", "7s"])}
        if not below and random.random() < 0.3:
            more["most"] = {"vcore": str(max(cpu or 1, random.randint(1, 3)))}
        if random.random() < 0.15:
            more["preemption_policy"] = random.choice(["fence", "disabled"])
        if random.random() < 0.2:
            more["priority_offset"] = random.choice([-10, 5, 10])
        if random.random() < 0.1:
            more["priority_policy"] = "fence"
        if random.random() < 0.3:
            more["quota_preemption_delay"] = "5s"
        return more

    def _quota(self) -> None:
        self.topology = self.chance(0.3)
        named = {"topologyName": "floors"} if self.topology else {}
        self.first += [TOPOLOGY] if self.topology else []
        self.first += [flavor("default", nodeLabels={"pool": "a"}, **named), flavor("spot")]
        self.first += [cohort("all", {"default": {"cpu": 1}} if self.chance(0.3) else None), cohort("in", parent="all")]
        for number in range(3):
            self.first += self.cluster_queue(self.random, f"team-{number}")

    def cluster_queue(self, random: Random, name: str) -> list[Dict]:
        """A queue for quota, and the way to it."""
        quotas: Dict = {}
        for each in ["default", "spot"][: random.choice([1, 1, 2])]:
            nominal = random.randint(0, 3)
            limits: tuple[Any, ...] = random.choice([(), (), (1,), (2, 0), (None, nominal // 2)])
            quotas[each] = {"cpu": (nominal, *limits)}
        reclaim = random.choice(["Never", "LowerPriority", "Any", "Any"])
        lower = {"policy": "LowerPriority", **({"maxPriorityThreshold": 10} if random.random() < 0.5 else {})}
        return queue(
            name,
            quotas,
            cohort=random.choice(["all", "all", "in"]),
            within=random.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            reclaim=reclaim,
            borrow=lower if reclaim != "Never" and random.random() < 0.4 else None,
            weight=random.choice([None, None, "0", "2"]),
            queueingStrategy=random.choice(["StrictFIFO", "BestEffortFIFO"]),
        )

    def _federation(self) -> None:
        for number in range(self.random.randint(1, 3)):
            size = {"cpu": str(self.random.randint(1, 4))}
            self.first.append(hollow_cluster(f"m{number}", size, grace=self.random.choice([0, 5, 60])))
        for tier in CLASSES:
            for kind in ("Deployment", "Job"):
                how = self.random.choice([federated.DIVIDED, federated.DIVIDED, federated.DUPLICATED])
                made = federated.policy(tier, kind=kind, scheduling=how if kind == "Deployment" else None)
                self.first.append({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})

    # What arrives

    def _arrival(self, part: str) -> None:
        {
            "pods": self._some_pods,
            "groups": self._gang,
            "queues": self._queued,
            "quota": self._asks_quota,
            "federation": self._template,
        }[part]()

    def _body(self) -> Dict:
        random = self.random
        body: Dict = {
            "cpu": str(random.choice(["500m", 1, 1, 1, 2, 3])),
            "priority": random.choice([*CLASSES]),
            "leaves": random.choice([0, 0, 2, 30, 200]),
            "terminationGracePeriodSeconds": 300,
        }
        if self.chance(0.3):
            body["run"] = random.choice([5, 30, 90])
        if self.chance(0.08):
            body["priority"] = "d"
        if self.chance(0.05):
            body["nodeSelector"] = {"zone": random.choice(["z0", "z1"])}
        if self.chance(0.05):
            body["tolerations"] = [{"operator": "Exists"}]
        return body

    def _mind(self, body: Dict) -> Dict:
        """Now and then pods mind whom they are with."""
        if self.chance(0.12):
            match = {"labelSelector": {"matchLabels": {"kind": self.random.choice(["x", "y"])}}}
            term = {**match, "topologyKey": self.random.choice(["kubernetes.io/hostname", "zone"])}
            side = self.random.choice(["podAffinity", "podAntiAffinity", "podAntiAffinity"])
            body["affinity"] = {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if self.chance(0.3):
            body["labels"] = {**body.get("labels", {}), "kind": self.random.choice(["x", "y"])}
        return body

    def _some_pods(self) -> None:
        body = self._mind(self._body())
        if self.chance(0.15):
            body["schedulerName"] = self.random.choice(["reprieve", "yunikorn", "somebody-else"])
        if self.chance(0.08):
            body["schedulingGates"] = [{"name": "wait"}]
        if self.chance(0.08):
            body["schedulingGroup"] = {"podGroupName": "nowhere"}
        self._work(body)

    def _work(self, body: Dict, most: int = 4) -> None:
        how = self.random.random()
        if how < 0.4:
            self.at(*(pod(self.name("pod"), **body) for _ in range(self.random.randint(1, 3))))
        elif how < 0.7 or "run" in body:
            labels = body.pop("labels", None)
            self.at(job(self.name("job"), replicas=self.random.randint(1, most), pod_labels=labels, **body))
        else:
            self.at(replica_set(self.name("set"), replicas=self.random.randint(1, most), **body))

    def _gang(self) -> None:
        if self.chance(0.2):
            name = self.name("unit")
            mode = self.random.choice([None, "Pod", "PodGroup"])
            made = workload(name, gang=self.random.randint(1, 3), mode=mode, priorityClassName="b")
            self.at(made)
            self._work({**self._body(), "priority": "b", "workloadRef": {"name": name, "podGroup": "workers"}})
        else:
            self._work({**self._body(), "schedulingGroup": {"podGroupName": self.random.choice(GROUPS)}})

    def _queued(self) -> None:
        where = self.random.choice([*self.leaves * 2, "root.nowhere", "root.default"])
        labels = {"queue": where, "applicationId": self.random.choice(["one", self.name("app")])}
        body = {**self._body(), "labels": labels}
        body["annotations"] = queue_terms.said_by_pods(self.random)
        if self.chance(0.2):
            said, _ = queue_terms.gang(self.random, body["cpu"], may_fail="run" in body)
            body["annotations"] |= said
        if self.chance(0.15):
            body["schedulerName"] = "reprieve"
        if self.chance(0.1) and "groups" in self.parts:
            body["schedulingGroup"] = {"podGroupName": self.random.choice(GROUPS)}
        self._work(self._mind(body))

    def _asks_quota(self) -> None:
        body = self._body()
        labels = {QUEUE_NAME: self.random.choice(["team-0", "team-1", "team-2", "nowhere"])}
        if self.chance(0.25):
            self.at(pod(self.name("pod"), **{**body, "labels": labels}))
            return
        if self.chance(0.15):
            self.at(self._bare(labels[QUEUE_NAME]))
            return
        body = self._with_topology(body)
        made = job(self.name("job"), replicas=self.random.randint(1, 3), labels=labels, **body)
        if self.chance(0.25):
            made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        self.at(made)

    def _with_topology(self, body: Dict) -> Dict:
        """Now and then its pods want to be together."""
        if not self.topology or self.chance(0.5):
            return body
        wish = self.random.choice(
            [("required", "zone"), ("required", HOSTNAME), ("preferred", "zone"), ("unconstrained", "true")]
        )
        return {**body, "annotations": {f"kueue.x-k8s.io/podset-{wish[0]}-topology": wish[1]}}

    def _bare(self, queue: str) -> Dict:
        """A Workload that nobody owns; some of them may not preempt before a gate opens."""
        made = quota_workload(self.name("bare"), queue, cpu=self.random.randint(1, 2))
        made["spec"]["priority"] = self.random.choice([*CLASSES.values()])
        if self.chance(0.5):
            made["spec"]["preemptionGates"] = [{"name": "go"}]
        return made

    def _template(self) -> None:
        tier, cpu = self.random.choice([*CLASSES]), str(self.random.choice([1, 1, 2]))
        if self.chance(0.3):
            made = federated.job(self.name("task"), seconds=self.random.choice([5, 40, None]), cpu=cpu, tier=tier)
            self.at({"apiVersion": "batch/v1", "kind": "Job", **made})
        else:
            replicas = self.random.randint(1, 4)
            made = federated.deployment(self.name("web"), cpu=cpu, replicas=replicas, tier=tier)
            self.at({"apiVersion": "apps/v1", "kind": "Deployment", **made})
