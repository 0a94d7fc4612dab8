"""Random lives of quota alone: any tree of cohorts, workloads that nobody owns, and everything about them that changes:
admission checks and what their controllers say, preemption gates, pods that have to be ready, defaults of namespaces.

A workload without an owner has no pods: it gives its quota back as soon as it is evicted, and waits again. That leaves
time, and many of them, to what queues do to each other. A *closed* life is one in which all arrive at once, and nothing
happens from outside any more. In an *uneven* life there is room for many small workloads, and large ones come for which
several of them have to leave: there it matters which.
"""

from __future__ import annotations

from random import Random
from typing import Any, Literal

from reprieve.configuration import FairSharingSettings, QuotaSettings, Settings, WaitForPodsReady
from reprieve.manifests.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    QUOTA_WORKLOADS,
    WORKLOAD_PRIORITY_CLASSES,
)
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import NotFound
from tests.builders.pods import manifest, metadata
from tests.builders.quota import KUEUE, cohort, condition, flavor, quotas
from tests.generators import quota_terms
from tests.generators.lives import Life, Step, arrives, changes, goes
from tests.generators.quota import Dict, Maker
from tests.planes.running import Plane

LASTS = 120.0
Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
STRATEGIES: tuple[tuple[Strategy, ...], ...] = (
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
)
CLASSES = {"bronze": 0, "silver": 1, "gold": 2}


def quota_life(seed: int, *, closed: bool = False) -> Life:
    return QuotaLife(Random(f"quota {seed}"), closed=closed).life()  # noqa: S311 - not a secret


def uneven_life(seed: int) -> Life:
    return _UnevenLife(Random(f"uneven {seed}"), closed=False).life()  # noqa: S311 - not a secret


class QuotaLife(Maker):
    def __init__(self, random: Random, *, closed: bool) -> None:
        super().__init__(random)
        self._closed = closed
        self._hot = random.random() < 0.5
        """Whether queues take what they can from each other."""
        self._later: list[tuple[float, Step]] = []
        self._checks = [] if closed or random.random() < 0.7 else ["fuel", "license"][: random.randint(1, 2)]
        self._gates = random.random() < 0.3
        self._unsaid = random.random() < 0.3
        """Whether some workloads do not say what they ask for, and their namespace does."""
        self._waits = random.random() < 0.3
        """Whether pods have to be ready."""

    def life(self) -> Life:
        cohorts = self.cohorts()
        names = [item["metadata"]["name"] for item in cohorts]
        first: list[Dict] = [*cohorts, *(flavor(name) for name in self.flavors)]
        first += [
            manifest(KUEUE, "WorkloadPriorityClass", metadata(name), value=value) for name, value in CLASSES.items()
        ]
        for name in self.queues:
            first += self.queue(name, self.random.choice([*names * 4, None]))
        first += [quota_terms.check(name) for name in self._checks]
        self._later += [(0.0, quota_terms.active(name)) for name in self._checks]
        first += [quota_terms.defaults(self.random.choice(["0", "1", "2"]))] if self._unsaid else []
        for number in range(self.random.randint(*self._how_many())):
            self._work(f"w{number}")
        if not self._closed:
            for _ in range(self.random.randint(0, 4)):
                self._at(self._change(names), LASTS / 4)
        return Life(self._settings(), first, self._later)

    def _how_many(self) -> tuple[int, int]:
        return 3, 8 + 3 * len(self.queues)

    def _earliest(self, made: Dict) -> float:  # noqa: ARG002 - anybody may come at once
        return 0.0

    def queue(self, name: str, parent: str | None) -> list[Dict]:
        made = super().queue(name, parent)
        random, spec = self.random, made[0]["spec"]
        spec["queueingStrategy"] = random.choice(["StrictFIFO", "BestEffortFIFO", "BestEffortFIFO"])
        if self._checks and random.random() < 0.6:
            quota_terms.checked(spec, self._checks, self.flavors, random)
        if self._hot:
            spec["preemption"] = {
                "withinClusterQueue": random.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
                "reclaimWithinCohort": random.choice(["LowerPriority", "Any", "Any", "Any"]),
                "borrowWithinCohort": {"policy": random.choice(["Never", "LowerPriority", "LowerPriority"])},
            }
        if random.random() < 0.15:
            spec.setdefault("preemption", {})["triggerAfterWorkloadWaitingSeconds"] = random.choice([0, 10, 20])
        if random.random() < 0.15:
            spec.setdefault("preemption", {})["workloadSorting"] = random.choice(
                [["ByLongestRuntime"], ["ByLowestCost"]]
            )
        return made

    def _settings(self) -> Settings:
        random = self.random
        sharing = FairSharingSettings(enable=self.fair, preemption_strategies=random.choice(STRATEGIES))
        quota = QuotaSettings(
            design="KEP-83" if not self.fair and random.random() < 0.3 else "Kueue",
            protect_after_seconds=random.choice([0, 0, 0, 0, 15]),
            stop_borrowing_after_non_borrower=random.random() < 0.25,
            wait_before_preemption_seconds=random.choice([0, 0, 0, 15]),
        )
        wait = WaitForPodsReady(enable=self._waits, block_admission=random.random() < 0.5)
        return Settings(validate=True, fair_sharing=sharing, quota=quota, wait_for_pods_ready=wait)

    def _at(self, step: Step, earliest: float = 0.0) -> None:
        latest = 3.0 if self._closed else LASTS
        self._later.append((round(self.random.uniform(min(earliest, latest), latest), 1), step))

    def _work(self, name: str) -> None:
        """It arrives; and may end, be deleted, or be made inactive for a while."""
        random = self.random
        made = self.workload(name, None)
        del made["metadata"]["creationTimestamp"]
        if random.random() < 0.3:
            del made["spec"]["priority"]
            reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": random.choice([*CLASSES])}
            made["spec"]["priorityClassRef"] = reference
        if self._unsaid and random.random() < 0.4:
            del made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        if self._gates and random.random() < 0.4:
            made["spec"]["preemptionGates"] = [{"name": "go"}]
        self._at(arrives(made), self._earliest(made))
        if self._closed:
            return
        if "preemptionGates" in made["spec"] and random.random() < 0.6:
            self._at(_opens(name), LASTS / 4)
        for _ in range(random.randint(1, 3) if self._checks else 0):
            self._at(quota_terms.any_verdict(random, name))
        fate = random.random()
        if fate < 0.2:
            self._at(goes(QUOTA_WORKLOADS, name), LASTS / 4)
        elif fate < 0.4:
            self._at(_ends(name), LASTS / 4)
        elif fate < 0.5:
            self._at(changes(QUOTA_WORKLOADS, name, {"spec": {"active": False}}), LASTS / 4)
            self._at(changes(QUOTA_WORKLOADS, name, {"spec": {"active": True}}), LASTS / 2)

    def _change(self, cohorts: list[str]) -> Step:
        """Something about a queue, a cohort or a class."""
        random = self.random
        name = random.choice(self.queues)
        match random.randrange(8):
            case 6 if self._unsaid:
                return changes(
                    LIMIT_RANGES, "defaults", {"spec": quota_terms.defaults(random.choice(["0", "1", "3"]))["spec"]}
                )
            case 7 if self._checks:
                return quota_terms.active(random.choice(self._checks), random.choice(["True", "False"]))
            case 0:
                return _sets(CLUSTER_QUEUES, name, resourceGroups=quotas(self.quotas(limited=False)))
            case 1:
                return _sets(CLUSTER_QUEUES, name, cohortName=random.choice(cohorts))
            case 2:
                return _sets(CLUSTER_QUEUES, name, stopPolicy=random.choice(["None", "Hold", "HoldAndDrain"]))
            case 3:
                return _sets(LOCAL_QUEUES, name, stopPolicy=random.choice(["None", "Hold", "HoldAndDrain"]))
            case 4:
                spec = cohort(cohorts[0], self.quotas(limited=False))["spec"]
                return _sets(COHORTS, cohorts[0], resourceGroups=spec["resourceGroups"])
            case _:
                value = {"value": random.randint(-1, 4)}
                return changes(WORKLOAD_PRIORITY_CLASSES, random.choice([*CLASSES]), value, "")


