"""Worlds in which queues fight for all there is: guarantees anywhere in the tree, of some types or all, also of pods,
more than the cluster has; maxima, fences, offsets; and ReplicaSets that want more than fits.

Nothing is made so that it makes sense: what comes to rest here comes to rest anywhere.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tests.builders.pods import Dict
from tests.builders.queues import queues, tree

DELAY = "1s"


class Rival(NamedTuple):
    """So many pods of one kind that want to run in a queue."""

    name: str
    queue: str
    replicas: int
    cpu: int
    memory: int
    """In Gi."""
    priority: int
    opted_out: bool


class Rivalry(NamedTuple):
    """What a world is made of."""

    configuration: Dict
    nodes: dict[str, tuple[int, int]]
    """By name: cpu, and memory in Gi."""
    rivals: list[Rival]


def rivalry(seed: int, *, sound: bool = False) -> Rivalry:
    """`sound`: the tree is one that is accepted; a parent guarantees no less than its children, and no more than it may
    use."""
    return _Maker(Random(f"rivals {seed}"), sound=sound).made()  # noqa: S311 - not a secret


class _Maker:
    def __init__(self, random: Random, *, sound: bool) -> None:
        self._random = random
        self._sound = sound
        self._leaves: list[str] = []
        self._types = random.choice([("cpu",), ("cpu", "memory"), ("cpu", "memory"), ("cpu", "pods")])

    def made(self) -> Rivalry:
        random = self._random
        top = [self._tree(f"q{number}", "root", 1) for number in range(random.randint(1, 3))]
        root = tree("root", cpu=self._cpu(), memory=self._memory()) if self._chance(0.1) and not self._sound else None
        nodes = {f"n{number}": (random.randint(3, 8), random.randint(3, 12)) for number in range(random.randint(1, 2))}
        rivals = [self._rival(number) for number in range(random.randint(2, 6))]
        return Rivalry(queues(*top, root=root), nodes, rivals)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _cpu(self) -> int | None:
        return self._random.choice([None, 0, 1, 2, 3, 4, 4, 6, 8])

    def _memory(self) -> str | None:
        return self._random.choice([None, None, None, "2Gi", "4Gi", "8Gi"]) if "memory" in self._types else None

    def _pods(self) -> int | None:
        return self._random.choice([None, None, 1, 2, 3, 5]) if "pods" in self._types else None

    def _tree(self, name: str, parent: str, level: int) -> Dict:
        random, path = self._random, f"{parent}.{name}"
        below = random.choice([0, 2, 2, 3]) if level < 3 else 0
        children = [self._tree(f"{name}{letter}", path, level + 1) for letter in "abc"[:below]]
        if not children:
            self._leaves.append(path)
        more: Dict = {"preemption_delay": DELAY}
        if self._chance(0.08):
            more["preemption_policy"] = random.choice(["fence", "disabled"])
        if self._chance(0.2):
            more["priority_offset"] = random.randint(-2, 2)
        if self._chance(0.1):
            more["priority_policy"] = "fence"
        most = random.randint(1, 8) if self._chance(0.15) else None
        named = self._chance(0.6)
        cpu, memory, pods = (self._cpu(), self._memory(), self._pods()) if named else (None, None, None)
        if self._sound:
            said = (("vcore", cpu, ""), ("memory", memory, "Gi"), ("pods", pods, ""))
            cpu, memory, pods = (self._enough(children, *one) for one in said)
            most = max(most, cpu or 0, pods or 0) if most is not None and not children else None
        limited = "pods" if "pods" in self._types and self._chance(0.5) else "vcore"
        bound = None if most is None else {limited: str(most)}
        return tree(name, *children, cpu=cpu, memory=memory, pods=pods, most=bound, **more)

    def _enough(self, children: list[Dict], name: str, amount: Any, unit: str) -> Any:
        """An amount that is no less than what the children guarantee; None: it is not named."""
        if amount is None:
            return None
        least = sum(self._guaranteed(child, name) for child in children)
        most = max(least, int(str(amount).removesuffix(unit)))
        return f"{most}{unit}" if unit else most

    def _guaranteed(self, queue: Dict, name: str) -> int:
        said = queue.get("resources", {}).get("guaranteed", {}).get(name)
        if said is not None:
            return int(str(said).removesuffix("Gi"))
        return sum(self._guaranteed(child, name) for child in queue.get("queues", []))

    def _rival(self, number: int) -> Rival:
        random = self._random
        return Rival(
            name=f"set-{number}",
            queue=random.choice(self._leaves),
            replicas=random.randint(1, 6),
            cpu=random.choice([1, 1, 2, 3]),
            memory=random.randint(0, 3) if "memory" in self._types else 0,
            priority=random.choice([0, 0, 0, 1]),
            opted_out=self._chance(0.1),
        )
