"""Random lives of control planes, made from a number: what is there first, and what arrives, changes and goes later.

Each life is about one policy, or (`mixed`) about all at once. Whatever ends, ends by itself within minutes; nothing
arrives later.
"""

from __future__ import annotations

from random import Random

import msgspec

from reprieve.manifests.kinds import CONFIG_MAPS, DEPLOYMENTS, JOBS
from tests.builders import federation as federated
from tests.builders.federation import hollow_cluster
from tests.builders.pods import priority_class
from tests.builders.queues import queues, tree
from tests.builders.quota import cohort, flavor, queue
from tests.generators import queue_terms
from tests.generators.lives import ARRIVALS, Life, Maker, arrives, changes, goes
from tests.generators.quota_terms import QuotaTerms, pods_ready
from tests.planes.running import Dict, job, pod

POLICIES = ("pods", "groups", "quota", "queues", "federation", "mixed")


def life(policy: str, seed: int, *, upsets: bool = False, closed: bool = False) -> Life:
    """`upsets`: nodes and classes change and go, too. `closed`: nothing ends, goes or arrives later."""
    return _Plane(Random(f"{policy} {seed}"), closed=closed).life(policy, upsets=upsets)  # noqa: S311 - not a secret


class _Plane(Maker):
    """A life, policy by policy."""

    _renews = False

    def life(self, policy: str, *, upsets: bool) -> Life:
        self.priorities()
        parts = POLICIES[:-1] if policy == "mixed" else (policy,)
        if policy != "federation":
            self.nodes(most=9 if policy == "quota" else 5)
        for part in parts:
            getattr(self, f"_{part}")(few=policy == "mixed")
        settings = self.settings()
        if policy == "quota":
            ready = pods_ready(self.random)
            if self._renews:  # whom nobody stops: there would be no rest
                ready = msgspec.structs.replace(ready, enable=False)
            settings = msgspec.structs.replace(settings, wait_for_pods_ready=ready)
        if upsets:
            self.upsets()
        return Life(settings, self.first, self.later)

    def _pods(self, *, few: bool) -> None:
        for _ in range(self.how_many(8, few=few)):
            body = self.body()
            self.company(body, self.name("kind"))
            if self.chance(0.2):
                body["schedulerName"] = "reprieve"
            if self.chance(0.2):
                self.at(arrives(pod(self.name("pod"), **body)))
            else:
                self.work(body, self.random.randint(1, 4))

    def _groups(self, *, few: bool) -> None:
        for _ in range(self.how_many(5, few=few)):
            self.gang(self.body())
        for _ in range(0 if few else self.random.randint(0, 3)):
            self.work(self.body(), self.random.randint(1, 3))

    def _quota(self, *, few: bool) -> None:
        random = self.random
        flavors = ["default", "spot"] if self.chance(0.3) else ["default"]
        self.first += [flavor(name, nodeLabels={"pool": "a"}) for name in flavors]
        cohorts = self._cohorts()
        names = [f"team-{number}" for number in range(random.randint(1, 3))]
        terms = QuotaTerms(self)
        terms.first()
        for name in names:
            made = self._cluster_queue(name, flavors, random.choice(cohorts) if len(names) > 1 else None)
            terms.of_queue(made[0]["spec"], flavors)
            self.first += made
        for _ in range(self.how_many(8, few=few)):
            terms.fate(self._queued(terms, random.choice(names)))
        self._renews = terms.renews

    def _queued(self, terms: QuotaTerms, queue: str) -> str:
        """Something in a queue arrives; its name."""
        body, kind = terms.body(self.body()), self.random.random()
        if kind < 0.2:
            return terms.other(body, queue)
        if kind < 0.35:
            name = self.name("pod")
            self.at(arrives(pod(name, **{**body, "labels": terms.labels(queue)})))
            return name
        name = self.name("job")
        made = job(name, replicas=self.random.randint(1, 4), labels=terms.labels(queue), **body)
        terms.unsaid(made)
        if self.chance(0.2):
            made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        self.at(arrives(made))
        if self.chance(0.15):
            self.at(goes(JOBS, name), ARRIVALS / 2)
        return name

    def _cohorts(self) -> list[str]:
        """One cohort for all, or a small tree of them; the root may have quota of its own."""
        if self.chance(0.6):
            return ["all"]
        extra = {"default": {"cpu": 2}} if self.chance(0.5) else None
        self.first += [cohort("all", extra), cohort("left", parent="all"), cohort("right", parent="all")]
        return ["left", "right"]

    def _cluster_queue(self, name: str, flavors: list[str], belongs_to: str | None) -> list[Dict]:
        random = self.random
        reclaim = random.choice(["Never", "LowerPriority", "Any"])
        may_borrow = reclaim != "Never" and self.chance(0.4)
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
        self.first.append(configuration)
        queue_terms.opting_out(self.random, self.first)
        if self.chance(0.3):
            other = self._queue_configuration([])
            self.at(changes(CONFIG_MAPS, "yunikorn-configs", {"data": other["data"]}))
        for _ in range(self.how_many(8, few=few)):
            where = {"queue": self.random.choice(leaves), "applicationId": self.name("app")}
            body = {**self.body(), "labels": where, "annotations": queue_terms.said_by_pods(self.random)}
            if self.chance(0.1):
                self.gang(body)
            elif self.chance(0.2):
                said, replicas = queue_terms.gang(self.random, body["cpu"], may_fail="run" in body)
                self.work({**body, "annotations": {**body["annotations"], **said}}, replicas)
            else:
                outside = {"schedulerName": "reprieve"} if self.chance(0.15) else {}
                self.work({**body, **outside}, self.random.randint(1, 4))

    def _queue_configuration(self, leaves: list[str]) -> Dict:
        top = []
        for number in range(3):
            below = [self._queue(f"c{child}") for child in range(2 if self.chance(0.3) else 0)]
            leaves += [f"root.q{number}.{child['name']}" for child in below] or [f"root.q{number}"]
            top.append(self._queue(f"q{number}", *below))
        made = queue_terms.with_terms(self.random, queues(*top, quotapreemptionenabled=True), leaves)
        return {**made, "metadata": {**made["metadata"], "namespace": "default"}}

    def _queue(self, name: str, *below: Dict) -> Dict:
        random = self.random
        least = sum(int(child.get("resources", {}).get("guaranteed", {}).get("vcore", 0)) for child in below)
        guaranteed = random.choice([None, least + 1] if below and least else [None] if below else [None, 1, 2, 3])
        most = {"vcore": str((guaranteed or 0) + random.randint(1, 4))} if not below and self.chance(0.4) else None
        properties: Dict = {"preemption_delay": random.choice(["1s", "10s", "30s"])}
        if self.chance(0.2):
            properties["preemption_policy"] = random.choice(["fence", "disabled"])
        if self.chance(0.2):
            properties["priority_offset"] = random.choice([-10, 5, 20])
        if self.chance(0.1):
            properties["priority_policy"] = "fence"
        if self.chance(0.3):
            properties["quota_preemption_delay"] = "15s"
        return tree(name, *below, cpu=guaranteed, most=most, **properties)

    def _federation(self, *, few: bool) -> None:
        random = self.random
        for number in range(random.randint(1, 3)):
            self.first.append(
                hollow_cluster(f"m{number}", {"cpu": str(random.randint(2, 6))}, grace=random.choice([1, 10]))
            )
        for tier, value in (("low", 1), ("middle", 10), ("high", 100)):
            self.first.append(priority_class(tier, value))
            for kind, group in (("Deployment", "Deployment"), ("Job", "Job")):
                how = federated.DIVIDED if self.chance(0.8) else federated.DUPLICATED
                made = federated.policy(tier, kind=group, scheduling=how if kind == "Deployment" else None)
                self.first.append({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", **made})
        for _ in range(self.how_many(8, few=few)):
            self._template(random.choice(["low", "middle", "high"]))

    def _template(self, tier: str) -> None:
        cpu = str(self.random.choice([1, 1, 2, 3]))
        if self.chance(0.3):
            seconds = self.random.choice([10, 60, None])
            made = federated.job(self.name("task"), seconds=seconds, cpu=cpu, tier=tier)
            return self.at(arrives({"apiVersion": "batch/v1", "kind": "Job", **made}))
        name, replicas = self.name("web"), self.random.randint(1, 4)
        made = federated.deployment(name, cpu=cpu, replicas=replicas, tier=tier)
        self.at(arrives({"apiVersion": "apps/v1", "kind": "Deployment", **made}))
        if self.chance(0.3):
            size = {"spec": {"replicas": self.random.randint(0, 5)}}
            self.at(changes(DEPLOYMENTS, name, size), ARRIVALS / 2)
        return None
