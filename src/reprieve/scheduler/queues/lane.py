"""The lane of queues that use more than their maximum; it also keeps the configuration of the queues."""

from reprieve.manifests.kinds import CONFIG_MAPS, PODS
from reprieve.policies.queue.entry import QueueEntry
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.lane import node_of
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.scheduler.queues.limits import LIMITS, EnforceLimits
from reprieve.scheduler.queues.misplaced import TellMisplaced

_FIRST = 2**31


class QueueLimitLane(Lane):
    """One unit stands in the scheduling queue for all queues that are watched."""

    kinds = frozenset({"Queue"})

    def __init__(self, services: Services) -> None:
        self._queues: QueueEntry = services.policies[QueueEntry.name]
        self._queue = services.queue
        self._configurations = QueueConfigurations(services.context, services.world, writes=not services.shadow)
        self._tells = not services.shadow
        self._misplaced = TellMisplaced(services)
        self._enforce = EnforceLimits(
            services, self._configurations, PodEvictions(services.context, services.policies.respects_budgets)
        )

    async def turn(self, unit: str) -> None:  # noqa: ARG002 - there is but one
        await self._enforce.turn()

    async def react(self, seen: Seen) -> None:
        if seen.resource == CONFIG_MAPS and QueueConfigurations.concerns(seen.record):
            await self._configured(seen)
        elif seen.resource == PODS:
            if node_of(seen.new) not in ("", node_of(seen.old)):
                self._wake()
            if self._tells and self._queues.policy is not None:
                await self._misplaced.seen(seen)

    async def _configured(self, seen: Seen) -> None:
        others = True  # where something could not be written, too: by then, others may be in force
        try:
            others = await self._configurations.changed(seen.new, seen.old)
        finally:
            if others:
                self._wake()
        if others and self._tells:
            await self._misplaced.everybody()

    def _wake(self) -> None:
        if self._queues.policy is not None:
            self._queue.push(LIMITS, _FIRST)
