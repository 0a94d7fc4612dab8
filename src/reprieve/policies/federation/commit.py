"""How a plan changes a world: what a cycle does with it, so that later bindings see what earlier ones got and freed."""

from collections.abc import Mapping

import msgspec

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.karmada import ResourceBinding, TargetCluster
from reprieve.model.names import UnitName
from reprieve.policies.federation.bindings import SCHEDULED, BindingFacts
from reprieve.policies.federation.evictions import EVICTED_ANNOTATION, evictions_of, settled, written
from reprieve.policies.federation.view import BindingTerms
from reprieve.policies.federation.world import Federation


def commit(federation: Federation, plan: Plan) -> None:
    """Victims have left; the binding is scheduled, or its place is held."""
    terms: BindingTerms = plan.terms
    gone: dict[UnitName, set[str]] = {}
    for victim, cluster in terms.evictions:
        gone.setdefault(victim.unit, set()).add(cluster)
    for unit, clusters in gone.items():
        federation.world.put(_without(_current(federation, unit), clusters))
    facts = _current(federation, plan.preemptor)
    if plan.outcome == "Fits":
        federation.world.put(_scheduled(facts, terms.division))
    elif terms.division:
        federation.world.put(_holding(facts.binding, terms.division))
    federation.refresh()


def _current(federation: Federation, unit: UnitName) -> BindingFacts:
    facts = federation.find(unit)
    if facts is None:
        raise LookupError(f"{unit} is gone")
    return facts


def _scheduled(facts: BindingFacts, division: Mapping[str, int]) -> ResourceBinding:
    """A binding with its new replicas beside those it has; that it had lost a cluster, or held a place, is over."""
    placed = _with_clusters(facts.binding, facts.after(division))
    said = {key: value for key, value in placed.metadata.annotations.items() if key != HOLD_ANNOTATION}
    if EVICTED_ANNOTATION in said:
        said[EVICTED_ANNOTATION] = written(settled(evictions_of(said)))
    others = tuple(item for item in placed.status.conditions if item.type != SCHEDULED)
    status = msgspec.structs.replace(placed.status, conditions=others)
    return msgspec.structs.replace(_saying(placed, said), status=status)


def _without(facts: BindingFacts, clusters: set[str]) -> ResourceBinding:
    """A binding that has left some of its clusters; its result in the others stays."""
    return _with_clusters(facts.binding, {name: count for name, count in facts.held.items() if name not in clusters})


def _holding(binding: ResourceBinding, division: Mapping[str, int]) -> ResourceBinding:
    hold = Hold(clusters=dict(division)).text()
    return _saying(binding, {**binding.metadata.annotations, HOLD_ANNOTATION: hold})


def _saying(binding: ResourceBinding, annotations: dict[str, str]) -> ResourceBinding:
    metadata = msgspec.structs.replace(binding.metadata, annotations=annotations)
    return msgspec.structs.replace(binding, metadata=metadata)


def _with_clusters(binding: ResourceBinding, replicas: Mapping[str, int]) -> ResourceBinding:
    clusters = tuple(TargetCluster(name=name, replicas=count) for name, count in replicas.items())
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, clusters=clusters))
