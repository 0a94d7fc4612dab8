"""What a plan over many costs, counted in what it looks at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reprieve.configuration import Settings
from reprieve.engine.explanation import Judged, Told
from reprieve.manifests.loading import load_objects
from reprieve.planning.planner import decide
from reprieve.policies.pod import PodPolicy, PodView
from tests.builders.pods import node, pod

NODES = 6


def test_only_decisions_that_are_shown_in_full_name_every_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node(f"n{number}", cpu="2") for number in range(NODES)]
    staying = [pod(f"stays-{number}", node=f"n{number}", cpu="1", priority=9) for number in range(NODES)]
    running = [pod(f"low-{number}", node=f"n{number}", cpu="1", priority=0) for number in range(NODES)]
    waiting = [pod(f"high-{number}", cpu="1", priority=5) for number in range(NODES)]
    hopeless = [pod(f"huge-{number}", cpu="64", priority=5) for number in range(NODES)]
    named: list[str] = []
    real = PodPolicy.judged

    def judged(self: PodPolicy, view: PodView, told: Told) -> Iterator[Judged]:
        for one in real(self, view, told):
            named.append(one.unit)
            yield one

    monkeypatch.setattr(PodPolicy, "judged", judged)
    loaded = load_objects([*nodes, *staying, *running, *waiting, *hopeless])
    whole = decide(loaded, settings=Settings(), now="2026-01-01T12:00:00Z")
    in_all, named[:] = len(named), []
    few = decide(loaded, settings=Settings(), now="2026-01-01T12:00:00Z", in_full=2)
    assert in_all >= 2 * NODES * NODES
    assert len(named) <= 4 * NODES + 2 * (NODES - 2)
    assert few.decisions[:2] == whole.decisions[:2]
    told = [[(one.preemptor, one.outcome, one.domain, one.victims) for one in each.decisions] for each in (few, whole)]
    assert told[0] == told[1]
