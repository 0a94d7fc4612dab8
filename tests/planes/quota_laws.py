"""Order and peace among quota workloads, looked at from outside: decisions of the loop, and the objects in the store.

`QuotaWitness`: nobody is admitted while a more important one of its queue waits that fits without borrowing. What fits
is worked out anew from the manifests.

`most_evictions`: how many there can be in a closed world, from who is in which queue; why, is said in
`reprieve.policies.quota.repetition`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    QUOTA_WORKLOADS,
    WORKLOAD_PRIORITY_CLASSES,
)
from tests.planes.agreement import now
from tests.planes.running import Plane
from tests.reference.quota_tree import Tree

Dict = dict[str, Any]


def most_evictions(sizes: Iterable[int]) -> int:
    """`sizes`: how many workloads are in each queue of a tree."""
    sizes = list(sizes)
    everybody = sum(sizes)
    across = everybody * everybody - sum(size * size for size in sizes)
    inside: int = sum(2**size * size for size in sizes)
    return (across + 1) * inside + across


class Batch(NamedTuple):
    """The decisions of one cycle, and what there was before it."""

    objects: list[Dict]
    plans: list[Plan]


class QuotaWitness:
    """Is told every decision on quota."""

    def __init__(self, plane: Plane) -> None:
        self.overtaken: list[str] = []
        self.pairs: Counter[tuple[str, str]] = Counter()
        """How often somebody was preempted for somebody of another queue."""
        self.victims = 0
        self.seen = 0
        """How many admissions were looked at."""
        self._plane = plane
        self._version = -1
        self._batch = Batch([], [])
        self.watch()

    def watch(self) -> None:
        """To be called again after a restart."""
        history = self._plane.plane.history
        record = history.record

        def told(plan: Plan, **options: Any) -> int:
            if plan.policy == "quota":
                self._add(plan)
            number: int = record(plan, **options)
            return number

        history.record = told

    def _add(self, plan: Plan) -> None:
        version = self._plane.plane.store.version
        if version != self._version:
            self.close()
            self._version, self._batch = version, Batch(self._objects(), [])
        self._batch.plans.append(plan)
        queues = {_unit(item): item["spec"]["queueName"] for item in self._batch.objects if item["kind"] == "Workload"}
        self.victims += len(plan.victims)
        for victim in plan.victims:
            if queues[victim.unit] != queues[plan.preemptor]:
                self.pairs[plan.preemptor, victim.unit] += 1

    def _objects(self) -> list[Dict]:
        kinds = (CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, QUOTA_WORKLOADS, WORKLOAD_PRIORITY_CLASSES, LIMIT_RANGES)
        return [record.data for kind in kinds for record in now(self._plane.store.list(kind)).records]

    def close(self) -> None:
        """The cycle is over."""
        order = _Order(self._batch.objects)
        taking = [plan for plan in self._batch.plans if plan.outcome in ("Fits", "Preempt")]
        admitted = {plan.preemptor for plan in taking if plan.outcome == "Fits"}
        queues = {order.queue_of(plan.preemptor) for plan in taking}
        if len(queues) != 1:
            return  # somebody of another queue may have taken what would have fitted
        for unit in admitted:
            self.seen += 1
            self.overtaken += [f"{unit} overtakes {other}" for other in order.before(unit, admitted)]


class _Order:
    """Who waits before whom, and who of them fits."""

    def __init__(self, objects: list[Dict]) -> None:
        by_kind: dict[str, list[Dict]] = defaultdict(list)
        for item in objects:
            by_kind[item["kind"]].append(item)
        self._classes = {item["metadata"]["name"]: item["value"] for item in by_kind["WorkloadPriorityClass"]}
        self._specs = {item["metadata"]["name"]: item["spec"] for item in by_kind["ClusterQueue"]}
        self._open: dict[str, str] = {
            item["metadata"]["name"]: item["spec"]["clusterQueue"]
            for item in by_kind["LocalQueue"]
            if item["spec"].get("stopPolicy", "None") == "None"
            and self._specs[item["spec"]["clusterQueue"]].get("stopPolicy", "None") == "None"
        }
        workloads = [item for item in by_kind["Workload"] if not _over(item)]
        self._waiting = {_unit(item): item for item in workloads if not item.get("status", {}).get("admission")}
        limits = (limit for item in by_kind["LimitRange"] for limit in item["spec"]["limits"])
        self._defaults = {name: int(amount) for limit in limits for name, amount in limit["defaultRequest"].items()}
        running = [item for item in workloads if item.get("status", {}).get("admission")]
        filled = [{**item, "spec": {**item["spec"], "priority": self._priority(item)}} for item in running]
        self._tree = Tree([*by_kind["ClusterQueue"], *by_kind["Cohort"], *filled])

    def queue_of(self, unit: str) -> str:
        local: str = self._waiting[unit]["spec"]["queueName"]
        return self._open.get(local, "")

    def before(self, unit: str, admitted: Collection[str]) -> list[str]:
        """Who is more important in the same queue and not admitted, and fits there on any flavor without borrowing,
        beside those who are and are more important still; and would have something of what the unit took."""
        queue, rank = self.queue_of(unit), self._rank(self._waiting[unit])
        return [
            other
            for other, item in self._waiting.items()
            if self.queue_of(other) == queue and self._rank(item) < rank and other not in admitted
            if set(+self._asked([item])) & set(+self._asked([self._waiting[unit]]))
            if self._fits([item, *(self._waiting[one] for one in admitted if self._above(one, item))], queue)
        ]

    def _above(self, unit: str, item: Dict) -> bool:
        return self._rank(self._waiting[unit]) <= self._rank(item)

    def _rank(self, item: Dict) -> tuple[int, datetime]:
        """Who was evicted by a check, or because its pods were late, has its place in the queue from then on."""
        since = item["metadata"]["creationTimestamp"]
        said = _said(item, "Evicted")
        if said.get("status") == "True" and said.get("reason") in ("AdmissionCheck", "PodsReadyTimeout"):
            since = said["lastTransitionTime"]
        return -self._priority(item), datetime.fromisoformat(since)

    def _priority(self, item: Dict) -> int:
        spec = item["spec"]
        found: int = spec["priority"] if "priority" in spec else self._classes[spec["priorityClassRef"]["name"]]
        return found

    def _fits(self, items: list[Dict], queue: str) -> bool:
        """Whether all of these fit together."""
        asked = self._asked(items)
        node = self._tree.queue(queue)
        return all(map(_queued, items)) and all(
            asked[key[1]] <= self._tree.available(node, key) and not self._tree.over(node, key, asked[key[1]])
            for key in node.quotas
            if key[1] in asked
        )

    def _asked(self, items: list[Dict]) -> Counter[str]:
        asked: Counter[str] = Counter()
        for item in items:
            (pods,) = item["spec"]["podSets"]
            requests = self._defaults | pods["template"]["spec"]["containers"][0]["resources"].get("requests", {})
            asked.update({resource: pods["count"] * int(amount) for resource, amount in requests.items()})
        return asked


def _unit(item: Dict) -> str:
    return f"Workload/{item['metadata']['namespace']}/{item['metadata']['name']}"


def _said(item: Dict, kind: str) -> Dict:
    conditions = item.get("status", {}).get("conditions") or ()
    return next((said for said in conditions if said["type"] == kind), {})


def _queued(item: Dict) -> bool:
    """Whether it waits in its queue, and not for the time at which it is queued again."""
    return item["spec"].get("active", True) and _said(item, "Requeued").get("status") != "False"


def _over(item: Dict) -> bool:
    conditions = item.get("status", {}).get("conditions") or ()
    return any(said["type"] == "Finished" and said["status"] == "True" for said in conditions)
