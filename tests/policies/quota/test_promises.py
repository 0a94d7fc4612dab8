"""Whoever has preempted is promised what its victims leave, whichever of them goes first."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from reprieve.configuration import configure
from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold
from reprieve.engine.plan import Plan
from reprieve.model.names import UnitName
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.workloads import importance
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.builders.quota import condition
from tests.generators.quota import NOW, RandomQuota
from tests.policies.quota.test_laws import read

Dict = dict[str, Any]
_WORLDS = 400
_FIRST = {False: 0, True: 3500}
_ENOUGH = 20
"""Of these worlds so many at least have somebody for whom several leave."""


def _policy(world: RandomQuota, objects: Iterable[Dict]) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(read(objects)), configure(world.config)))


def _told(objects: list[Dict], plan: Plan) -> dict[str, Dict]:
    """The workloads, by unit, when a preemption is written down and nobody has left."""
    found = {f"Workload/default/{item['metadata']['name']}": item for item in objects if item["kind"] == "Workload"}
    for unit in _counted_on(plan):
        said = found[unit]["status"]["conditions"]
        found[unit]["status"]["conditions"] = [*said[:1], condition("Evicted", NOW, reason="Preempted")]
    new = {victim.unit for victim in plan.victims}
    each = {unit: HeldVictim(unit=unit, uid="", since=_since(found[unit])) for unit in _counted_on(plan)}
    hold = Hold(
        preemptor=plan.preemptor,
        policy="quota",
        victims=tuple(held for unit, held in each.items() if unit in new),
        leaving=tuple(held for unit, held in each.items() if unit not in new),
        flavors=plan.terms.assignment.chosen(),
        counts=dict(plan.terms.assignment.sizes),
    )
    found[plan.preemptor]["metadata"]["annotations"] = {HOLD_ANNOTATION: hold.text()}
    return found


def _counted_on(plan: Plan) -> list[UnitName]:
    """Its victims, those who were leaving, and those of earlier heads, who need not all that they leave."""
    return [*plan.terms.gone, *(facts.unit for facts in plan.terms.claimed)]


def _since(workload: Dict) -> str:
    since: str = workload["status"]["conditions"][0]["lastTransitionTime"]
    return since


def _leaves(workload: Dict) -> None:
    """Its quota is free, and it waits again."""
    del workload["status"]["admission"]
    workload["status"]["conditions"][0]["status"] = "False"


def _overtaken(policy: QuotaPolicy, plans: Iterable[Plan], preemptor: UnitName) -> bool:
    """Whether one that stands before it in its queue takes something."""
    waiting = {facts.unit: facts for queue in policy.quota.waiting.values() for facts in queue}
    mine = waiting[preemptor]
    taking = [waiting[plan.preemptor] for plan in plans if plan.terms.takes]
    return any(one.queue is mine.queue and importance(one) < importance(mine) for one in taking)


def _outcomes(world: RandomQuota) -> list[str]:
    """What is decided for the first for whom several leave, as one after the other does."""
    plans = cycle(_policy(world, world.objects))
    plan = next((plan for plan in plans if plan.outcome == "Preempt" and len(plan.terms.gone) > 1), None)
    if plan is None:
        return []
    objects = deepcopy(world.objects)
    workloads = _told(objects, plan)
    outcomes: list[str] = []
    for unit in Random(world.seed).sample(_counted_on(plan), len(_counted_on(plan))):  # noqa: S311 - not a secret
        _leaves(workloads[unit])
        policy = _policy(world, objects)
        made = cycle(policy)
        if _overtaken(policy, made, plan.preemptor):
            break
        outcomes.append(next(one.outcome for one in made if one.preemptor == plan.preemptor))
    return outcomes


@pytest.mark.parametrize("fair", [False, True])
def test_it_waits_until_there_is_enough_and_then_it_fits(fair: bool) -> None:
    seen = 0
    for seed in range(_FIRST[fair], _FIRST[fair] + _WORLDS):
        world = RandomQuota(seed)
        world.config = {"fairSharing": {"enable": fair}}
        outcomes = _outcomes(world)
        kept = outcomes == sorted(outcomes, reverse=True) and set(outcomes) <= {"Wait", "Fits"}
        assert kept, f"{seed}: {outcomes}"
        seen += len(outcomes) > 1 and outcomes[-1] == "Fits"
    assert seen > _ENOUGH
