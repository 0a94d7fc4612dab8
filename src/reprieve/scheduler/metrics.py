"""What is counted: names modelled on kube-scheduler's, and what preemption has cost.

What a scheduler in shadow decides happens to nobody: it has counters of its own, of what would have been.
"""

from collections.abc import Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from reprieve.engine.plan import Plan
from reprieve.feature_gates import GATES, is_on
from reprieve.world import PodFacts, microseconds

_RESULTS = {"Fits": "scheduled", "Preempt": "unschedulable", "Wait": "unschedulable", "Unschedulable": "unschedulable"}
_SECOND = 1_000_000
_DURATIONS = tuple(0.0005 * 2**step for step in range(14))


class DecisionMetrics:
    """What decisions took, and what came of them; of a scheduler that acts, or of one in shadow."""

    def __init__(self, registry: CollectorRegistry, prefix: str, cost_prefix: str) -> None:
        self._attempts = Counter(
            f"{prefix}_schedule_attempts",
            "Attempts to schedule a unit, by result and policy.",
            ("result", "policy"),
            registry=registry,
        )
        self._duration = Histogram(
            f"{prefix}_scheduling_attempt_duration_seconds",
            "Time to decide for a unit, by result and policy.",
            ("result", "policy"),
            buckets=_DURATIONS,
            registry=registry,
        )
        self._evaluation = Histogram(
            f"{prefix}_preemption_evaluation_seconds",
            "Time to decide, where somebody has to go.",
            ("policy",),
            buckets=_DURATIONS,
            registry=registry,
        )
        self._preemptions = Counter(
            f"{prefix}_preemption_attempts", "Decisions for which somebody had to go.", ("policy",), registry=registry
        )
        self._victims = Histogram(
            f"{prefix}_preemption_victims",
            "Victims of one decision.",
            ("policy",),
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=registry,
        )
        self._violations = Counter(
            f"{prefix}_preemption_pdb_violations", "Victims that went against a disruption budget.", registry=registry
        )
        self._lost = Counter(
            f"{cost_prefix}_preemption_lost_resource_seconds",
            "What victims held, times how long they had run, by resource.",
            ("resource",),
            registry=registry,
        )

    def tried(self, plan: Plan, seconds: float) -> None:
        result = _RESULTS[plan.outcome]
        self._attempts.labels(result, plan.policy).inc()
        self._duration.labels(result, plan.policy).observe(seconds)
        if plan.outcome == "Preempt":
            self._evaluation.labels(plan.policy).observe(seconds)

    def failed(self, kind: str) -> None:
        self._attempts.labels("error", kind).inc()

    def preempted(self, policy: str, victims: int) -> None:
        """All victims of a decision, so many, have been told."""
        self._preemptions.labels(policy).inc()
        self._victims.labels(policy).observe(victims)

    def told(self, pod: PodFacts | None, now: datetime, *, pdb_violation: bool) -> None:
        """A victim has been told; what a pod has done so far is lost."""
        self._violations.inc(pdb_violation)
        if pod is None:
            return
        seconds = max(0, microseconds(now) - pod.start) / _SECOND
        for resource, units in pod.requests.items():
            amount = units / 1000 if resource == "cpu" else units
            self._lost.labels(resource).inc(amount * seconds)


class Metrics:
    """All metrics of one scheduler, in a registry of their own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.acting = DecisionMetrics(self.registry, "scheduler", "reprieve")
        self.shadow = DecisionMetrics(self.registry, "reprieve_shadow", "reprieve_shadow")
        self._pending = Gauge(
            "scheduler_pending_pods", "Units that wait, by the part of the queue.", ("queue",), registry=self.registry
        )

        self._agreement = Counter(
            "reprieve_shadow_agreement",
            "Decisions of another scheduler, by how they compare with what would have been decided here.",
            ("policy", "result"),
            registry=self.registry,
        )

    def compared(self, policy: str, result: str) -> None:
        """Another scheduler has decided."""
        self._agreement.labels(policy, result).inc()

    def gates(self, said: Mapping[str, bool]) -> None:
        """Which feature gates are on, under the name that Kubernetes' components use."""
        enabled = Gauge(
            "kubernetes_feature_enabled", "Feature gates: 1 is on.", ("name", "stage"), registry=self.registry
        )
        for name, gate in GATES.items():
            enabled.labels(name, "" if gate.stage == "GA" else gate.stage.upper()).set(is_on(name, said))

    def pending(self, sizes: dict[str, int]) -> None:
        for part, size in sizes.items():
            self._pending.labels(part).set(size)
