"""One attempt to run a container, as what is kept of it tells."""

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from reprieve.agents.process.containers import ContainerSpec, Directory, Exit
from reprieve.agents.process.processes import ContainerProcess
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim_starter import shim_lives
from reprieve.agents.process.specs import CannotRun, NotYet
from reprieve.texts import agents as texts

AGENT_STOPPED, UNKNOWN = "AgentStopped", "ContainerStatusUnknown"
MARK = "stopped-with-agent.json"
"""The file that tells the next agent why a container was ended."""
KILLED = 137
_TERMINATED = 143


async def refused(directory: Directory, spec: ContainerSpec, problem: CannotRun) -> ContainerProcess:
    """An attempt that ended before it began, kept like any other."""
    now = files.timestamp()
    directory.create()
    directory.write(files.CONTAINER, spec)
    directory.write(files.EXIT, Exit(files.NOT_STARTED, problem.reason, now, now, str(problem)), durable=True)
    container = await ContainerProcess.adopt(directory)
    if container is None:
        raise NotYet(str(problem), problem.reason)
    return container


async def settled(container: ContainerProcess) -> ContainerProcess:
    """One that has ended already is known to have."""
    if container.directory.exit() is not None or not shim_lives(container.directory):
        await container.wait()
    return container


def as_seen(ended: Exit, directory: Directory) -> Exit:
    """What was ended with its agent did not end well, even where it says so."""
    if not directory.file(MARK).exists():
        return ended
    code = ended.exit_code or _TERMINATED
    return msgspec.structs.replace(ended, exit_code=code, reason=AGENT_STOPPED, message=texts.STOPPED_WITH_AGENT)


def machine_restarted(ended: Exit, directory: Directory) -> bool:
    record = directory.record()
    return ended.reason == UNKNOWN and record is not None and not record.of_this_boot


def from_status(terminated: Mapping[str, Any], now: str) -> Exit:
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert({"startedAt": now, "finishedAt": now, "reason": "", **terminated}, Exit)
    return Exit(KILLED, UNKNOWN, now, now, texts.FILES_GONE)
