"""Spread constraints: over how many clusters, regions, zones or providers a binding goes.

1. Every constraint wants at least so many groups and at most so many; a cluster that says nothing of a field is out.
2. Of the sets of groups that are allowed, small ones and roomy ones are tried first.
3. In each, clusters that bring most groups which are still missing come first, then the roomiest, until all fits.
4. Where that leads nowhere and there are few clusters, every set of them is tried.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from reprieve.manifests.karmada import Cluster, SpreadConstraint

_MOST_TRIES = 1000
"""Sets of groups that are tried before it is given up: more than any federation that was heard of needs."""
MOST_CLUSTERS = 10
"""Of so many clusters every set is tried: about a thousand."""


class Selection(NamedTuple):
    """Clusters that satisfy all constraints, and those of them that are needed for the minimum."""

    clusters: list[str]
    needed: list[str]


Enough = Callable[[Selection], bool]
"""Whether a selection would do, beyond the constraints."""


class Spread:
    """The constraints of one placement over the clusters that it can reach."""

    def __init__(self, constraints: Sequence[SpreadConstraint], clusters: Mapping[str, Cluster]) -> None:
        self._constraints = constraints
        groups = {name: [_groups(item, cluster) for item in constraints] for name, cluster in clusters.items()}
        self._groups = {name: found for name, found in groups.items() if all(found)}

    def select(self, room: Mapping[str, int], enough: Enough, *, widely: bool = False) -> Selection | None:
        """The first set of clusters with room that satisfies the constraints and is enough; `widely`: a large one."""
        return next(self.selections(room, enough, widely=widely), None)

    def selections(self, room: Mapping[str, int], enough: Enough, *, widely: bool = False) -> Iterator[Selection]:
        """All sets of clusters that were found, the best first; of few clusters, all there are."""
        able = [name for name in sorted(room, key=lambda name: (-room[name], name)) if name in self._groups]
        for allowed in self._allowed(able, room, widely=widely):
            selection = self._fill(allowed, enough, widely=widely)
            if selection is not None:
                yield selection
        if len(able) <= MOST_CLUSTERS:
            yield from self._every(able, enough, widely=widely)

    def _every(self, able: list[str], enough: Enough, *, widely: bool) -> Iterator[Selection]:
        sizes = range(1, len(able) + 1)
        for size in reversed(sizes) if widely else sizes:
            for chosen in combinations(able, size):
                selection = Selection(list(chosen), list(chosen))
                if self._holds(chosen) and enough(selection):
                    yield selection

    def _holds(self, names: Iterable[str]) -> bool:
        """Whether clusters satisfy all constraints."""
        present = _Present(self._constraints)
        for name in names:
            present.add(self._groups[name])
        return present.allowed and not present.lacking

    def _allowed(self, able: list[str], room: Mapping[str, int], *, widely: bool) -> Iterator[list[str]]:
        """Clusters within each set of groups of the first constraint that is not about clusters themselves."""
        place = next((place for place, item in enumerate(self._constraints) if item.spread_by_field != "cluster"), None)
        if place is None:
            yield able
            return
        size: dict[str, int] = {}
        for name in able:
            for group in self._groups[name][place]:
                size[group] = size.get(group, 0) + room[name]
        order = sorted(size, key=lambda group: (-size[group], group))
        item = self._constraints[place]
        counts = range(max(1, item.min_groups), min(item.max_groups or len(order), len(order)) + 1)
        sets = (
            set(chosen) for count in (reversed(counts) if widely else counts) for chosen in combinations(order, count)
        )
        for chosen in islice(sets, _MOST_TRIES):
            yield [name for name in able if self._groups[name][place] <= chosen]

    def _fill(self, able: list[str], enough: Enough, *, widely: bool) -> Selection | None:
        present = _Present(self._constraints)
        needed: list[str] = []
        left = dict.fromkeys(able)
        while present.lacking:
            name = self._brings_most(left, present)
            if name is None:
                return None
            needed.append(name)
            present.add(self._groups[name])
            del left[name]
        chosen = list(needed)
        for name in left:
            if not widely and enough(Selection(chosen, needed)):
                break
            if present.takes(self._groups[name]):
                chosen.append(name)
                present.add(self._groups[name])
        selection = Selection(chosen, needed)
        return selection if chosen and enough(selection) else None

    def _brings_most(self, names: Iterable[str], present: "_Present") -> str | None:
        """The cluster that adds to most constraints which have too few groups; of equals, the first: the roomiest."""
        best, most = None, 0
        for name in names:
            brings = present.gains(self._groups[name])
            if brings > most:
                best, most = name, brings
            if most == present.lacking:
                break
        return best


class _Present:
    """The groups that some clusters are in, constraint by constraint."""

    def __init__(self, constraints: Sequence[SpreadConstraint]) -> None:
        self._lines = [(item, set[str]()) for item in constraints]

    @property
    def lacking(self) -> int:
        """How many constraints have too few groups."""
        return sum(len(found) < max(1, item.min_groups) for item, found in self._lines)

    @property
    def allowed(self) -> bool:
        return all(not item.max_groups or len(found) <= item.max_groups for item, found in self._lines)

    def takes(self, groups: Sequence[set[str]]) -> bool:
        """Whether no constraint would have too many groups with a cluster that is in these."""
        lines = zip(self._lines, groups, strict=True)
        return all(not item.max_groups or len(found | new) <= item.max_groups for (item, found), new in lines)

    def gains(self, groups: Sequence[set[str]]) -> int:
        """To how many constraints that have too few groups a cluster adds one; 0 where it would make too many."""
        if not self.takes(groups):
            return 0
        lines = zip(self._lines, groups, strict=True)
        return sum(len(found) < max(1, item.min_groups) and not new <= found for (item, found), new in lines)

    def add(self, groups: Sequence[set[str]]) -> None:
        for (_, found), new in zip(self._lines, groups, strict=True):
            found |= new


def _groups(constraint: SpreadConstraint, cluster: Cluster) -> set[str]:
    """The groups a cluster is in; none: the constraint keeps it out."""
    spec = cluster.spec
    match constraint.spread_by_field:
        case "cluster":
            found = {cluster.name}
        case "region":
            found = {spec.region}
        case "provider":
            found = {spec.provider}
        case "zone":
            found = {spec.zone, *spec.zones}
        case _:
            found = {cluster.metadata.labels.get(constraint.spread_by_label, "")}
    return found - {""}
