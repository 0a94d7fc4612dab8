"""When a maximum was lowered: who goes because a queue uses more than it may.

1. It needs the partition's switch and a delay on the queue.
2. To free: what is used above the maximum, type by type, but nothing that a guarantee up the path covers.
3. A parent shares that among its children in proportion to what each has above its guarantee, rounded down.
4. In a leaf: those that match best, lowest priority, youngest by the hour, smallest; who leads its application or opted
   out goes last. A pod that would free more than is to be freed is passed over; one that must run on its node stays.
5. Where a queue and one above it both use too much, the lower one comes first, and what it frees counts for the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from reprieve import texts
from reprieve.engine.nodes.units import POD
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.reasons import QueueAboveMaximum
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.pods import held, opted_out, required_node
from reprieve.policies.queue.policy import NAME, QueuePolicy
from reprieve.policies.queue.tree import QueueNode, below
from reprieve.world import PodFacts

_HOUR = 3_600_000_000


def quota_plans(policy: QueuePolicy) -> list[Plan]:
    """A plan for every queue above its maximum; where there is none, one that says so for the first that is watched."""
    policy.sync()
    watched = [node for node in below(policy.tree.root) if node.quota_delay]
    lowered = _Lowered(policy)
    enabled = policy.tree.quota_preemption
    plans = [lowered.plan(node) for node in reversed(watched) if enabled and lowered.to_free(node)]
    if watched and not plans:
        return [Plan(_unit(watched[0]), NAME, "Fits", texts.quota_kept(watched[0].name))]
    return plans


def _unit(queue: QueueNode) -> str:
    return f"Queue//{queue.name}"


class _Lowered:
    """Who goes, queue after queue; those who go for one are gone for the next."""

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self._gone: dict[int, Resources] = {}
        self._going: set[tuple[str, str]] = set()

    def plan(self, queue: QueueNode) -> Plan:
        victims = [
            facts
            for leaf, amount in self._shared_out(queue, self.to_free(queue))
            for facts in self._from_leaf(leaf, Resources(amount))
        ]
        if not victims:
            return Plan(_unit(queue), NAME, "Unschedulable", texts.quota_stuck(queue.name))
        for facts in victims:
            self._note(facts)
        return Plan(
            _unit(queue),
            NAME,
            "Preempt",
            texts.quota_lowered(queue.name, [facts.unit for facts in victims]),
            victims=[Victim(facts.unit, QueueAboveMaximum(queue.name)) for facts in victims],
        )

    def _note(self, facts: PodFacts) -> None:
        self._going.add(facts.key)
        for node in self._policy.tree.queue_of(facts).path:
            self._gone[node.number] = self._gone.get(node.number, NOTHING) + held(facts)

    def _kept(self, queue: QueueNode, name: str) -> int:
        return queue.kept.get(name, 0) - self._gone.get(queue.number, NOTHING).of(name)

    def to_free(self, queue: QueueNode) -> dict[str, int]:
        """What is above the maximum, as far as no guarantee up the path covers it."""
        free = {}
        for name, most in (queue.maximum or NOTHING).items():
            excess = self._kept(queue, name) - most
            for node in queue.path:
                if node.guaranteed is not None and name in node.guaranteed:
                    excess = min(excess, self._kept(node, name) - node.guaranteed[name])
            if excess > 0:
                free[name] = excess
        return free

    def _shared_out(self, queue: QueueNode, free: dict[str, int]) -> Iterator[tuple[QueueNode, dict[str, int]]]:
        if not queue.children:
            yield queue, free
            return
        for child in queue.children.values():
            part = {}
            for name, amount in free.items():
                total = sum(self._above(other, name) for other in queue.children.values())
                part[name] = amount * self._above(child, name) // total if total else 0
            yield from self._shared_out(child, {name: amount for name, amount in part.items() if amount})

    def _above(self, queue: QueueNode, name: str) -> int:
        """What a queue uses above its guarantee."""
        return max(0, self._kept(queue, name) - (queue.guaranteed or NOTHING).of(name))

    def _from_leaf(self, leaf: QueueNode, free: Resources) -> list[PodFacts]:
        left = dict(free)
        victims = []
        for facts in sorted(leaf.pods.values(), key=lambda facts: self._order(facts, free)):
            amount = {name: held(facts).of(name) for name in free if held(facts).of(name)}
            if not amount or self._stays(facts) or any(units > left[name] for name, units in amount.items()):
                continue
            victims.append(facts)
            for name, units in amount.items():
                left[name] -= units
        return victims

    def _stays(self, facts: PodFacts) -> bool:
        """Also groups stay: what places them asks no queue, so that they would be back at once."""
        grouped = self._policy.columns.units.of(facts).kind != POD
        return grouped or facts.pod.terminating or facts.key in self._going or required_node(facts) is not None

    def _order(self, facts: PodFacts, free: Resources) -> tuple[object, ...]:
        amount = held(facts)
        matching = sum(bool(amount.of(name)) for name in free) / max(len(amount), 1)
        size = sum(amount.of(name) for name in free)
        last = opted_out(self._policy.world, facts), self._policy.tree.applications.leads(facts)
        return *last, -matching, facts.priority, -(facts.created // _HOUR), size, -facts.created, facts.unit
