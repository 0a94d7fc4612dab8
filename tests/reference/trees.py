"""Trees of groups by the rule alone: what a tree needs, whether that can be placed, and who may go for it.

It reads manifests and tries everything. Only cpu counts, and pods of one group are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, product
from typing import Any

Dict = dict[str, Any]
Free = dict[str, int]


class NaiveTree:
    """Groups below `top`, the pods of each, and everybody who runs."""

    def __init__(self, objects: Iterable[Dict], top: str) -> None:
        self.top = top
        self.nodes: Free = {}
        self.pods: dict[str, Dict] = {}
        self.least: dict[str, int] = {}
        self.children: dict[str, list[str]] = {}
        for item in objects:
            name, kind = item["metadata"]["name"], item["kind"]
            if kind == "Node":
                self.nodes[name] = int(item["status"]["allocatable"]["cpu"])
            elif kind == "Pod":
                self.pods[name] = item
            elif kind in ("PodGroup", "CompositePodGroup"):
                gang = item["spec"]["schedulingPolicy"].get("gang", {})
                self.least[name] = gang.get("minCount") or gang.get("minGroupCount") or 1
                self.children.setdefault(item["spec"].get("parentCompositePodGroupName", ""), []).append(name)
        self.waiting = [name for name, pod in self.pods.items() if not pod["spec"].get("nodeName")]
        self.bound = {name for name in self.pods if name not in self.waiting and self.group_of(name)}
        self.others = {name: pod for name, pod in self.pods.items() if not self.group_of(name)}

    def group_of(self, pod: str) -> str:
        return str(self.pods[pod]["spec"].get("schedulingGroup", {}).get("podGroupName", ""))

    def members(self, group: str) -> list[str]:
        return [name for name in self.pods if self.group_of(name) == group]

    def cpu(self, pod: str) -> int:
        return int(self.pods[pod]["spec"]["containers"][0]["resources"]["requests"]["cpu"])

    # What it needs

    def has_enough(self, group: str, there: set[str]) -> bool:
        """Whether a group, or composite group, is there with these pods."""
        if group in self.children:
            return sum(self.has_enough(child, there) for child in self.children[group]) >= self.least[group]
        return len(there & set(self.members(group))) >= self.least[group]

    def whole_above(self, group: str, there: set[str]) -> bool:
        """Whether every composite group above one has what it needs: below one that has not, nobody is placed."""
        above = next((parent for parent, children in self.children.items() if parent and group in children), "")
        return not above or (self.has_enough(above, there) and self.whole_above(above, there))

    def in_part(self, group: str, placed: set[str]) -> bool:
        """Whether any group below gets pods, and has not as many as it needs with these."""
        some = any(placed & set(self.members(leaf)) for leaf in self.leaves(group))
        below = any(self.in_part(child, placed) for child in self.children.get(group, ()))
        return below or (some and not self.has_enough(group, self.bound | placed))

    def leaves(self, group: str) -> Iterator[str]:
        if group not in self.children:
            yield group
        for child in self.children.get(group, ()):
            yield from self.leaves(child)

    def ways(self, group: str) -> list[tuple[str, ...]]:
        """Every smallest set of waiting pods, but for pods that are alike, with which a group would be there."""
        if group not in self.children:
            lacking = self.least[group] - len(self.bound & set(self.members(group)))
            waiting = [name for name in self.members(group) if name in self.waiting]
            return [tuple(waiting[: max(lacking, 0)])] if len(waiting) >= lacking else []
        there = [child for child in self.children[group] if self.has_enough(child, self.bound)]
        lacking = max(self.least[group] - len(there), 0)
        absent = [child for child in self.children[group] if child not in there]
        return [
            sum(chosen, ())
            for some in combinations(absent, lacking)
            for chosen in product(*(self.ways(child) for child in some))
        ]

    # Whether there is room

    def free(self, gone: Iterable[str], placed: dict[str, str] | None = None) -> Free:
        left, gone = dict(self.nodes), set(gone)
        for name, pod in self.pods.items():
            if pod["spec"].get("nodeName") and name not in gone:
                left[pod["spec"]["nodeName"]] -= self.cpu(name)
        for name, node in (placed or {}).items():
            left[node] -= self.cpu(name)
        return left

    def can_be_placed(self, gone: Iterable[str]) -> bool:
        free = tuple(sorted(self.free(gone).values()))
        return any(_fit(free, tuple(sorted(map(self.cpu, pods), reverse=True))) for pods in self.ways(self.top))

    def lowest_enough(self, below: int) -> int | None:
        """The lowest priority such that what the tree needs can be placed with nobody above it gone."""
        priorities: set[int] = {pod["spec"]["priority"] for pod in self.others.values()}
        for limit in sorted(priority for priority in priorities if priority < below):
            if self.can_be_placed(name for name, pod in self.others.items() if pod["spec"]["priority"] <= limit):
                return limit
        return None

    def needs_all(self, placed: dict[str, str], victims: set[str], some: set[str]) -> bool:
        """Whether part of a placement is what the tree needs, and none of some victims could have stayed beside it."""
        counts = {group: sum(self.group_of(name) == group for name in placed) for group in self.leaves(self.top)}
        for way in self.ways(self.top):
            wanted = {group: sum(self.group_of(name) == group for name in way) for group in counts}
            if any(wanted[group] > counts[group] for group in counts):
                continue
            choices = [
                combinations([name for name in placed if self.group_of(name) == group], wanted[group])
                for group in counts
            ]
            for chosen in product(*choices):
                part = {name: placed[name] for names in chosen for name in names}
                if all(min(self.free(victims - {name}, part).values()) < 0 for name in some):
                    return True
        return False


@cache
def _fit(free: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    if not wanted:
        return True
    after = (tuple(sorted((*free[:at], room - wanted[0], *free[at + 1 :]))) for at, room in enumerate(free))
    return any(min(rest) >= 0 and _fit(rest, wanted[1:]) for rest in after)
