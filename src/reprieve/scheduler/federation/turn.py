"""One turn for a binding: which member clusters its replicas go to, and who makes way there.

While what was decided for a binding is on its way to the store, nothing else is decided for it, and nobody else's
decision tells it to leave: that would come before what it is told to leave.
"""

from functools import partial

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.model.names import UnitName, parts_of
from reprieve.policies.entry import Preemptor
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.entry import FederationEntry
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.scheduler.assuming import AssumedObjects, has_to_wait, taking_back
from reprieve.scheduler.federation.effects import prepare
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
        self._writes = services.context.writes

    def find(self, unit: str) -> BindingFacts | None:
        """A binding as the policy sees it."""
        self._policy.federation.refresh()
        return self._policy.federation.find(UnitName(unit))

    def preemptor(self, facts: BindingFacts) -> Preemptor:
        """A binding that waits; its priority and age tell when it is taken from the queue."""
        return self._entry.preemptor(facts)

    async def turn(self, unit: str) -> None:
        if has_to_wait(self._services, unit, lambda: self._wake(unit)):
            return None
        await self._tell(unit)
        facts = self.find(unit)
        if facts is None or not self.waits(facts):
            return self._queue.done(unit)
        started = self._services.elapsed()
        plan = self._entry.decide(self._entry.preemptor(facts), microseconds(self._services.context.clock()))
        if self._put_off(unit, plan):
            return self._queue.unschedulable(unit)
        number = self._log.decided(plan, self._services.elapsed() - started)
        if self._services.shadow:
            return self._queue.unschedulable(unit)
        await self._carry_out(unit, plan, number)
        if plan.outcome == "Fits":
            return self._queue.done(unit)
        return self._queue.unschedulable(unit)

    def _put_off(self, unit: str, plan: Plan) -> bool:
        """Whether something is on its way for a binding that is to leave; the turn is taken afterwards."""
        busy = next((victim.unit for victim in plan.victims if self._writes.busy(victim.unit)), None)
        if busy is not None:
            self._writes.afterwards(busy, lambda: self._wake(unit), unit)
        return busy is not None

    async def _carry_out(self, unit: str, plan: Plan, number: int) -> None:
        assumed = AssumedObjects(self._services.context)
        prepared = prepare(self._services.context, plan, number, assumed)

        async def work() -> None:
            await prepared()
            assumed.written()
            self._log.acted(plan, number, fits="scheduled")

        units = [unit, *(victim.unit for victim in plan.victims)]

        def look_again() -> None:
            for each in units:  # also a victim that was told, and whose status does not say so
                self._writes.afterwards(each, partial(self._wake, each))

        await self._writes.carry_out(units, work, taking_back(assumed, look_again))

    def _wake(self, unit: str) -> None:
        """It is worth another turn, if it still waits or has to be told something."""
        facts = self.find(unit)
        if facts is not None and (self.waits(facts) or self.silent(unit)):
            waiting = self.preemptor(facts)
            self._queue.push(unit, waiting.priority, (waiting.created, unit))
            self._services.context.mirror.signal.set()

    def waits(self, facts: BindingFacts) -> bool:
        """Whether it is for this scheduler to find a place for it."""
        return facts.pending and facts.binding.spec.scheduler_name in self._services.names

    def silent(self, unit: str) -> bool:
        """Whether something was done with a binding that its status does not tell, and is not about to."""
        record = self._record(unit)
        told = record is None or self._writes.busy(unit) or untold(record, self._services.names) is None
        return not told

    async def _tell(self, unit: str) -> None:
        record = self._record(unit)
        if record is not None and not self._services.shadow:
            await tell(self._services.context, record, self._services.names)

    def _record(self, unit: str) -> Record | None:
        kind, namespace, name = parts_of(unit)
        resource = CLUSTER_BINDINGS if kind == CLUSTER_BINDINGS.kind else BINDINGS
        return self._services.context.mirror.get(resource, name, namespace)
