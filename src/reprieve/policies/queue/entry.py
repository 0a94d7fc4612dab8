"""Pods in queues, and queues above their maximum, in the registry of policies."""

from collections.abc import Iterable, Iterator

from reprieve.engine.exposure import NOBODY_ASKS, Exposure, Overcommitted
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.yunikorn import CONFIG_MAPS, QUEUE, QueueConfiguration
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Decided, Entry, Ground, NothingToDecide, Preemptor
from reprieve.policies.on_nodes import ON_NODES, commit_pods, take_back, waiting_pod
from reprieve.policies.queue.exposure import QueueExposure, overcommitted_queues
from reprieve.policies.queue.limits import decide_limits, each_limit, queue_unit, watched
from reprieve.policies.queue.order import Turn
from reprieve.policies.queue.pods import required_node, stays_out
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.replacement import BeforeStart, ReplacementPolicy
from reprieve.policies.queue.required_node import RequiredNodePolicy
from reprieve.texts import questions
from reprieve.texts import queues as texts
from reprieve.world import PodFacts


class Queues:
    """The queue policies, as long as queues are configured; that may change while the world lives. Where they are off
    there are no queues: pods are decided for as if none were configured."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._policy: QueuePolicy | None = None

    @property
    def policy(self) -> QueuePolicy | None:
        """None: there are no queues."""
        on = QueuePolicy.name in self._ground.deciding
        configured = on and self._ground.world.number(QueueConfiguration) > 0
        if configured and self._policy is None:
            self._policy = QueuePolicy(self._ground.nodes)
        elif not configured:
            self._policy = None
        return self._policy


class QueueEntry(Entry):
    """Pods that queues decide for: where there are queues, all but those that name another way."""

    name = QueuePolicy.name
    ledger = ON_NODES
    kinds = ("Pod",)
    config_maps = frozenset(CONFIG_MAPS)

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._queues = Queues(ground)

    @property
    def policy(self) -> QueuePolicy | None:
        return self._queues.policy

    def takes(self, facts: PodFacts) -> bool:
        return self.policy is not None and not stays_out(facts)

    def minds_everybody(self, facts: PodFacts) -> bool:
        """Whether whoever comes, leaves or is seen in another light may help a pod: where law 4 would let it preempt if
        others left, and where there is a limit that it may wait for."""
        if self.policy is None or not self.takes(facts):
            return False
        return self.policy.may_claim(facts) or self.policy.may_be_limited(facts)

    def node_for(self, facts: PodFacts) -> str | None:
        """The one node that a pod must run on, where queues decide for it; None: it may run on others."""
        return required_node(facts) if self.policy is not None and self.takes(facts) else None

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._ground.world.pods.get((asked.namespace, asked.name))
        return self._waiting(facts) if facts is not None and self.takes(facts) else None

    def _waiting(self, facts: PodFacts) -> Preemptor:
        turn = self.turn(facts)
        return waiting_pod(facts, self.name)._replace(**turn._asdict())

    def turn(self, facts: PodFacts) -> Turn:
        """Where a pod stands among those who wait; nowhere, where queues do not decide for it."""
        return (
            self.policy.turn(facts)
            if self.policy is not None and self.takes(facts)
            else Turn(before_age=(facts.created, 0))
        )

    def standing_now(self, preemptor: Preemptor) -> Preemptor:
        return preemptor._replace(**self.turn(preemptor.facts)._asdict())

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        if self.policy is None:
            return []
        mine = [facts for facts in self._ground.waiting_pods() if facts.unit not in taken and self.takes(facts)]
        taken.update(facts.unit for facts in mine)
        return [self._waiting(facts) for facts in mine]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        policy = self.policy
        if policy is None:
            raise LookupError("there are no queues")
        if required_node(preemptor.facts) is not None:
            return decide(RequiredNodePolicy(self._ground.nodes, policy.columns), preemptor.facts, now)
        return decide(self._by_task_groups(policy, preemptor.facts, now) or policy, preemptor.facts, now)

    def _by_task_groups(self, policy: QueuePolicy, facts: PodFacts, now: int) -> ReplacementPolicy | BeforeStart | None:
        """How task groups of its application decide for it; None: they do not."""
        policy.sync()
        if not policy.tree.applications.with_task_groups:
            return None
        application = policy.task_groups.of(facts, now)
        if application is not None:
            return BeforeStart(policy, application)
        kept = policy.task_groups.placeholders(facts)
        replacement = ReplacementPolicy(policy, kept)
        return replacement if kept and replacement.useful(facts, now) else None

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        commit_pods(self._ground.world, preemptor.pods, plan)

    def exposure(self, now: int) -> Exposure:
        if self.policy is None:
            return NOBODY_ASKS
        exposure = QueueExposure(self.policy, self._ground.nodes, now)
        return exposure.of(exposure.askers())

    def overcommitted(self) -> Iterable[Overcommitted]:
        return overcommitted_queues(self.policy) if self.policy is not None else ()

    def undo(self, preemptor: Preemptor) -> bool:
        return take_back(self._ground.world, preemptor.pods)


class LimitEntry(Entry):
    """Queues above their maximum: they wait for no place, and make others leave."""

    name = "queue-limits"
    ledger = "queues"
    kinds = (QUEUE,)
    config_maps = frozenset(CONFIG_MAPS)
    places_units = False

    def __init__(self, ground: Ground) -> None:
        self._world = ground.world
        self._names = ground.names
        self._queues = Queues(ground)

    def find(self, asked: Asked) -> Preemptor | None:
        policy = self._queues.policy
        named = [node for node in policy.tree.queues if node.name == asked.name.lower()] if policy is not None else []
        if not named or policy is None:
            return None
        if named[0] not in watched(policy):
            raise NothingToDecide(questions.nothing_to_decide(texts.not_watched(named[0].name)))
        return self._preemptor(queue_unit(named[0]))

    def _preemptor(self, unit: UnitName) -> Preemptor:
        return Preemptor(unit, self.name, 0, 0, None)

    def names(self) -> Iterable[UnitName]:
        policy = self._queues.policy
        return [queue_unit(node) for node in watched(policy)] if policy is not None else []

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - see `cycle`
        return []

    def cycle(self, pending: list[Preemptor], now: int) -> Iterator[Decided]:  # noqa: ARG002 - queues, not units
        policy = self._queues.policy
        plans = decide_limits(policy, now, self._names) if policy is not None else []
        yield from (Decided(self._preemptor(plan.preemptor), plan) for plan in plans)
        for plan in plans:  # decided together: what one frees counts for the next already
            self.commit(None, plan)

    def plans(self, now: int) -> list[Plan]:
        """What is to be done about queues above their maximum, if anything."""
        policy = self._queues.policy
        plans = decide_limits(policy, now, self._names) if policy is not None else []
        return [plan for plan in plans if plan.outcome != "Fits"]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        """For one queue, after those that come before it: what they free counts for it."""
        policy = self._queues.policy
        plans = each_limit(policy, now, self._names) if policy is not None else iter(())
        return next(plan for plan in plans if plan.preemptor == preemptor.unit)

    def commit(self, preemptor: Preemptor | None, plan: Plan) -> None:  # noqa: ARG002 - only victims leave
        commit_pods(self._world, (), plan)

    def priorities(self, pending: Iterable[Preemptor]) -> dict[UnitName, dict[str, object]]:  # noqa: ARG002
        return {}
