"""Kinds that Kubernetes itself does not have, listed so that the others never wait for them.

A definition may be there and its objects not to be had: they are kept in another version, and the webhook that
converts them is gone, or they come from an API server of their own that does not answer. Nodes and pods are none of
that program's business. So each such kind is listed beside everything else: it is waited for, but not for long; what
fails is tried again after a while. Whoever decides over such a kind waits until it is seen.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from reprieve.manifests.resource import Resource
from reprieve.model.backoff import Backoff
from reprieve.stores.errors import StoreError

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=1.0, longest=30.0)
_PATIENCE = 5.0
"""Seconds in which a kind is mostly listed."""


class ListingBeside:
    """What is being listed, or is to be listed again; `signal` is set when there is something to do."""

    def __init__(self, signal: asyncio.Event) -> None:
        self._signal = signal
        self._under_way: dict[Resource, asyncio.Task[None]] = {}
        self._failures: dict[Resource, int] = {}
        self._due: dict[Resource, asyncio.TimerHandle] = {}

    async def begin(self, resource: Resource, follow: Callable[[], Awaitable[None]]) -> None:
        """List a kind, unless that is under way or has just failed."""
        if resource in self._under_way or resource in self._due:
            return
        task = asyncio.create_task(self._try(resource, follow), name=f"list {resource}")
        self._under_way[resource] = task
        await asyncio.wait((task,), timeout=_PATIENCE)
        if not task.done():
            _log.warning("%s take long to list: nothing is decided over them until they are", resource)

    async def _try(self, resource: Resource, follow: Callable[[], Awaitable[None]]) -> None:
        try:
            await follow()
        except StoreError as error:
            self._failed(resource, error)
        except Exception as error:
            _log.exception("%s cannot be taken in", resource)
            self._failed(resource, error)
        else:
            if self._failures.pop(resource, 0):
                _log.info("%s can be listed again", resource)
        finally:
            self._under_way.pop(resource, None)
            self._signal.set()

    def _failed(self, resource: Resource, error: Exception) -> None:
        failures = self._failures[resource] = self._failures.get(resource, 0) + 1
        level = logging.WARNING if failures == 1 else logging.DEBUG
        _log.log(level, "%s cannot be listed: nothing is decided over them until they can. %s", resource, error)
        wait = _BACK_OFF.wait(failures)
        self._due[resource] = asyncio.get_running_loop().call_later(wait, self._again, resource)

    def _again(self, resource: Resource) -> None:
        self._due.pop(resource, None)
        self._signal.set()

    def stop(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        for handle in self._due.values():
            handle.cancel()
