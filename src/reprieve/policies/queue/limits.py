"""When a maximum was lowered: who goes because a queue uses more than it may.

1. It needs the partition's switch and a delay on the queue. Since when the queue is above its maximum is noted in the
   ConfigMap of the queues, by whoever acts on it: nobody goes before that and the delay. Where nothing is noted, it was
   long ago.
2. To free: what is used above the maximum, type by type, but nothing that a guarantee up the path covers.
3. A parent shares that among its children in proportion to what each has above its guarantee, rounded down.
4. In a leaf: those that match best, lowest priority, youngest by the hour, smallest; who leads its application or opted
   out goes last. A pod that would free more than is to be freed is passed over; one that must run on its node stays.
5. Where a queue and one above it both use too much, the lower one comes first, and what it frees counts for the other.
6. What another scheduler has placed is for that one to take.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from reprieve.configuration import OWN_SCHEDULER
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.nodes.units import POD
from reprieve.engine.nodes.whose import Own, whose_rule
from reprieve.engine.offers import HeldBack, Offer, OfferList, Placed
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.preemption import BasePolicy, decide
from reprieve.engine.reasons import NobodyAsked, QueueAboveMaximum, QueueLaw, Reason
from reprieve.engine.rules import Rule, protection
from reprieve.manifests.core import ConfigMap
from reprieve.manifests.yunikorn import CONFIG_MAPS, QUEUE
from reprieve.model.names import Key, UnitName, unit_name
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.pods import opted_out, required_node
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.tree import QueueNode, below
from reprieve.texts import queues as texts
from reprieve.world import PodFacts, World, microseconds

ABOVE_SINCE = "reprieve.scheduling/above-maximum-since"
_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
AwareMoment = Annotated[datetime, msgspec.Meta(tz=True)]
Left = dict[str, int]
"""What is still to be freed, by resource."""


def queue_unit(queue: QueueNode) -> UnitName:
    return unit_name(QUEUE, "", queue.name)


def above_since(world: World) -> dict[str, datetime]:
    """Since when queues are above their maximum, as far as that is noted."""
    named = [item for item in world.all(ConfigMap) if item.name in CONFIG_MAPS]
    notes = (item.metadata.annotations.get(ABOVE_SINCE, "") for item in named)
    return read_since(next(filter(None, notes), ""))


def read_since(note: str) -> dict[str, datetime]:
    """What a note says; nothing, where somebody else has written it."""
    try:
        return msgspec.json.decode(note, type=dict[str, AwareMoment]) if note else {}
    except msgspec.MsgspecError:
        return {}


def watched(policy: QueuePolicy) -> list[QueueNode]:
    """The queues whose maximum counts for what runs in them, each after those below it."""
    policy.sync()
    return [node for node in reversed(list(below(policy.tree.root))) if node.quota_delay]


def decide_limits(policy: QueuePolicy, now: int, names: frozenset[str] | None = None) -> list[Plan]:
    """A plan for every queue above its maximum; where there is none, one that says so for the first that is watched."""
    plans = list(each_limit(policy, now, names))
    above = [plan for plan in plans if plan.outcome != "Fits"]
    return above or plans[-1:]


def each_limit(policy: QueuePolicy, now: int, names: frozenset[str] | None = None) -> Iterator[Plan]:
    """A plan for every queue that is watched, in the order in which they are looked at. `names`: the schedulers whose
    pods may be asked; None: all."""
    queues = watched(policy)
    limits = LimitPolicy(policy, names)
    return (decide(limits, queue, now) for queue in queues)


class LimitView:
    """A queue, what it uses too much, and who is looked at for that."""

    def __init__(self, queue: QueueNode, free: Left, due: int, now: int) -> None:
        self.queue = queue
        self.free = free
        self.due = due
        """When somebody may be asked for it."""
        self.now = now
        self.reasons: dict[Key, Reason] = {}
        """What the rules said of those who stay."""

    @property
    def unit(self) -> UnitName:
        return queue_unit(self.queue)


class LimitPolicy(BasePolicy):
    """Decides for one queue after the other; those who go for one are gone for the next."""

    name = "queue"

    def __init__(self, queues: QueuePolicy, names: frozenset[str] | None = None) -> None:
        self._queues = queues
        self._names = names
        self._since = above_since(queues.world)
        self._gone: dict[int, Resources] = {}
        self._going: set[Key] = set()

    def view(self, preemptor: QueueNode, now: int) -> LimitView:
        enabled = self._queues.tree.quota_preemption
        since = self._since.get(queue_unit(preemptor))
        due = now if since is None else microseconds(since) + int(preemptor.quota_delay * _SECOND)
        return LimitView(preemptor, self._to_free(preemptor) if enabled else {}, due, now)

    def fits(self, view: LimitView) -> Placed | None:
        return None if view.free else Placed(texts.quota_kept(view.queue.name))

    def trigger(self, view: LimitView) -> HeldBack | None:
        if view.due <= view.now:
            return None
        message = texts.quota_delayed(view.queue.name, view.due)
        return HeldBack("Wait", message, until=view.due, because=NobodyAsked("NotYet"))

    def domains(self, view: LimitView) -> Iterable[Sequence[QueueNode]]:
        return [[view.queue]]

    def rules(self, view: LimitView, domain: QueueNode) -> list[Rule[tuple[PodFacts, Left]]]:  # noqa: ARG002
        """About a pod, and what is still to be freed when its turn comes. Also groups stay: what places them asks no
        queue, so that they would be back at once."""
        units = self._queues.columns.units

        def law(kind: str) -> Reason:
            return QueueLaw(kind, domain.name)

        whose = whose_rule(Own(OWN_SCHEDULER, self._names) if self._names is not None else None)
        return [
            lambda one: law("NothingShared") if not self._amount(*one) else None,
            lambda one: whose(one[0]),
            lambda one: law("WholeGroup") if units.of(one[0]).kind != POD else None,
            lambda one: law("Leaving") if one[0].pod.terminating or one[0].key in self._going else None,
            lambda one: law("RequiredNode") if required_node(one[0]) is not None else None,
            lambda one: law("FreesTooMuch") if self._more_than_left(*one) else None,
        ]

    def search(self, view: LimitView, domain: QueueNode, rules: Sequence[Rule[tuple[PodFacts, Left]]]) -> OfferList:
        victims: list[PodFacts] = []
        for leaf, part in self._shared_out(domain, view.free):
            victims += self._from_leaf(view, leaf, Resources(part), rules)
        if not victims:
            return OfferList()
        for facts in victims:
            self._note(facts)
        going = [Victim(facts.unit, QueueAboveMaximum(domain.name)) for facts in victims]
        return OfferList([Offer(domain.name, going)])

    def message(self, view: LimitView, offer: Offer) -> str:
        return texts.quota_lowered(view.queue.name, [victim.unit for victim in offer.victims])

    def refusal(self, view: LimitView) -> HeldBack:
        return HeldBack("Unschedulable", texts.quota_stuck(view.queue.name))

    # Amounts

    def _amount(self, facts: PodFacts, asked: Iterable[str]) -> Left:
        """What a pod holds of some resources."""
        held = self._queues.tree.held(facts)
        return {name: held.of(name) for name in asked if held.of(name)}

    def _more_than_left(self, facts: PodFacts, left: Left) -> bool:
        return any(units > left[name] for name, units in self._amount(facts, left).items())

    def _note(self, facts: PodFacts) -> None:
        self._going.add(facts.key)
        for node in self._queues.tree.queue_of(facts).path:
            self._gone[node.number] = self._gone.get(node.number, NOTHING) + self._queues.tree.held(facts)

    def _kept(self, queue: QueueNode, name: str) -> int:
        return queue.kept.get(name, 0) - self._gone.get(queue.number, NOTHING).of(name)

    def _to_free(self, queue: QueueNode) -> Left:
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

    def _shared_out(self, queue: QueueNode, free: Left) -> Iterator[tuple[QueueNode, Left]]:
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

    def _from_leaf(
        self, view: LimitView, leaf: QueueNode, free: Resources, rules: Sequence[Rule[tuple[PodFacts, Left]]]
    ) -> list[PodFacts]:
        left = dict(free)
        victims = []
        for facts in sorted(leaf.pods.values(), key=lambda facts: self._order(facts, free)):
            reason = protection(rules, (facts, left))
            if reason is not None:
                view.reasons[facts.key] = reason
                continue
            victims.append(facts)
            for name, units in self._amount(facts, left).items():
                left[name] -= units
        return victims

    def _order(self, facts: PodFacts, free: Resources) -> tuple[object, ...]:
        amount = self._queues.tree.held(facts)
        matching = sum(bool(amount.of(name)) for name in free) / max(len(amount), 1)
        size = sum(amount.of(name) for name in free)
        tree = self._queues.tree
        last = opted_out(self._queues.world, facts, tree.settings), tree.applications.leads(facts)
        return *last, -matching, facts.priority, -(facts.created // _HOUR), size, -facts.created, facts.unit

    # Explanations

    def judged(self, view: LimitView, told: Told) -> Iterator[Judged]:  # noqa: ARG002 - a queue is not that large
        for queue in below(view.queue):
            for facts in queue.pods.values():
                yield Judged(facts.unit, queue.name, view.reasons.get(facts.key), view.queue.name)

    def stamp(self, view: LimitView) -> object:  # noqa: ARG002 - what the world is at
        return self._queues.world.version
