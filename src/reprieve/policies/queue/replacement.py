"""A pod whose place is kept by a placeholder of its task group, and a pod that waits until its application has started.

1. It takes the place of the oldest placeholder of its group on whose node it fits when that one has gone, below the
   maxima of its queues. It asks nobody else, and does not wait for a delay: nothing changes hands.
2. While its placeholder leaves, it waits for it, and the place is held.
3. Where it fits in the place of none, because it asks for more than its group says, it is an ordinary pod of its queue.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reprieve import texts
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.nodes.ledger import NOWHERE
from reprieve.engine.offers import HeldBack, Offer, OfferList, Placed
from reprieve.engine.plan import Victim
from reprieve.engine.preemption import BasePolicy
from reprieve.engine.reasons import NobodyAsked, PlaceholderReplaced, QueueLaw
from reprieve.model.names import UnitName
from reprieve.policies.queue.columns import QueueCandidate
from reprieve.policies.queue.ledger import QueueLedger
from reprieve.policies.queue.policy import PodInQueueView, QueuePolicy
from reprieve.policies.queue.task_groups import Application
from reprieve.world import PodFacts

OLDEST = "OldestPlaceholder"


class OnTopOfQueues(BasePolicy):
    """Sees what a single pod of a queue sees."""

    name = QueuePolicy.name

    def __init__(self, queues: QueuePolicy) -> None:
        self._queues = queues

    def view(self, preemptor: PodFacts, now: int) -> PodInQueueView:
        return self._queues.view(preemptor, now)

    def domains(self, view: PodInQueueView) -> Iterable[Sequence[str]]:
        return self._queues.domains(view)

    def rules(self, view: PodInQueueView, domain: str) -> Sequence[Any]:  # noqa: ARG002 - nobody else is asked
        return []

    def judged(self, view: PodInQueueView, told: Told) -> Iterator[Judged]:  # noqa: ARG002 - the same in brief
        """Nobody is asked but a placeholder."""
        for queue in self._queues.tree.queues:
            for facts in queue.pods.values():
                yield Judged(facts.unit, facts.node, self._stays(view, facts, queue.name), facts.node)

    def _stays(self, view: PodInQueueView, facts: PodFacts, queue: str) -> QueueLaw | None:  # noqa: ARG002
        return QueueLaw("NotKeptForIt", queue)

    def stamp(self, view: PodInQueueView) -> object:
        return self._queues.stamp(view)

    def fingerprint(self) -> str:
        return self._queues.fingerprint()


class ReplacementPolicy(OnTopOfQueues):
    """Decides for pods that a placeholder keeps a place for."""

    def __init__(self, queues: QueuePolicy, placeholders: Sequence[PodFacts]) -> None:
        super().__init__(queues)
        self._placeholders = placeholders

    def useful(self, preemptor: PodFacts, now: int) -> bool:
        """Whether there is a place that is, or will be, its own."""
        view = self.view(preemptor, now)
        return bool(self.fits(view) or self._leaving(view) or self._kept(view))

    def fits(self, view: PodInQueueView) -> Placed | None:
        node = view.nodes.table.index.get(view.facts.nominated, NOWHERE)
        if node == NOWHERE or not view.nodes.fits[node] or view.blocked or view.limited:
            return None
        return Placed(
            texts.pods.fits(view.unit, view.facts.nominated), view.facts.nominated, {view.unit: view.facts.nominated}
        )

    def _leaving(self, view: PodInQueueView) -> list[UnitName]:
        """Placeholders that leave the node which it is nominated to, and will have room for it then."""
        where = view.facts.nominated
        node = view.nodes.table.index.get(where, NOWHERE)
        if node == NOWHERE or not view.roomy[node]:
            return []
        return [one.unit for one in self._placeholders if one.pod.terminating and one.node == where]

    def trigger(self, view: PodInQueueView) -> HeldBack | None:
        leaving = self._leaving(view)
        if not leaving:
            return None
        where = view.facts.nominated
        message = texts.pods.waits_for_victims(view.unit, where, leaving)
        return HeldBack("Wait", message, where, waiting_for=leaving, because=NobodyAsked("Leaving"))

    def search(self, view: PodInQueueView, domain: str, rules: Sequence[Any]) -> OfferList:  # noqa: ARG002
        kept = self._kept(view)
        if kept is None:
            return OfferList()
        victim = Victim(kept.unit, PlaceholderReplaced(kept.node))
        offer = Offer(kept.node, [victim], {view.unit: kept.node}, criterion=OLDEST, reserves=True)
        return OfferList([offer])

    def _stays(self, view: PodInQueueView, facts: PodFacts, queue: str) -> QueueLaw | None:
        """Other placeholders of its group would have done as well."""
        own = any(one.key == facts.key for one in self._placeholders)
        return None if own else super()._stays(view, facts, queue)

    def _kept(self, view: PodInQueueView) -> PodFacts | None:
        """The placeholder in whose place it fits."""
        return next((one for one in self._placeholders if not one.pod.terminating and self._suits(view, one)), None)

    def _suits(self, view: PodInQueueView, placeholder: PodFacts) -> bool:
        node = view.nodes.table.index.get(placeholder.node, NOWHERE)
        if node == NOWHERE or not view.nodes.within_reach[node]:
            return False
        ledger = QueueLedger(self._queues.columns, view, node)
        for one in self._there(view, node):
            if one.facts.key == placeholder.key:
                ledger.remove(one)
                return ledger.fits()
        return False

    def _there(self, view: PodInQueueView, node: int) -> Iterator[QueueCandidate]:
        return (self._queues.columns.candidate(rank, node) for rank in range(len(view.nodes.table.residents[node])))

    def message(self, view: PodInQueueView, offer: Offer) -> str:
        return texts.task_groups.replaces(view.unit, offer.victims[0].unit, offer.domain)

    def refusal(self, view: PodInQueueView) -> HeldBack:
        return self._queues.refusal(view)


class BeforeStart(OnTopOfQueues):
    """Decides for pods that are no members of their application's task groups, until it has started."""

    def __init__(self, queues: QueuePolicy, application: Application) -> None:
        super().__init__(queues)
        self._application = application

    def fits(self, view: PodInQueueView) -> Placed | None:  # noqa: ARG002 - whatever room there is
        return None

    def trigger(self, view: PodInQueueView) -> HeldBack:
        message = texts.task_groups.waits_for_start(view.unit, self._application.unit)
        until = self._application.deadline if view.now < self._application.deadline else None
        return HeldBack("Unschedulable", message, because=NobodyAsked(), until=until)

    def search(self, view: PodInQueueView, domain: str, rules: Sequence[Any]) -> OfferList:  # noqa: ARG002
        return OfferList()

    def message(self, view: PodInQueueView, offer: Offer) -> str:
        raise LookupError(f"{view.unit} takes nothing from {offer.domain}")

    def refusal(self, view: PodInQueueView) -> HeldBack:
        return self.trigger(view)

    def _stays(self, view: PodInQueueView, facts: PodFacts, queue: str) -> QueueLaw | None:  # noqa: ARG002
        return None
