"""Admission checks: which of them a workload has to pass once it has quota.

1. A queue names its checks, each for all flavors or for some.
2. A queue that names a check which is not there, or of which no controller has said that it works, admits nobody.
3. Who has quota may run when the controllers of all its checks have said that it is ready.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from reprieve.manifests.kueue import AdmissionCheck, ClusterQueueSpec
from reprieve.model.clock import timestamp


def checks_for(spec: ClusterQueueSpec, flavors: Iterable[str]) -> list[str]:
    """The checks of a queue for a workload on these flavors."""
    on = set(flavors)
    return [rule.name for rule in spec.checks() if not rule.on_flavors or not on.isdisjoint(rule.on_flavors)]


def missing(spec: ClusterQueueSpec, known: Mapping[str, AdmissionCheck]) -> tuple[str, ...]:
    return tuple(rule.name for rule in spec.checks() if rule.name not in known)


def inactive(spec: ClusterQueueSpec, known: Mapping[str, AdmissionCheck]) -> tuple[str, ...]:
    return tuple(rule.name for rule in spec.checks() if rule.name in known and not known[rule.name].active)


def with_checks(status: Mapping[str, Any], names: Iterable[str], now: datetime) -> list[dict[str, Any]]:
    """What the status of a workload says of these checks: what their controllers have said, or that they have not."""
    known = {check["name"]: check for check in status.get("admissionChecks") or ()}
    pending = {"state": "Pending", "message": "", "lastTransitionTime": timestamp(now)}
    return [known.get(name) or {"name": name, **pending} for name in names]
