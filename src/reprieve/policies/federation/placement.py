"""Where a binding goes as things are: replicas by cluster against what clusters have left, or nowhere.

1. Duplicated: every cluster within reach has to hold all replicas; with spread constraints, as many as they allow.
2. Static weights say how many replicas each cluster gets, whatever room there is: each has to hold its share.
3. Aggregated and dynamic weights go by the room there is.
4. Replicas that became too many leave in proportion to what clusters have of them.
"""

from collections.abc import Mapping

from reprieve.manifests.karmada import Cluster, ReplicaScheduling
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation import division
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.clusters import meant
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.spread import Selection, Spread

Clusters = Mapping[str, Cluster]
Free = Mapping[str, Resources]
PLENTY = 2**31
"""Room for what asks for nothing: more than any binding has replicas."""


def place(facts: BindingFacts, clusters: Clusters, free: Free) -> Division | None:
    """Replicas that are still to be placed, by cluster; None: they do not all fit."""
    if facts.style != "Duplicated" and facts.missing <= 0:
        return _fewer(facts)
    if not clusters:
        return None
    if facts.fixed:
        wanted = fixed(facts, clusters, free)
        short = wanted is None or any(room(facts.request, free.get(name, NOTHING)) < n for name, n in wanted.items())
        return None if short else wanted
    return _by_room(facts, clusters, {name: room(facts.request, free.get(name, NOTHING)) for name in clusters})


def _fewer(facts: BindingFacts) -> Division:
    """How many fewer each cluster has to have, as negative numbers; none where they are as many as wanted."""
    after = division.weighted(facts.binding.spec.replicas, facts.held)
    return {name: after.get(name, 0) - count for name, count in facts.held.items() if after.get(name, 0) != count}


def room(request: Resources, free: Resources) -> int:
    """How many replicas there is room for."""
    return min((max(0, free.of(name)) // units for name, units in request.items() if units), default=PLENTY)


def gap(request: Resources, replicas: int, free: Resources) -> Resources:
    """What is missing for so many replicas."""
    return Resources({name: units * replicas - free.of(name) for name, units in request.items()}).positive()


def fixed(facts: BindingFacts, clusters: Clusters, free: Free) -> Division | None:
    """What each cluster has to hold where that does not go by room; None: the spread constraints cannot be met."""
    replicas = facts.missing
    if facts.style == "Duplicated":
        return _everywhere(facts, clusters, free)
    weights = static_weights(facts.placement.replica_scheduling, clusters)
    chosen = _spread(facts, clusters, weights, need=0, widely=True)
    return None if chosen is None else division.weighted(replicas, {name: weights[name] for name in chosen.clusters})


def _everywhere(facts: BindingFacts, clusters: Clusters, free: Free) -> Division | None:
    """All replicas in each cluster where it is not yet, and what clusters have too few or too many of."""
    replicas = facts.missing
    able = {name: room(facts.request, free.get(name, NOTHING)) for name in clusters if name not in facts.held}
    if facts.placement.spread_constraints:
        able = {name: count for name, count in able.items() if count >= replicas}
    here = {name: PLENTY for name in facts.held if name in clusters}
    chosen = _spread(facts, clusters, {**here, **able}, need=0, widely=True)
    changed = {name: replicas - count for name, count in facts.held.items() if count != replicas}
    if chosen is None:
        return None
    return division.duplicated(replicas, [name for name in chosen.clusters if name not in facts.held]) | changed


def _by_room(facts: BindingFacts, clusters: Clusters, rooms: Mapping[str, int]) -> Division | None:
    able = {name: count for name, count in rooms.items() if count > 0}
    dynamic = facts.style == "Dynamic"
    chosen = _spread(facts, clusters, able, need=facts.missing, widely=dynamic)
    if chosen is None:
        return None
    within = {name: able[name] for name in chosen.clusters}
    if dynamic:
        return division.by_room(facts.missing, within)
    return division.aggregated(facts.missing, within, spread=chosen.needed)


def _spread(
    facts: BindingFacts, clusters: Clusters, able: Mapping[str, int], *, need: int, widely: bool
) -> Selection | None:
    """The clusters that the spread constraints allow; without any, all of them."""
    constraints = facts.placement.spread_constraints
    if not constraints:
        return Selection(list(able), [])
    if facts.held and facts.style != "Duplicated":  # a part of it runs: the rest stays within its clusters
        return Selection([name for name in able if name in facts.held], [])
    spread = Spread(constraints, {name: clusters[name] for name in able})
    return spread.select(able, lambda names: sum(able[name] for name in names) >= need, widely=widely)


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
