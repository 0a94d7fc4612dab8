"""Which controllers there are: those that every cluster has of its own, and sets that can be asked for by name.

A set does for one design what its own program does in clusters, and must not run beside that.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from reprieve.configuration import Settings
from reprieve.controllers.federation.detector import Detector
from reprieve.controllers.garbage import GarbageCollector
from reprieve.controllers.namespaces import NamespaceController
from reprieve.controllers.pods.budgets import BudgetController
from reprieve.controllers.pods.daemon_sets import DaemonSetController
from reprieve.controllers.pods.deployments import DeploymentController
from reprieve.controllers.pods.job_sets import JobSetController
from reprieve.controllers.pods.jobs import JobController
from reprieve.controllers.pods.left_behind import LeftBehind
from reprieve.controllers.pods.replica_sets import ReplicaSetController
from reprieve.controllers.pods.stateful_sets import StatefulSetController
from reprieve.controllers.pods.workloads import WorkloadController
from reprieve.controllers.quota.checks import QuotaChecks
from reprieve.controllers.quota.in_use import QuotaInUse
from reprieve.controllers.quota.job_sets import QuotaJobSets
from reprieve.controllers.quota.jobs import QuotaJobs
from reprieve.controllers.quota.lifecycle import QuotaLifecycle
from reprieve.controllers.quota.node_failures import QuotaNodeFailures
from reprieve.controllers.quota.pods import QuotaPods
from reprieve.controllers.quota.pods_ready import QuotaPodsReady
from reprieve.controllers.quota.stateful_sets import QuotaStatefulSets
from reprieve.controllers.quota.status import QuotaStatus
from reprieve.controllers.quota.topology import TopologyUngater
from reprieve.controllers.resource_quotas import ResourceQuotaController
from reprieve.controllers.runner import BaseController
from reprieve.manifests.problems import Finding, InvalidInput, Origin, did_you_mean, found, one_of
from reprieve.model.clock import Clock
from reprieve.policies.incumbents import KARMADA, KUEUE, Incumbent
from reprieve.stores.protocol import Store

MakeControllers = Callable[[Store, Clock, Settings], list[BaseController]]


class ControllerSet(NamedTuple):
    make: MakeControllers
    incumbent: Incumbent | None = None
    """Who does the same in clusters already."""


_SETS: dict[str, ControllerSet] = {}


def register(name: str, make: MakeControllers, *, incumbent: Incumbent | None = None) -> None:
    """One more set of controllers that can be asked for."""
    if name in _SETS:
        raise ValueError(f"controllers {name!r} are registered already")
    _SETS[name] = ControllerSet(make, incumbent)


def choices() -> dict[str, Incumbent | None]:
    """The sets that can be asked for, each with who else does the same."""
    return {name: one.incumbent for name, one in sorted(_SETS.items())}


def check(names: Iterable[str], origin: Origin) -> None:
    """Raises `InvalidInput` for what is no set of controllers."""
    wrong = [name for name in names if name not in _SETS]
    if wrong:
        findings = (Finding("", found(name), one_of(choices()), did_you_mean(name, _SETS)) for name in wrong)
        raise InvalidInput(finding.at(origin, "", "read") for finding in findings)


def make_sets(names: Iterable[str], store: Store, clock: Clock, settings: Settings) -> list[BaseController]:
    """The controllers of some sets, each once."""
    return [made for name in dict.fromkeys(names) for made in _SETS[name].make(store, clock, settings)]


def make_all(store: Store, clock: Clock, settings: Settings) -> list[BaseController]:
    """Everything that a control plane of its own needs: also what every cluster has."""
    groups = settings.gate("WorkloadWithJob") and settings.gate("GenericWorkload")
    core: list[Callable[[Store, Clock], BaseController]]
    core = [partial(JobController, groups=groups), ReplicaSetController, DeploymentController, DaemonSetController]
    core += [
        StatefulSetController,
        JobSetController,
        BudgetController,
        WorkloadController,
        LeftBehind,
        GarbageCollector,
        NamespaceController,
        ResourceQuotaController,
    ]
    return [*(make(store, clock) for make in core), *make_sets(_SETS, store, clock, settings)]


def _quota(store: Store, clock: Clock, settings: Settings) -> list[BaseController]:
    plain: tuple[Callable[[Store, Clock], BaseController], ...]
    plain = (
        QuotaJobs,
        QuotaJobSets,
        QuotaPods,
        QuotaStatefulSets,
        QuotaLifecycle,
        QuotaChecks,
        QuotaInUse,
        QuotaNodeFailures,
        TopologyUngater,
    )
    wait = settings.wait_for_pods_ready
    ready = [QuotaPodsReady(store, clock, wait)] if wait.enable else []
    return [*(make(store, clock) for make in plain), *ready, QuotaStatus(store, clock, settings)]


def _federation(store: Store, clock: Clock, settings: Settings) -> list[BaseController]:
    return [Detector(store, clock, settings)]


register("quota", _quota, incumbent=KUEUE)
register("federation", _federation, incumbent=KARMADA)
