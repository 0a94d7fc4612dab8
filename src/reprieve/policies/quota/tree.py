"""The quota tree from manifests: ClusterQueues, the cohorts that they name, and the quota of each."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from reprieve.engine.quota_tree import FlavorQuota, FlavorResource, QuotaNode, link, settle
from reprieve.manifests import kueue
from reprieve.model.resources import CPU, Quantity
from reprieve.world import World


def plant(world: World) -> dict[str, QuotaNode]:
    """The queues by name, each in its tree."""
    queues: dict[str, QuotaNode] = {}
    cohorts: dict[str, QuotaNode] = {}
    objects = {cohort.name: cohort for cohort in world.all(kueue.Cohort)}
    for queue in sorted(world.all(kueue.ClusterQueue), key=_name):
        node = QuotaNode(queue.name, queue=True, weight=_weight(queue.spec.fair_sharing))
        node.quotas = dict(_quotas(queue.spec.resource_groups))
        queues[queue.name] = node
        if queue.spec.cohort_name:
            link(node, _cohort(queue.spec.cohort_name, cohorts, objects))
    for name in sorted(objects):
        _cohort(name, cohorts, objects)
    for node in {id(node.root): node.root for node in (*queues.values(), *cohorts.values())}.values():
        settle(node)
    return queues


def _name(item: Any) -> str:
    return str(item.name)


def _cohort(name: str, cohorts: dict[str, QuotaNode], objects: dict[str, kueue.Cohort]) -> QuotaNode:
    """A cohort with all above it; it exists by being named, and gets quota where an object gives it some."""
    way: list[QuotaNode] = []
    while name and name not in cohorts and len(way) < kueue.DEEPEST_COHORTS:
        cohort = objects.get(name)
        node = cohorts[name] = _new_cohort(name, cohort)
        if way:
            link(way[-1], node)
        way.append(node)
        name = cohort.spec.parent_name if cohort is not None else ""
    known = cohorts.get(name)
    if not way:
        return cohorts[name]
    if known is not None and _may_stand_above(known, way):
        link(way[-1], known)
    return way[0]


def _may_stand_above(node: QuotaNode, way: list[QuotaNode]) -> bool:
    """Cohorts that go in a circle, or stand too deep, are cut open: admission refuses them."""
    return node.root is not way[-1] and len(way) + 1 + sum(1 for _ in node.path()) <= kueue.DEEPEST_COHORTS


def _new_cohort(name: str, cohort: kueue.Cohort | None) -> QuotaNode:
    if cohort is None:
        return QuotaNode(name, queue=False)
    node = QuotaNode(name, queue=False, weight=_weight(cohort.spec.fair_sharing))
    node.quotas = dict(_quotas(cohort.spec.resource_groups))
    return node


def _weight(sharing: kueue.FairSharing | None) -> Fraction:
    return Fraction(1) if sharing is None else Fraction(sharing.weight.nano, 10**9)


def _quotas(groups: Iterable[kueue.ResourceGroup]) -> Iterable[tuple[FlavorResource, FlavorQuota]]:
    for group in groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                amounts = (quota.nominal_quota, quota.borrowing_limit, quota.lending_limit)
                nominal, borrowing, lending = (_units(quota.name, amount) for amount in amounts)
                yield (flavor.name, quota.name), FlavorQuota(nominal or 0, borrowing, lending)


def _units(resource: str, quantity: Quantity | None) -> int | None:
    if quantity is None:
        return None
    return quantity.milli if resource == CPU else quantity.value
