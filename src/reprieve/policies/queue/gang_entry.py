"""Applications that start as a whole, in the registry of policies."""

from collections.abc import Iterable

from reprieve.engine.exposure import NOBODY_ASKS, Exposure
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.yunikorn import APPLICATION, CONFIG_MAPS
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Entry, Ground, Preemptor
from reprieve.policies.on_nodes import ON_NODES, commit_pods, take_back
from reprieve.policies.queue.entry import Queues
from reprieve.policies.queue.gang import TaskGroupPolicy
from reprieve.policies.queue.order import Turn
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.task_groups import Application
from reprieve.world import NEVER, PodFacts


class GangEntry(Entry):
    """Applications with task groups of which no pod has a place yet."""

    name = TaskGroupPolicy.name
    ledger = ON_NODES
    kinds = (APPLICATION, "Pod")
    config_maps = frozenset(CONFIG_MAPS)

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._queues = Queues(ground)
        self.now = ground.moment
        """When it is: whoever asks later says so."""

    @property
    def _policy(self) -> QueuePolicy | None:
        """With all that has happened: what an application is to start with is remembered until the next change."""
        policy = self._queues.policy
        if policy is not None:
            policy.sync()
        return policy

    def of(self, facts: PodFacts) -> Application | None:
        """The application that a pod starts with, as one of its members."""
        found = self.waits_for(facts)
        return found if found is not None and found.has(facts) else None

    def waits_for(self, facts: PodFacts) -> Application | None:
        """The application whose start a pod waits for, be it as a member or not."""
        policy = self._policy
        if policy is None:
            return None
        return policy.task_groups.of(facts, self.now)

    @property
    def any(self) -> bool:
        """Whether any application has task groups."""
        policy = self._policy
        return policy is not None and bool(policy.tree.applications.with_task_groups)

    def of_name(self, name: str) -> Application | None:
        """The application of a name, if it is to start as a whole."""
        policy = self._policy
        return policy.task_groups.named(name, self.now) if policy is not None else None

    def pods(self, name: str) -> Iterable[PodFacts]:
        """The pods of an application that have not finished."""
        policy = self._policy
        return list(policy.tree.applications.pods(name)) if policy is not None else ()

    def why_one_by_one(self, name: str) -> int:
        """After how many seconds an application gave up to start as a whole; 0: it did not."""
        policy = self._policy
        return policy.task_groups.gave_up(name, self.now) if policy is not None else 0

    def superfluous(self, now: int) -> tuple[list[PodFacts], int]:
        """Placeholders that nobody will come for any more, and when others will be such."""
        policy = self._policy
        return policy.task_groups.superfluous(now) if policy is not None else ([], NEVER)

    def named(self, unit: str) -> Application | None:
        """By the name of the unit."""
        return next((one for one in self._waiting() if one.unit == unit), None)

    def _waiting(self) -> Iterable[Application]:
        policy = self._policy
        if policy is None:
            return []
        pods = self._ground.waiting_pods() if policy.tree.applications.with_task_groups else ()
        found = (policy.task_groups.of(facts, self.now) for facts in pods)
        return {one.unit: one for one in found if one is not None}.values()

    def names(self) -> Iterable[UnitName]:
        return [one.unit for one in self._waiting()]

    def find(self, asked: Asked) -> Preemptor | None:
        if asked.kind == APPLICATION:
            one = self.named(asked.unit)
            return self.preemptor(one) if one is not None else None
        facts = self._ground.world.pods.get((asked.namespace, asked.name))
        found = self.of(facts) if facts is not None and facts.pending else None
        return self.preemptor(found) if found is not None else None

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        found = [one for one in self._waiting() if not any(facts.unit in taken for facts in one.members)]
        taken.update(facts.unit for one in found for facts in one.members)
        return [self.preemptor(one) for one in found]

    def preemptor(self, one: Application) -> Preemptor:
        """Its turn is that of its first member."""
        never = any(facts.preemption_policy == "Never" for facts in one.members)
        first = min(one.members, key=lambda facts: (facts.created, facts.key))
        made = Preemptor(one.unit, self.name, first.priority, first.created, one, one.members, never)
        return made._replace(**self.turn(one)._asdict())

    def turn(self, one: Application) -> Turn:
        policy = self._policy
        first = min(one.members, key=lambda facts: (facts.created, facts.key))
        return policy.turn(first) if policy is not None else Turn(before_age=(first.created, 0))

    def standing_now(self, preemptor: Preemptor) -> Preemptor:
        return preemptor._replace(**self.turn(preemptor.facts)._asdict())

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        policy = self._policy
        if policy is None:
            raise LookupError("there are no queues")
        return decide(TaskGroupPolicy(policy, self._ground.nodes), preemptor.facts, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        commit_pods(self._ground.world, preemptor.pods, plan)

    def exposure(self, now: int) -> Exposure:  # noqa: ARG002 - by the rules for single pods of queues
        return NOBODY_ASKS

    def undo(self, preemptor: Preemptor) -> bool:
        """Placeholders that were made with it are gone again."""
        missing = preemptor.facts.missing
        for facts in preemptor.pods:
            if facts.key in missing:
                self._ground.world.delete(type(facts.pod), facts.key[1], facts.key[0])
        return take_back(self._ground.world, [facts for facts in preemptor.pods if facts.key not in missing])
