"""What decisions about pods will have done when they have been written: shown to the next decisions at once.

Only where writes are under way while decisions go on (`scheduler/writes.py`).
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import PODS
from reprieve.model.backoff import Backoff
from reprieve.model.clock import timestamp
from reprieve.scheduler.context import Context
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.assumed import Arrived
from reprieve.stores.errors import NotFound, StoreError
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.world import PodFacts

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=0.5, longest=10.0)


class Assumed:
    """The pods that one decision concerns, as they will be; until the store tells so, or `take_back`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pods = PodWriter(context)
        self._records: list[Record] = []

    def bound(self, placed: Iterable[PodFacts], plan: Plan) -> None:
        for facts in placed:
            node = plan.placement[facts.unit]
            self._assume(self._pods.record(facts), {"spec": {"nodeName": node}}, has_node)

    def nominated(self, placed: Iterable[PodFacts], plan: Plan, hold: Hold) -> None:
        """The first one carries the hold."""
        annotations: Mapping[str, Any] = {"metadata": {"annotations": {HOLD_ANNOTATION: hold.text()}}}
        for facts in placed:
            node = plan.placement[facts.unit]
            patch = {"status": {"nominatedNodeName": node}, **annotations}
            self._assume(self._pods.record(facts), patch, _nominated_to(node))
            annotations = {}

    def not_nominated(self, displaced: Iterable[PodFacts]) -> None:
        for facts in displaced:
            patch = {"status": {"nominatedNodeName": None}, "metadata": {"annotations": {HOLD_ANNOTATION: None}}}
            self._assume(self._pods.record(facts), patch, _nominated_to(""))

    def leaving(self, hold: Hold) -> None:
        now = timestamp(self._context.clock())
        for victim in hold.victims:
            record = self._pods.find(victim.unit)
            if record is not None and record.uid == victim.uid:
                self._assume(record, {"metadata": {"deletionTimestamp": now}}, is_leaving)

    def _assume(self, record: Record | None, patch: dict[str, Any], arrived: Arrived) -> None:
        if record is not None and not arrived(record):
            self._records.append(record)
            self._context.mirror.assume(record, patch, arrived)

    async def take_back(self) -> None:
        """What has been written stands; all else has not happened. A write whose answer was lost may have been either:
        so the store is asked, for as long as it takes, before anybody is given a place that may be taken."""
        for record in self._records:
            await self._look_again(record)
            self._context.mirror.withdraw(record)

    async def _look_again(self, record: Record) -> None:
        tries = 0
        while self._context.mirror.assumes(record):
            try:
                self._context.absorb(await self._context.store.get(PODS, record.name, record.namespace))
                return None
            except NotFound:
                return self._context.mirror.absorb(record, gone=True)
            except StoreError as error:
                tries += 1
                _log.warning("it is not known yet what became of %s: %s", record.unit, error)
                await asyncio.sleep(_BACK_OFF.wait(tries))


def has_node(record: Record) -> bool:
    return bool(record.data["spec"].get("nodeName"))


def _nominated_to(node: str) -> Arrived:
    return lambda record: record.data.get("status", {}).get("nominatedNodeName", "") == node or has_node(record)
