"""Who has a turn next in a cycle, and how often it is asked where somebody stands."""

from __future__ import annotations

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.loading import load_objects
from reprieve.policies.registry import Policies, Waiting
from reprieve.world import World
from tests.builders.pods import node, pod

PODS = 60


def test_a_preemption_does_not_ask_everybody_anew_who_has_no_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many preempts: where the others stand is the same as before."""
    nodes = [node(f"n{number}", cpu="1") for number in range(PODS)]
    low = [pod(f"low-{number}", node=f"n{number}", cpu="1", priority=0) for number in range(PODS)]
    high = [pod(f"high-{number}", cpu=f"{1000 - number}m", priority=number % 7 + 1) for number in range(PODS)]
    policies = Policies(World(load_objects([*nodes, *low, *high]).objects), Settings())
    asked = 0
    place = Waiting._place

    def counted(self: Waiting, unit: str) -> tuple[object, ...]:
        nonlocal asked
        asked += 1
        return place(self, unit)

    monkeypatch.setattr(Waiting, "_place", counted)
    decided = list(policies.cycle("nodes", policies.pending("nodes"), 0))
    assert [one.plan.outcome for one in decided] == ["Preempt"] * PODS
    assert [one.preemptor.priority for one in decided] == sorted((n % 7 + 1 for n in range(PODS)), reverse=True)
    assert asked <= 6 * PODS
