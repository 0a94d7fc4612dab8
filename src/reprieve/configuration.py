"""Reprieve's own settings; which feature gates there are is in `feature_gates.py`."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from reprieve.feature_gates import is_on, mistakes_in
from reprieve.manifests.diagnosis import diagnose, drop_nulls
from reprieve.manifests.known_fields import unknown_fields
from reprieve.manifests.kueue import Sorting
from reprieve.manifests.meta import Count, Model, Reader
from reprieve.manifests.problems import Finding, InvalidInput, Origin, found
from reprieve.manifests.yunikorn import parse_duration
from reprieve.model.resources import Quantity

OWN_SCHEDULER = "reprieve"
"""What pods and bindings call this scheduler that want no other."""
_MOST_DOUBLINGS = 31


class FairSharingSettings(Model):
    enable: bool = False
    preemption_strategies: tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )


class QuotaSettings(Model):
    """Which design decides, and what KEP-83 left open or put off; all of that is off by default."""

    design: Literal["Kueue", "KEP-83"] = "Kueue"
    """KEP-83: as the design was written, where Kueue went on: see docs/quota.md."""
    stop_borrowing_after_non_borrower: bool = False
    """Nobody in a cohort borrows after a workload that need not, be it admitted in the same cycle or still waiting: as
    the KEP says."""
    wait_before_preemption_seconds: Count = 0
    """How long a workload waits, from its creation, before it may preempt."""
    candidate_order: tuple[Sorting, ...] = ("ByLowestPriority", "ByLowestRuntime")
    """By what candidates of one kind are told apart; ByLowestCost reads the milestones that workloads carry. A
    ClusterQueue may say otherwise for those who preempt from it."""
    protect_after_seconds: Count = 0
    """Who has run for so long makes way for nobody; 0: that protects nobody."""

    @property
    def as_written(self) -> bool:
        """Whether KEP-83 is followed to the letter."""
        return self.design == "KEP-83"


class QueueSettings(Model):
    """Where YuniKorn's code went another way than its design, which is followed."""

    request_within_guarantee: bool = False
    """Law 4: a pod preempts only where the guarantee of its queue holds the whole of it, as in the code. In the design
    its queue has to be under its guarantee, and may be above it once the pod is there."""
    opt_out: Literal["PriorityClass", "Pod"] = "PriorityClass"
    """Whose annotation `allow-preemption` counts, where a pod has a class: in the code first the pod's."""


class RequeuingStrategy(Model):
    """What becomes of a workload that was evicted because its pods were not ready in time, as Kueue has it."""

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """By what it is put in order when it is queued again."""
    backoff_limit_count: Count | None = None
    """How often it is queued again before it is made inactive; None: always."""
    backoff_base_seconds: Count = 60
    """How long it waits the first time; each time twice as long."""
    backoff_max_seconds: Count = 3600

    def wait(self, times: int) -> int:
        """Seconds that it waits the so-manieth time."""
        doubled: int = self.backoff_base_seconds * 2 ** min(times - 1, _MOST_DOUBLINGS)
        return min(doubled, self.backoff_max_seconds)


