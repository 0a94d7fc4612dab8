"""What is counted: names modelled on kube-scheduler's, and what preemption has cost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from reprieve.engine.plan import Plan
from reprieve.world import PodFacts, microseconds

_RESULTS = {"Fits": "scheduled", "Preempt": "unschedulable", "Wait": "unschedulable", "Unschedulable": "unschedulable"}
_SECOND = 1_000_000


class Metrics:
    """All metrics of one scheduler, in a registry of their own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._attempts = Counter(
            "scheduler_schedule_attempts",
            "Attempts to schedule a unit, by result and policy.",
            ("result", "policy"),
            registry=self.registry,
        )
        self._duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From taking a unit to the end of its commit.",
            ("result", "policy"),
            buckets=tuple(0.0005 * 2**step for step in range(14)),
            registry=self.registry,
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts", "Decisions that somebody has to go.", ("policy",), registry=self.registry
        )
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "Victims of one decision.",
            ("policy",),
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=self.registry,
        )
        self._evaluation = Histogram(
            "scheduler_preemption_evaluation_seconds",
            "Time to decide, where somebody has to go.",
            ("policy",),
            buckets=tuple(0.0005 * 2**step for step in range(14)),
            registry=self.registry,
        )
        self._violations = Counter(
            "scheduler_preemption_pdb_violations",
            "Victims that went against a disruption budget.",
            registry=self.registry,
        )
        self._pending = Gauge(
            "scheduler_pending_pods", "Units that wait, by the part of the queue.", ("queue",), registry=self.registry
        )
        self._lost = Counter(
            "reprieve_preemption_lost_resource_seconds",
            "What victims held, times how long they had run, by resource.",
            ("resource",),
            registry=self.registry,
        )

    def tried(self, plan: Plan, seconds: float) -> None:
        result = _RESULTS[plan.outcome]
        self._attempts.labels(result, plan.policy).inc()
        self._duration.labels(result, plan.policy).observe(seconds)

    def failed(self, policy: str) -> None:
        self._attempts.labels("error", policy).inc()

    def preempted(self, plan: Plan, seconds: float) -> None:
        self._preemptions.labels(plan.policy).inc()
        self._victims.labels(plan.policy).observe(len(plan.victims))
        self._evaluation.labels(plan.policy).observe(seconds)
        self._violations.inc(sum(victim.pdb_violation for victim in plan.victims))

    def lost(self, victims: Iterable[PodFacts], now: datetime) -> None:
        """What was done so far is lost with whoever has to go."""
        moment = microseconds(now)
        for facts in victims:
            seconds = max(0, moment - facts.start) / _SECOND
            for resource, units in facts.requests.items():
                amount = units / 1000 if resource == "cpu" else units
                self._lost.labels(resource).inc(amount * seconds)

    def pending(self, sizes: dict[str, int]) -> None:
        for part, size in sizes.items():
            self._pending.labels(part).set(size)
