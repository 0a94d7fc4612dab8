"""Control groups, version 2, where they are this process's to use: who is in one can be ended whole, whatever it does.

1. Each attempt to run a container gets a group of its own, below the group of the agent. Its command joins it before it
   begins, and nothing that comes from it leaves it: not by a new session, nor by outliving its shim.
2. Where the controllers are delegated too, the limits of a container are enforced there. To hand them on, the agent
   moves into a group beside those of containers: a group has members or subgroups with controllers, not both.
3. Where none of that is possible, limits of memory are those of each single process.
"""

import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

_THIS_MACHINE = Path("/")
_WANTED = ("cpu", "memory")
_PERIOD = 100_000
_AGENT = "reprieve-agent"
_PATIENCE, _PAUSE = 2.0, 0.01


class ControlGroups(msgspec.Struct, frozen=True):
    """The group in which those of containers are, and what is enforced there."""

    path: Path
    controllers: frozenset[str] = frozenset()

    @classmethod
    def find(cls, directory: Path, root: Path = _THIS_MACHINE) -> Self | None:
        """Those of an agent with this directory; None: there are none, or they are not ours to use."""
        own = _own(root)
        if own is None:
            return None
        path = own / f"reprieve-{sha256(str(directory).encode()).hexdigest()[:12]}"
        try:
            path.mkdir(exist_ok=True)
            members = path / "cgroup.procs"
            if not os.access(members, os.W_OK) or not (path / "cgroup.kill").exists():
                path.rmdir()
                return None
        except OSError:
            return None
        return cls(path, _delegated(own, path))

    def make(self, name: str, *, milli_cpu: int, memory: int) -> Path | None:
        """A group for one attempt, with its limits; 0: none."""
        path = self.path / name
        try:
            path.mkdir(exist_ok=True)
            if milli_cpu and "cpu" in self.controllers:
                (path / "cpu.max").write_text(f"{max(milli_cpu * _PERIOD // 1000, 1000)} {_PERIOD}")
            if memory and "memory" in self.controllers:
                (path / "memory.max").write_text(str(memory))
                with suppress(OSError):
                    (path / "memory.swap.max").write_text("0")
                    (path / "memory.oom.group").write_text("1")
        except OSError:
            return None
        return path


def end_group(path: Path) -> None:
    """Kill all that is in a group, and remove it."""
    end = time.monotonic() + _PATIENCE
    while path.is_dir() and time.monotonic() < end:
        with suppress(OSError):
            (path / "cgroup.kill").write_text("1")
        try:
            path.rmdir()
        except OSError:
            time.sleep(_PAUSE)  # what was killed is still ending


def _own(root: Path) -> Path | None:
    """The group of this process, where it can be seen."""
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                bases = (root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified")
                groups = [base / line[3:].strip("/") for base in bases if (base / "cgroup.controllers").exists()]
                return _above_agent(groups[0]) if groups else None
    return None


def _above_agent(group: Path) -> Path:
    """An agent that starts again inside the same program has moved before."""
    return group.parent if group.name == _AGENT else group


def _delegated(own: Path, path: Path) -> frozenset[str]:
    """The controllers that could be handed on to the groups of containers."""
    wanted = [name for name in _WANTED if name in _words(own / "cgroup.controllers")]
    if not wanted:
        return frozenset()
    with suppress(OSError):
        asked = " ".join(f"+{name}" for name in wanted)
        if not set(wanted) <= set(_words(own / "cgroup.subtree_control")):
            (own / _AGENT).mkdir(exist_ok=True)
            (own / _AGENT / "cgroup.procs").write_text(str(os.getpid()))
            (own / "cgroup.subtree_control").write_text(asked)
        (path / "cgroup.subtree_control").write_text(asked)
    return frozenset(wanted) & frozenset(_words(path / "cgroup.subtree_control"))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
