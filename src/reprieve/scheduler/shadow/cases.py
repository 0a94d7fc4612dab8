"""One decision of another scheduler, as far as it is known, and the own one: collected, then compared."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.engine.steps import TIE_BREAK
from reprieve.model.names import parts_of
from reprieve.policies.registry import Preemptor
from reprieve.scheduler.history.comparisons import UNCLEAR, Answer, Comparison
from reprieve.stores.records import Record
from reprieve.texts.reasons import chosen
from reprieve.world import World

_BY_VICTIMS = ("other_victims", "equal_victims", "not_preempted", "preempted")
"""Results that depend on whose victims are whose."""


@dataclass
class Mark:
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


class Case:
    """Results, by what the other one did:

    - with victims: `agreed`; `equal_node`, another node that costs the same; `equal_victims`, others of the same node
      that nothing tells apart; `other_node`; `other_victims`; `not_preempted`, where nobody would have had to go, or
      nothing would have helped;
    - without victims: `placed` on the same node; `placed_elsewhere`; `preempted`, where others would have had to go;
      `not_placed`;
    - `unclear`, where it cannot be told whose victims those on its node were, and they are not the own ones.
    """

    def __init__(self, preemptor: Preemptor, plan: Plan, nodes: NodeLedger, now: float) -> None:
        """To be made while the world is the one that was decided over."""
        self.unit = preemptor.unit
        self.members = frozenset(facts.unit for facts in preemptor.pods) or frozenset({preemptor.unit})
        self.uids = frozenset(facts.pod.metadata.uid for facts in preemptor.pods)
        self._plan = plan
        self._equals = plan.equals() if plan.criterion == TIE_BREAK else frozenset()
        # Who leaves already need not be told: neither of the two does.
        self._own_victims = {victim.unit for victim in plan.victims if not _is_leaving(nodes.world, victim.unit)}
        self._as_important = _as_important(nodes, plan)
        self._priority = preemptor.priority
        self.nodes: dict[str, str] = {}
        self.promised: set[str] = set()
        """Nodes on which a place is, or was, waited for."""
        self.contested = False
        """Whether another unit was nominated to one of its nodes at nearly the same time."""
        self.doubted = False
        """Whether a victim on one of its nodes may be another unit's, because nobody has said whose it is."""
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

    def may_have(self, mark: Mark) -> bool:
        """Whether a victim can be this unit's."""
        return mark.node in self.promised and mark.priority < self._priority and mark.unit not in self.members

    def compared(self, marks: Iterable[Mark]) -> Comparison:
        """`marks`: the victims that are this unit's."""
        plan, victims = self._plan, {mark.unit for mark in marks}
        sentences = [plan.message, *([chosen(plan.domain, plan.criterion)] if plan.outcome == "Preempt" else [])]
        placement = {str(pod): node for pod, node in plan.placement.items()}
        own = Answer(placement, sorted(self._own_victims), _text(sentences))
        result = self._result(victims)
        if self.contested and self.doubted and result in _BY_VICTIMS:
            result = UNCLEAR
        return Comparison(self.unit, plan.policy, result, own, Answer(self.nodes, sorted(victims)))

    def _result(self, victims: set[str]) -> str:
        plan = self._plan
        if plan.outcome in ("Wait", "Unschedulable"):
            return "not_preempted" if victims else "not_placed"
        same_nodes = sorted(plan.placement[pod] for pod in plan.placement if pod in self.nodes) == sorted(
            self.nodes.values()
        )
        if not victims:
            return "preempted" if self._own_victims else "placed" if same_nodes else "placed_elsewhere"
        if not self._own_victims:
            return "not_preempted"
        if same_nodes:
            return "agreed" if victims == self._own_victims else self._same_node(victims)
        return "equal_node" if set(self.nodes.values()) <= self._equals else "other_node"

    def _same_node(self, victims: set[str]) -> str:
        """Whether only the order among equals made the difference."""
        different = victims ^ self._own_victims
        alone = [unit for unit in different if self._as_important.get(unit, 0) == 1]
        return "other_victims" if alone or not different <= self._as_important.keys() else "equal_victims"


def _is_leaving(world: World, unit: str) -> bool:
    facts = world.pods.get(parts_of(unit).key)
    return facts is not None and facts.pod.terminating


def _as_important(nodes: NodeLedger, plan: Plan) -> dict[str, int]:
    """For each pod of the chosen nodes, how many there are as important as it is, itself among them."""
    chosen_nodes = {nodes.index(name) for name in plan.placement.values()} if plan.victims else set()
    there = [facts for node in chosen_nodes for share in nodes.table.residents[node] for facts in share.pods]
    ranks = Counter((facts.node, facts.priority, facts.start) for facts in there)
    return {facts.unit: ranks[facts.node, facts.priority, facts.start] for facts in there}


def _text(sentences: list[str]) -> str:
    return " ".join(sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences if sentence)
