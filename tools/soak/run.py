"""A virtual week of Jobs on a control plane that never stops: does anything grow?

    python -m tools.soak.run --jobs 100000 --curve soak.csv --picture docs/pictures/soak.svg

Jobs come one after the other, of four priorities and several sizes, now and then more than fit: some preempt, and
some wait; each is gone a minute after its end. What exists is about the same all the time: so is what it costs, or
something is remembered that should be forgotten. The curve is written as it is measured, a line for each thousand Jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gc
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TextIO

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane
from reprieve.embedded_plane import HISTORY_FILE, STORE_FILE, open_plane
from reprieve.manifests.kinds import CONFIG_MAPS, JOBS, NODES, PODS, PRIORITY_CLASSES
from reprieve.model.clock import Clock, run_virtually
from tools.soak.picture import draw

WEEK = 7 * 86_400.0
_NODES, _CPU = 8, 16
_PRIORITIES = {"batch": 1, "work": 10, "soon": 100, "now": 1000}


class Sample(NamedTuple):
    """How things stand after so many Jobs."""

    jobs: int
    hours: float
    memory: float
    """Megabytes."""
    store: float
    history: float
    decision: float
    """Milliseconds of the CPU, on average since the sample before."""
    cpu: float
    """Milliseconds for each Job since the sample before, all told."""
    pods: int


def live_through(jobs: int, every: int, directory: Path, heard: TextIO) -> list[Sample]:
    """The whole week; each sample is written as it is taken."""

    async def week(clock: Clock) -> list[Sample]:
        plane = open_plane(directory, clock, Settings(), seed=1)
        await _furnish(plane)
        await plane.start()
        try:
            return await _submit(plane, jobs, every, Meter(plane, directory), heard)
        finally:
            await plane.stop()

    return run_virtually(week)


async def _furnish(plane: ControlPlane) -> None:
    for number in range(_NODES):
        await plane.store.create(NODES, hollow_node(f"n{number}", cpu=str(_CPU), memory="64Gi"))
    for name, value in _PRIORITIES.items():
        await plane.store.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})


async def _submit(plane: ControlPlane, jobs: int, every: int, meter: Meter, heard: TextIO) -> list[Sample]:
    random = Random(1)  # noqa: S311 - not a secret
    pause = WEEK / jobs
    samples: list[Sample] = []
    lines = csv.writer(heard)
    lines.writerow(Sample._fields)
    for number in range(1, jobs + 1):
        await plane.store.create(JOBS, _a_job(number, random, pause))
        if number % 10 == 0:
            await _write_settings(plane, number)
        await asyncio.sleep(random.expovariate(1 / pause))
        if number % every == 0:
            samples.append(await meter.sample(number, number * pause / 3600))
            lines.writerow(samples[-1])
            heard.flush()
    return samples


def _a_job(number: int, random: Random, pause: float) -> dict[str, Any]:
    """A Job that keeps the cluster about three fifths full on average."""
    cpu, pods = random.choice((1, 2, 4)), random.choice((1, 1, 2))
    seconds = random.uniform(0.2, 1.8) * pause * _NODES * _CPU * 0.6 / (2.33 * 1.33)
    template = {
        "metadata": {"labels": {"job": f"j{number}"}, "annotations": {"reprieve.scheduling/run-seconds": f"{seconds}"}},
        "spec": {
            "restartPolicy": "Never",
            "priorityClassName": random.choices(list(_PRIORITIES), [6, 3, 1, 0.2])[0],
            "containers": [{"name": "main", "image": "work", "resources": {"requests": {"cpu": str(cpu)}}}],
        },
    }
    spec = {"parallelism": pods, "completions": pods, "ttlSecondsAfterFinished": 60, "template": template}
    return {"metadata": {"name": f"j{number}", "namespace": "default"}, "spec": spec}


async def _write_settings(plane: ControlPlane, number: int) -> None:
    """Somebody keeps large settings beside the Jobs, and writes them anew again and again."""
    name = f"settings-{number // 10 % 5}"
    data = {"metadata": {"name": name, "namespace": "default"}, "data": {"text": f"{number} " * 10_000}}
    known = (await plane.store.list(CONFIG_MAPS, "default")).records
    if any(record.name == name for record in known):
        await plane.store.replace(CONFIG_MAPS, data)
    else:
        await plane.store.create(CONFIG_MAPS, data)


class Meter:
    """Measures what a plane takes, and what it took since the last time."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self._plane = plane
        self._directory = directory
        self._before = (0, 0.0, 0, time.process_time())
        self._decisions, self._seconds = 0, 0.0
        decide = plane.scheduler.policies.decide

        def timed(*given: Any, **named: Any) -> Any:
            """In virtual time a decision takes none: it is measured here."""
            began = time.thread_time()
            try:
                return decide(*given, **named)
            finally:
                self._decisions += 1
                self._seconds += time.thread_time() - began

        plane.scheduler.policies.decide = timed  # type: ignore[method-assign]

    async def sample(self, jobs: int, hours: float) -> Sample:
        count, seconds = self._decisions, self._seconds
        before_count, before_seconds, before_jobs, before_cpu = self._before
        cpu = time.process_time()
        self._before = (count, seconds, jobs, cpu)
        gc.collect()
        return Sample(
            jobs,
            round(hours, 2),
            round(_resident() / 1e6, 1),
            round(self._size(STORE_FILE), 2),
            round(self._size(HISTORY_FILE), 2),
            round(1000 * (seconds - before_seconds) / max(1, count - before_count), 3),
            round(1000 * (cpu - before_cpu) / max(1, jobs - before_jobs), 2),
            len((await self._plane.store.list(PODS)).records),
        )

    def _size(self, name: str) -> float:
        """Megabytes of a file, with what is still beside it."""
        return sum(file.stat().st_size for file in self._directory.glob(f"{name}*")) / 1e6


def _resident() -> int:
    """Bytes in memory now; where the system does not tell, the most there ever were."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _place(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def main() -> None:
    parser = argparse.ArgumentParser(description="A virtual week of Jobs: does anything grow?")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=1_000, help="Jobs between two samples")
    parser.add_argument("--data", type=Path, help="where to keep the data; else in a place that goes afterwards")
    parser.add_argument("--curve", type=Path, default=Path("soak.csv"))
    parser.add_argument("--picture", type=Path, default=Path("soak.svg"))
    given = parser.parse_args()
    with given.curve.open("w") as heard, _place(given.data) as directory:
        samples = live_through(given.jobs, given.every, directory, heard)
    given.picture.write_text(draw([sample._asdict() for sample in samples]))


if __name__ == "__main__":
    main()
