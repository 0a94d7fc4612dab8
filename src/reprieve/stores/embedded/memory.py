"""All objects at their last version, in memory: by kind, namespace and name, with those who watch them."""

from collections.abc import Iterable, Iterator

from reprieve.manifests.resource import Resource
from reprieve.stores.errors import Expired
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Record, WatchEvent

LONGEST_BACKLOG = 100_000
"""How many events a watch may be behind; then it has to list again, or it would fill the memory."""


class ObjectsOfKind:
    """The objects of one kind, and the watches on them."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._spaces: dict[str, dict[str, Record]] = {}
        self._watches: list[tuple[str, Watch]] = []

    def get(self, namespace: str, name: str) -> Record | None:
        return self._spaces.get(namespace, {}).get(name)

    def records(self, namespace: str = "") -> Iterator[Record]:
        """In one namespace or, when it is empty, in all."""
        if namespace or not self.resource.namespaced:
            return iter(self._spaces.get(namespace, {}).values())
        return (record for space in self._spaces.values() for record in space.values())

    def __len__(self) -> int:
        return sum(len(space) for space in self._spaces.values())

    def put(self, record: Record) -> None:
        self._spaces.setdefault(record.namespace, {})[record.name] = record

    def remove(self, record: Record) -> None:
        space = self._spaces[record.namespace]
        del space[record.name]
        if not space:
            del self._spaces[record.namespace]

    def watch(self, watch: Watch, namespace: str, missed: Iterable[WatchEvent]) -> None:
        """Begin with what was missed; from now on the watch gets what happens."""
        for event in missed:
            if not namespace or event.record.namespace == namespace:
                watch.feed(event)
        self._watches = [each for each in self._watches if not each[1].closed]
        self._watches.append((namespace, watch))

    def tell(self, event: WatchEvent) -> None:
        ended = False
        for namespace, watch in self._watches:
            if watch.closed:
                ended = True
            elif not namespace or event.record.namespace == namespace:
                ended = _feed(watch, event) or ended
        if ended:
            self._watches = [(namespace, watch) for namespace, watch in self._watches if not watch.closed]

    def fail(self, failure: Exception) -> None:
        """Nothing more will come, for anybody."""
        for _, watch in self._watches:
            watch.fail(failure)
        self._watches = []


def _feed(watch: Watch, event: WatchEvent) -> bool:
    """Whether the watch ends here, because it has fallen too far behind."""
    if len(watch) < LONGEST_BACKLOG:
        watch.feed(event)
        return False
    watch.fail(Expired(f"the watch is {LONGEST_BACKLOG} events behind: list again"))
    watch.closed = True
    return True
