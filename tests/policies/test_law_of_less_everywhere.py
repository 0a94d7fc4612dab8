"""`search: Best` is never worse than `Design`, in the worlds in which queues, quota and federation keep their laws.

By plans and manifests alone: no more victims, nobody more important, and nobody waits who would not have to.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given, settings

from reprieve import plan
from reprieve.configuration import configure
from reprieve.manifests.loading import load_objects
from reprieve.planning.planner import Planner
from reprieve.planning.questions import moment_of
from reprieve.planning.result import Decision
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.generators.federations import federations
from tests.generators.queues import Features, queue_world
from tests.generators.quota import RandomQuota, random_quotas
from tests.generators.task_groups import task_group_world
from tests.planes.nominations import Nominations

_EXAMPLES = int(os.environ.get("LESS_EXAMPLES", "60"))
_NOON = "2026-01-01T12:00:00Z"
Dict = dict[str, Any]


def _both(objects: list[Dict], preemptor: Any, config: Dict | None = None) -> tuple[Decision, Decision]:
    made = [
        plan(
            objects,
            preemptor=preemptor,
            now=_NOON,
            config={**(config or {}), "search": search, "validate": True},
            feature_gates=GANGS_AND_BINDINGS,
        )
        for search in ("Design", "Best")
    ]
    return made[0].decision, made[1].decision


def _never_worse(by_design: Decision, best: Decision, ranks: dict[str, int]) -> bool:
    """Asserts it; whether there are fewer victims."""
    if by_design.outcome != "Preempt":
        assert best.outcome == by_design.outcome or (by_design.outcome != "Fits" and best.outcome == "Preempt")
        return best.outcome != by_design.outcome
    assert best.outcome == "Preempt"
    assert len(best.victims) <= len(by_design.victims)
    assert _top(best, ranks) <= _top(by_design, ranks)
    return len(best.victims) < len(by_design.victims)


def _top(decision: Decision, ranks: dict[str, int]) -> int:
    return max(ranks[victim["unit"]] for victim in decision.victims)


def _priorities(objects: list[Dict]) -> dict[str, int]:
    return {
        f"{each['kind']}/{each['metadata'].get('namespace', '')}/{each['metadata']['name']}": _priority(each["spec"])
        for each in objects
        if each["kind"] in ("Pod", "Workload", "ResourceBinding", "ClusterResourceBinding")
    }


def _priority(spec: Dict) -> int:
    return int(spec.get("priority", spec.get("schedulePriority", {}).get("priority", 0)))


def test_of_queues() -> None:
    for seed in range(_EXAMPLES * 4):
        objects = queue_world(seed, Features())
        by_design, best = _both(objects, "Pod/default/ask-0")
        assert len(best.victims) <= len(by_design.victims) or by_design.outcome != "Preempt", seed
        assert best.outcome == "Preempt" or by_design.outcome != "Preempt", seed


@pytest.mark.parametrize("seed", [*range(_EXAMPLES), 285, 365, 383, 410, 484])
def test_of_applications_that_start_as_a_whole(seed: int) -> None:
    """What is the least for one member may be more for all of them: the numbers are worlds where it was."""
    objects = task_group_world(seed)
    preemptor = next((each for each in objects if _waits(each)), None)
    if preemptor is not None:
        by_design, best = _both(objects, f"Pod/default/{preemptor['metadata']['name']}")
        _never_worse(by_design, best, _priorities(objects))
        fewer = by_design.outcome == "Preempt" and len(best.victims) < len(by_design.victims)
        assert fewer <= ("by the design's order" in best.message)


def _waits(item: Dict) -> bool:
    return item["kind"] == "Pod" and not item["spec"].get("nodeName")


# Where flavors once went by what was found for less, or somebody more important went in place of several.
@given(random_quotas())
@example(RandomQuota(2680))
@example(RandomQuota(8885))
@example(RandomQuota(11933))
@settings(max_examples=_EXAMPLES)
def test_of_quota(world: RandomQuota) -> None:
    """Of each who waits, as if nobody else did: in a cycle those before it ask others, too."""
    ranks = _priorities(world.objects)
    workloads = [each for each in world.objects if each["kind"] == "Workload"]
    waiting = [each for each in workloads if not each.get("status", {}).get("admission")]
    for each in waiting:
        objects = [other for other in world.objects if other is each or other not in waiting]
        by_design, best = _both(objects, f"Workload/default/{each['metadata']['name']}", world.config)
        _never_worse(by_design, best, ranks)
        assert best.domain == by_design.domain or by_design.outcome not in ("Fits", "Preempt")


@given(random_quotas())
@example(RandomQuota(91))
@settings(max_examples=_EXAMPLES)
def test_of_quota_head_by_head(world: RandomQuota) -> None:
    """In a cycle: each by what those before it left."""
    planner = Planner(load_objects(world.objects), configure({**world.config, "validate": True}), moment_of(_NOON))
    faults: list[str] = []
    Nominations(faults).watch(planner.policies["quota"].policy)
    planner.cycle()
    assert faults == []


@given(federations())
@settings(max_examples=_EXAMPLES)
def test_of_federation(objects: list[Dict]) -> None:
    _never_worse(*_both(objects, "ResourceBinding/default/high"), _priorities(objects))
