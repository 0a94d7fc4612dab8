"""Small random worlds of queues: trees of up to three levels, a few nodes, and pods that fill most of them.

A world is made from a number, so that one in five has somebody make way; drawn freely, hardly one in a hundred does.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from tests.builders.pods import Dict, node
from tests.builders.queues import OPTED_OUT, in_queue, queues, tree


class Features:
    """What a world may have besides queues with guarantees and pods in them."""

    def __init__(
        self, *, priorities: bool = True, daemons: bool = True, leaving: bool = True, pending: int = 1
    ) -> None:
        self.priorities = priorities
        self.daemons = daemons
        self.leaving = leaving
        self.pending = pending


def random_queues(**features: bool | int) -> st.SearchStrategy[list[Dict]]:
    """A configuration, nodes, running pods, and pods that wait: ask-0, ask-1, ..."""
    wanted = Features(**features)  # type: ignore[arg-type]
    return st.integers(0, 2**32).map(lambda seed: queue_world(seed, wanted))


def queue_world(seed: int, features: Features) -> list[Dict]:
    return _Maker(Random(seed), features).world()  # noqa: S311 - not a secret


class _Maker:
    def __init__(self, random: Random, features: Features) -> None:
        self._random = random
        self._features = features
        self._leaves: list[str] = []

    def world(self) -> list[Dict]:
        random = self._random
        top = [self._tree(f"q{number}", "root", 1) for number in range(random.randint(2, 3))]
        room = {f"n{number}": random.randint(2, 5) for number in range(random.randint(1, 3))}
        nodes = [node(name, cpu=str(cpu), memory="8Gi") for name, cpu in room.items()]
        running = self._running(room)
        waiting = [
            self._pod(f"ask-{n}", random.choice([1, 1, 2, 3])) for n in range(random.randint(1, self._features.pending))
        ]
        return [queues(*top), *nodes, *running, *waiting]

    def _running(self, room: dict[str, int]) -> list[Dict]:
        pods: list[Dict] = []
        for number in range(self._random.choice([20, 20, 20, 6])):
            cpu = self._random.randint(1, 2)
            where = next((name for name, free in room.items() if free >= cpu), None)
            if where is None:
                break
            room[where] -= cpu
            pods.append(self._pod(f"low-{number}", cpu, where))
        return pods

    def _chance(self, of: int) -> bool:
        return self._random.randrange(of) == 0

    def _tree(self, name: str, parent: str, level: int) -> Dict:
        random, path = self._random, f"{parent}.{name}"
        below = random.choice([0, 0, 1, 2]) if level < 3 else 0
        children = [self._tree(f"{name}{letter}", path, level + 1) for letter in "ab"[:below]]
        guarantees = [None, None, None, 1, 2, 5] if children else [None, None, 1, 2, 3]
        if not children:
            if not self._leaves:
                guarantees = [None, 2, 3, 4, 6, 8]  # whoever asks is often there, and seldom has it
            self._leaves.append(path)
        more: Dict = {}
        if self._chance(9):
            more["preemption_policy"] = random.choice(["fence", "fence", "disabled", "default"])
        if self._features.priorities and self._chance(4):
            more["priority_offset"] = random.randint(-2, 2)
        if self._features.priorities and self._chance(10):
            more["priority_policy"] = "fence"
        return tree(
            name,
            *children,
            cpu=random.choice(guarantees),
            memory=random.choice(["1Gi", "3Gi"]) if self._chance(6) else None,
            most={"vcore": str(random.randint(2, 12))} if self._chance(5) else None,
            **more,
        )

    def _pod(self, name: str, cpu: int, where: str | None = None) -> Dict:
        random = self._random
        first, *others = self._leaves
        queue = first if (where is None) != self._chance(4) or not others else random.choice(others)
        return in_queue(
            name,
            queue,
            app=random.choice(["x", queue, queue, queue]),
            minutes=random.randint(10, 40),
            node=where,
            cpu=str(cpu),
            memory=random.choice(["512Mi", "1Gi"]) if self._chance(3) else None,
            priority=random.choice([0, 0, 0, 1, 2]) if where else random.choice([0, 1, 1, 2]),
            annotations=OPTED_OUT if self._chance(6) else None,
            daemon_on=where if where and self._features.daemons and self._chance(12) else None,
            deleted="2026-01-01T11:59:00Z" if where and self._features.leaving and self._chance(20) else None,
        )
