"""The lane of placeholders: those that nobody comes for any more go, so that others can have their room.

One unit stands in the scheduling queue for all of them. When each is to go follows from what it says and from when it
got its place: a restart changes nothing.
"""

from collections.abc import Mapping
from math import inf

from reprieve.manifests.kinds import PODS
from reprieve.manifests.yunikorn_task_groups import PLACEHOLDER
from reprieve.policies.queue.gang_entry import GangEntry
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import task_groups as texts
from reprieve.world import NEVER, PodFacts, microseconds

PLACEHOLDERS = "Placeholder//all"
_FIRST = 2**31
_SECOND = 1_000_000


class PlaceholderLane(Lane):
    """Deletes placeholders whose time is over, or whose application has come to its end without them."""

    kinds = frozenset({"Placeholder"})

    def __init__(self, services: Services) -> None:
        self._gangs: GangEntry = services.policies[GangEntry.name]
        self._context = services.context
        self._queue = services.queue
        self._shadow = services.shadow
        self._pods = PodWriter(services.context)
        self._known = False
        """Whether there has been a placeholder: until then there is nothing to look at."""

    async def react(self, seen: Seen) -> None:
        if seen.resource != PODS or self._shadow:
            return
        self._known = self._known or any(map(_keeps_a_place, filter(None, (seen.old, seen.new))))
        if self._known:
            self._queue.push(PLACEHOLDERS, _FIRST)

    async def turn(self, unit: str) -> None:
        superfluous, later = self._gangs.superfluous(microseconds(self._context.clock()))
        for facts in superfluous:
            await self._take_away(facts)
        self._queue.unschedulable(unit, later / _SECOND if later < NEVER else inf)

    async def _take_away(self, facts: PodFacts) -> None:
        record = self._pods.record(facts)
        if record is None:
            return
        try:
            gone = await self._context.store.delete(PODS, record.name, record.namespace, uid=record.uid)
        except (Conflict, NotFound):
            return
        leaves = "deletionTimestamp" in gone.metadata and bool(gone.data["spec"].get("nodeName"))
        self._context.mirror.absorb(gone, gone=not leaves)
        await self._context.event(record, "Normal", "PlaceholderTimeOut", texts.not_needed(facts.unit))


def _keeps_a_place(record: Record) -> bool:
    annotations: Mapping[str, str] = record.manifest.metadata.annotations
    return annotations.get(PLACEHOLDER) == "true"
