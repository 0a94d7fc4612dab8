"""Whatever is done, in whatever order and with restarts in between: the store is what a plain dictionary would be.

And what a watch tells since any version, put on top of what there was then, is what there is now.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reprieve.manifests.kinds import NODES, PODS
from reprieve.stores.errors import AlreadyExists, Conflict, Expired, NotFound, StoreError
from tests.stores.embedded.scene import Scene, at_once, node, pod

NAMES = st.sampled_from(["a", "b", "c", "d"])
KEEP = 12


class Modelled(NamedTuple):
    """A pod as far as the model knows it."""

    uid: str
    version: int
    labels: dict[str, str]
    node: str = ""
    phase: str = "Pending"
    grace: int | None = None
    finalizers: int = 0


def _seen(data: dict[str, Any]) -> Modelled:
    metadata = data["metadata"]
    return Modelled(
        metadata["uid"],
        int(metadata["resourceVersion"]),
        metadata.get("labels", {}),
        data["spec"].get("nodeName", ""),
        data["status"]["phase"],
        metadata.get("deletionGracePeriodSeconds"),
        len(metadata.get("finalizers", [])),
    )


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.scene = Scene(Path(self.directory.name) / "data.db", keep=KEEP, seed=1)
        self.scene.create(NODES, node())
        self.model: dict[str, Modelled] = {}
        self.snapshots: list[tuple[int, dict[str, bytes]]] = []

    def teardown(self) -> None:
        self.scene.store.close()
        self.directory.cleanup()

    @contextmanager
    def refused(self, error: type[StoreError]) -> Iterator[None]:
        """What is refused changes nothing: not even the version moves on."""
        before = self.scene.store.version
        with pytest.raises(error):
            yield
        assert self.scene.store.version == before

    def learn(self, name: str, **changes: Any) -> None:
        self.model[name] = self.model[name]._replace(version=self.scene.store.version, **changes)

    @rule(name=NAMES, label=st.sampled_from(["x", "y"]), finalizers=st.integers(0, 1))
    def create(self, name: str, label: str, finalizers: int) -> None:
        data = pod(name, labels={"l": label})
        if finalizers:
            data["metadata"]["finalizers"] = ["example.com/f"]
        if name in self.model:
            with self.refused(AlreadyExists):
                self.scene.create(PODS, data)
            return
        record = self.scene.create(PODS, data)
        assert record.version == self.scene.store.version
        self.model[name] = Modelled(record.uid, record.version, {"l": label}, finalizers=finalizers)

    @rule(name=NAMES)
    def bind(self, name: str) -> None:
        known = self.model.get(name)
        if known is None:
            with self.refused(NotFound):
                self.scene.bind(name)
        elif known.node or known.grace is not None or known.phase in ("Succeeded", "Failed"):
            with self.refused(Conflict):
                self.scene.bind(name, uid=known.uid)
        else:
            self.scene.bind(name, uid=known.uid)
            self.learn(name, node="n")

    @rule(name=NAMES, label=st.sampled_from(["x", "y"]), stale=st.booleans())
    def label(self, name: str, label: str, stale: bool) -> None:
        known = self.model.get(name)
        if known is None:
            return
        patch = {"metadata": {"labels": {"l": label}}}
        if stale:
            with self.refused(Conflict):
                self.scene.patch(PODS, name, patch, version=known.version - 1)
            return
        self.scene.patch(PODS, name, patch, version=known.version)
        if known.labels != {"l": label}:
            self.learn(name, labels={"l": label})

    @rule(name=NAMES, phase=st.sampled_from(["Running", "Succeeded", "Failed"]))
    def status(self, name: str, phase: str) -> None:
        if name in self.model and self.model[name].phase != phase:
            self.scene.status(PODS, name, {"phase": phase})
            self.learn(name, phase=phase)

    @rule(name=NAMES, grace=st.sampled_from([None, 0, 5, 60]))
    def delete(self, name: str, grace: int | None) -> None:
        known = self.model.get(name)
        if known is None:
            with self.refused(NotFound):
                self.scene.delete(PODS, name, grace=grace)
            return
        self.scene.delete(PODS, name, grace=grace)
        waits = known.node and known.phase not in ("Succeeded", "Failed")
        asked = (30 if grace is None else grace) if waits else 0
        if known.grace is not None:
            asked = known.grace if grace is None else min(grace, known.grace)
        if asked == 0 and not known.finalizers:
            del self.model[name]
        elif asked != known.grace:
            self.learn(name, grace=asked)

    @rule(name=NAMES)
    def drop_finalizers(self, name: str) -> None:
        known = self.model.get(name)
        if known is None or not known.finalizers:
            return
        self.scene.patch(PODS, name, {"metadata": {"finalizers": None}})
        if known.grace == 0:
            del self.model[name]
        else:
            self.learn(name, finalizers=0)

    @rule()
    def restart(self) -> None:
        version = self.scene.store.version
        self.scene.restart()
        assert self.scene.store.version == version

    @rule()
    def remember(self) -> None:
        listing = at_once(self.scene.store.list(PODS))
        self.snapshots.append((listing.version, {record.name: record.raw for record in listing.records}))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def watch(self, data: st.DataObject) -> None:
        version, then = data.draw(st.sampled_from(self.snapshots))
        try:
            events = self.scene.store.watch(PODS, version).take()
        except Expired:
            assert self.scene.store.version - version > KEEP
            return
        assert [event.record.version for event in events] == sorted({event.record.version for event in events})
        now = dict(then)
        for event in events:
            if event.type == "DELETED":
                del now[event.record.name]
            else:
                assert (event.type == "ADDED") == (event.record.name not in now)
                now[event.record.name] = event.record.raw
        assert now == {record.name: record.raw for record in at_once(self.scene.store.list(PODS)).records}

    @invariant()
    def the_store_is_the_model(self) -> None:
        records = at_once(self.scene.store.list(PODS)).records
        assert {record.name: _seen(record.data) for record in records} == self.model
        assert all((record.uid, record.version) == _seen(record.data)[:2] for record in records)


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
test_the_store_is_a_dictionary_that_lasts = StoreMachine.TestCase
