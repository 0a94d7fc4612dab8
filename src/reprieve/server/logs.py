"""The log of a pod: as it is written, and what is kept of runs that are over and of pods that are gone.

1. Of a pod that is there it is what Kubernetes answers. Where it has no run before the last, `previous` is the last run
   of the pod that had its name before.
2. `uid` asks for one of those that had the name, `run` for one run of its container. Without them, of a pod that is
   gone, it is the last run of the last one.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from reprieve.agents.process.logs import chosen_container
from reprieve.manifests.kinds import PODS, written_name
from reprieve.server.answers import Streamed
from reprieve.server.requests import Call
from reprieve.stores.errors import BadRequest, NotFound, StoreError
from reprieve.stores.records import Record
from reprieve.texts import agents, server


async def log(call: Call) -> Streamed:
    query = call.query
    uid = query.text("uid")
    try:
        pod = await call.store.get(PODS, call.target.name, call.target.namespace)
    except NotFound:
        if not _uids(call):
            raise
        return await _streamed(call, _kept(call, uid or _uids(call)[-1]))
    if uid not in ("", pod.uid) or "run" in query:
        return await _streamed(call, _kept(call, uid or pod.uid))
    try:
        return await _streamed(call, _living(call, pod))
    except BadRequest:
        before = [each for each in _uids(call) if each != pod.uid and call.plane.runs(each)]
        if not query.flag("previous") or not before:
            raise
        return await _streamed(call, _kept(call, before[-1], last=True))


def _living(call: Call, pod: Record) -> AsyncIterator[bytes]:
    """Which container is looked up in the pod, so that a name never becomes a path."""
    query = call.query
    options = {
        "tail": query.number("tailLines"),
        "since_seconds": query.number("sinceSeconds"),
        "limit_bytes": query.number("limitBytes"),
        "follow": query.flag("follow"),
        "previous": query.flag("previous"),
        "timestamps": query.flag("timestamps"),
    }
    container = chosen_container(pod, query.text("container"))
    return call.plane.logs(pod.namespace, pod.name, container, **options)  # type: ignore[arg-type]


def _kept(call: Call, uid: str, *, last: bool = False) -> AsyncIterator[bytes]:
    """What is kept of one run; `last` whatever is said of the previous one. Runs are looked up, as containers are."""
    query, name = call.query, call.target.name
    if uid not in _uids(call):
        raise NotFound(server.no_such_pod(name, uid), kind=PODS.plural, name=name)
    if query.number("sinceSeconds") is not None or query.flag("timestamps"):
        raise BadRequest(agents.NO_TIMES, kind=PODS.plural, name=name)
    run = _chosen(call, uid, last=last)
    limits = {"tail": query.number("tailLines"), "limit_bytes": query.number("limitBytes")}
    parts = None if run.dropped else call.plane.run_log(uid, run.container, run.run, **limits)
    if parts is None:
        raise NotFound(server.log_dropped(name), kind=PODS.plural, name=name)
    return parts


def _chosen(call: Call, uid: str, *, last: bool) -> Any:
    query, name = call.query, call.target.name
    runs, container = call.plane.runs(uid), query.text("container")
    known = list(dict.fromkeys(run.container for run in runs))
    if not known:
        raise NotFound(server.no_log(name), kind=PODS.plural, name=name)
    if container and container not in known:
        raise BadRequest(agents.no_such_container(container, name, known), kind=PODS.plural, name=name)
    if not container and len(known) > 1:
        raise BadRequest(agents.which_container(name, known), kind=PODS.plural, name=name)
    container = container or known[0]
    own = [run for run in runs if run.container == container]
    asked = query.number("run")
    if asked is not None:
        own = [run for run in own if run.run == asked]
    elif query.flag("previous") and not last:
        own = own[:-1]
    if not own:
        raise BadRequest(agents.no_previous(container, name), kind=PODS.plural, name=name)
    return own[-1]


def _uids(call: Call) -> list[str]:
    """All that had the name of this pod, as far as is known, the oldest first."""
    history = call.plane.history
    unit = written_name(PODS.kind, call.target.namespace, call.target.name)
    return [] if history is None else [each["uid"] for each in history.attempts(unit) if each["unit"] == unit]


async def _streamed(call: Call, parts: AsyncIterator[bytes]) -> Streamed:
    # What is refused is refused here, while there is still a status to answer with.
    first = await anext(parts, b"")
    return Streamed(_stream(first, parts, call.stopping), "text/plain")


async def _stream(first: bytes, parts: AsyncIterator[bytes], stopping: asyncio.Event) -> AsyncIterator[bytes]:
    """The parts of a log as they come; one that is followed ends when the server stops."""
    stop = asyncio.ensure_future(stopping.wait())
    following: asyncio.Future[bytes] | None = None
    try:
        part = first
        while part:
            yield part
            following = asyncio.ensure_future(anext(parts, b""))
            await asyncio.wait((following, stop), return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                return
            part = following.result()
    except StoreError:
        return  # the beginning has been answered already; that there is no more shows in its end
    finally:
        stop.cancel()
        if following is not None and not following.done():
            following.cancel()
            await asyncio.wait((following,))
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()
