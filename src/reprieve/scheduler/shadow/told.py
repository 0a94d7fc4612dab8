"""For whom victims of another scheduler had to go, as it says so itself.

kube-scheduler writes an event on each victim, `Preempted`, that is related to the preemptor or names its uid. It may
write several on one victim: whoever decides while the end of a victim is on its way may need the same one to go. Where
events may not be read, or are lost, nothing is known: then whose victim it is has to be guessed.
"""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.manifests.kinds import EVENTS
from reprieve.stores.errors import Expired, Forbidden
from reprieve.stores.protocol import Store, Watch
from reprieve.stores.records import Record

_log = logging.getLogger(__name__)

PREEMPTED = "Preempted"
_ONLY = f"reason={PREEMPTED}"
_MOST = 10_000
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def uids_in(event: Mapping[str, Any]) -> list[str]:
    """Those that an event may mean by the preemptor: the one it is related to, else those that its message names."""
    related = (event.get("related") or {}).get("uid")
    return [related] if related else _UID.findall(event.get("message") or "")


class ToldVictims:
    """Follows the events of a store, and remembers the last victims."""

    def __init__(self) -> None:
        self._preemptors: OrderedDict[str, dict[str, None]] = OrderedDict()
        self._watch: Watch | None = None
        self._may_read = True

    async def follow(self, store: Store, signal: asyncio.Event) -> None:
        """Take in all that was said since. Events are a help: without the right to read them all else goes on."""
        if not self._may_read:
            return
        try:
            if self._watch is None:
                found = await store.list(EVENTS, fields=_ONLY)
                self._watch = store.watch(EVENTS, found.version, signal=signal, fields=_ONLY)
                self._take(found.records)
            while events := self._watch.take():
                self._take(event.record for event in events if event.type != "DELETED")
        except Expired:
            self.close()
            signal.set()  # the next turn lists again
        except Forbidden as error:
            _log.warning("for whom victims have to go is guessed, because events may not be read: %s", error)
            self.close()
            self._may_read = False

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    def preemptors(self, victim: Record) -> list[str]:
        """The uids of the preemptors of a pod, the first that said so first. Empty: nobody said."""
        return list(self._preemptors.get(victim.uid, ()))

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            victim = (record.data.get("involvedObject") or {}).get("uid")
            if record.data.get("reason") == PREEMPTED and victim and (named := uids_in(record.data)):
                self._preemptors.setdefault(victim, {}).update(dict.fromkeys(named))
        while len(self._preemptors) > _MOST:
            self._preemptors.popitem(last=False)
