"""Topology-aware scheduling from its documentation, by brute force: no module of Reprieve is used, only manifests.

A pod set fits where its pods can be counted into leaves: a leaf has what its ready nodes of the flavor give, without
what other pods and admitted workloads take there. Required: one domain of the level holds all. Preferred: one
domain of the level, or of the next above, holds all; at the top, several may. Unconstrained: all leaves together.

Slices of so many pods each are never torn: a domain of their level holds as many as it has pods for, whole ones only,
and a larger domain holds those of its parts. What cannot be divided into slices does not fit.

Flavors are tried in the order of the queue: the first that has a place now; else the first where somebody can make way.

Who makes way: workloads of lower priority of the same queue, least important and youngest first, until it fits; then
those who need not go come back, the last but one first.
"""

from __future__ import annotations

from itertools import product
from typing import Any

Data = dict[str, Any]
Leaf = tuple[str, ...]
Frees = dict[Leaf, dict[str, int]]
Ask = tuple[int, int, str, int, int, int]
"""Cpu of a pod, pods, wish and its depth; pods of a slice and the depth of its level (one pod each: no slices)."""


def free_leaves(objects: list[Data], flavor: Data, levels: list[str]) -> Frees:
    """What each leaf has without any workload."""
    frees: Frees = {}
    homes: dict[str, Leaf] = {}
    for node in (each for each in objects if each["kind"] == "Node"):
        labels = node["metadata"]["labels"]
        wanted = flavor["spec"].get("nodeLabels", {})
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])
        if not ready or node.get("spec", {}).get("unschedulable"):
            continue
        if any(labels.get(key) != value for key, value in wanted.items()) or any(
            level not in labels for level in levels
        ):
            continue
        leaf = homes[node["metadata"]["name"]] = tuple(labels[level] for level in levels)
        has = frees.setdefault(leaf, {})
        for name in ("cpu", "pods"):
            has[name] = has.get(name, 0) + int(node["status"]["allocatable"][name])
    for pod in (each for each in objects if each["kind"] == "Pod"):
        leaf_of_pod = homes.get(pod["spec"].get("nodeName", ""))
        if leaf_of_pod is not None:
            _take(frees, leaf_of_pod, _cpu(pod["spec"]), 1)
    return frees


def _cpu(spec: Data) -> int:
    return sum(int(one["resources"]["requests"]["cpu"]) for one in spec["containers"])


def _take(frees: Frees, leaf: Leaf, cpu: int, pods: int) -> None:
    if leaf in frees:
        frees[leaf]["cpu"] -= cpu * pods
        frees[leaf]["pods"] -= pods


def without(frees: Frees, taken: list[tuple[Leaf, int, int]]) -> Frees:
    """The same with so many pods of so much cpu in some leaves."""
    left = {leaf: dict(has) for leaf, has in frees.items()}
    for leaf, cpu, pods in taken:
        _take(left, leaf, cpu, pods)
    return left


