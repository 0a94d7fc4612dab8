"""Whose turn it is in a quota cycle."""

from collections.abc import Iterator, Mapping

from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.policies.quota.view import Sizes, WorkloadView

Held = Mapping[str, Sizes]
"""Units that have preempted and still wait, with the sizes for which they have."""
NOBODY: Held = {}
_HIGHEST = 2**63


def in_order(heads: list[WorkloadView], held: Held, *, fair: bool) -> Iterator[WorkloadView]:
    """One head after the other; under fair sharing, what those before took counts in the shares."""
    first = _promised(heads, held)
    yield from sorted(first, key=lambda head: (-head.facts.boosted, *_classical_order(head)))
    left = [head for head in heads if head not in first] if first else list(heads)
    if not fair:
        yield from sorted(left, key=_classical_order)
        return
    while left:
        chosen = _winner(left)
        left.remove(chosen)
        yield chosen


def _promised(heads: list[WorkloadView], held: Held) -> list[WorkloadView]:
    """Those who have preempted, and whoever is more important in a queue of theirs."""
    lowest: dict[QuotaNode, int] = {}
    for head in heads:
        if head.facts.unit in held:
            lowest[head.queue] = min(head.facts.boosted, lowest.get(head.queue, _HIGHEST))
    return [head for head in heads if head.facts.unit in held or head.facts.boosted > lowest.get(head.queue, _HIGHEST)]


def _classical_order(head: WorkloadView) -> tuple[object, ...]:
    facts = head.facts
    return head.assignment.level, -facts.boosted, facts.order_time, facts.uid, facts.unit


# Fair sharing


def _winner(heads: list[WorkloadView]) -> WorkloadView:
    """The winner of the knock-out in the cohort of the first that waits."""
    first = heads[0]
    if first.queue.parent is None:
        return first
    winner = _knock_out(first.queue.root, heads)
    return winner if winner is not None else first


def _knock_out(cohort: QuotaNode, heads: list[WorkloadView]) -> WorkloadView | None:
    entrants: list[tuple[QuotaNode, WorkloadView]] = []
    for child in cohort.children:
        if child.queue:
            entrants += ((child, head) for head in heads if head.queue is child)
        elif (winner := _knock_out(child, heads)) is not None:
            entrants.append((child, winner))
    if not entrants:
        return None
    return min(entrants, key=lambda entrant: _fair_order(*entrant))[1]


def _fair_order(child: QuotaNode, head: WorkloadView) -> tuple[object, ...]:
    """Not borrowing on the flavors it asks for, the share after admission, priority, age."""
    usage = head.assignment.usage
    borrows = any(child.exceeds(key, amount) for key, amount in _at(child, head.queue, usage).items())
    head.queue.add(usage)
    share = child.share().key
    head.queue.remove(usage)
    facts = head.facts
    return borrows, share, -facts.boosted, facts.order_time, child.queue, child.name


def _at(node: QuotaNode, queue: QuotaNode, usage: Amounts) -> dict[FlavorResource, int]:
    """What of a request reaches a node above its queue."""
    remaining = dict(usage)
    for below in (queue, *queue.path()):
        if below is node:
            break
        remaining = {key: max(0, amount - below.kept_left(key)) for key, amount in remaining.items()}
    return remaining
