"""One turn for a binding: which member clusters its replicas go to, and who makes way there."""

from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.model.names import UnitName, parts_of
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.entry import FederationEntry
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.registry import Preemptor
from reprieve.scheduler.federation.effects import commit
from reprieve.scheduler.federation.untold import tell, untold
from reprieve.scheduler.lanes import Services
from reprieve.stores.records import Record
from reprieve.world import microseconds


class ScheduleBindings:
    """Decides for bindings, and has it done."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._entry: FederationEntry = services.policies[FederationEntry.name]
        self._policy: FederationPolicy = self._entry.policy
        self._queue = services.queue
        self._log = services.context.log

    def find(self, unit: str) -> BindingFacts | None:
        """A binding as the policy sees it."""
        self._policy.federation.refresh()
        return self._policy.federation.find(UnitName(unit))

    def preemptor(self, facts: BindingFacts) -> Preemptor:
        """A binding that waits; its priority and age tell when it is taken from the queue."""
        return self._entry.preemptor(facts)

    async def turn(self, unit: str) -> None:
        await self._tell(unit)
        facts = self.find(unit)
        if facts is None or not self.waits(facts):
            return self._queue.done(unit)
        started = self._services.elapsed()
        plan = self._entry.decide(self._entry.preemptor(facts), microseconds(self._services.context.clock()))
        number = self._log.decided(plan, self._services.elapsed() - started)
        if self._services.shadow:
            return self._queue.unschedulable(unit)
        await commit(self._services.context, plan, number)
        self._log.acted(plan, number, fits="scheduled")
        if plan.outcome == "Fits":
            return self._queue.done(unit)
        return self._queue.unschedulable(unit)

    def waits(self, facts: BindingFacts) -> bool:
        """Whether it is for this scheduler to find a place for it."""
        return facts.pending and facts.binding.spec.scheduler_name in self._services.names

    def silent(self, unit: str) -> bool:
        """Whether something was done with a binding that its status does not tell."""
        record = self._record(unit)
        return record is not None and untold(record, self._services.names) is not None

    async def _tell(self, unit: str) -> None:
        record = self._record(unit)
        if record is not None and not self._services.shadow:
            await tell(self._services.context, record, self._services.names)

    def _record(self, unit: str) -> Record | None:
        kind, namespace, name = parts_of(unit)
        resource = CLUSTER_BINDINGS if kind == CLUSTER_BINDINGS.kind else BINDINGS
        return self._services.context.mirror.get(resource, name, namespace)
