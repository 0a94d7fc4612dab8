"""Many cycles in a row over one world of queues, with controllers that put back every pod that had to make way."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from reprieve.engine.plan import Plan
from reprieve.manifests.pods import Pod
from reprieve.policies.entry import Asked
from reprieve.policies.registry import Policies
from reprieve.world import PodFacts
from tests.builders.queues import NOON, at

MINUTE = 1


class Cycles:
    """A cycle a minute; who makes way is gone at once and waits again, under a new name."""

    def __init__(self, policies: Policies) -> None:
        self.policies = policies
        self.world = policies.world
        self.cycle = 0
        self.recreated = 0

    def pending(self) -> list[PodFacts]:
        return sorted(self.world.pending(), key=lambda facts: (-facts.priority, facts.created, facts.key))

    def step(self) -> list[Plan]:
        """One cycle over all that is pending; the plans that changed something."""
        self.cycle += MINUTE
        moves = []
        for facts in self.pending():
            one = self.policies.find(Asked("Pod", *facts.key))
            assert one is not None
            plan = self.policies.decide(one, at(self.cycle))
            victims = [self.world.pods["default", victim.unit.rpartition("/")[2]].pod for victim in plan.victims]
            self.policies.commit(one, plan)
            for pod in victims:
                self.recreate(pod)
            if plan.outcome in ("Preempt", "Fits"):
                moves.append(plan)
        return moves

    def recreate(self, pod: Pod) -> PodFacts:
        """The like of a pod, pending."""
        self.recreated += 1
        name = f"{pod.name.partition('+')[0]}+{self.recreated}"
        meta = msgspec.structs.replace(
            pod.metadata, name=name, creation_timestamp=NOON + timedelta(minutes=self.cycle), deletion_timestamp=None
        )
        spec = msgspec.structs.replace(pod.spec, node_name="")
        self.world.put(Pod(metadata=meta, spec=spec))
        return self.world.pods["default", name]

    def until_rest(self, most: int) -> list[Plan]:
        """All moves until a cycle in which nothing moves."""
        moves: list[Plan] = []
        for _ in range(most):
            made = self.step()
            if not made:
                return moves
            moves += made
        raise AssertionError(f"still not at rest after {most} cycles: {moves[-5:]}")

    def running(self, queue: str) -> int:
        return sum(bool(facts.node) for facts in self.of(queue))

    def of(self, queue: str) -> list[PodFacts]:
        return [facts for facts in self.world.pods.values() if facts.pod.metadata.labels["queue"] == queue]


def preemptions(moves: list[Plan]) -> list[Plan]:
    return [plan for plan in moves if plan.outcome == "Preempt"]
