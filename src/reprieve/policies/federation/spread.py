"""Spread constraints: over how many clusters, regions, zones or providers a binding goes.

1. Every constraint wants at least so many groups and at most so many; a cluster that says nothing of a field is out.
2. Of the sets of groups that are allowed, small ones and roomy ones are tried first.
3. In each, clusters that bring most groups which are still missing come first, then the roomiest, until all fits.
4. Of few clusters every set of groups is tried, and where that leads nowhere every set of clusters. Of more it is a
   heuristic with a limit: the roomiest groups of each number, and those with one of them exchanged for another, until
   so many clusters have been looked at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from reprieve.manifests.karmada import Cluster, SpreadConstraint

_MOST_TRIES = 1000
"""Sets of groups that are tried of few clusters: all there are of ten groups, but for some hundred small ones."""
MOST_CLUSTERS = 10
"""Of so many clusters every set is tried: about a thousand."""
_MOST_LOOKS = 3000
"""Of more clusters, so many looks at one of them are allowed for one selection: a few milliseconds."""

_FIRST = 50
"""Among so many of the roomiest clusters the one that brings most groups is looked for, if any of them brings one."""
_ENDLESS = 2**31

Groups = tuple[int, ...]
"""For each constraint the groups that a cluster is in, a bit each."""


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
        self.few = len(clusters) <= MOST_CLUSTERS
        bits: list[dict[str, int]] = [{} for _ in constraints]
        found = {
            name: tuple(_bits(known, _groups(item, cluster)) for known, item in zip(bits, constraints, strict=True))
            for name, cluster in clusters.items()
        }
        self._groups: dict[str, Groups] = {name: groups for name, groups in found.items() if all(groups)}
        self._looks = 0

    def hopeless(self, room: Mapping[str, int], need: int) -> bool:
        """Whether the constraints leave too little room, whatever is chosen; asked because it costs so little."""
        able = [(self._groups[name], units) for name, units in room.items() if name in self._groups]
        return any(self._too_little(place, able, need) for place in range(len(self._constraints)))

    def _too_little(self, place: int, able: Sequence[tuple[Groups, int]], need: int) -> bool:
        item = self._constraints[place]
        sizes: dict[int, int] = {}
        for groups, units in able:
            for bit in _each(groups[place]):
                sizes[bit] = sizes.get(bit, 0) + units
        best = sorted(sizes.values(), reverse=True)[: item.max_groups or None]
        return len(sizes) < _least(item) or sum(best) < need

    def select(self, room: Mapping[str, int], enough: Enough, *, widely: bool = False) -> Selection | None:
        """The first set of clusters with room that satisfies the constraints and is enough; `widely`: a large one."""
        return next(self.selections(room, enough, widely=widely), None)

    def selections(self, room: Mapping[str, int], enough: Enough, *, widely: bool = False) -> Iterator[Selection]:
        """All sets of clusters that were found, the best first; of few clusters, all there are."""
        able = [name for name in sorted(room, key=lambda name: (-room[name], name)) if name in self._groups]
        few = len(able) <= MOST_CLUSTERS
        self._looks = 0
        for allowed in self._allowed(able, room, widely=widely):
            selection = self._fill(allowed, enough, widely=widely, every=few)
            if selection is not None:
                yield selection
            if not few and self._looks > _MOST_LOOKS:
                return
        if few:
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
        size: dict[int, int] = {}
        for name in able:
            for bit in _each(self._groups[name][place]):
                size[bit] = size.get(bit, 0) + room[name]
        order = sorted(size, key=lambda bit: (-size[bit], bit))
        item = self._constraints[place]
        numbers = range(_least(item), min(item.max_groups or len(order), len(order)) + 1)
        every = len(able) <= MOST_CLUSTERS
        sets = (
            sum(chosen)
            for number in (reversed(numbers) if widely else numbers)
            for chosen in (combinations(order, number) if every else _near_the_best(order, number))
        )
        for chosen in islice(sets, _MOST_TRIES):
            yield [name for name in able if not self._groups[name][place] & ~chosen]

    def _fill(self, able: list[str], enough: Enough, *, widely: bool, every: bool) -> Selection | None:
        """`every`: whether it is enough is asked after each cluster, and not each time there are twice as many."""
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
        chosen, asked = list(needed), 0
        self._looks += len(left)
        for name in left:
            if not widely and len(chosen) >= asked:
                if enough(Selection(chosen, needed)):
                    break
                asked = 0 if every else 2 * len(chosen)
            if present.takes(self._groups[name]):
                chosen.append(name)
                present.add(self._groups[name])
        selection = Selection(chosen, needed)
        return selection if chosen and enough(selection) else None

    def _brings_most(self, names: Iterable[str], present: "_Present") -> str | None:
        """The cluster that adds to most constraints which have too few groups; of equals, the first: the roomiest."""
        best, most, lacking = None, 0, present.lacking
        for number, name in enumerate(names):
            self._looks += 1
            brings = present.gains(self._groups[name])
            if brings > most:
                best, most = name, brings
            if most == lacking or (most and number > _FIRST):
                break
        return best


class _Present:
    """The groups that some clusters are in, constraint by constraint."""

    def __init__(self, constraints: Sequence[SpreadConstraint]) -> None:
        self._found = [0] * len(constraints)
        self._limits = [(_least(item), item.max_groups or _ENDLESS) for item in constraints]

    @property
    def lacking(self) -> int:
        """How many constraints have too few groups."""
        return sum(found.bit_count() < least for found, (least, _) in zip(self._found, self._limits, strict=True))

    @property
    def allowed(self) -> bool:
        return all(found.bit_count() <= most for found, (_, most) in zip(self._found, self._limits, strict=True))

    def takes(self, groups: Groups) -> bool:
        """Whether no constraint would have too many groups with a cluster that is in these."""
        lines = zip(self._found, groups, self._limits, strict=True)
        return all((found | new).bit_count() <= most for found, new, (_, most) in lines)

    def gains(self, groups: Groups) -> int:
        """To how many constraints that have too few groups a cluster adds one; 0 where it would make too many."""
        if not self.takes(groups):
            return 0
        lines = zip(self._found, groups, self._limits, strict=True)
        return sum(found.bit_count() < least and bool(new & ~found) for found, new, (least, _) in lines)

    def add(self, groups: Groups) -> None:
        self._found = [found | new for found, new in zip(self._found, groups, strict=True)]


def _near_the_best(order: Sequence[int], number: int) -> Iterator[list[int]]:
    """The first so many of them, then with one exchanged for one of the others, the last for the next before all."""
    first, others = list(order[:number]), order[number:]
    yield first
    for other in others:
        for place in reversed(range(number)):
            yield [*first[:place], *first[place + 1 :], other]


def _least(item: SpreadConstraint) -> int:
    return max(1, item.min_groups)


def _bits(known: dict[str, int], groups: Iterable[str]) -> int:
    """One bit for each group, the same for the same name."""
    return sum(known.setdefault(group, 1 << len(known)) for group in sorted(groups))


def _each(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest
        bits ^= lowest


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
