"""YuniKorn's queues as the store has them: taken over when they change, refused when they are wrong.

1. The oldest ConfigMap of that name is the one; another of the same name, in whatever namespace, is not used as long as
   that one exists, and is told so. Where it has no queues, or there is none, the oldest `yunikorn-defaults` counts.
2. A configuration that is accepted is also written to an annotation of its ConfigMap: when the next one is bad, and the
   scheduler restarts, the last good one is still known.
3. A bad one is refused with an event that says all that is wrong; the old one of the same ConfigMap stays in force.
4. What of an accepted one has no effect is told in an event as well.
5. A plan over what is stored goes by what is in force, too: `in_force`.
6. When it is deleted there are no queues any more: an event about it says so, and what that means for pods.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from reprieve.manifests.admission import admit_all
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.manifests.loading import load_objects
from reprieve.manifests.yunikorn import CONFIG_MAP, QUEUES_FILE, QueueConfiguration, queues_key, used_partition
from reprieve.manifests.yunikorn import CONFIG_MAPS as OF_QUEUES
from reprieve.scheduler.context import Context, annotations_of
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.world import World

ACCEPTED = "reprieve.scheduling/accepted-queues"
LARGEST = 256 * 1024
"""Letters of a configuration: thousands of queues. Each decision looks at many of them."""
_LONG = 16 * 1024
Read = tuple[QueueConfiguration | None, list[str], list[str]]


class QueueConfigurations:
    """Keeps the queue configuration of a world in step with its ConfigMap."""

    def __init__(self, context: Context, world: World, *, writes: bool) -> None:
        self._context = context
        self._world = world
        self._writes = writes
        self._text: str | None = None
        self._uid = ""
        """The ConfigMap that the text is from: what another one had accepted does not stand for it."""
        self._refused = ""

    @staticmethod
    def concerns(record: Record) -> bool:
        return record.name in OF_QUEUES

    def source(self) -> Record | None:
        """The ConfigMap that counts."""
        return _that_counts(self._all())

    def _all(self) -> list[Record]:
        return [record for record in self._context.mirror.all(CONFIG_MAPS) if self.concerns(record)]

    async def changed(self, record: Record | None, before: Record | None = None) -> bool:
        """A ConfigMap of that name has changed or gone; whether other queues are in force now."""
        source = self.source()
        if record is not None and source is not None and record.name == source.name and record.uid != source.uid:
            if self._writes:
                await self._context.event(record, "Warning", "QueuesIgnored", loop.other_configuration(source.unit))
            return False
        text = _text_of(source, self._all())
        if source is None or text is None:
            return await self._end(source or before)
        if source.uid != self._uid:
            self._text, self._uid, self._refused = None, source.uid, ""
        if text == self._text:
            await self._accept(source, text)  # it may not have been written down the first time
            return False
        return text != self._refused and await self._take(source, text)

    async def _take(self, source: Record, text: str) -> bool:
        accepted, problems, unused = await _read(text)
        if accepted is not None:
            self._use(accepted, text)
            await self._accept(source, text)
            if unused and self._writes:
                await self._context.event(source, "Warning", "QueuesInPart", loop.configuration_in_part(unused))
            return True
        self._refused = text
        if self._writes:
            await self._context.event(source, "Warning", "QueuesRefused", loop.configuration_refused(problems))
        return await self._fall_back(source)

    def _use(self, configuration: QueueConfiguration, text: str) -> None:
        self._text, self._refused = text, ""
        self._drop_all()
        self._world.put(configuration)

    async def _end(self, source: Record | None) -> bool:
        """There are no queues any more: their ConfigMap is gone, or has none."""
        self._text, self._refused = None, ""
        dropped = self._drop_all()
        if dropped and source is not None and self._writes:
            await self._context.event(source, "Warning", "QueuesRemoved", loop.queues_removed(source.unit))
        return dropped

    def _drop_all(self) -> bool:
        known = list(self._world.all(QueueConfiguration))
        for item in known:
            self._world.delete(QueueConfiguration, item.name, item.namespace, called=item.kind)
        return bool(known)

    async def _fall_back(self, source: Record) -> bool:
        """After a restart nothing is in force yet: the last good one is in the annotation."""
        if self._text is not None:
            return False
        written = annotations_of(source).get(ACCEPTED, "")
        accepted, *_ = await _read(written)
        if accepted is None:
            return self._drop_all()
        refused = self._refused
        self._use(accepted, written)
        self._refused = refused
        return True

    async def _accept(self, source: Record, text: str) -> None:
        if not self._writes or annotations_of(source).get(ACCEPTED) == text:
            return
        patch: dict[str, Any] = {"metadata": {"annotations": {ACCEPTED: text}}}
        try:
            changed = await self._context.store.patch(
                CONFIG_MAPS, source.name, source.namespace, patch, version=source.version
            )
        except (Conflict, NotFound):
            return  # it has changed again: that change is on its way here
        self._context.absorb(changed)
        used = [used_partition(known) for known in self._world.all(QueueConfiguration)]
        partitions = [part.name for part in used if part is not None]
        await self._context.event(changed, "Normal", "QueuesAccepted", loop.configuration_accepted(partitions))


def in_force(records: Iterable[Record]) -> list[Record]:
    """What is stored, as the loop goes by it: one ConfigMap with queues at most, with the text that was accepted."""
    found = list(records)
    named = [one for one in found if one.resource == CONFIG_MAPS and QueueConfigurations.concerns(one)]
    source = _that_counts(named)
    others = [one for one in found if not any(one is other for other in named)]
    accepted = _accepted_text(source, named)
    return others if source is None or accepted is None else [*others, _with_text(source, accepted)]


def _that_counts(named: Sequence[Record]) -> Record | None:
    """The users' own if it has queues, else the defaults if they have; else the users' own."""
    oldest = [_oldest(named, name) for name in OF_QUEUES]
    found = [each for each in oldest if each is not None]
    return next((each for each in found if _text_of(each, named) is not None), found[0] if found else None)


def _oldest(named: Iterable[Record], name: str) -> Record | None:
    of_name = (record for record in named if record.name == name)
    return min(of_name, key=lambda record: (record.metadata.get("creationTimestamp", ""), record.key), default=None)


def _data(record: Record | None) -> dict[str, str]:
    return (record.data.get("data") or {}) if record is not None else {}


def _text_of(source: Record | None, named: Sequence[Record]) -> str | None:
    """What a ConfigMap says of queues, in the entry that it, or else one of the others, names."""
    own, defaults = (_data(_oldest(named, name)) for name in OF_QUEUES)
    return _data(source).get(queues_key(own, defaults))


def _accepted_text(source: Record | None, named: Sequence[Record]) -> str | None:
    """The text of a ConfigMap; where that is refused the last one that was not; None: there are no queues."""
    text = _text_of(source, named)
    if source is None or text is None:
        return None
    texts = (text, annotations_of(source).get(ACCEPTED, ""))
    return next((each for each in texts if read_queues(each)[0] is not None), None)


def _with_text(source: Record, text: str) -> Record:
    if _data(source) == {QUEUES_FILE: text}:
        return source
    raw = msgspec.json.encode({**source.data, "data": {QUEUES_FILE: text}})
    name = {"namespace": source.namespace, "name": source.name}
    return Record(source.resource, raw, **name, uid=source.uid, version=source.version)


async def _read(text: str) -> Read:
    """In a thread where that takes more than a moment."""
    return read_queues(text) if len(text) <= _LONG else await asyncio.to_thread(read_queues, text)


def read_queues(text: str) -> Read:
    """The configuration in a text, or all that is wrong with it; and what of it has no effect, or another."""
    if len(text) > LARGEST:
        return None, [loop.large_configuration(len(text), LARGEST)], []
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP},
        "data": {QUEUES_FILE: text},
    }
    loaded = load_objects([config_map], name=CONFIG_MAP)
    said = admit_all(loaded.entries)
    problems = [*loaded.errors, *(problem for problem in said if problem.severity == "error")]
    unused = [f"{problem.field}: {problem.message}" for problem in said if problem.severity == "warning"]
    found = next((item for item in loaded.objects if isinstance(item, QueueConfiguration)), None)
    if found is None and not problems:
        return None, [loop.EMPTY_CONFIGURATION], []
    return (None if problems else found), [str(problem) for problem in problems], unused
