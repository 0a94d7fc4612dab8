"""Pods that name a parent queue, or one that is not configured, are told: in a condition, and in an event.

They are placed all the same, as the policy has it. When the configuration or the pod changes, the condition does.
"""

from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.model.conditions import condition_of
from reprieve.model.names import Key
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.queue.names import Misplaced, QueueNames
from reprieve.policies.queue.tree import partition_of
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import queues as texts
from reprieve.world import PodFacts

IN_QUEUE = "reprieve.scheduling/InQueue"
"""The condition: False, where the queue of a pod is not one for pods."""


class TellMisplaced:
    """Looks at pods that wait, as they come, and at all of them when other queues are in force."""

    def __init__(self, services: Services) -> None:
        self._context = services.context
        self._world = services.world
        self._queues: QueueEntry = services.policies[QueueEntry.name]
        self._names = services.names
        self._pods = PodWriter(services.context)
        self._known: tuple[tuple[QueueConfiguration, ...], QueueNames | None] = ((), None)

    async def seen(self, seen: Seen) -> None:
        if seen.new is not None and (seen.old is None or _named(seen.old) != _named(seen.new)):
            await self._look_at(seen.record.key)

    async def everybody(self) -> None:
        for key in [facts.key for facts in self._world.pending()]:
            await self._look_at(key)

    async def _look_at(self, key: Key) -> None:
        facts = self._world.pods.get(key)
        if facts is None or not facts.pending or facts.pod.spec.scheduler_name not in self._names:
            return
        record = self._pods.record(facts)
        if record is not None:
            await self._tell(record, self._misplaced(facts))

    def _misplaced(self, facts: PodFacts) -> Misplaced | None:
        policy = self._queues.policy
        if policy is None or not self._queues.takes(facts):
            return None
        policy.sync()
        return self._configured().misplaced(facts, policy.tree.queue_of(facts))

    def _configured(self) -> QueueNames:
        """Worked out once for a configuration."""
        configurations = tuple(self._world.all(QueueConfiguration))
        known = self._known[1]
        if known is None or self._known[0] != configurations:
            known = QueueNames(partition_of(self._world))
            self._known = configurations, known
        return known

    async def _tell(self, record: Record, misplaced: Misplaced | None) -> None:
        known = condition_of(record.data, IN_QUEUE)
        if misplaced is None and known.get("status") != "False":
            return
        message = (
            texts.misplaced(misplaced.kind, misplaced.queue, misplaced.leaves) if misplaced else texts.NOT_MISPLACED
        )
        if known.get("message", "") == message and known.get("status") == ("False" if misplaced else "True"):
            return
        status, reason = ("False", misplaced.kind) if misplaced is not None else ("True", "Found")
        try:
            changed = await self._pods.set_condition(record, IN_QUEUE, status, reason, message)
        except (Conflict, NotFound):
            return  # it has changed, or is gone: that is on its way here
        if misplaced is not None:
            await self._context.event(changed, "Warning", misplaced.kind, message, once=True)


def _named(record: Record) -> object:
    return record.metadata.get("labels"), record.metadata.get("annotations")
