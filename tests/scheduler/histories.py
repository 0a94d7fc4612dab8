"""What tests of the history share: a clock that they move on, and plans to keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from reprieve.engine.plan import Outcome, Plan, Victim
from reprieve.engine.reasons import LowerPriority
from reprieve.model.names import unit_name


class Watch:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def planned(unit: str, outcome: Outcome = "Unschedulable", message: str = "no room", *victims: str) -> Plan:
    going = [Victim(unit_name("Pod", "default", name), LowerPriority(1, 100)) for name in victims]
    return Plan(unit_name("Pod", "default", unit), "pod", outcome, message, domain="n1", victims=going)
