"""Preemption between bindings by trying everything: what is lawful, whether victims are too many, whether a set of them
was missed. It reads manifests and answers alone, and knows nothing of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from tests.builders.pods import Dict
from tests.reference.nodes import whole

Amounts = dict[str, int]
Free = dict[str, Amounts]
Seat = tuple[str, str]
"""A binding, and one of its clusters."""
ENDLESS = 10**9


class Verdict(NamedTuple):
    """What is wrong with an answer; nothing where all is right."""

    legal: list[str]
    minimal: list[str]
    complete: list[str]


def judge(objects: list[Dict], preemptor: str, decision: Dict) -> Verdict:
    case = _Case(objects, preemptor)
    evicted = _evicted(decision)
    if decision["outcome"] == "Fits":
        return Verdict(case.wrong_place(decision, []), [], [])
    legal = ["it fits beside everybody"] if any(case.fits(group, []) for group in case.groups) else []
    if decision["outcome"] == "Unschedulable":
        missed = [f"group {group} could be freed" for group in case.groups if case.fits(group, case.candidates)]
        return Verdict([*legal, *(["it names victims"] if evicted else [])], [], missed)
    legal += [f"{seat} may not be asked" for seat in evicted if seat not in case.candidates]
    legal += case.wrong_place(decision, evicted)
    return Verdict(legal, case.too_many(evicted), [])


def lawful(objects: list[Dict], preemptor: str, decision: Dict) -> list[str]:
    """What is wrong with a preemption in a world that is too large to try everything: with who was asked, with the
    place, and with anybody without whose leaving the clusters of that place would have had room enough, too."""
    case, evicted = _Case(objects, preemptor), _evicted(decision)
    wrong = [f"{seat} may not be asked" for seat in evicted if seat not in case.candidates]
    wrong += case.wrong_share(decision)
    wrong += [] if case.holds(decision, evicted) else ["there is no room for it"]
    for seat in evicted:
        if case.holds(decision, [other for other in evicted if other != seat]):
            wrong.append(f"{seat} could have stayed")
    return wrong


def _evicted(decision: Dict) -> list[Seat]:
    if decision["outcome"] != "Preempt":
        return []
    seats = [(victim["unit"], cluster) for victim in decision["victims"] for cluster in victim["clusters"]]
    return sorted(seats)


class _Case:
    """One binding that waits, among others in their clusters."""

    def __init__(self, objects: list[Dict], preemptor: str) -> None:
        self.clusters = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Cluster"}
        self.bindings = {_name(item): item for item in objects if item["kind"].endswith("ResourceBinding")}
        self.own = self.bindings[preemptor]
        self.spec = self.own["spec"]
        self.request = _request(self.own)
        self.held: dict[str, int] = {target["name"]: target["replicas"] for target in self.spec.get("clusters", ())}
        self.replicas = self.spec["replicas"]
        self.placement = self.spec["placement"]
        self.scheduling = self.placement["replicaScheduling"]
        self.constraints = self.placement.get("spreadConstraints", [])
        self.groups = list(self._groups())
        self.candidates = [(unit, where) for unit in self.bindings for where in self._asked(unit)]

    def _groups(self) -> Iterator[list[str]]:
        terms = self.placement.get("clusterAffinities") or [self.placement.get("clusterAffinity", {})]
        for term in terms:
            meant = term.get("clusterNames") or list(self.clusters)
            yield [name for name in sorted(self.clusters) if name in meant]

    def _asked(self, unit: str) -> Iterator[str]:
        """From which clusters a binding may be asked to leave."""
        other = self.bindings[unit]
        schedulers = {item["spec"].get("schedulerName", "default-scheduler") for item in (other, self.own)}
        if other["kind"] == "ResourceBinding" and len(schedulers) == 1 and _priority(other) < _priority(self.own):
            yield from (target["name"] for target in other["spec"].get("clusters", ()) if any(_request(other).values()))

    def free(self, gone: list[Seat]) -> Free:
        left = {}
        for name, item in self.clusters.items():
            summary = item["status"]["resourceSummary"]
            has, used = whole(summary["allocatable"]), whole(summary.get("allocated", {}))
            left[name] = {resource: has.get(resource, 0) - used.get(resource, 0) for resource in {*has, *used}}
        for unit, where in gone:
            other = self.bindings[unit]
            count = next(target["replicas"] for target in other["spec"]["clusters"] if target["name"] == where)
            for resource, units in _request(other).items():
                left[where][resource] = left[where].get(resource, 0) + units * count
        return left

    def rooms(self, group: list[str], gone: list[Seat]) -> dict[str, int]:
        free = self.free(gone)
        asked = {resource: units for resource, units in self.request.items() if units}
        return {
            name: min((max(0, free[name].get(key, 0)) // units for key, units in asked.items()), default=ENDLESS)
            for name in group
        }

    # Lawful places

    def fits(self, group: list[str], gone: list[Seat]) -> bool:
        rooms = self.rooms(group, gone)
        if self.scheduling["replicaSchedulingType"] == "Duplicated":
            return self._everywhere(rooms)
        if self.static:
            return any(self._holds(rooms, share) for share in self._shares(group))
        return self._divided(rooms)

    @property
    def static(self) -> bool:
        return bool(self.scheduling.get("weightPreference", {}).get("staticWeightList"))

    @property
    def missing(self) -> int:
        return int(self.replicas) - sum(self.held.values())

    def _everywhere(self, rooms: dict[str, int]) -> bool:
        """Every cluster; under constraints some that satisfy them."""
        able = [name for name, room in rooms.items() if room >= self.replicas]
        if not self.constraints:
            return bool(rooms) and len(able) == len(rooms)
        return any(self.spread(chosen) for chosen in _subsets(able))

    def _divided(self, rooms: dict[str, int]) -> bool:
        """Some clusters that satisfy the constraints, each with a replica at least, have room for all."""
        if self.constraints and self.held:
            return sum(room for name, room in rooms.items() if name in self.held) >= self.missing
        able = [name for name, room in rooms.items() if room]
        return any(
            sum(rooms[name] for name in chosen) >= self.missing >= len(chosen) and self.spread(chosen)
            for chosen in _subsets(able)
        )

    def _holds(self, rooms: dict[str, int], share: dict[str, int]) -> bool:
        return all(rooms[name] >= count for name, count in share.items())

    def _shares(self, group: list[str]) -> Iterator[dict[str, int]]:
        """What each cluster would have to hold, for all sets of clusters that the constraints allow."""
        weights = self._weights(group)
        if self.constraints and self.held:
            within = {name: weight for name, weight in weights.items() if name in self.held}
            yield from [_weighted(self.missing, within)] if within else []
            return
        for chosen in _subsets(list(weights)) if self.constraints else [tuple(weights)]:
            if self.spread(chosen):
                yield _weighted(self.missing, {name: weights[name] for name in chosen})

    def _weights(self, group: list[str]) -> dict[str, int]:
        rules = self.scheduling["weightPreference"]["staticWeightList"]
        found = {}
        for name in group:
            weights = [rule["weight"] for rule in rules if name in rule["targetCluster"]["clusterNames"]]
            if weights:
                found[name] = max(weights)
        return found or dict.fromkeys(group, 1)

    def spread(self, chosen: tuple[str, ...] | list[str]) -> bool:
        for constraint in self.constraints:
            field = constraint["spreadByField"]
            groups = {name if field == "cluster" else self.clusters[name]["spec"].get(field, "") for name in chosen}
            if "" in groups or not constraint["minGroups"] <= len(groups) <= (constraint["maxGroups"] or ENDLESS):
                return False
        return True

    # What was answered

    def wrong_place(self, decision: Dict, gone: list[Seat]) -> list[str]:
        """What is wrong with the place that was given, when some have left."""
        given = self._given(decision)
        new = {name: count - self.held.get(name, 0) for name, count in given.items()}
        rooms = self.rooms(list(self.clusters), gone)
        wrong = [f"{name} has no room for {count}" for name, count in new.items() if rooms[name] < count]
        if self.scheduling["replicaSchedulingType"] == "Duplicated":
            group = next((group for group in self.groups if self.fits(group, gone)), [])
            if not self.constraints and sorted(given) != group:
                wrong.append(f"{given} is not everywhere")
        elif sum(given.values()) != self.replicas:
            wrong.append(f"{given} are not {self.replicas} replicas")
        if self.static and not any(_same(new, share) for group in self.groups for share in self._shares(group)):
            wrong.append(f"{new} is not what the weights say")
        chosen = [name for name, count in given.items() if count]
        if not self.held and not self.static and not self.spread(chosen):
            wrong.append(f"{given} breaks a constraint")
        return wrong

    def holds(self, decision: Dict, gone: list[Seat]) -> bool:
        """Whether the clusters of the place that was given have room, each for its share, or together."""
        given = self._given(decision)
        rooms = self.rooms(list(given), gone)
        if self.static or self.scheduling["replicaSchedulingType"] == "Duplicated":
            return self._holds(rooms, given)
        return all(rooms.values()) and sum(rooms.values()) >= self.missing

    def wrong_share(self, decision: Dict) -> list[str]:
        """What of the place that was given the constraints or the weights forbid, or too few replicas."""
        given = self._given(decision)
        wrong = [] if self.static or self.spread(list(given)) else [f"{given} breaks a constraint"]
        whole = self.scheduling["replicaSchedulingType"] == "Duplicated" or sum(given.values()) == self.replicas
        wrong += [] if whole else [f"{given} are not {self.replicas} replicas"]
        if self.static:  # whoever got a share got it by weight among those who did; others may have been too light
            weights = self._weights(list(given))
            wrong += [] if _close(given, weights, self.replicas) else [f"{given} is not what the weights say"]
        return wrong

    def _given(self, decision: Dict) -> dict[str, int]:
        (text,) = decision["placement"].values()
        parts = [part.partition("=") for part in text.split(",")]
        return {name: int(count) if count else self.replicas for name, _, count in parts}

    def too_many(self, evicted: list[Seat]) -> list[str]:
        """Fewer of them that would have been enough in the affinity group that was freed."""
        group = next((group for group in self.groups if self.fits(group, self.candidates)), None)
        if group is None:
            return ["nothing could be freed"]
        fewer = (list(some) for size in range(len(evicted)) for some in combinations(evicted, size))
        return next(([f"{some} would do instead of {evicted}"] for some in fewer if self.fits(group, some)), [])


def _same(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(one.get(name, 0) == other.get(name, 0) for name in {*one, *other})


def _close(given: dict[str, int], weights: dict[str, int], replicas: int) -> bool:
    """Whether shares go by weight: a heavier cluster never has less than a lighter one."""
    ordered = sorted(given, key=lambda name: weights[name])
    return sum(given.values()) == replicas and all(
        given[light] <= given[heavy] + 1 for light, heavy in pairwise(ordered)
    )


def _name(binding: Dict) -> str:
    metadata = binding["metadata"]
    return f"{binding['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"


def _request(binding: Dict) -> Amounts:
    return whole(binding["spec"].get("replicaRequirements", {}).get("resourceRequest", {}))


def _priority(binding: Dict) -> int:
    priority: int = binding["spec"].get("schedulePriority", {}).get("priority", 0)
    return priority


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    return (chosen for size in range(1, len(names) + 1) for chosen in combinations(names, size))


def _weighted(replicas: int, weights: dict[str, int]) -> dict[str, int]:
    """Whole shares, and what is left by largest remainder, then weight, then name."""
    total = sum(weights.values())
    shares: dict[str, Any] = {name: replicas * weight // total for name, weight in weights.items()}
    rest = sorted(weights, key=lambda name: (-(replicas * weights[name] % total), -weights[name], name))
    for name in rest[: replicas - sum(shares.values())]:
        shares[name] += 1
    return shares
