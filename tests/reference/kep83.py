"""KEP-83 to the letter: flavors, the order of heads, admission and preemption, each as its section has it.

Everything is counted anew from the manifests each time it is asked. A ClusterQueue has a `min` and a `max` of each
flavor of each resource (today: nominalQuota, and borrowingLimit above it) and may be in a cohort, which is flat.

Where the design can be read in more than one way, this is how it is read:
1. A flavor belongs to a resource, as its API has it: "using the flavors", "involved flavors" are pairs of both.
2. Involved is what the workload lacks: where it does not fit beside what is used now without borrowing.
3. "Fits within the quota", for who preempts: all that it asks for is then within the min of its ClusterQueue, and the
   cohort has it. There is no preemption with borrowing.
4. "Below its min" is: not above it. Only who uses more than its min can be preempted from another ClusterQueue.
5. Who preempts in a cycle has its quota once its victims are gone, and later heads find it taken and these gone. A head
   that counts on a victim of an earlier one is looked at again on its flavors, without the victims so far. Nobody is
   admitted in place of a victim before that one has left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Dict = dict[str, Any]
Pair = tuple[str, str]
"""A flavor and a resource."""


class Queue:
    """A ClusterQueue."""

    def __init__(self, item: Dict) -> None:
        spec = item["spec"]
        self.name: str = item["metadata"]["name"]
        self.cohort: str = spec.get("cohortName", "")
        self.within_cohort: str = spec.get("preemption", {}).get("reclaimWithinCohort") or "Never"
        self.within_queue: str = spec.get("preemption", {}).get("withinClusterQueue") or "Never"
        self.min: dict[Pair, int] = {}
        self.max: dict[Pair, int] = {}
        self.sets: list[tuple[list[str], list[str]]] = []
        """Sets of resources with the same flavors."""
        for group in spec["resourceGroups"]:
            self.sets.append((group["coveredResources"], [flavor["name"] for flavor in group["flavors"]]))
            for flavor in group["flavors"]:
                for quota in flavor["resources"]:
                    pair = flavor["name"], quota["name"]
                    self.min[pair] = int(quota["nominalQuota"])
                    if "borrowingLimit" in quota:
                        self.max[pair] = self.min[pair] + int(quota["borrowingLimit"])


class Workload:
    """A Workload, pending or admitted."""

    def __init__(self, item: Dict) -> None:
        meta, status = item["metadata"], item.get("status", {})
        self.unit = f"Workload/{meta['namespace']}/{meta['name']}"
        self.queue: str = item["spec"]["queueName"]
        self.priority: int = item["spec"]["priority"]
        self.created: str = meta["creationTimestamp"]
        self.pod_sets: dict[str, dict[str, int]] = {}
        for pods in item["spec"]["podSets"]:
            requests = pods["template"]["spec"]["containers"][0]["resources"].get("requests", {})
            self.pod_sets[pods["name"]] = {name: int(each) * pods["count"] for name, each in requests.items()}
        conditions = {each["type"]: each for each in status.get("conditions", [])}
        self.started: str = conditions.get("QuotaReserved", {}).get("lastTransitionTime", "")
        self.evicted = "Evicted" in conditions
        """It leaves already: to the design it has left, so it is the first to be counted on."""
        self.admitted = "admission" in status
        self.usage: Counter[Pair] = Counter()
        for assigned in status.get("admission", {}).get("podSetAssignments", []):
            for resource, flavor in assigned["flavors"].items():
                self.usage[flavor, resource] += int(assigned["resourceUsage"][resource])


class Assignment(NamedTuple):
    """Flavors by pod set and resource, and what that makes of each flavor."""

    flavors: dict[tuple[str, str], str]
    usage: dict[Pair, int]
    needs_preemption: bool
    """Any of it comes from step 1."""
    borrows: bool
    """Any of it comes from step 0 and borrows."""


class Kep83:
    """A snapshot: what is admitted, and what is used beside that."""

    def __init__(self, objects: Iterable[Dict]) -> None:
        objects = list(objects)
        self.queues = {item["metadata"]["name"]: Queue(item) for item in objects if item["kind"] == "ClusterQueue"}
        workloads = [Workload(item) for item in objects if item["kind"] == "Workload"]
        self.admitted = [workload for workload in workloads if workload.admitted]
        self.pending = [workload for workload in workloads if not workload.admitted]
        self.taken: list[tuple[str, Mapping[Pair, int]]] = []
        """What heads of this cycle took, by queue."""

    # Quota

    def used(self, queue: str, pair: Pair) -> int:
        running = sum(workload.usage.get(pair, 0) for workload in self.admitted if workload.queue == queue)
        return running + sum(usage.get(pair, 0) for name, usage in self.taken if name == queue)

    def cohort(self, queue: Queue) -> list[Queue]:
        return [other for other in self.queues.values() if queue.cohort and other.cohort == queue.cohort] or [queue]

    def in_cohort(self, queue: Queue, pair: Pair, amount: int) -> bool:
        """Whether there is still so much quota in the cohort."""
        members = self.cohort(queue)
        used = sum(self.used(each.name, pair) for each in members)
        return amount <= max(0, sum(each.min.get(pair, 0) for each in members) - used)

    def borrowing(self, queue: Queue, pair: Pair, amount: int = 0) -> bool:
        return self.used(queue.name, pair) + amount > queue.min.get(pair, 0)

    def has(self, queue: Queue, pair: Pair, amount: int) -> bool:
        """Step 0 for one resource: there is quota in the cohort, and it does not surpass the max."""
        most = queue.max.get(pair)
        left = amount if most is None else max(0, most - self.used(queue.name, pair))
        return amount <= left and self.in_cohort(queue, pair, amount)

    def within_min(self, queue: Queue, usage: Mapping[Pair, int]) -> bool:
        return all(
            not self.borrowing(queue, pair, amount) and self.in_cohort(queue, pair, amount)
            for pair, amount in usage.items()
        )

    # Detecting Workloads that might benefit from preemption

    def assign(self, workload: Workload, only: Mapping[tuple[str, str], str] | None = None) -> Assignment | None:
        """None: there is no flavor for something of it. `only`: flavors that were selected before."""
        queue = self.queues[workload.queue]
        usage: Counter[Pair] = Counter()
        flavors: dict[tuple[str, str], str] = {}
        needs_preemption = borrows = False
        for pods, requests in workload.pod_sets.items():
            selected: dict[Pair, int] = {}
            for resources, names in queue.sets:
                asked = {name: requests[name] for name in resources if name in requests}
                if not asked:
                    continue
                names = [only[pods, next(iter(asked))]] if only else names
                step, flavor = self.select(queue, names, asked, usage)
                if flavor is None:
                    return None
                for resource, amount in asked.items():
                    flavors[pods, resource] = flavor
                    selected[flavor, resource] = amount
                    whole = usage[flavor, resource] + amount
                    borrows = borrows or (step == 0 and self.borrowing(queue, (flavor, resource), whole))
                needs_preemption = needs_preemption or step == 1
            if {resource for _, resource in selected} != set(requests):
                return None
            for pair, amount in selected.items():
                usage[pair] += amount
        return Assignment(flavors, dict(usage), needs_preemption, borrows)

    def select(
        self, queue: Queue, names: list[str], asked: Mapping[str, int], before: Mapping[Pair, int]
    ) -> tuple[int, str | None]:
        """A flavor for resources that have the same flavors, beside what earlier pod sets took; and its step."""
        for name in names:
            if all(self.has(queue, (name, each), before[name, each] + amount) for each, amount in asked.items()):
                return 0, name
        for name in names:
            if all(before[name, each] + amount <= queue.min[name, each] for each, amount in asked.items()):
                return 1, name
        return 1, None

    # Preemption

    def preempt(self, workload: Workload, assignment: Assignment, spared: Iterable[Workload] = ()) -> list[Workload]:
        """Who makes way; nobody, where that is not allowed or does not help. The snapshot is left as it was."""
        queue = self.queues[workload.queue]
        # 1. Check whether preemption is allowed and could help.
        if queue.within_cohort == "Never" and queue.within_queue == "Never":
            return []
        # 2. and 3. Candidates, in their order.
        involved = [
            pair
            for pair, amount in assignment.usage.items()
            if self.borrowing(queue, pair, amount) or not self.in_cohort(queue, pair, amount)
        ]
        everybody = [other for other in self.admitted if other not in spared]
        candidates = [other for other in everybody if self.is_candidate(other, workload, involved)]
        candidates.sort(key=lambda other: _order(other, queue.name))
        # 4. Remove until it fits.
        before, removed = list(self.admitted), []
        for other in candidates:
            if other.queue != queue.name and not self.any_borrowed(other.queue, involved):
                continue
            self.admitted.remove(other)
            removed.append(other)
            if self.within_min(queue, assignment.usage):
                break
        else:
            self.admitted = before
            return []
        # 5. Add back, in reverse order, as long as it still fits.
        for other in reversed(list(removed)):
            self.admitted.append(other)
            if self.within_min(queue, assignment.usage):
                removed.remove(other)
            else:
                self.admitted.remove(other)
        self.admitted = before
        return removed

    def is_candidate(self, other: Workload, workload: Workload, involved: list[Pair]) -> bool:
        if not any(pair in other.usage for pair in involved):
            return False
        queue = self.queues[workload.queue]
        lower = other.priority < workload.priority
        if other.queue == queue.name:
            return queue.within_queue != "Never" and lower
        if self.queues[other.queue] not in self.cohort(queue) or not self.any_borrowed(other.queue, involved):
            return False
        return queue.within_cohort == "Any" or (queue.within_cohort == "LowerPriority" and lower)

    def any_borrowed(self, name: str, involved: list[Pair]) -> bool:
        return any(self.borrowing(self.queues[name], pair) for pair in involved)


def _order(other: Workload, own: str) -> tuple[Any, ...]:
    """Workloads from other ClusterQueues first; lower priority first; shortest running time first."""
    later = [-int(part) for part in other.started.translate({ord(sign): " " for sign in "-T:Z"}).split()]
    return not other.evicted, other.queue == own, other.priority, later, other.unit


class Head(NamedTuple):
    workload: Workload
    assignment: Assignment


class Cycle(NamedTuple):
    """What one cycle comes to."""

    admitted: dict[str, dict[tuple[str, str], str]]
    """With their flavors."""
    victims: dict[str, list[str]]
    """Of each who preempts, those who leave already included."""


class Kep83Cycle:
    """Sorting Workloads that are heads of ClusterQueues, and admission."""

    def __init__(self, objects: Iterable[Dict]) -> None:
        objects = list(objects)
        self.start = Kep83(objects)
        self.later = Kep83(objects)
        """With the victims so far gone, and all that heads have or will have taken."""
        self.now = Kep83(objects)
        """With those admitted who were, and everybody still there."""
        self.claimed: set[str] = set()
        self.done = Cycle({}, {})

    def run(self) -> Cycle:
        closed: set[str] = set()
        """Cohorts in which nobody borrows any more."""
        for head in self.heads():
            cohort = self.start.queues[head.workload.queue].cohort
            if head.assignment.borrows and cohort and cohort in closed:
                continue
            if not head.assignment.borrows:
                closed.add(cohort)
            if head.assignment.needs_preemption:
                self.preempt(head)
            else:
                self.admit(head.workload, head.assignment)
        return self.done

    def heads(self) -> list[Head]:
        """Flavors that don't borrow first; highest priority; older creation timestamp."""
        first: dict[str, Workload] = {}
        for workload in sorted(self.start.pending, key=_importance):
            first.setdefault(workload.queue, workload)
        assigned = [(workload, self.start.assign(workload)) for workload in first.values()]
        heads = [Head(workload, assignment) for workload, assignment in assigned if assignment is not None]
        return sorted(heads, key=lambda head: (head.assignment.borrows, *_importance(head.workload)))

    def admit(self, workload: Workload, assignment: Assignment) -> None:
        if not self.fits(self.later, workload, assignment):
            return
        self.later.taken.append((workload.queue, assignment.usage))
        if self.fits(self.now, workload, assignment):
            self.now.taken.append((workload.queue, assignment.usage))
            self.done.admitted[workload.unit] = assignment.flavors

    def fits(self, state: Kep83, workload: Workload, assignment: Assignment, gone: Iterable[str] = ()) -> bool:
        before, gone = state.admitted, set(gone)
        state.admitted = [other for other in before if other.unit not in gone]
        queue = state.queues[workload.queue]
        try:
            return all(state.has(queue, pair, amount) for pair, amount in assignment.usage.items())
        finally:
            state.admitted = before

    def preempt(self, head: Head) -> None:
        workload, assignment = head
        victims = self.start.preempt(workload, assignment)
        if self.claimed & {other.unit for other in victims}:
            again = self.later.assign(workload, assignment.flavors)
            if again is None:
                return
            if not again.needs_preemption:
                if self.fits(self.later, workload, again):
                    self.later.taken.append((workload.queue, again.usage))
                return
            assignment, victims = again, self.later.preempt(workload, again)
        units = [other.unit for other in victims]
        if units and self.fits(self.later, workload, assignment, units):
            self.later.admitted = [other for other in self.later.admitted if other.unit not in units]
            self.later.taken.append((workload.queue, assignment.usage))
            self.claimed |= set(units)
            self.done.victims[workload.unit] = sorted(units)


def _importance(workload: Workload) -> tuple[int, str, str]:
    return -workload.priority, workload.created, workload.unit
