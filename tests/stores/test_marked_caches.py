"""A cache that keeps only what has a mark: it is told of nothing else, and misses nothing that it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.manifests.kinds import PODS
from reprieve.stores.caches import AT_A_TIME, Cache
from reprieve.stores.protocol import Watch
from reprieve.stores.records import EventType, Listing, Record, WatchEvent

MARK = b'"ownerReferences"'


def pod(name: str, version: int, *, marked: bool) -> Record:
    metadata: dict[str, Any] = {"name": name, "namespace": "lab", "uid": f"uid-{name}", "resourceVersion": str(version)}
    if marked:
        metadata["ownerReferences"] = []
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return Record(PODS, msgspec.json.encode(data), namespace="lab", name=name, uid=f"uid-{name}", version=version)


class Told:
    """A store of one watch, and the cache that follows it."""

    def __init__(self) -> None:
        self.signal = asyncio.Event()
        self.since: list[int] = []
        self.kept = Cache(PODS, lambda _old, _new: None, mark=MARK)
        self.begin()

    def begin(self) -> None:
        """Connect, as after a watch was lost."""
        self.kept.stop()
        asyncio.run(self.follow())
        self.signal.clear()

    async def list(self, _: Any) -> Listing:
        return Listing([], 1)

    def watch(self, _: Any, since: int, **options: Any) -> Watch:
        self.since.append(since)
        self.opened = Watch(options["signal"])
        return self.opened

    async def follow(self) -> None:
        await self.kept.follow(self, self.signal)  # type: ignore[arg-type]

    def tell(self, record: Record, kind: EventType = "MODIFIED") -> None:
        self.opened.feed(WatchEvent(kind, record))

    @property
    def names(self) -> set[str]:
        return {record.name for record in self.kept}


def test_nobody_is_woken_for_what_has_no_mark() -> None:
    told = Told()
    told.tell(pod("a", 2, marked=False))
    assert not told.signal.is_set()
    assert told.kept.quiet
    told.tell(pod("a", 3, marked=True))
    assert told.signal.is_set()
    asyncio.run(told.follow())
    assert told.names == {"a"}


def test_what_is_kept_is_followed_also_without_its_mark() -> None:
    told = Told()
    told.tell(pod("a", 2, marked=True))
    told.tell(pod("a", 3, marked=False))
    asyncio.run(told.follow())
    found = told.kept.get("a", "lab")
    assert found is not None
    assert found.version == 3
    told.tell(pod("a", 4, marked=False), "DELETED")
    asyncio.run(told.follow())
    assert told.names == set()


def test_what_was_passed_over_is_not_told_again_when_the_watch_is_lost() -> None:
    told = Told()
    told.tell(pod("a", 7, marked=False))
    told.begin()
    assert told.since == [1, 7]


def test_what_loses_its_mark_while_a_burst_is_taken_in_is_not_missed() -> None:
    """A burst is taken in with breaks: what comes in one of them may be about what stands behind it."""
    told = Told()
    last = AT_A_TIME + 1
    for number in range(last):
        told.tell(pod(f"p-{number}", 2 + number, marked=True))

    async def take_in() -> None:
        taking = asyncio.create_task(told.follow())
        await asyncio.sleep(0)  # the first part is in
        told.tell(pod(f"p-{last - 1}", 100, marked=False), "DELETED")
        await taking
        await told.follow()

    asyncio.run(take_in())
    assert f"p-{last - 1}" not in told.names


def _changes(chosen: list[tuple[int, str]]) -> Iterator[tuple[EventType, Record]]:
    """What happens to three pods, as a store would tell it: a pod that is gone is another one when it comes back."""
    lives = [0, 0, 0]
    for version, (which, what) in enumerate(chosen, 2):
        name = f"p-{which}-{lives[which]}"
        lives[which] += what == "DELETED"
        yield ("DELETED" if what == "DELETED" else "MODIFIED"), pod(name, version, marked=what == "marked")


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["marked", "plain", "DELETED"])), max_size=20), st.data())
@settings(max_examples=150, deadline=None)
def test_it_knows_what_it_would_know_if_it_were_told_everything(chosen: list[tuple[int, str]], data: Any) -> None:
    some, all_of_it = Told(), Told()
    all_of_it.opened.wanted = None
    for kind, record in _changes(chosen):
        for told in (some, all_of_it):
            told.tell(record, kind)
        if data.draw(st.booleans()):
            for told in (some, all_of_it):
                asyncio.run(told.follow())
    for told in (some, all_of_it):
        asyncio.run(told.follow())
    assert {one.name: one.version for one in some.kept} == {one.name: one.version for one in all_of_it.kept}
