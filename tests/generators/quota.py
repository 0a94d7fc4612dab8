"""Small random quota trees in which queues borrow, are cut short, and want each other's quota."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.builders.pods import GPU
from tests.builders.quota import cohort, flavor, queue, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
WITHIN = (None, "Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM = (None, "Never", "LowerPriority", "Any", "Any")


class Maker:
    """Makes one world out of a stream of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.flavors = ["on-demand", "spot"][: random.randint(1, 2)]
        self.resources = ["cpu", GPU][: random.randint(1, 2)]
        self.limits = random.random() < 0.6
        self.fair = random.random() < 0.4
        self.queues = [f"q{number}" for number in range(random.randint(1, 5))]

    def world(self) -> list[Dict]:
        """Everything, in any order; workloads that run and workloads that wait."""
        cohorts = self.cohorts()
        names = [item["metadata"]["name"] for item in cohorts]
        objects = [*cohorts, *(flavor(name) for name in self.flavors)]
        for name in self.queues:
            objects += self.queue(name, self.random.choice([*names * 4, None]))
        for number in range(self.random.randint(2, 6 * len(self.queues))):
            objects.append(self.workload(f"running-{number}", self.random.choice(self.flavors)))
        for number in range(self.random.randint(1, 5)):
            objects.append(self.workload(f"pending-{number}", None))
        return objects

    def config(self) -> Dict:
        strategies = self.random.choice(
            [["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ["LessThanOrEqualToFinalShare"],
             ["LessThanInitialShare"]]
        )  # fmt: skip
        return {"fairSharing": {"enable": True, "preemptionStrategies": strategies}} if self.fair else {}

    def cohorts(self) -> list[Dict]:
        """A tree of up to three levels."""
        size = self.random.choice([1, 1, 1, 2, 3, 4])
        made: list[Dict] = []
        for number in range(size):
            parent = f"c{self.random.randrange(number)}" if number else None
            given = self.quotas(limited=parent is not None) if self.random.random() < 0.3 else None
            made.append(cohort(f"c{number}", given, parent=parent, weight=self.weight()))
        return made

    def queue(self, name: str, parent: str | None) -> list[Dict]:
        random = self.random
        reclaim = random.choice(RECLAIM)
        borrow: Dict | None = None
        if reclaim in ("LowerPriority", "Any") and random.random() < 0.5:
            borrow = {"policy": random.choice(["Never", "LowerPriority", "LowerPriority"])}
            if borrow["policy"] == "LowerPriority" and random.random() < 0.5:
                borrow["maxPriorityThreshold"] = random.randint(-1, 3)
        fungibility = {
            "whenCanBorrow": random.choice(["MayStopSearch", "TryNextFlavor"]),
            "whenCanPreempt": random.choice(["MayStopSearch", "TryNextFlavor"]),
        }
        return queue(
            name,
            self.quotas(limited=parent is not None),
            cohort=parent,
            within=random.choice(WITHIN),
            reclaim=reclaim,
            borrow=borrow,
            weight=self.weight(),
            flavorFungibility=fungibility,
        )

    def quotas(self, *, limited: bool) -> dict[str, Dict]:
        return {name: {resource: self.amounts(limited) for resource in self.resources} for name in self.flavors}

    def amounts(self, limited: bool) -> tuple[int | None, ...]:
        nominal = self.random.choice([0, 2, 3, 4, 6])
        if not limited or not self.limits:
            return (nominal,)
        random = self.random
        borrowing = random.randint(0, 4) if random.random() < 0.3 else None
        return nominal, borrowing, random.randint(0, nominal) if random.random() < 0.3 else None

    def weight(self) -> str | None:
        return self.random.choice([None, None, "0", "2", "500m"]) if self.fair else None

    def workload(self, name: str, on: str | None) -> Dict:
        random = self.random
        amounts = {name: random.choice([0, 1, 1, 2, 2, 3, 4]) for name in ("cpu", "gpu")[: len(self.resources)]}
        return workload(
            name,
            random.choice(self.queues),
            on=on,
            priority=random.randint(-1, 3),
            created=self.time(),
            reserved=self.time(),
            count=1 if on else random.choice([1, 1, 2]),
            least=1 if on is None and random.random() < 0.2 else None,
            evicted="Preempted" if on and random.random() < 0.1 else None,
            cpu=amounts["cpu"],
            gpu=amounts.get("gpu"),
        )

    def time(self) -> str:
        return f"2026-01-01T{self.random.randint(8, 11):02}:{self.random.randrange(60):02}:00Z"


class RandomQuota:
    """A quota world and its configuration. Shown by its seed, from which it can be made again."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        maker = Maker(Random(seed))  # noqa: S311 - nothing here is secret
        self.objects = maker.world()
        self.config = maker.config()
        self.random = maker.random
        self.maker = maker

    def __repr__(self) -> str:
        return f"RandomQuota({self.seed})"


def random_quotas() -> st.SearchStrategy[RandomQuota]:
    """Only the seed is hypothesis's choice: its taste for extreme values would make most of these worlds dull."""
    return st.integers(0, 2**32 - 1).map(RandomQuota)
