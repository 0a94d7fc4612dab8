"""Where a binding goes as things are: replicas by cluster against what clusters have left, or nowhere.

1. Duplicated: every cluster within reach has to hold all replicas; with spread constraints, as many as they allow.
2. Static weights say how many replicas each cluster gets, whatever room there is: each has to hold its share. With
   spread constraints they count among the clusters that these allow, as many as hold their shares.
3. Aggregated and dynamic weights go by the room there is.
4. Replicas that became too many leave in proportion to what clusters have of them.
"""

from collections.abc import Iterable, Mapping

from reprieve.manifests.karmada import Cluster, ReplicaScheduling
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation import division
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.clusters import meant
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.spread import Enough, Selection, Spread

Clusters = Mapping[str, Cluster]
Free = Mapping[str, Resources]
Rooms = Mapping[str, int]
"""How many replicas there is room for, by cluster."""
PLENTY = 2**31
"""Room for what asks for nothing: more than any binding has replicas."""


def place(facts: BindingFacts, clusters: Clusters, free: Free, spread: Spread | None = None) -> Division | None:
    """Replicas that are still to be placed, by cluster; None: they do not all fit. `spread`: the constraints over these
    clusters, for whoever asks often."""
    spread = spread or spread_of(facts, clusters)
    if facts.style != "Duplicated" and facts.missing <= 0:
        return _fewer(facts)
    rooms = {name: room(facts.request, free.get(name, NOTHING)) for name in clusters}
    match facts.style:
        case "Duplicated":
            return _everywhere(facts, clusters, rooms, spread)
        case "Static":
            return _by_weight(facts, clusters, rooms, spread)
        case _:
            return _by_room(facts, rooms, spread)


def _fewer(facts: BindingFacts) -> Division:
    """How many fewer each cluster has to have, as negative numbers; none where they are as many as wanted."""
    after = division.weighted(facts.binding.spec.replicas, facts.held)
    return {name: after.get(name, 0) - count for name, count in facts.held.items() if after.get(name, 0) != count}


def room(request: Resources, free: Resources) -> int:
    """How many replicas there is room for."""
    return min([max(0, free.of(name)) // units for name, units in request.items() if units], default=PLENTY)


def gap(request: Resources, replicas: int, free: Resources) -> Resources:
    """What is missing for so many replicas."""
    return Resources({name: units * replicas - free.of(name) for name, units in request.items()}).positive()


def fixed(facts: BindingFacts, clusters: Clusters) -> Division:
    """What each cluster has to hold where that does not go by room, and no constraints choose among clusters."""
    if facts.style == "Duplicated":
        return duplicated(facts, clusters)
    return division.weighted(facts.missing, static_weights(facts.placement.replica_scheduling, clusters))


def duplicated(facts: BindingFacts, clusters: Iterable[str]) -> Division:
    """All replicas in each cluster where it is not yet, and what its clusters have too few or too many of."""
    replicas = facts.missing
    changed = {name: replicas - count for name, count in facts.held.items() if count != replicas}
    return division.duplicated(replicas, [name for name in clusters if name not in facts.held]) | changed


def _everywhere(facts: BindingFacts, clusters: Clusters, rooms: Rooms, spread: Spread) -> Division | None:
    chosen: Iterable[str] = clusters
    if facts.placement.spread_constraints:
        here = {name: PLENTY for name in facts.held if name in clusters}
        able = {name: count for name, count in rooms.items() if count >= facts.missing}
        found = _selected(facts, spread, {**able, **here}, lambda _: True, widely=True)
        chosen = found.clusters if found is not None else ()
    return _held_by(rooms, duplicated(facts, chosen)) if chosen else None


def _held_by(rooms: Rooms, wanted: Division) -> Division | None:
    return wanted if all(rooms.get(name, 0) >= count for name, count in wanted.items() if count > 0) else None


def _by_weight(facts: BindingFacts, clusters: Clusters, rooms: Rooms, spread: Spread) -> Division | None:
    weights = static_weights(facts.placement.replica_scheduling, clusters)

    def share(chosen: Selection) -> Division | None:
        return _held_by(rooms, weigh(facts, weights, chosen)) if chosen.clusters else None

    def enough(chosen: Selection) -> bool:
        return share(chosen) is not None

    found = _selected(facts, spread, weights, enough, widely=True)
    if found is None and facts.placement.spread_constraints and not stays(facts):
        roomy = {name: rooms[name] for name in weights if rooms[name] > 0}
        found = _selected(facts, spread, roomy, enough, widely=False)
    return None if found is None else share(found)


def weigh(facts: BindingFacts, weights: Mapping[str, int], chosen: Selection) -> Division:
    """What each of some clusters gets by weight."""
    return division.weighted(facts.missing, {name: weights[name] for name in chosen.clusters})


def _by_room(facts: BindingFacts, rooms: Rooms, spread: Spread) -> Division | None:
    able = {name: count for name, count in rooms.items() if count > 0}
    need = facts.missing
    if sum(able.values()) < need or (not stays(facts) and spread.hopeless(able, need)):
        return None

    def enough(chosen: Selection) -> bool:
        return len(chosen.needed) <= need <= sum(able[name] for name in chosen.clusters)

    dynamic = facts.style == "Dynamic"
    found = _selected(facts, spread, able, enough, widely=dynamic)
    if found is None:
        return None
    within = {name: able[name] for name in found.clusters}
    if dynamic:
        return division.by_room(need, within, spread=found.needed)
    return division.aggregated(need, within, spread=found.needed)


def spread_of(facts: BindingFacts, clusters: Clusters) -> Spread:
    return Spread(facts.placement.spread_constraints, clusters)


def _selected(
    facts: BindingFacts, spread: Spread, able: Mapping[str, int], enough: Enough, *, widely: bool
) -> Selection | None:
    """The clusters that the spread constraints allow; without any, all of them."""
    constraints = facts.placement.spread_constraints
    if not constraints or stays(facts):
        chosen = Selection([name for name in able if not constraints or name in facts.held], [])
        return chosen if enough(chosen) else None
    return spread.select(able, enough, widely=widely)


def stays(facts: BindingFacts) -> bool:
    """Divided replicas that run in part: the rest stays within the clusters that the constraints chose before."""
    return bool(facts.held) and facts.style != "Duplicated"


def static_weights(scheduling: ReplicaScheduling | None, clusters: Clusters) -> dict[str, int]:
    """The largest weight that means a cluster; without a list, or when it means nobody, all weigh the same."""
    preference = scheduling.weight_preference if scheduling else None
    rules = preference.static_weight_list if preference else ()
    weights = {
        name: max((rule.weight for rule in rules if meant(cluster, rule.target_cluster)), default=0)
        for name, cluster in clusters.items()
    }
    found = {name: weight for name, weight in weights.items() if weight}
    return found or dict.fromkeys(clusters, 1)
