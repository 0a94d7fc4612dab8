"""One decision of another scheduler, as far as it is known, and the own one: collected, then compared."""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.engine.nodes.ledger import NOWHERE, NodeLedger
from reprieve.engine.plan import Plan
from reprieve.engine.steps import TIE_BREAK
from reprieve.model.names import parts_of
from reprieve.policies.entry import Preemptor
from reprieve.scheduler.history.comparisons import UNCLEAR, Answer, ShadowComparison
from reprieve.stores.records import Record
from reprieve.texts.reasons import chosen
from reprieve.world import World

_BY_VICTIMS = ("other_victims", "equal_victims", "not_preempted", "preempted")
"""Results that depend on whose victims are whose."""


@dataclass
class ForeignVictim:
    """A victim of another scheduler."""

    before: Record
    """As it was before it was marked."""
    now: Record | None
    """As it is; None: gone."""
    priority: int
    at: float

    @property
    def node(self) -> str:
        name: str = self.before.manifest.spec.node_name
        return name

    @property
    def unit(self) -> str:
        return self.before.unit


class ShadowCase:
    """Results, by what the other one did:

    - with victims: `agreed`; `equal_node`, another node that costs the same; `equal_victims`, others of the same node
      that nothing tells apart; `other_node`; `other_victims`; `not_preempted`, where nobody would have had to go, or
      nothing would have helped;
    - without victims: `placed` on the same node; `placed_elsewhere`; `preempted`, where others would have had to go;
      `not_placed`;
    - `unclear`, where it cannot be told whose victims those on its node were, and they are not the own ones.

    Who leaves anyway, or for somebody who decided earlier, makes no difference: nobody has to be told once more, and
    kube-scheduler does not tell whether it counted on it.
    """

    def __init__(
        self, preemptor: Preemptor, plan: Plan, nodes: NodeLedger, now: float, *, place: str, again: bool = False
    ) -> None:
        """To be made while the world is the one that was decided over. `place`: the node that the other one chose;
        `again`: it had chosen that already, and needs more of its pods to go."""
        self.unit = preemptor.unit
        self.members = frozenset(facts.unit for facts in preemptor.pods) or frozenset({preemptor.unit})
        self.uids = frozenset(facts.pod.metadata.uid for facts in preemptor.pods)
        self._plan = plan
        self._equals = plan.equals() if plan.criterion == TIE_BREAK else frozenset()
        self._own_victims = {str(victim.unit) for victim in plan.victims}
        self._leaving = {unit for unit in self._own_victims if _is_leaving(nodes.world, unit)}
        self._there = _importance(nodes, {place, *plan.placement.values()})
        self.again = again
        self.is_announced = True
        """Whether what is written about the pod has told of this decision already."""
        self._priority = preemptor.priority
        self.nodes: dict[str, str] = {}
        self.promised: set[str] = set()
        """Nodes on which a place is, or was, waited for."""
        self.contested = False
        """Whether another unit was nominated to one of its nodes at nearly the same time."""
        self.doubted = False
        """Whether a victim on one of its nodes may be another unit's, because nobody has said whose it is."""
        self.elsewhere: set[str] = set()
        """Who has to go for another unit that had decided before this one, as that one has said."""
        self.began = self.last = now

    @property
    def is_alone(self) -> bool:
        return len(self.members) == 1

    @property
    def needs_nobody(self) -> bool:
        """Whether all went to their nodes at once, so that nobody had to go."""
        return self.nodes.keys() >= self.members and not self.promised

    def place(self, pod: str, node: str, now: float, *, bound: bool) -> None:
        self.nodes[pod] = node
        self.last = now
        if not bound:
            self.promised.add(node)

    def waits_on(self, node: str) -> bool:
        return node in self.promised

    def may_have(self, mark: ForeignVictim) -> bool:
        """Whether a victim can be this unit's."""
        return self.waits_on(mark.node) and mark.priority < self._priority and mark.unit not in self.members

    def may_be_of_this_decision(self, mark: ForeignVictim) -> bool:
        """Who came later than the decision was made must go because of another one. A group may wait on many nodes."""
        return not self.is_alone or (mark.unit in self._there and not (self.again and mark.at < self.began))

    def compared(self, marks: Iterable[ForeignVictim]) -> ShadowComparison:
        """`marks`: the victims that are this unit's."""
        plan, victims = self._plan, {mark.unit for mark in marks}
        sentences = [plan.message, *([chosen(plan.domain, plan.criterion)] if plan.outcome == "Preempt" else [])]
        placement = {str(pod): node for pod, node in plan.placement.items()}
        own = Answer(placement, sorted(self._own_victims - self._leaving), _text(sentences))
        result = self._result(victims, self._leaving | self.elsewhere)
        if self.contested and self.doubted and result in _BY_VICTIMS:
            result = UNCLEAR
        return ShadowComparison(self.unit, plan.policy, result, own, Answer(self.nodes, sorted(victims)))

    def _result(self, victims: set[str], anyway: set[str]) -> str:
        """`anyway`: who leaves whatever is decided here."""
        plan = self._plan
        if plan.outcome in ("Wait", "Unschedulable"):
            return "not_preempted" if victims else "not_placed"
        same_nodes = sorted(plan.placement[pod] for pod in plan.placement if pod in self.nodes) == sorted(
            self.nodes.values()
        )
        if not victims:
            return "preempted" if self._own_victims - anyway else "placed" if same_nodes else "placed_elsewhere"
        if not self._own_victims:
            return "not_preempted"
        if same_nodes:
            return self._same_node(victims - anyway, self._own_victims - anyway)
        return "equal_node" if set(self.nodes.values()) <= self._equals else "other_node"

    def _same_node(self, victims: set[str], own: set[str]) -> str:
        """Whether only the order among equals made the difference.

        Pods are put back from the most important one on, so that the first difference brings about all others: there
        one of equals was put back here and another one there.
        """
        if victims == own:
            return "agreed"
        if not victims ^ own <= self._there.keys():
            return "other_victims"
        first = min(self._there[unit] for unit in victims ^ own)
        sides = [any(self._there[unit] == first for unit in side) for side in (victims - own, own - victims)]
        return "equal_victims" if all(sides) else "other_victims"


def _is_leaving(world: World, unit: str) -> bool:
    facts = world.pods.get(parts_of(unit).key)
    return facts is not None and facts.pod.terminating


def _importance(nodes: NodeLedger, names: set[str]) -> dict[str, tuple[int, int]]:
    """What tells the pods of some nodes apart, the most important ones first."""
    numbers = {nodes.index(name) for name in names} - {NOWHERE}
    there = [facts for node in numbers for share in nodes.table.residents[node] for facts in share.pods]
    return {str(facts.unit): (-facts.priority, facts.start) for facts in there}


def _text(sentences: list[str]) -> str:
    return " ".join(sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences if sentence)