def held(frees: Frees, cpu: int) -> dict[Leaf, int]:
    """How many such pods each leaf holds."""
    return {leaf: max(0, min(has["cpu"] // cpu, has["pods"])) for leaf, has in frees.items()}


def _by_domain(counts: dict[Leaf, int], depth: int) -> dict[Leaf, int]:
    sums: dict[Leaf, int] = {}
    for leaf, count in counts.items():
        sums[leaf[:depth]] = sums.get(leaf[:depth], 0) + count
    return sums


def _in_slices(counts: dict[Leaf, int], size: int, depth: int) -> dict[Leaf, int]:
    """How many whole slices each domain of their level holds; leaves and pods where there are none."""
    return {domain: total // size for domain, total in _by_domain(counts, depth).items()} if size > 1 else counts


def fits(frees: Frees, cpu: int, pods: int, wish: str, depth: int, size: int, slice_depth: int) -> bool:
    counts = _in_slices(held(frees, cpu), size, slice_depth)
    if pods % size:
        return False
    if wish == "required":
        return any(total >= pods // size for total in _by_domain(counts, depth).values())
    return sum(counts.values()) >= pods // size


def victims(frees: Frees, admitted: list[Data], ask: Ask) -> list[str] | None:
    """Who makes way, of those who may (`name`, `priority`, `reserved`, `places`), nobody where none need to; None where
    it is of no use."""

    def there(leaving: list[Data]) -> Frees:
        gone = {each["name"] for each in leaving}
        return without(frees, [place for each in admitted if each["name"] not in gone for place in each["places"]])

    if fits(there([]), *ask):
        return []
    removed: list[Data] = []
    order = sorted((each for each in admitted if each["below"]), key=lambda each: each["name"])
    order.sort(key=lambda each: each["reserved"], reverse=True)
    order.sort(key=lambda each: each["priority"])
    for each in order:
        removed.append(each)
        if fits(there(removed), *ask):
            break
    else:
        return None
    for each in reversed(removed[:-1]):
        rest = [one for one in removed if one is not each]
        if fits(there(rest), *ask):
            removed = rest
    return sorted(each["name"] for each in removed)


def flavor_of(frees: list[Frees], admitted: list[list[Data]], ask: Ask) -> tuple[int, list[str]] | None:
    """Which flavor it gets, of several in their order, and who makes way there; None: none."""
    found = [victims(free, there, ask) for free, there in zip(frees, admitted, strict=True)]
    fitting = [number for number, leaving in enumerate(found) if leaving == []]
    helped = [number for number, leaving in enumerate(found) if leaving]
    chosen = next(iter([*fitting, *helped]), None)
    return None if chosen is None else (chosen, found[chosen] or [])


def wrong_with(frees: Frees, placed: dict[Leaf, int], ask: Ask) -> str:
    """What is wrong with where pods were sent; empty: nothing."""
    cpu, pods, wish, depth, size, slice_depth = ask
    counts = held(frees, cpu)
    if sum(placed.values()) != pods:
        return f"{sum(placed.values())} of {pods} pods were placed"
    if any(count > counts.get(leaf, 0) for leaf, count in placed.items()):
        return "a leaf got more pods than it holds"
    if size > 1:
        together = _by_domain(placed, slice_depth)
        if any(number % size for number in together.values()):
            return "a slice was torn"
        # From here on whole slices are what is placed, in domains of their level.
        counts, pods = _in_slices(counts, size, slice_depth), pods // size
        placed = {domain: number // size for domain, number in together.items()}
    return (
        _wrong_order(counts, placed, pods)
        if wish == "unconstrained"
        else _wrong_level(counts, placed, pods, wish, depth)
    )


def _wrong_level(counts: dict[Leaf, int], placed: dict[Leaf, int], pods: int, wish: str, depth: int) -> str:
    """Required and preferred: one domain, the smallest that is enough, of the lowest level that has one."""
    for level in range(depth, 0, -1):
        sums = _by_domain(counts, level)
        whole = {domain: total for domain, total in sums.items() if total >= pods}
        if whole:
            used = {leaf[:level] for leaf in placed}
            if len(used) != 1:
                return f"one domain of level {level} would have been enough"
            if sums[used.pop()] != min(whole.values()):
                return "a domain with less left would have been enough"
            return _wrong_number(counts, placed, pods, level)
        if wish == "required":
            return "it cannot be placed at all"
    return ""


def _wrong_order(counts: dict[Leaf, int], placed: dict[Leaf, int], pods: int) -> str:
    """Unconstrained: one leaf where one is enough, the one with least left; else those with least left are full."""
    enough = [count for count in counts.values() if count >= pods]
    if enough:
        return (
            "" if len(placed) == 1 and counts[next(iter(placed))] == min(enough) else "one leaf would have been enough"
        )
    most = max(counts[leaf] for leaf in placed)
    fuller = [leaf for leaf, count in counts.items() if 0 < count < most and placed.get(leaf, 0) != count]
    return "a leaf with less left was passed over" if fuller else ""


def _wrong_number(counts: dict[Leaf, int], placed: dict[Leaf, int], pods: int, level: int) -> str:
    """At the level below, no fewer domains could have held them; tried out one by one."""
    domain = next(iter(placed))[:level]
    inside = {leaf: count for leaf, count in counts.items() if leaf[:level] == domain}
    if not inside or len(next(iter(inside))) <= level:
        return ""
    sums = _by_domain(inside, level + 1)
    used = len({leaf[: level + 1] for leaf in placed})
    fewest = min(
        sum(chosen)
        for chosen in product((0, 1), repeat=len(sums))
        if sum(total for total, one in zip(sums.values(), chosen, strict=True) if one) >= pods
    )
    return "" if used == fewest else f"{used} domains were used where {fewest} are enough"


def most(frees: Frees, ask: Ask) -> int:
    """How many of its pods could be placed as it wishes."""
    cpu, pods, wish, depth, size, slice_depth = ask
    counts = _in_slices(held(frees, cpu), size, slice_depth)
    sums = list(_by_domain(counts, depth).values()) if wish == "required" else [sum(counts.values())]
    return min(pods // size, max(sums, default=0)) * size
