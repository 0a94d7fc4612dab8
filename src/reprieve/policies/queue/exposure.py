"""Who may be preempted by pods in queues: a new pod of each class in each leaf queue, and those who wait.

An asker asks for the least there is of one type that its queue, or one above it, guarantees: without such a type law 4
forbids it to preempt, and whoever is protected from the least is protected from more. Only what it brings to the queues
above both is as much as anybody likes: who asks for more may take more there (law 2). A unit that any such request may
have is open to it. Delays pass, and are no protection.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from reprieve.engine.exposure import ALLOWED, Asker, Exposure, Numbers, Overcommitted, ask, levels, what_waits
from reprieve.engine.nodes.columns import NOBODY
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.reasons import NobodyAsked, QueueLaw, Reason
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.pods import Container, Pod, PodSpec, ResourceRequirements
from reprieve.model.names import UnitName, unit_name
from reprieve.model.resources import NOTHING, PODS, Resources
from reprieve.policies.queue import laws
from reprieve.policies.queue.pods import stays_out
from reprieve.policies.queue.policy import LOWEST, PodInQueueView, QueuePolicy
from reprieve.policies.queue.rules import QueueRule
from reprieve.policies.queue.standing import ABSENT as MORE_THAN_ANY
from reprieve.policies.queue.tree import QueueNode, below
from reprieve.world import PodFacts

_LAW_4, _OFF = 100, 101
"""Beyond the numbers of rules: the asker's queue may not preempt; nobody may."""
_MOST_KEPT = 16


class AnyRequest(PodInQueueView):
    """A pod that asks for little, and stands for all that ask for more."""

    def comes(self, name: str) -> int:  # noqa: ARG002 - whatever it is
        return MORE_THAN_ANY


class QueueExposure:
    """All pods on nodes, as pods in queues may ask for them."""

    def __init__(self, policy: QueuePolicy, ledger: NodeLedger, now: int) -> None:
        policy.sync()
        self._policy = policy
        self._ledger = ledger
        self._now = now
        self._nodes = ledger.view(self._pod(0, ""), priority=LOWEST)
        table = ledger.table
        everybody = table.ranked("priority", slice(0, table.size)) != NOBODY
        self._nodes_of, self._ranks = np.nonzero(everybody.T)
        self._kept: dict[tuple[int, str], list[QueueRule]] = {}

    @cached_property
    def _queues(self) -> dict[str, QueueNode]:
        return {queue.name: queue for queue in self._policy.tree.queues}

    def of(self, askers: Sequence[Asker]) -> Exposure:
        """What the laws say for each asker. Who goes with its whole group is named by its first pod."""
        residents = self._ledger.table.residents
        pods = [residents[node][rank].pods[0] for node, rank in zip(self._nodes_of, self._ranks, strict=True)]
        protected = ask(askers, self._row, len(pods))
        return Exposure(
            askers,
            [facts.unit for facts in pods],
            protected,
            lambda asker, unit: self._reason(askers[asker], pods[unit], int(protected[asker, unit])),
        )

    def askers(self) -> list[Asker]:
        """First those who wait: a queue that one of them names is there from then on."""
        waiting = [
            Asker(what_waits(priority), priority, where, named=False)
            for where, priority in sorted(set(self._waiting()))
        ]
        leaves = [queue for queue in self._policy.tree.queues if not queue.children]
        new = [asker._replace(where=leaf.name) for leaf in leaves for asker in levels(self._policy.world)]
        return new + waiting

    def _waiting(self) -> Iterator[tuple[str, int]]:
        for facts in self._policy.world.pending():
            if facts.preemption_policy != "Never" and not stays_out(facts):
                yield self._policy.tree.queue_of(facts).name, facts.priority

    def _row(self, asker: Asker) -> Numbers:
        row: Numbers = np.full(len(self._ranks), _LAW_4 if self._policy.tree.preemption else _OFF, dtype=np.int16)
        for number, view in enumerate(self._views(asker)):
            said = self._policy.judge(view).protected[self._ranks, self._nodes_of].astype(np.int16)
            row = np.where(said == ALLOWED, said, row) if number else said
        return row

    def _views(self, asker: Asker) -> Iterator[PodInQueueView]:
        """The least request of each type that law 4 lets it preempt for."""
        queue = self._queues[asker.where]
        types = dict.fromkeys(name for node in queue.path for name in node.guaranteed or NOTHING)
        for name in types if self._policy.tree.preemption else ():
            view = AnyRequest(self._pod(asker.priority, name), queue, self._nodes, self._now)
            if laws.could_be_under_guarantee(view):
                yield view

    def _pod(self, priority: int, resource: str) -> PodFacts:
        requests = Resources({resource: 1}) if resource and resource != PODS else NOTHING
        container = Container(name="asker", resources=ResourceRequirements(requests=requests))
        spec = PodSpec(containers=(container,), priority=priority, preemption_policy="PreemptLowerPriority")
        return PodFacts(Pod(metadata=ObjectMeta(name="asker"), spec=spec), self._ledger.world.classes)

    def _reason(self, asker: Asker, facts: PodFacts, number: int) -> Reason:
        if number == _OFF:
            return NobodyAsked()
        if number == _LAW_4:
            return QueueLaw("AboveGuarantee", asker.where)
        return self._rules(asker)[number - 1].reason(facts)

    def _rules(self, asker: Asker) -> list[QueueRule]:
        """By which the first request of an asker was judged; those of a few askers are kept."""
        key = (asker.priority, asker.where)
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = self._policy.rules(next(self._views(asker)))
        return self._kept[key]


def overcommitted_queues(policy: QueuePolicy) -> Iterator[Overcommitted]:
    """Queues that use more than their maximum; the youngest of their pods would have to go first."""
    policy.sync()
    for queue in policy.tree.queues:
        for name, most in (queue.maximum or NOTHING).items():
            over = queue.kept.get(name, 0) - most
            if over > 0:
                yield Overcommitted(unit_name("Queue", "", queue.name), name, over, _youngest(queue, name, over))


def _youngest(queue: QueueNode, name: str, over: int) -> list[UnitName]:
    pods = [facts for node in below(queue) for facts in node.pods.values() if not facts.pod.terminating]
    going = []
    for facts in sorted(pods, key=lambda facts: (-facts.created, facts.unit)):
        if over > 0 and queue.tree.held(facts).of(name):
            going.append(facts.unit)
            over -= queue.tree.held(facts).of(name)
    return going