class WaitForPodsReady(Model):
    """Workloads whose pods do not all get ready in time are evicted, as Kueue has it; off by default."""

    enable: bool = False
    timeout: str = "5m"
    """From admission until all pods are ready, or have succeeded."""
    recovery_timeout: str | None = None
    """From the moment at which one of them is no longer ready; where nobody says it, the same. `0s`: for ever."""
    block_admission: bool = False
    """Nobody is admitted while the pods of an admitted workload are not ready."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()

    @property
    def start_seconds(self) -> float:
        return parse_duration(self.timeout) or 0.0

    @property
    def recovery_seconds(self) -> float:
        return parse_duration(self.timeout if self.recovery_timeout is None else self.recovery_timeout) or 0.0

    @property
    def blocks(self) -> bool:
        return self.enable and self.block_admission

    def mistakes(self, path: str) -> Iterator[Finding]:
        for name, value in (("timeout", self.timeout), ("recoveryTimeout", self.recovery_timeout)):
            seconds = parse_duration(value) if value is not None else 0.0
            if seconds is None or seconds < 0:
                yield Finding(f"{path}.{name}", found(value), "allowed: a duration such as 5m, 90s or 1h30m")


class LogSettings(Model):
    """How much is kept of what containers of this machine wrote, once they are over."""

    per_attempt: Quantity = Quantity.parse("1Mi")
    """The end of each; what came before is dropped."""
    total: Quantity = Quantity.parse("256Mi")
    """All together; the oldest are dropped first."""


class StoreSettings(Model):
    """How `reprieve up` keeps objects."""

    synchronous: Literal["Normal", "Full"] = "Normal"
    """Normal: what is acknowledged outlives a crash of the program, however it ends; a loss of power may take back the
    last moments. Full: it outlives that, too, and each write waits for the disk."""


class Settings(Model):
    """The configuration file: every setting has a default."""

    pdb: Literal["BestEffort", "Respect"] = "BestEffort"
    """Respect: a plan that would break a PodDisruptionBudget is refused, and victims leave by the Eviction API."""
    victims: Literal["Own", "Any"] | None = None
    """Own: only pods that name this scheduler make way for pods. Any: all pods, as kube-scheduler has it. Where nobody
    says it, `Any`; but beside other schedulers, `Own`."""
    policies: tuple[str, ...] | None = None
    """Which policies decide; None: all that there are."""
    scoring: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated"
    search: Literal["Best", "Design"] | None = None
    """Design: who makes way is whom the design's own search finds. Best: from there it is looked for less, by the same
    rules and criteria. Where nobody says it, `Best`; but quota that goes by KEP-83 as written goes by its order."""
    search_steps: Count = 4000
    """How far it is looked for less, in steps of the search: the same world gives the same plan, however fast it is."""
    lost_work: Literal["Runtime", "Annotations"] = "Runtime"
    """What counts as lost work. Annotations: also what pods, groups, workloads and bindings say of it themselves: when
    they last saved it, what an interruption costs."""
    validate: bool = False
    """Check after every search that the ledger is what it was before."""
    feature_gates: dict[str, bool] = {}
    """What was said of gates; all others are as the designs have them."""
    fair_sharing: FairSharingSettings = FairSharingSettings()
    quota: QuotaSettings = QuotaSettings()
    queues: QueueSettings = QueueSettings()
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    logs: LogSettings = LogSettings()
    store: StoreSettings = StoreSettings()

    @property
    def asks_for_lost_work(self) -> bool:
        """Whether it counts what is said of it."""
        return self.lost_work == "Annotations"

    def gate(self, name: str) -> bool:
        return is_on(name, self.feature_gates)


_READER = Reader("", "Configuration", Settings)


def configure(
    data: Mapping[str, Any] | None,
    gates: Mapping[str, bool] | None = None,
    *,
    file: str = "configuration",
    document: int = 0,
) -> Settings:
    """Settings from plain data; what is given in `gates` wins. Mistakes are raised all at once."""
    plain = drop_nulls(dict(data or {}))
    findings = [*diagnose(plain, _READER), *unknown_fields(plain, Settings)]
    if not findings:
        settings: Settings = _READER.convert(plain)
        merged = {**settings.feature_gates, **(gates or {})}
        waits = settings.wait_for_pods_ready.mistakes("$.waitForPodsReady")
        findings = [*mistakes_in(merged), *_contradictions(settings), *waits]
        if not findings:
            return msgspec.structs.replace(settings, feature_gates=merged)
    raise InvalidInput(finding.at(Origin(file, document), "", "read") for finding in findings)


def _contradictions(settings: Settings) -> Iterator[Finding]:
    if settings.quota.as_written and settings.fair_sharing.enable:
        yield Finding("$.quota.design", found(settings.quota.design), "allowed: Kueue, where fairSharing is enabled")


def beside_others(settings: Settings) -> Settings:
    """Settings for a cluster that has another scheduler: one that is only tried out there takes nothing from it."""
    return msgspec.structs.replace(settings, victims=settings.victims or "Own")


def changed(settings: Settings, data: Mapping[str, Any]) -> Settings:
    """Settings with some of them said anew; gates are switched one by one, all others as a whole."""
    gates = {**settings.feature_gates, **(data.get("featureGates") or {})}
    return configure({**msgspec.to_builtins(settings), **data}, gates)
