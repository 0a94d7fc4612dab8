"""Applications with task groups, as their pods come, go and start: which pods have to be looked at again.

A pod that comes, leaves or gets its place may change with whom the others of its application wait: together, each for
itself, or for the application to start.
"""

from collections.abc import Iterable, Iterator

from reprieve.manifests.yunikorn import APPLICATION
from reprieve.model.names import Key, UnitName, parts_of
from reprieve.policies.queue.gang_entry import GangEntry
from reprieve.policies.queue.pods import application_of
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.texts import task_groups as texts
from reprieve.world import PodFacts, microseconds


class ApplicationMembers:
    """Keeps who the members of each were when it was last looked at."""

    def __init__(self, services: Services) -> None:
        self._gangs: GangEntry = services.policies[GangEntry.name]
        self._context = services.context
        self._tells = not services.shadow
        self._pods = PodWriter(services.context)
        self._touched: dict[str, None] = {}
        self._members: dict[str, tuple[Key, ...]] = {}
        self._deadlines: dict[str, tuple[int, UnitName]] = {}
        """When each of them gives up to start as a whole, unless it has its places by then."""

    def seen(self, seen: Seen) -> None:
        """A pod has changed."""
        for record in (seen.old, seen.new):
            name = application_of(record.manifest.metadata) if record is not None else ""
            if name:
                self._touched[name] = None

    def regrouped(self) -> Iterator[Key]:
        """Pods of applications that have other members than before, or have started."""
        touched, self._touched = self._touched, {}
        if not (self._members or self._gangs.any):
            return
        self._gangs.now = microseconds(self._context.clock())
        for name in touched:
            found = self._gangs.of_name(name)
            members = tuple(facts.key for facts in found.members) if found is not None else ()
            self._deadlines.pop(name, None)
            if found is not None:
                self._deadlines[name] = found.deadline, found.unit
            if members != self._members.get(name, ()):
                self._members[name] = members
                if not members:
                    del self._members[name]
                yield from [facts.key for facts in self._gangs.pods(name) if facts.pending]

    def in_time(self) -> list[UnitName]:
        """Applications whose time has come since this was asked last: from now on some of their pods may have their
        turns before others that wait."""
        if not self._deadlines:
            return []
        now = microseconds(self._context.clock())
        if min(self._deadlines.values())[0] > now:
            return []
        over = {name: unit for name, (deadline, unit) in self._deadlines.items() if deadline <= now}
        for name in over:
            del self._deadlines[name]
        return list(over.values())

    async def gave_up(self, unit: str, pods: Iterable[PodFacts]) -> None:
        """Tell that an application starts pod by pod, where it is its time that is over."""
        if parts_of(unit).kind != APPLICATION or not self._tells:
            return
        message = self._gangs.why_one_by_one(parts_of(unit).name)
        first = next(iter(sorted(pods, key=lambda facts: (facts.created, facts.key))), None)
        record = self._pods.record(first) if first is not None else None
        if message and record is not None:
            await self._context.event(record, "Warning", "GangScheduling", texts.one_by_one(unit, message))
