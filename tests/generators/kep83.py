"""Small random worlds as KEP-83 knows them: flat cohorts, a minimum and a maximum, several flavors and resources."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.builders.pods import GPU
from tests.builders.quota import flavor, queue, quotas, workload

Dict = dict[str, Any]
CONFIG: Dict = {"quota": {"design": "KEP-83"}}


class Kep83World:
    """A world, shown by its seed, from which it can be made again."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)  # noqa: S311 - nothing here is secret
        random = self.random
        self.flavors = ["spot", "on-demand", "reserved"][: random.choice([1, 1, 2, 2, 3])]
        self.resources = ["cpu", GPU][: random.choice([1, 1, 2])]
        self.apart = len(self.resources) > 1 and random.random() < 0.5
        """Whether resources choose their flavors one by one."""
        self.queues = [f"q{number}" for number in range(random.randint(1, 4))]
        self.objects = self._objects()

    def __repr__(self) -> str:
        return f"Kep83World({self.seed})"

    def _objects(self) -> list[Dict]:
        random = self.random
        cohorts = ["c0", *(["c1"] if random.random() < 0.2 else [])]
        made = [flavor(name) for name in self.flavors]
        for name in self.queues:
            made += self._queue(name, random.choice([*cohorts * 4, None]))
        for number in range(random.randint(1, 5 * len(self.queues))):
            made.append(self._workload(f"running-{number}", random.choice(self.flavors)))
        for number in range(random.randint(1, 6)):
            made.append(self._workload(f"pending-{number}", None))
        return made

    def _queue(self, name: str, cohort: str | None) -> list[Dict]:
        random = self.random
        made = queue(
            name,
            {},
            cohort=cohort,
            within=random.choice([None, "Never", "LowerPriority", "LowerPriority"]),
            reclaim=random.choice([None, "Never", "LowerPriority", "Any", "Any"]),
            queueingStrategy="StrictFIFO",
        )
        made[0]["spec"]["resourceGroups"] = self._groups(limited=cohort is not None)
        return made

    def _groups(self, *, limited: bool) -> list[Dict]:
        sets = [[name] for name in self.resources] if self.apart else [self.resources]
        groups = []
        for resources in sets:
            names = list(self.flavors)
            self.random.shuffle(names)
            groups += quotas({name: {each: self._amounts(limited) for each in resources} for name in names})
        return groups

    def _amounts(self, limited: bool) -> tuple[int | None, ...]:
        nominal = self.random.choice([0, 2, 3, 4, 6])
        return nominal, self.random.randint(0, 4) if limited and self.random.random() < 0.3 else None

    def _workload(self, name: str, on: str | None) -> Dict:
        random = self.random
        amounts = {each: random.choice([0, 1, 1, 2, 2, 3, 4]) for each in ("cpu", "gpu")[: len(self.resources)]}
        made = workload(
            name,
            random.choice(self.queues),
            on=on,
            priority=random.randint(-1, 2) if on else random.randint(0, 4),
            created=self._time(),
            reserved=self._time(),
            evicted="Preempted" if on and random.random() < 0.08 else None,
            cpu=amounts["cpu"],
            gpu=amounts.get("gpu"),
        )
        if on is not None and self.apart:
            flavors = made["status"]["admission"]["podSetAssignments"][0]["flavors"]
            for resource in flavors:
                flavors[resource] = random.choice(self.flavors)
        if on is None and random.random() < 0.3:
            main = made["spec"]["podSets"][0]
            made["spec"]["podSets"].append({**main, "name": "helper", "count": random.randint(1, 2)})
        return made

    def _time(self) -> str:
        return f"2026-01-01T{self.random.randint(8, 11):02}:{self.random.randrange(60):02}:00Z"


def kep83_worlds() -> st.SearchStrategy[Kep83World]:
    return st.integers(0, 2**32 - 1).map(Kep83World)
