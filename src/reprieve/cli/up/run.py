"""Running what `reprieve up` was asked for: opened, served, started, shown, and stopped again in good order."""

import asyncio
import logging
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.console import Console

from reprieve.access.audit import AUDIT_FILE, AuditLog
from reprieve.agents.process.machine import node_name
from reprieve.agents.process.users import Users
from reprieve.cli.addresses import (
    Address,
    default_directory,
    leave_address,
    list_address,
    read_address,
    remove_address,
    unlist_address,
)
from reprieve.cli.options import BadUsage
from reprieve.cli.up.access import Entrance, write_kubeconfig
from reprieve.cli.up.gates import gate_lines
from reprieve.cli.up.nodes import HollowNodes, make_nodes
from reprieve.cli.up.view import LiveView
from reprieve.client.applying import apply
from reprieve.client.connection import Client
from reprieve.client.paths import short_name
from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane, calm_garbage_collection, load_calmly
from reprieve.demo.lines import show_line
from reprieve.embedded_plane import open_plane
from reprieve.loop_watchdog import LoopWatchdog
from reprieve.model.clock import system_clock
from reprieve.server import Serving, create_app, serve
from reprieve.texts import cli as texts

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READY_EVERY = 0.02
_INTERRUPTED = 130
_TURN_OF_A_THREAD = 0.001
"""Seconds after which a thread that works gives way to the loop, each time that the loop wakes."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was asked for; no directory: in memory."""

    directory: Path | None
    host: str
    port: int
    entrance: Entrance
    processes: bool
    users: Users
    hollow: HollowNodes | None
    settings: Settings
    shadow: bool
    names: tuple[str, ...]
    manifests: list[dict[str, Any]]
    demo: bool


async def run(setup: Setup) -> None:
    """Until a signal, or until something fails that nothing can go on without."""
    _log_warnings()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    how_to_stop, stopping = _words(setup)
    stop = _stop_on_signals(console, stopping)
    async with _opened(setup) as (plane, lines), _served(setup, plane) as serving:
        with _address_left(setup, serving) as (more, other):
            gates = gate_lines(setup.settings, demo=setup.demo)
            for line in (texts.serving(serving.url), *lines, *more, *([other] if other else []), *gates, how_to_stop):
                show_line(console, line)
            await plane.start()
            elsewhere = serving.url if other else ""
            calm = asyncio.create_task(load_calmly(plane))
            try:
                await _until(stop, serving, _work(setup, plane, serving, console, elsewhere))
            finally:
                calm.cancel()
    console.print(texts.STOPPED)


