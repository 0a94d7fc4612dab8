"""When a maximum was lowered: who goes because a queue uses more than it may.

1. It needs the partition's switch and a delay on the queue.
2. To free: what is used above the maximum, type by type, but nothing that a guarantee up the path covers.
3. A parent shares that among its children in proportion to what each has above its guarantee, rounded down.
4. In a leaf: those that match best, lowest priority, youngest by the hour, smallest; who leads its application or opted
   out goes last. A pod that would free more than is to be freed is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from reprieve import texts
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.reasons import QueueAboveMaximum
from reprieve.policies.queue import NAME, QueuePolicy
from reprieve.policies.queue_tree import QueueNode, held, queue_path
from reprieve.resources import Resources
from reprieve.world import PodFacts

_HOUR = 3_600_000_000


def quota_plans(policy: QueuePolicy) -> list[Plan]:
    """A plan for every queue above its maximum; where there is none, one that says so for the first that is watched."""
    watched = [node for node in _all(policy.tree.root) if node.quota_delay]
    if not watched:
        return []
    enabled = policy.tree.quota_preemption
    over = [node for node in watched if enabled and _to_free(node)]
    if not over:
        queue = watched[0]
        return [Plan(_unit(queue), NAME, "Fits", texts.quota_kept(queue.name))]
    return [_plan(policy, node) for node in over]


def _unit(queue: QueueNode) -> str:
    return f"Queue//{queue.name}"


def _all(node: QueueNode) -> Iterator[QueueNode]:
    yield node
    for child in node.children.values():
        yield from _all(child)


def _plan(policy: QueuePolicy, queue: QueueNode) -> Plan:
    victims = [
        facts
        for leaf, amount in _shared_out(queue, _to_free(queue))
        for facts in _from_leaf(policy, leaf, Resources(amount))
    ]
    if not victims:
        return Plan(_unit(queue), NAME, "Unschedulable", texts.quota_stuck(queue.name))
    return Plan(
        _unit(queue),
        NAME,
        "Preempt",
        texts.quota_lowered(queue.name, [facts.unit for facts in victims]),
        victims=[Victim(facts.unit, QueueAboveMaximum(queue.name)) for facts in victims],
    )


def _to_free(queue: QueueNode) -> dict[str, int]:
    """What is above the maximum, as far as no guarantee up the path covers it."""
    free = {}
    for name, most in (queue.maximum or {}).items():
        excess = queue.kept.of(name) - most
        for node in queue_path(queue):
            if node.guaranteed is not None and name in node.guaranteed:
                excess = min(excess, node.kept.of(name) - node.guaranteed[name])
        if excess > 0:
            free[name] = excess
    return free


def _shared_out(queue: QueueNode, free: dict[str, int]) -> Iterator[tuple[QueueNode, dict[str, int]]]:
    if not queue.children:
        yield queue, free
        return
    for child in queue.children.values():
        part = {}
        for name, amount in free.items():
            total = sum(_above(other, name) for other in queue.children.values())
            part[name] = amount * _above(child, name) // total if total else 0
        yield from _shared_out(child, {name: amount for name, amount in part.items() if amount})


def _above(queue: QueueNode, name: str) -> int:
    """What a queue uses above its guarantee."""
    return max(0, queue.kept.of(name) - (queue.guaranteed.of(name) if queue.guaranteed is not None else 0))


def _from_leaf(policy: QueuePolicy, leaf: QueueNode, free: Resources) -> list[PodFacts]:
    def order(facts: PodFacts) -> tuple[object, ...]:
        amount = held(facts)
        matching = sum(bool(amount.of(name)) for name in free) / max(len(amount), 1)
        size = sum(amount.of(name) for name in free)
        last = policy.opted_out(facts), facts.key in policy.tree.originators
        return *last, -matching, facts.priority, -(facts.created // _HOUR), size, facts.unit

    left = dict(free)
    victims = []
    for facts in sorted(leaf.pods, key=order):
        amount = {name: held(facts).of(name) for name in free if held(facts).of(name)}
        if not amount or facts.pod.terminating or any(units > left[name] for name, units in amount.items()):
            continue
        victims.append(facts)
        for name, units in amount.items():
            left[name] -= units
    return victims