class _UnevenLife(QuotaLife):
    """Without fair sharing, under which everything goes by who was asked before."""

    def __init__(self, random: Random, *, closed: bool) -> None:
        super().__init__(random, closed=closed)
        self.fair, self._waits, self._hot = False, False, True
        self.queues = self.queues[:3]

    def _how_many(self) -> tuple[int, int]:
        return 10, 20 + 6 * len(self.queues)

    def _earliest(self, made: Dict) -> float:
        return LASTS / 3 if made["spec"].get("priority", 0) > 0 else 0.0

    def amounts(self, limited: bool) -> tuple[int | None, ...]:
        nominal, *limits = super().amounts(limited)
        return 4 * (nominal or 0), *limits

    def workload(self, name: str, on: str | None) -> Dict:
        """Most are small and not important; one in five is large, and more important."""
        made = super().workload(name, on)
        large = self.random.random() < 0.2
        made["spec"]["priority"] = self.random.randint(1, 3) if large else self.random.randint(-1, 0)
        asked = made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
        for resource in self.resources:
            asked[resource] = str(self.random.randint(4, 9) if large else self.random.choice([1, 1, 2, 3, 5]))
        return made


def _sets(resource: Resource, name: str, **spec: Any) -> Step:
    return changes(resource, name, {"spec": spec}, "default" if resource.namespaced else "")


def _opens(name: str) -> Step:
    """Its preemption gate."""
    state = {"name": "go", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return changes(QUOTA_WORKLOADS, name, {"status": {"preemptionGates": [state]}}, "default", "status")


def _ends(name: str) -> Step:
    """Its work is done."""

    async def step(plane: Plane) -> None:
        try:
            known = await plane.store.get(QUOTA_WORKLOADS, name, "default")
        except NotFound:
            return
        said = known.data.get("status", {}).get("conditions") or []
        conditions = [*said, condition("Finished", plane.clock().isoformat().replace("+00:00", "Z"))]
        patch = {"status": {"conditions": conditions}}
        await plane.store.patch(QUOTA_WORKLOADS, name, "default", patch, subresource="status")

    return step
