"""Connections that say nothing, or are too many: they are closed or told so, and others are served."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.embedded_plane import open_plane
from reprieve.model.clock import system_clock
from reprieve.server import create_app, serve
from reprieve.server.connections import Limits
from tests.cli.running import until
from tests.hostile.attacking import Attacked, attacked, thorough

_LIMITS = Limits(in_all=8, each=5, headers_seconds=0.3, idle_seconds=1)


async def _read(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.read()


def _serving(story: Any) -> None:
    """A server on a real socket, with small limits."""

    async def run() -> None:
        plane = open_plane(None, system_clock, Settings())
        serving = await serve(create_app(plane), limits=_LIMITS)
        try:
            await story(serving.port)
        finally:
            await serving.stop()
            await plane.stop()

    asyncio.run(run())


def test_who_does_not_say_what_they_want_is_disconnected() -> None:
    async def story(port: int) -> None:
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert await _read(reader) == b""
        assert time.monotonic() - began < 5
        writer.close()

    _serving(story)


def test_who_has_asked_and_keeps_silent_is_disconnected() -> None:
    async def story(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await _read(reader)).endswith(b"ok")  # and then the end, since nothing more was asked
        writer.close()

    _serving(story)


def test_too_many_of_one_client_are_told_so_and_those_before_are_served() -> None:
    async def story(port: int) -> None:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head, _, body = (await _read(reader)).partition(b"\r\n\r\n")
        assert b"503" in head
        assert "5 of one client" in json.loads(body)["message"]
        first_reader, first_writer = opened[0]
        first_writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await _read(first_reader)).endswith(b"ok")
        for _, each in [*opened, (reader, writer)]:
            each.close()

    _serving(story)


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """For the process that is started meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (96, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@thorough
@pytest.mark.usefixtures("few_descriptors")
def test_crowds_leave_descriptors_to_others_and_one_line_a_second(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        with ExitStack() as crowd:
            address = (str(victim.address.hostname), int(victim.address.port or 0))
            for _ in range(200):
                crowd.enter_context(socket.create_connection(address, 5))
            time.sleep(1.5)
            assert _goes_on(victim)
        until(lambda: victim.ask("GET", "/healthz")[0] == 200)
        lines = victim.warnings().splitlines()
        assert len(lines) <= 10, lines[:20]


def _goes_on(victim: Attacked) -> bool:
    """The plane is there, and nothing in it has failed."""
    return victim.plane.process.poll() is None and "Traceback" not in victim.warnings()
