"""The lane of queues that use more than their maximum; it also keeps the configuration of the queues."""

from reprieve.manifests.kinds import CONFIG_MAPS, PODS
from reprieve.policies.queue.entry import QueueEntry
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.lane import node_of
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.scheduler.queues.limits import LIMITS, EnforceLimits

_FIRST = 2**31


class QueueLimitLane(Lane):
    """One unit stands in the scheduling queue for all queues that are watched."""

    kinds = frozenset({"Queue"})

    def __init__(self, services: Services) -> None:
        self._queues: QueueEntry = services.policies[QueueEntry.name]
        self._queue = services.queue
        self._configurations = QueueConfigurations(services.context, services.world, writes=not services.shadow)
        self._enforce = EnforceLimits(
            services, self._configurations, PodEvictions(services.context, services.policies.respects_budgets)
        )

    async def turn(self, unit: str) -> None:  # noqa: ARG002 - there is but one
        await self._enforce.turn()

    async def react(self, seen: Seen) -> None:
        if seen.resource == CONFIG_MAPS and QueueConfigurations.concerns(seen.record):
            await self._configured(seen)
        elif seen.resource == PODS and node_of(seen.new) not in ("", node_of(seen.old)):
            self._wake()

    async def _configured(self, seen: Seen) -> None:
        others = True  # where something could not be written, too: by then, others may be in force
        try:
            others = await self._configurations.changed(seen.new)
        finally:
            if others:
                self._wake()

    def _wake(self) -> None:
        if self._queues.policy is not None:
            self._queue.push(LIMITS, _FIRST)
