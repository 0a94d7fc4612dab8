"""How things are measured: the best of several runs, and the peak memory of a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """The shortest time in seconds: what the work costs when the machine does nothing else."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


def in_turns(repeats: int, *works: Callable[[], object]) -> list[float]:
    """The shortest processor time in seconds of each, taken in turns: what else the machine does is no part of it."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for number, work in enumerate(works):
            start = time.process_time()
            result = work()
            times[number].append(time.process_time() - start)
            del result
    return [min(each) for each in times]


def beside(seconds: list[float]) -> str:
    """`Design`, `Best`, and how many times as long that takes."""
    design, best = seconds
    return f"{design * 1e3:9.1f} ms {best * 1e3:9.1f} ms {best / max(design, 1e-9):6.1f} ×"


def peak_memory(code: str) -> float:
    """The peak memory, in MiB, of a fresh Python that runs `code`."""
    script = f"{code}\nfrom benchmarks.measure import own_peak\nprint(own_peak())"
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return float(answer.stdout.split()[-1])


def own_peak() -> float:
    """This process's peak. Where there is /proc: getrusage would count what the parent held when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) / 1024
    unit = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
