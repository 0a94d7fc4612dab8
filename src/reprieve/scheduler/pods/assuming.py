"""What decisions about pods will have done when they have been written."""

from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.engine.plan import Plan
from reprieve.model.clock import timestamp
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.assumed import Arrived
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.world import PodFacts


class Assumed(AssumedObjects):
    """The pods that one decision concerns."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = PodWriter(context)

    def bound(self, placed: Iterable[PodFacts], plan: Plan) -> None:
        for facts in placed:
            node = plan.placement[facts.unit]
            self.assume(self._pods.record(facts), {"spec": {"nodeName": node}}, has_node)

    def nominated(self, placed: Iterable[PodFacts], plan: Plan, hold: Hold) -> None:
        """The first one carries the hold."""
        annotations: Mapping[str, Any] = {"metadata": {"annotations": {HOLD_ANNOTATION: hold.text()}}}
        for facts in placed:
            node = plan.placement[facts.unit]
            patch = {"status": {"nominatedNodeName": node}, **annotations}
            self.assume(self._pods.record(facts), patch, _nominated_to(node))
            annotations = {}

    def not_nominated(self, displaced: Iterable[PodFacts]) -> None:
        for facts in displaced:
            patch = {"status": {"nominatedNodeName": None}, "metadata": {"annotations": {HOLD_ANNOTATION: None}}}
            self.assume(self._pods.record(facts), patch, _nominated_to(""))

    def leaving(self, hold: Hold) -> None:
        now = timestamp(self._context.clock())
        for record in self._victims(hold):
            self.assume(record, {"metadata": {"deletionTimestamp": now}}, is_leaving)

    def staying(self, hold: Hold) -> None:
        """For a moment, as if nobody had been chosen."""
        for record in self._victims(hold):
            self._context.mirror.withdraw(record)

    def _victims(self, hold: Hold) -> list[Record]:
        found = ((victim, self._pods.find(victim.unit)) for victim in hold.victims)
        return [record for victim, record in found if record is not None and record.uid == victim.uid]


def has_node(record: Record) -> bool:
    return bool(record.data["spec"].get("nodeName"))


def _nominated_to(node: str) -> Arrived:
    return lambda record: record.data.get("status", {}).get("nominatedNodeName", "") == node or has_node(record)
