"""How many replicas go to which cluster: pure arithmetic that never loses a replica and never invents one.

1. Duplicated: all of them, in every cluster.
2. Divided, Aggregated: as few clusters as hold them, the ones with most room first.
3. Divided, Weighted: in proportion to weights, given or taken from the room there is, by largest remainder.
"""

from collections.abc import Iterable, Mapping

Division = dict[str, int]
"""Replicas by cluster; whoever gets none is not in it."""


def duplicated(replicas: int, clusters: Iterable[str]) -> Division:
    return dict.fromkeys(clusters, replicas)


def aggregated(replicas: int, room: Mapping[str, int], *, spread: Iterable[str] = ()) -> Division | None:
    """The roomiest first; each of `spread` gets one before the rest is packed. None: there is too little room."""
    division = dict.fromkeys(spread, 1)
    left = replicas - len(division)
    if left < 0 or any(not room.get(name) for name in division):
        return None
    for name in sorted(room, key=lambda name: (name not in division, -room[name], name)):
        taken = min(left, room[name] - division.get(name, 0))
        if taken > 0:
            division[name] = division.get(name, 0) + taken
            left -= taken
    return division if left == 0 else None


def weighted(replicas: int, weights: Mapping[str, int]) -> Division:
    """In proportion, by largest remainder; remainders that tie go by weight, then by name."""
    total = sum(weights.values())
    if not total:
        return {}
    shares = {name: divmod(replicas * weight, total) for name, weight in weights.items()}
    left = replicas - sum(whole for whole, _ in shares.values())
    first = sorted(weights, key=lambda name: (-shares[name][1], -weights[name], name))[:left]
    division = {name: whole + (name in first) for name, (whole, _) in shares.items()}
    return {name: count for name, count in division.items() if count}


def by_room(replicas: int, room: Mapping[str, int], *, spread: Iterable[str] = ()) -> Division | None:
    """In proportion to the room there is; each of `spread` gets one at least. It never asks more of a cluster than it
    has. None: there is too little."""
    if sum(room.values()) < replicas:
        return None
    # A share is at most what the cluster has room for, because all the room is at least all the replicas.
    division = weighted(replicas, room)
    if all(name in division for name in spread):
        return division
    first = dict.fromkeys(spread, 1)
    rest = weighted(replicas - len(first), {name: count - first.get(name, 0) for name, count in room.items()})
    return {name: first.get(name, 0) + rest.get(name, 0) for name in room if name in first or name in rest}
