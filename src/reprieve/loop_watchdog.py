"""Everything runs on one event loop: how long it was held up, and by whom.

1. A beat that comes late has waited for somebody. How long that was is told twice: by the clock on the wall, and by
   what the loop's own thread has used of a CPU, which no other program on the machine can make longer.
2. Whoever holds the loop up is seen by a thread that looks when a beat is overdue: the task, and where in it. It asks
   for the stack in one piece: to follow the frames of a thread that runs on meanwhile has ended the whole process.
3. Virtual time knows no pauses: this is only for a process that serves.
"""

import asyncio
import faulthandler
import logging
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge

from reprieve.texts import server as texts

BEAT = 0.02
LONG = 0.2
"""Seconds: what takes longer is a pause that others notice."""
_LOOK_EVERY = 0.05
_OWN = str(Path(__file__).parent)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_log = logging.getLogger(__name__)


class Culprit(NamedTuple):
    """Who was seen holding up the loop."""

    task: str
    place: str


class LoopWatchdog:
    """A part of a control plane that measures the pauses of its loop, and warns of long ones."""

    def __init__(self, registry: CollectorRegistry) -> None:
        longest = Gauge(
            "reprieve_event_loop_longest_pause_seconds",
            "The longest time for which the event loop was held up: on the wall, and of the CPU.",
            ("clock",),
            registry=registry,
        )
        self._wall, self._cpu = longest.labels("wall"), longest.labels("cpu")
        self._long = Counter(
            "reprieve_event_loop_long_pauses",
            f"How often the event loop was held up for longer than {LONG} s of the CPU.",
            registry=registry,
        )
        self._longest_wall = self._longest_cpu = 0.0
        self._due: float | None = None
        self._seen: Culprit | None = None

    async def run(self) -> None:
        """Until cancelled."""
        over = threading.Event()
        loop, thread = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._look, args=(loop, thread, over), name="loop-watchdog", daemon=True).start()
        try:
            while True:
                await self._beat()
        finally:
            self._due = None
            over.set()

    async def _beat(self) -> None:
        began = time.thread_time()
        self._due = due = time.monotonic() + BEAT
        await asyncio.sleep(BEAT)
        wall = max(0.0, time.monotonic() - due)
        self._note(wall, min(wall, time.thread_time() - began))

    def _note(self, wall: float, cpu: float) -> None:
        if wall > self._longest_wall:
            self._longest_wall = wall
            self._wall.set(wall)
        if cpu > self._longest_cpu:
            self._longest_cpu = cpu
            self._cpu.set(cpu)
        seen, self._seen = self._seen, None
        if cpu > LONG:
            self._long.inc()
            _log.warning("%s", texts.held_up(wall, cpu, *(seen or ("", ""))))

    def _look(self, loop: asyncio.AbstractEventLoop, thread: int, over: threading.Event) -> None:
        """In a thread of its own: whoever is at work when a beat is overdue."""
        while not over.wait(_LOOK_EVERY):
            due = self._due
            if due is None or self._seen is not None or time.monotonic() - due < LONG / 2:
                continue
            task = asyncio.current_task(loop)
            self._seen = Culprit("" if task is None else task.get_name(), _place(thread))


class _Frame(NamedTuple):
    file: str
    line: str
    function: str


def _place(thread: int) -> str:
    """The innermost line of this program's own that a thread is in; else the innermost of all."""
    frames = _stack(thread)
    own = [each for each in frames if each.file.startswith(_OWN)]
    for each in [*own, *frames][:1]:
        file = each.file.removeprefix(_OWN).lstrip("/")
        return f"{file}:{each.line} {each.function}"
    return ""


def _stack(thread: int) -> list[_Frame]:
    """The frames of a thread, the innermost first; written down while no other thread can run."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        text = file.read().decode(errors="replace")
    of_thread = next((part for part in text.split("\n\n") if f"hread 0x{thread:016x} " in part), "")
    return [_Frame(*found) for found in _FRAME.findall(of_thread)]
