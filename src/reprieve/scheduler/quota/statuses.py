"""What is written in the status of quota workloads, and what it says about them."""

from collections.abc import Iterator, Mapping
from typing import Any

from reprieve.engine.holds import HeldVictim
from reprieve.engine.quota_tree import QuotaNode
from reprieve.manifests.kueue_topology import assignment_data
from reprieve.model.conditions import Said, condition_of, has_condition
from reprieve.model.resources import print_amount
from reprieve.policies.quota.view import Terms
from reprieve.scheduler.context import annotations_of
from reprieve.stores.assumed import Arrived
from reprieve.stores.records import Record

BLOCKED = "BlockedOnPreemptionGates"
OVER = ("Evicted", "Preempted", BLOCKED)
"""What is over once a workload is admitted again; one that never was evicted does not have them."""


GATED = {True: "PreemptionGated", False: "NotGated"}


def evicted(victim: HeldVictim) -> dict[str, Said]:
    return {
        "Evicted": ("True", "Preempted", victim.message),
        "Preempted": ("True", victim.reason, victim.message),
    }


def asks(record: Record) -> bool:
    """Whether it still asks for quota, now or when its back-off is over."""
    finished = has_condition(record.data, "Finished")
    return record.manifest.status.admission is None and record.manifest.spec.active and not finished


def has_quota(record: Record) -> bool:
    return bool(record.data.get("status", {}).get("admission"))


def is_out(record: Record) -> bool:
    """Whether it has been told to go, or has gone."""
    return not has_quota(record) or has_condition(record.data, "Evicted")


def says(said: Mapping[str, str | None]) -> Arrived:
    return lambda record: all(annotations_of(record).get(key) == value for key, value in said.items())


def path(queue: QuotaNode) -> str:
    """A queue from the top of its cohort down: `/all/research/team-a`."""
    return "".join(f"/{node.name}" for node in reversed([queue, *queue.path()]))


def admission(terms: Terms) -> dict[str, Any]:
    return {"clusterQueue": terms.queue.name, "podSetAssignments": list(_assignments(terms))}


def _assignments(terms: Terms) -> Iterator[dict[str, Any]]:
    for group in terms.assignment.pod_sets:
        placed = terms.placed.get(group.name)
        yield {
            "name": group.name,
            "count": group.size,
            "flavors": {resource: item.flavor for resource, item in group.flavors.items()},
            "resourceUsage": {name: print_amount(name, units) for name, units in group.requests.items()},
            **({"topologyAssignment": assignment_data(placed.levels, placed.domains)} if placed is not None else {}),
        }


def since(record: Record) -> str:
    """Since when it has its quota."""
    found = condition_of(record.data, "QuotaReserved")
    return str(found.get("lastTransitionTime", "")) if found.get("status") == "True" else ""
