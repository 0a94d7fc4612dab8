"""Where a watch is taken up: by what the server told last, be it an object or a bookmark."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from reprieve.manifests.kinds import PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.errors import Expired, Unavailable
from reprieve.stores.kubernetes.watching import Follower, ServerWatch

Line = dict[str, Any]


class Server:
    """Answers each watch with the next of some scripts; what is not a line is what goes wrong after it."""

    def __init__(self, *scripts: list[Line | Exception]) -> None:
        self._scripts = list(scripts)
        self.since: list[int] = []

    @asynccontextmanager
    async def stream(self, _: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        assert query["allowWatchBookmarks"] == "true"
        self.since.append(int(query["resourceVersion"]))
        yield self._told(self._scripts.pop(0) if self._scripts else [_error(410)])

    async def _told(self, script: list[Line | Exception]) -> AsyncIterator[bytes]:
        for line in script:
            if isinstance(line, Exception):
                raise line
            yield msgspec.json.encode(line) + b"\n"

    async def api_version(self, _: Resource) -> str:
        return "v1"


def follow(server: Server, since: int = 10) -> ServerWatch:
    watch = None

    async def main(_: Clock) -> ServerWatch:
        nonlocal watch
        watch = ServerWatch(None)
        await Follower(server, server, PODS, "").run(watch, since)  # type: ignore[arg-type]
        return watch

    return run_virtually(main)


def _error(code: int, reason: str = "Expired") -> Line:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason, "message": "no"}}


def _event(kind: str, version: int) -> Line:
    metadata = {"name": f"pod-{version}", "namespace": "lab", "uid": "u", "resourceVersion": str(version)}
    return {"type": kind, "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}


def test_it_is_taken_up_after_the_last_that_was_told() -> None:
    broken = Unavailable("the line broke")
    server = Server([_event("ADDED", 12), broken], [_event("DELETED", 15), _event("ADDED", 16)], [broken])
    watch = follow(server)
    assert server.since == [10, 12, 16, 16]
    assert [(event.type, event.record.version) for event in watch.take()] == [
        ("ADDED", 12),
        ("DELETED", 15),
        ("ADDED", 16),
    ]
    with pytest.raises(Expired):
        watch.take()


def test_a_bookmark_moves_the_place_and_is_nobodys_business() -> None:
    server = Server([_event("BOOKMARK", 77), Unavailable("the line broke")], [_event("BOOKMARK", 60)])
    watch = follow(server)
    assert server.since == [10, 77, 77]
    assert len(watch) == 0


@pytest.mark.parametrize("status", [_error(500, "InternalError"), _error(504, "Timeout"), _error(429, "")])
def test_an_error_that_passes_is_waited_for(status: Line) -> None:
    server = Server([status], [_event("ADDED", 12)])
    assert len(follow(server)) == 1
    assert server.since == [10, 10, 12]


@pytest.mark.parametrize("status", [_error(410), _error(410, "Gone")])
def test_what_is_too_old_is_for_whoever_lists(status: Line) -> None:
    server = Server([status])
    with pytest.raises(Expired):
        follow(server).take()
    assert server.since == [10]


def test_what_cannot_be_read_begins_anew() -> None:
    """Whatever it is: by listing again nothing is missed."""
    server = Server([{"type": "ADDED", "object": {"kind": "Pod"}}])
    with pytest.raises(Expired):
        follow(server).take()
