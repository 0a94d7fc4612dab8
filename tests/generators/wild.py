"""Lives in which everything meets everything: what the hostile lives have, and what no other life combines with it.

Each life draws some features. Pods of all kinds of work ask for memory, ports, spreading, company they like; there are
DaemonSets, StatefulSets, Deployments and JobSets, in queues of both kinds, trees of groups, Jobs that end part by part,
a second namespace that is deleted, member clusters with taints, settings of all kinds; and hands in what stands still
elsewhere (`wild_upsets`). Everything of a life comes from its number.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import msgspec

from reprieve.configuration import QueueSettings, QuotaSettings, Settings
from tests.builders import federation as federated
from tests.builders.pods import manifest, metadata, pod_group, without_nothing
from tests.builders.quota import KUEUE
from tests.generators import queue_terms
from tests.generators.hostile import CLASSES, LASTS, QUEUE_NAME, Hostile
from tests.generators.lives import Life, Step
from tests.generators.quota_terms import LONGEST, QuotaTerms, pods_ready
from tests.generators.upsets import Upsets
from tests.generators.wild_upsets import WildUpsets, disk
from tests.planes.running import Dict, daemon_set, job

FEATURES = (
    "memory",
    "ports",
    "spread",
    "likes",
    "sidecars",
    "daemons",
    "kinds",
    "terms",
    "parts",
    "trees",
    "spaces",
    "options",
    "ready",
    "members",
    "classes",
    "volumes",
    "fails",
    "policies",
)
GATES = ("CompositePodGroup", "WorkloadWithJob", "PriorityBoost")
QUOTA_CLASSES = {"bronze": 0, "silver": 10, "gold": 100}
HOST = "kubernetes.io/hostname"


def wild_life(seed: int) -> Life:
    return _Wild(Random(f"wild {seed}")).life(upsets=True)  # noqa: S311 - not a secret


def task_group_life(seed: int) -> Life:
    """One about queues in which most work starts as a whole; several pieces of it are one application, now and then."""
    return _TaskGroups(Random(f"task groups {seed}")).life(upsets=True)  # noqa: S311 - not a secret


class _Steps:
    """What `QuotaTerms` asks of a maker, for the moments of a wild life."""

    closed = False

    def __init__(self, life: _Wild) -> None:
        self._life = life
        self.random, self.first, self.later = life.random, life.first, life.later
        self.name, self.chance = life.name, life.chance

    def at(self, step: Step, earliest: float = 0.0) -> None:
        manifests = getattr(step, "manifests", None)
        if manifests is not None:
            self._life.at(*manifests)
        else:
            self.later.append((round(self.random.uniform(min(earliest, LASTS), LASTS), 2), step))


class _Wild(Hostile):
    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.features = {name for name in FEATURES if random.random() < 0.3}
        self._terms: QuotaTerms | None = None

    def has(self, feature: str, share: float) -> bool:
        return feature in self.features and self.chance(share)

    def hands(self, random: Random) -> Upsets:
        return WildUpsets(random, self.parts, self.queue_tree, self.cluster_queue)

    def settings(self) -> Settings:
        made = super().settings()
        random = self.random
        if "ready" in self.features:
            made = msgspec.structs.replace(made, wait_for_pods_ready=pods_ready(random))
        if "trees" in self.features:
            gates = {**made.feature_gates, **dict.fromkeys(GATES, True)}
            made = msgspec.structs.replace(made, feature_gates=gates)
        if self.has("policies", 0.6):
            made = msgspec.structs.replace(made, policies=tuple(self._policies()), victims=random.choice([None, "Own"]))
        if "options" not in self.features:
            return made
        kep = not made.fair_sharing.enable and self.chance(0.4)
        order: Any = random.choice([("ByLowestPriority", "ByLowestRuntime"), ("ByLongestRuntime",), ("ByLowestCost",)])
        quota = QuotaSettings(
            design="KEP-83" if kep else "Kueue",
            wait_before_preemption_seconds=random.choice([0, 0, 15]),
            protect_after_seconds=random.choice([0, 0, 20]),
            candidate_order=order,
        )
        queues = QueueSettings(
            request_within_guarantee=self.chance(0.4), opt_out=random.choice(["PriorityClass", "Pod"])
        )
        return msgspec.structs.replace(
            made,
            quota=quota,
            queues=queues,
            search=random.choice([None, "Design", "Best"]) if not kep else None,
            lost_work=random.choice(["Runtime", "Annotations"]),
        )

    def _policies(self) -> list[str]:
        """All but one or two."""
        names = ["pod", "podgroup", "queue", "quota", "federation"]
        without = self.random.sample(names[1:], self.random.randint(1, 2))
        return [name for name in names if name not in without]

    # What is there first

    def _classes(self) -> None:
        super()._classes()
        if "spaces" in self.features:
            said = {"yunikorn.apache.org/parentqueue": "root.q0"} if self.chance(0.3) else None
            self.first.append(manifest("v1", "Namespace", metadata("other", annotations=said)))
        if "volumes" in self.features:
            self.first += [each for number in range(2) for each in disk(self.random, number)]

    def life(self, *, upsets: bool) -> Life:
        made = super().life(upsets=upsets)
        if "memory" in self.features:
            for item in self.first:
                if item["kind"] == "Node":
                    item["status"]["allocatable"]["memory"] = f"{self.random.randint(2, 6)}Gi"
        return made

    def _quota(self) -> None:
        super()._quota()
        for name, value in QUOTA_CLASSES.items():
            self.first.append(manifest(KUEUE, "WorkloadPriorityClass", metadata(name), value=value))
        if "spaces" in self.features:
            for number in range(3):
                name = f"team-{number}"
                self.first.append(manifest(KUEUE, "LocalQueue", metadata(name, "other"), spec={"clusterQueue": name}))
        if "terms" in self.features or "kinds" in self.features:
            self._terms = QuotaTerms(_Steps(self))  # type: ignore[arg-type]
            self._terms.first()
            if "ready" in self.features:  # pods of a Deployment would be made again, and be late, for ever
                self._terms.makes = self._terms.makes[1:]

    def cluster_queue(self, random: Random, name: str) -> list[Dict]:
        """Larger, now and then: work of several pods fits, and has to make way."""
        made = super().cluster_queue(random, name)
        factor = random.choice([1, 2, 2, 3])
        for group in made[0]["spec"]["resourceGroups"]:
            for resources in [each["resources"] for each in group["flavors"]]:
                resources[0]["nominalQuota"] = str(factor * int(resources[0]["nominalQuota"]))
                if "memory" in self.features:
                    resources.append({"name": "memory", "nominalQuota": f"{random.randint(0, 9)}Gi"})
            group["coveredResources"] = [each["name"] for each in group["flavors"][0]["resources"]]
        return made

    def _federation(self) -> None:
        super()._federation()
        if "members" not in self.features:
            return
        for item in self.first:
            if item["kind"] == "Cluster" and self.chance(0.4):
                item["metadata"]["labels"] = {"region": self.random.choice("ab")}
                item["spec"] = {"region": self.random.choice("ab")}
            if item["kind"] == "PropagationPolicy" and self.chance(0.5):
                item["spec"]["placement"] = {**item["spec"].get("placement", {}), **self._placement()}

    def _placement(self) -> Dict:
        affinity = {"labelSelector": {"matchLabels": {"region": "a"}}}
        return self.random.choice(
            [
                {"clusterTolerations": [{"key": "closed", "operator": "Exists"}]},
                {"clusterAffinity": affinity},
                {"clusterAffinities": [{"affinityName": "near", **affinity}, {"affinityName": "far"}]},
                {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]},
                {"replicaScheduling": {**federated.DIVIDED, "replicaDivisionPreference": "Weighted"}},
            ]
        )

    # What arrives

    def at(self, *manifests: Dict) -> None:
        """All kinds of work draw from the same wishes; copies of one template have the same."""
        space = "other" if self.has("spaces", 0.35) else "default"
        wishes: Dict = {}
        for item in manifests:
            for template in _templates(item):
                wishes = wishes or self._wishes()
                _add(template, wishes)
        super().at(*({**item, "metadata": {**item["metadata"], "namespace": space}} for item in manifests))

    def _wishes(self) -> Dict:
        """What goes on top of a pod: of its spec, its container, and what it is labelled and annotated with."""
        random = self.random
        spec: Dict = {}
        container: Dict = {}
        if self.has("memory", 0.7):
            container["memory"] = random.choice(["512Mi", "1Gi", "1Gi", "2Gi"])
        if self.has("ports", 0.25):
            container["port"] = random.choice([80, 81])
        if self.has("spread", 0.25):
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": random.choice([1, 1, 2]),
                    "topologyKey": random.choice([HOST, "zone"]),
                    "whenUnsatisfiable": random.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
                    "labelSelector": {"matchLabels": {"kind": random.choice("xy")}},
                }
            ]
        if self.has("likes", 0.3):
            term = {"labelSelector": {"matchLabels": {"kind": random.choice("xy")}}, "topologyKey": HOST}
            said = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]}
            spec["affinity"] = {random.choice(["podAffinity", "podAntiAffinity"]): said}
        if self.has("sidecars", 0.25):
            first: Dict = {"name": "first", "image": "none", "resources": {"requests": {"cpu": "1500m"}}}
            spec["initContainers"] = [{**first, **random.choice([{}, {"restartPolicy": "Always"}])}]
        if self.has("volumes", 0.4):
            claim = {"claimName": f"data-{random.randint(0, 2)}"}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        return {"spec": spec, "container": container, "annotations": self._annotations()}

    def _annotations(self) -> Dict:
        said = {}
        if self.has("fails", 0.2):
            said["reprieve.scheduling/exit-code"] = "1"
        if self.has("options", 0.2):
            said["reprieve.scheduling/disruption-cost-milestones"] = "10:100,60:0"
        if self.has("options", 0.15):
            said["reprieve.scheduling/wait-before-preemption-seconds"] = self.random.choice(["5", "25"])
        return said

    def _some_pods(self) -> None:
        if self.has("daemons", 0.35):
            return self._daemons({})
        if self.has("kinds", 0.25):
            return self._controlled({})
        return super()._some_pods()

    def _queued(self) -> None:
        labels = {"queue": self.random.choice(self.leaves), "applicationId": self.name("app")}
        if self.has("daemons", 0.35):
            return self._daemons(labels)
        if self.has("kinds", 0.25):
            return self._controlled(labels)
        return super()._queued()

    def _daemons(self, labels: Dict) -> None:
        body = {**self._body(), "labels": labels}
        body.pop("run", None)
        self.at(daemon_set(self.name("each"), **body))

    def _controlled(self, labels: Dict) -> None:
        """A StatefulSet or Deployment that nobody propagates."""
        from tests.planes.running import replica_set, stateful_set

        body = {**self._body(), "labels": labels, "replicas": self.random.randint(1, 3)}
        body.pop("run", None)
        name = self.name("more")
        made = self.random.choice([stateful_set, replica_set])(name, **body)
        self.at({**made, "kind": "Deployment"} if made["kind"] == "ReplicaSet" else made)

    def _asks_quota(self) -> None:
        random, queue = self.random, f"team-{self.random.randint(0, 2)}"
        if self._terms and self.has("kinds", 0.5):
            self._terms.fate(self._terms.other(self._terms.body(self._body()), queue))
        elif self._terms and self.chance(0.4):
            name = self.name("job")
            made = job(name, replicas=random.randint(1, 3), labels=self._terms.labels(queue), **self._body())
            self._terms.unsaid(made)
            self._terms.fate(name)
            self.at(made)
        elif self.has("parts", 0.6):
            self.at(self._in_parts(queue))
        else:
            super()._asks_quota()

    def _in_parts(self, queue: str) -> Dict:
        """A Job whose pods end one after the other."""
        random = self.random
        labels = {QUEUE_NAME: queue, LONGEST: random.choice(["10", "40"])} if self.chance(0.2) else {QUEUE_NAME: queue}
        if self.has("classes", 0.5):
            labels["kueue.x-k8s.io/priority-class"] = random.choice([*QUOTA_CLASSES])
        made = job(self.name("part"), replicas=random.randint(1, 3), labels=labels, **{**self._body(), "run": 7})
        made["spec"] |= without_nothing(
            completions=random.randint(1, 5),
            backoffLimit=random.choice([None, 1]),
            activeDeadlineSeconds=random.choice([None, None, 30]),
            ttlSecondsAfterFinished=random.choice([None, 5]),
            completionMode=random.choice([None, "Indexed"]),
        )
        if self.chance(0.3):
            made["metadata"]["annotations"] = {"reprieve.scheduling/on-preemption": "Terminate"}
        return made

    def _gang(self) -> None:
        if not self.has("trees", 0.5):
            return super()._gang()
        name, least = self.name("tree"), self.random.randint(1, 2)
        made_from = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
        tier = self.random.choice([*CLASSES])
        mode: Dict = self.random.choice([{"all": {}}, {"single": {}}])
        policy = {"gang": {"minGroupCount": least}}
        spec = {"schedulingPolicy": policy, "priorityClassName": tier, "disruptionMode": mode, **made_from}
        self.at(manifest("scheduling.k8s.io/v1alpha3", "CompositePodGroup", metadata(name, "default"), spec=spec))
        for number in range(self.random.randint(1, 3)):
            part = f"{name}-{number}"
            size = self.random.randint(1, 2)
            topology = {"schedulingConstraints": {"topology": [{"key": "zone"}]}} if self.chance(0.2) else {}
            said: Dict = {"priorityClassName": tier, "parentCompositePodGroupName": name, **made_from, **topology}
            self.at(pod_group(part, gang=size, **said))
            self._work({**self._body(), "priority": tier, "schedulingGroup": {"podGroupName": part}}, size)
        return None


class _TaskGroups(_Wild):
    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.parts = ["queues"]

    def _queued(self) -> None:
        if self.chance(0.3):
            return super()._queued()
        where = self.random.choice([*self.leaves * 3, "root.default"])
        labels = {"queue": where, "applicationId": self.random.choice(["one", "two", self.name("app")])}
        body = {**self._body(), "labels": labels}
        said, replicas = queue_terms.gang(self.random, body["cpu"], may_fail=False)
        body["annotations"] = {**queue_terms.said_by_pods(self.random), **said}
        if self.chance(0.1):
            body["schedulerName"] = "reprieve"
        return self._work(self._mind(body), replicas)


def _templates(item: Dict) -> list[Dict]:
    """The pods, or templates of pods, in a manifest."""
    spec = item.get("spec") or {}
    if item["kind"] == "Pod":
        return [item]
    if item["kind"] == "JobSet":
        return [each["template"]["spec"]["template"] for each in spec["replicatedJobs"]]
    if item["kind"] == "Workload" or "template" not in spec:
        return []
    return [spec["template"]]


def _add(template: Dict, wishes: Dict) -> None:
    wishes = deepcopy(wishes)
    spec = template["spec"]
    for name, value in wishes["spec"].items():
        spec[name] = {**spec.get(name, {}), **value} if isinstance(value, dict) else value
    (container,) = spec["containers"]
    if "memory" in wishes["container"] and container.get("resources", {}).get("requests"):
        container["resources"]["requests"]["memory"] = wishes["container"]["memory"]
    if "port" in wishes["container"]:
        container["ports"] = [{"containerPort": 80, "hostPort": wishes["container"]["port"]}]
    if wishes["annotations"]:
        about = template.setdefault("metadata", {})
        about["annotations"] = {**(about.get("annotations") or {}), **wishes["annotations"]}
