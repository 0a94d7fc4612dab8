"""What decisions about pods will have done when they have been written.

A binding whose answer was lost may still be on its way, for as long as the server and the network like. Before its
place is given to anybody else it is made void: a pod is bound only as it was decided for (`PodEffects`), so any later
write to the pod does that, and tells what became of it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import PODS
from reprieve.model.clock import timestamp
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.assumed import Arrived, Assumption
from reprieve.stores.errors import Conflict
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.world import PodFacts

VOID_ANNOTATION = "reprieve.scheduling/void-binding"
"""The version of the pod that was to be bound."""


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
        annotations = _carrying(hold)
        for facts in placed:
            node = plan.placement[facts.unit]
            patch = {"status": {"nominatedNodeName": node}, **annotations}
            self.assume(self._pods.record(facts), patch, _nominated_to(node))
            follows = hold.of_application and hold.reserves
            annotations = _carrying(hold.follower()) if follows else {}

    def not_nominated(self, displaced: Iterable[PodFacts]) -> None:
        for facts in displaced:
            patch = {"status": {"nominatedNodeName": None}, "metadata": {"annotations": {HOLD_ANNOTATION: None}}}
            self.assume(self._pods.record(facts), patch, _nominated_to(""))

    def leaving(self, hold: Hold) -> None:
        now = timestamp(self._context.clock())
        for record in self._victims(hold):
            self.assume(record, {"metadata": {"deletionTimestamp": now}}, is_leaving)

    def staying(self) -> None:
        """For a moment, as if nobody had been chosen. Whose binding is on its way is still bound."""
        leaving = [change for change in self._changes if change.arrived is is_leaving]
        self._changes = [change for change in self._changes if change not in leaving]
        for change in leaving:
            self._context.mirror.withdraw(change)

    async def _as_it_is(self, change: Assumption) -> Record:
        """A binding that has not arrived by now never will."""
        if change.arrived is not has_node:
            return await super()._as_it_is(change)
        record = change.record
        void = {"metadata": {"annotations": {VOID_ANNOTATION: str(record.version)}}}
        place = (PODS, record.name, record.namespace)
        try:
            return await self._context.store.patch(*place, void, "strategic", subresource="status", uid=record.uid)
        except Conflict:
            found = await super()._as_it_is(change)
            if found.uid == record.uid:
                raise  # to be asked again
            return found

    def _victims(self, hold: Hold) -> list[Record]:
        found = ((victim, self._pods.find(victim.unit)) for victim in hold.victims)
        return [record for victim, record in found if record is not None and record.uid == victim.uid]


def _carrying(hold: Hold) -> Mapping[str, Any]:
    return {"metadata": {"annotations": {HOLD_ANNOTATION: hold.text()}}}


def has_node(record: Record) -> bool:
    return bool(record.data["spec"].get("nodeName"))


def _nominated_to(node: str) -> Arrived:
    return lambda record: record.data.get("status", {}).get("nominatedNodeName", "") == node or has_node(record)
