"""Runs the command of one container, and outlives the agent that asked for it.

A program of its own, started as `python -I -S shim.py DIRECTORY`. It is paid for at every start of a container, so it
imports little: the modules beside it, not the package they belong to. In the directory it

1. reads its `order`: what to run;
2. writes `process.json` before the command may begin: nothing ever runs that is not on record;
3. copies the output of the command to `output.log`, and begins a new file when that is full;
4. ends whatever the command left behind, then writes `exit.json`: there is no exit while anything still runs.

The agent hands over a lock that is held for as long as the shim lives. Whoever gets the lock knows that it is gone.
"""
# pathlib and contextlib would double the time a shim takes to start.
# ruff: noqa: PTH100, PTH120, PTH123, SIM105

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

if TYPE_CHECKING or __package__:
    from reprieve.agents.process.shim import container_files as files
    from reprieve.agents.process.shim import process_table as processes
    from reprieve.agents.process.shim.command import Command, Failure, keep_to_itself, tell
else:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import container_files as files
    import process_table as processes
    from command import Command, Failure, keep_to_itself, tell


def _run() -> dict[str, Any]:
    began = files.timestamp()
    try:
        command = Command(files.Order.read(files.ORDER))
        command.start()
    except Failure as problem:
        return files.not_started(problem.code, str(problem), began)
    except (OSError, ValueError, KeyError) as problem:
        return files.not_started(files.NOT_STARTED, f"cannot start: {problem}", began)
    tell(files.READY_DESCRIPTOR, b"ready")
    command.follow()
    return command.outcome()


def _key() -> bytes:
    """What the end of the command is signed with, as the agent hands it over: by a pipe that commands do not get."""
    try:
        with open(files.KEY_DESCRIPTOR, "rb") as pipe:
            return pipe.read(files.KEY_SIZE)
    except OSError:
        return b""


def _report(outcome: Mapping[str, Any]) -> None:
    """Write down the exit. A full disk delays that; a directory that was removed means that nobody wants to know."""
    while True:
        try:
            return files.write(files.EXIT, outcome, durable=True)
        except FileNotFoundError:
            return None
        except OSError:
            time.sleep(1)


def main(directory: str) -> None:
    processes.signal.pthread_sigmask(processes.signal.SIG_BLOCK, processes.DEAF_TO)
    for descriptor in (files.LOCK_DESCRIPTOR, files.READY_DESCRIPTOR):
        os.set_inheritable(descriptor, False)
    os.chdir(directory)
    try:
        os.setsid()
    except PermissionError:
        pass  # it leads its session already
    keep_to_itself()
    key = _key()
    _report(files.signed(_run(), key, "/".join(directory.rsplit("/", 3)[1:])))


if __name__ == "__main__":
    main(sys.argv[1])
