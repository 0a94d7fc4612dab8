"""How full member clusters are, and which bindings wait for them: worked out from objects, for `top`."""

from collections.abc import Iterable

from reprieve.cli.figures import Data, NodeUse, WaitingUnit, is_ready
from reprieve.manifests.karmada import Cluster, ResourceBinding
from reprieve.manifests.meta import find_condition
from reprieve.manifests.priorities import Priority, of_scheduled_binding
from reprieve.model.resources import NOTHING
from reprieve.policies.federation.bindings import SCHEDULED, BindingFacts
from reprieve.texts import federation as texts


def cluster_uses(clusters: Iterable[Cluster]) -> list[NodeUse]:
    """What each member cluster reports: what it has, and what is used or about to be."""
    found = [(cluster, cluster.status.resource_summary) for cluster in clusters]
    return [
        NodeUse(cluster.name, is_ready(cluster), summary.allocatable, summary.allocated + summary.allocating)
        if summary is not None
        else NodeUse(cluster.name, is_ready(cluster), NOTHING, NOTHING, silent=True)
        for cluster, summary in found
    ]


def bindings_in(cluster: str, bindings: Iterable[Data]) -> list[str]:
    """How many bindings are scheduled to a cluster, and how many still leave it."""
    held = leaving = 0
    for binding in bindings:
        spec = binding["spec"]
        held += any(target["name"] == cluster for target in spec.get("clusters") or ())
        leaving += any(task["fromCluster"] == cluster for task in spec.get("gracefulEvictionTasks") or ())
    return [str(held), str(leaving)]


def waiting_bindings(bindings: Iterable[ResourceBinding]) -> list[WaitingUnit]:
    """Bindings without all of their clusters; those that are suspended say so."""
    found = [BindingFacts(binding, of_scheduled_binding(binding) or Priority(0, "Never")) for binding in bindings]
    return sorted((_waiting_binding(facts) for facts in found if facts.wants), key=WaitingUnit.rank)


def _waiting_binding(facts: BindingFacts) -> WaitingUnit:
    binding = facts.binding
    said = find_condition(binding.status.conditions, SCHEDULED)
    why = texts.SUSPENDED if facts.suspended else said.message if said is not None else ""
    created = binding.metadata.creation_timestamp
    since = created.isoformat() if created is not None else ""
    return WaitingUnit(f"{binding.kind.lower()}/{binding.name}", binding.namespace, facts.priority, since, why)
