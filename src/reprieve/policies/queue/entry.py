"""Pods in queues, and queues above their maximum, in the registry of policies."""

from collections.abc import Iterable, Iterator

from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.model.names import UnitName
from reprieve.policies.on_nodes import ON_NODES, commit_pods, waiting_pod
from reprieve.policies.queue.limits import decide_limits
from reprieve.policies.queue.pods import required_node, stays_out
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.required_node import RequiredNodePolicy
from reprieve.policies.registry import Asked, Decided, Entry, Ground, Preemptor
from reprieve.world import PodFacts


class Queues:
    """The queue policies, as long as queues are configured; that may change while the world lives."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._policy: QueuePolicy | None = None

    @property
    def policy(self) -> QueuePolicy | None:
        """None: there are no queues."""
        configured = any(True for _ in self._ground.world.all(QueueConfiguration))
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

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._queues = Queues(ground)

    @property
    def policy(self) -> QueuePolicy | None:
        return self._queues.policy

    def takes(self, facts: PodFacts) -> bool:
        return self.policy is not None and not stays_out(facts)

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._ground.world.pods.get((asked.namespace, asked.name))
        return waiting_pod(facts, self.name) if facts is not None and self.takes(facts) else None

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        if self.policy is None:
            return []
        mine = [facts for facts in self._ground.world.pending() if facts.unit not in taken and self.takes(facts)]
        taken.update(facts.unit for facts in mine)
        return [waiting_pod(facts, self.name) for facts in mine]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        policy = self.policy
        if policy is None:
            raise LookupError("there are no queues")
        if required_node(preemptor.facts) is None:
            return decide(policy, preemptor.facts, now)
        return decide(RequiredNodePolicy(self._ground.nodes, policy.columns), preemptor.facts, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        commit_pods(self._ground.world, preemptor.pods, plan)


class LimitEntry(Entry):
    """Queues above their maximum: they wait for no place, so that nobody asks for one by name."""

    name = "queue-limits"
    ledger = "queues"
    kinds = ("Queue",)
    places_units = False

    def __init__(self, ground: Ground) -> None:
        self._world = ground.world
        self._queues = Queues(ground)

    def find(self, asked: Asked) -> Preemptor | None:  # noqa: ARG002 - nobody asks
        return None

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - see `cycle`
        return []

    def cycle(self, pending: list[Preemptor], now: int) -> Iterator[Decided]:  # noqa: ARG002 - queues, not units
        policy = self._queues.policy
        for plan in decide_limits(policy, now) if policy is not None else ():
            yield Decided(Preemptor(plan.preemptor, self.name, 0, 0, None), plan)
            self.commit(None, plan)

    def plans(self, now: int) -> list[Plan]:
        """What is to be done about queues above their maximum, if anything."""
        policy = self._queues.policy
        return [plan for plan in decide_limits(policy, now) if plan.outcome != "Fits"] if policy is not None else []

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        raise LookupError(f"{preemptor.unit} waits for no place at {now}")

    def commit(self, preemptor: Preemptor | None, plan: Plan) -> None:  # noqa: ARG002 - only victims leave
        commit_pods(self._world, (), plan)

    def priorities(self, pending: Iterable[Preemptor]) -> dict[UnitName, dict[str, object]]:  # noqa: ARG002
        return {}
