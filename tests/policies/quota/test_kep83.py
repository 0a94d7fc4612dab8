"""The switch `quota: {design: KEP-83}` against the design itself, read to the letter.

KEP83_WORLDS says how many worlds there are.
"""

from __future__ import annotations

import os

from hypothesis import given, settings

from reprieve.configuration import configure
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.assignments import NO_FIT
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.generators.kep83 import CONFIG, Kep83World, kep83_worlds
from tests.reference.kep83 import Kep83, Kep83Cycle

WORLDS = int(os.environ.get("KEP83_WORLDS", "150"))


def policy_over(world: Kep83World) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(load_objects(world.objects).objects), configure(CONFIG)))


@given(kep83_worlds())
@settings(max_examples=WORLDS)
def test_each_workload_gets_the_flavors_and_the_victims_of_the_design(world: Kep83World) -> None:
    policy, reference = policy_over(world), Kep83(world.objects)
    pending = {workload.unit: workload for workload in reference.pending}
    for waiting in policy.quota.waiting.values():
        for facts in waiting:
            view = policy.view(PendingWorkload(facts), 0)
            view.nominate(policy.nominate(view))
            workload = pending[facts.unit]
            want = reference.assign(workload)
            if want is None:
                assert view.assignment.mode == NO_FIT
                continue
            assert (view.assignment.by_resource, view.assignment.borrows) == (want.flavors, want.borrows)
            victims = reference.preempt(workload, want) if want.needs_preemption else []
            assert sorted(view.gone) == sorted(other.unit for other in victims)


@given(kep83_worlds())
@settings(max_examples=WORLDS)
def test_a_cycle_admits_and_preempts_as_the_design_says(world: Kep83World) -> None:
    plans = cycle(policy_over(world))
    admitted = {made.preemptor: made.terms.assignment.by_resource for made in plans if made.outcome == "Fits"}
    victims = {
        made.preemptor: sorted([*(victim.unit for victim in made.victims), *made.waiting_for])
        for made in plans
        if made.outcome == "Preempt" or (made.terms.takes and made.waiting_for)
    }
    want = Kep83Cycle(world.objects).run()
    assert (admitted, victims) == (want.admitted, want.victims)