async def _until(stop: asyncio.Event, serving: Serving, work: Coroutine[Any, Any, None]) -> None:
    """Work until something ends: a signal, the server, or the work itself by a mistake."""
    tasks = [asyncio.ensure_future(each) for each in (work, stop.wait(), serving.wait())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for exit_code in (each for each in ended if isinstance(each, typer.Exit)):
        raise exit_code


async def _work(setup: Setup, plane: ControlPlane, serving: Serving, console: Console, elsewhere: str) -> None:
    """What happens while it runs: manifests are applied, then everything is shown; a demo shows itself.

    `elsewhere`: the address, where other commands do not find it by themselves.
    """
    view = None if setup.demo else LiveView(plane, console)
    if setup.manifests:
        await asyncio.to_thread(_apply, serving.url, setup.entrance.token, setup.manifests, console)
    while not plane.ready:
        await asyncio.sleep(_READY_EVERY)
    if view is not None:
        await view.run()
        return
    from reprieve.cli.demo import play

    whole = await play(plane, console, server=elsewhere)
    try:
        if console.is_terminal:
            show_line(console, texts.DEMO_OVER)
            await LiveView(plane, console).run()
    finally:
        if not whole:
            raise typer.Exit(1)


def _apply(url: str, token: str, manifests: list[dict[str, Any]], console: Console) -> None:
    """Over the API, as anybody else would."""
    with Client(url, token, warn=lambda sentence: console.print(f"Warning: {sentence}")) as client:
        for manifest in manifests:
            done = apply(client, manifest)
            console.print(f"{short_name(done.resource, done.name)} {done.outcome}")


# Opening and closing


@asynccontextmanager
async def _opened(setup: Setup) -> AsyncIterator[tuple[ControlPlane, list[str]]]:
    """The control plane with its nodes, and what there is to say about it; nothing runs yet."""
    names: dict[str, Any] = {"names": setup.names} if setup.names else {}
    try:
        plane = open_plane(setup.directory, system_clock, setup.settings, shadow=setup.shadow, **names)
    except (ValueError, sqlite3.Error) as error:
        raise BadUsage(str(error)) from error
    except OSError as error:
        raise BadUsage(texts.unusable(str(setup.directory), error)) from error
    try:
        lines = await _furnish(setup, plane)
        calm_garbage_collection()
        yield plane, lines
    finally:
        await plane.stop()


async def _furnish(setup: Setup, plane: ControlPlane) -> list[str]:
    """Add agents and nodes; in lines, what they are."""
    lines = [texts.IN_MEMORY if setup.directory is None else texts.keeps_data(str(setup.directory))]
    plane.add(LoopWatchdog(plane.metrics_registry))
    sys.setswitchinterval(_TURN_OF_A_THREAD)
    if setup.processes and setup.directory is not None:
        from reprieve.agents.process.agent import ProcessAgent
        from reprieve.agents.process.kept_logs import LogLimits
        from reprieve.agents.process.remains import take_in_orphans

        limits = LogLimits(setup.settings.logs.per_attempt.value, setup.settings.logs.total.value)
        agent = setup.directory / "agent"
        plane.add(ProcessAgent(plane.store, system_clock, agent, logs=limits, users=setup.users, groups=True))
        take_in_orphans()
        lines.append(texts.real_node(node_name(socket.gethostname())))
    if setup.hollow is not None:
        surplus = await make_nodes(plane.store, setup.hollow)
        lines += [texts.hollow_nodes(setup.hollow.names, setup.hollow.amounts)] if setup.hollow.number else []
        lines += [texts.surplus_kept(surplus)] if surplus else []
    return [*lines, texts.IN_SHADOW] if setup.shadow else lines


@asynccontextmanager
async def _served(setup: Setup, plane: ControlPlane) -> AsyncIterator[Serving]:
    audit = AuditLog(setup.directory / AUDIT_FILE, system_clock) if setup.directory is not None else None
    serving = await serve(create_app(plane, tokens=setup.entrance.tokens, audit=audit), setup.host, setup.port)
    try:
        yield serving
    finally:
        await serving.stop()


@contextmanager
def _address_left(setup: Setup, serving: Serving) -> Iterator[tuple[list[str], str]]:
    """Tell other commands where it is, as long as it is; yields what there is to say about that, and who is found
    instead."""
    default = default_directory()
    address = Address(serving.url, os.getpid(), str(setup.directory or ""), setup.entrance.file)
    # The data directory comes last: whoever waits for the file there finds all of it.
    places = [place for place in dict.fromkeys((default, setup.directory)) if place is not None]
    list_address(address)
    left = [leave_address(address, place) for place in places]
    own = [place for place, written in zip(places, left, strict=True) if written]
    files = [write_kubeconfig(place, serving.url, setup.entrance.token) for place in reversed(own)]
    lines = [texts.for_kubectl(str(file)) for file in files[:1]] if setup.entrance.token else [texts.NOBODY_ASKED]
    other = read_address(default)
    elsewhere = "" if all(left) or other is None else texts.found_elsewhere(other.url, serving.url)
    try:
        yield lines, elsewhere
    finally:
        unlist_address(address)
        for place in places:
            remove_address(address, place)


def _words(setup: Setup) -> tuple[str, str]:
    """How it is stopped, and what is said when it is: real processes need time to end."""
    if setup.processes:
        return texts.HOW_TO_STOP_PROCESSES, texts.STOPPING_PROCESSES
    return (texts.HOW_TO_STOP if setup.directory else texts.HOW_TO_STOP_IN_MEMORY), texts.STOPPING


def _stop_on_signals(console: Console, stopping: str) -> asyncio.Event:
    """The first signal stops in good order, the second at once: whatever is stored stays whole either way."""
    stop = asyncio.Event()

    def stopped() -> None:
        if stop.is_set():
            console.print(texts.STOPPED_AT_ONCE)
            os._exit(_INTERRUPTED)
        stop.set()
        console.print(stopping)

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopped)
    return stop


class _Warnings(logging.Handler):
    """To whatever standard error is at the moment: a view on a terminal puts itself before it."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            print(self.format(record), file=sys.stderr, flush=True)


def _log_warnings() -> None:
    handler = _Warnings(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
