"""Which log is asked for, and reading it."""

from collections.abc import AsyncIterator
from pathlib import Path

from reprieve.agents.process.containers import Directory, attempts
from reprieve.agents.process.logs import follow_log, read_log
from reprieve.controllers.pods.templates import container_statuses
from reprieve.stores.errors import BadRequest
from reprieve.stores.records import Record
from reprieve.texts import agents as texts


def chosen_container(pod: Record, asked: str) -> str:
    """The container that is meant; the only one when none is named."""
    spec = pod.data["spec"]
    main = [each["name"] for each in spec["containers"]]
    known = [*(each["name"] for each in spec.get("initContainers") or ()), *main]
    if asked:
        if asked not in known:
            raise _refused(pod, texts.no_such_container(asked, pod.name, known))
        return asked
    if len(main) != 1:
        raise _refused(pod, texts.which_container(pod.name, known))
    return str(main[0])


def log_directory(root: Path, pod: Record, container: str, *, previous: bool) -> Directory:
    """The attempt whose log is meant; while a container waits to run again, its last run is the previous one."""
    kept = attempts(root, pod.uid, container)
    if previous and not _waits(pod, container):
        kept = kept[:-1]
    if not kept:
        text = texts.no_previous if previous else texts.not_started_yet
        raise _refused(pod, text(container, pod.name))
    return kept[-1]


def _waits(pod: Record, container: str) -> bool:
    entries = container_statuses(pod)
    return any(entry["name"] == container and "waiting" in (entry.get("state") or {}) for entry in entries)


def open_log(directory: Directory, *, tail: int | None, limit_bytes: int | None, follow: bool) -> AsyncIterator[bytes]:
    for name, value in (("tailLines", tail), ("limitBytes", limit_bytes)):
        if value is not None and value < 0:
            raise BadRequest(texts.must_not_be_negative(name))
    if follow:
        return follow_log(directory, tail=tail, limit=limit_bytes)
    return _read(directory, tail, limit_bytes)


async def _read(directory: Directory, tail: int | None, limit: int | None) -> AsyncIterator[bytes]:
    for piece in read_log(directory, tail=tail, limit=limit):
        yield piece


def _refused(pod: Record, message: str) -> BadRequest:
    return BadRequest(message, kind="pods", name=pod.name)
