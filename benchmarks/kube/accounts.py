"""Who has used how much: seconds of CPU of processes, and writes that the API server was asked for."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from tests.kube.client import KubeClient

_LABEL = re.compile(r'(\w+)="([^"]*)"')
_COUNTER = "apiserver_request_total{"
_NAMES = {
    ("PATCH", "pods", "status"): "conditions and nominations",
    ("DELETE", "pods", ""): "deletions",
    ("POST", "pods", "binding"): "bindings",
    ("POST", "events", ""): "events",
    ("PATCH", "events", ""): "events",
    ("PATCH", "podgroups", "status"): "conditions of groups",
    ("GET", "pods", ""): "reading again",
}


def cpu_seconds(pid: int) -> float:
    """What a process has used since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine_seconds() -> float:
    """What all processes of this machine have used since it was started."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def writes(admin: KubeClient) -> Counter[str]:
    """What a scheduler may have asked of the server since that began; pods that are made are the benchmark's own."""
    found: Counter[str] = Counter()
    for line in admin.http.get("/metrics").text.splitlines():
        if line.startswith(_COUNTER):
            labels = dict(_LABEL.findall(line))
            name = _NAMES.get((labels["verb"], labels["resource"], labels["subresource"]))
            if name is not None:
                found[name] += int(float(line.rpartition(" ")[2]))
    return found


def machine() -> str:
    """Its size, in a few words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores{f' ({model[1].strip()})' if model else ''}, {memory:.0f} GiB"
