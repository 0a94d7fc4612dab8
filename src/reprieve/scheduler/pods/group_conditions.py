"""What the status of a PodGroup says of its scheduling, as Kubernetes 1.37 has it.

1. PodGroupInitiallyScheduled is False while the group has never had its places, with the reason, and True from the
   moment it has them: for ever, whatever becomes of its pods later.
2. DisruptionTarget is True when the group is preempted as a whole; False again when it gets other places.
"""

from typing import Any

from reprieve.manifests.kinds import COMPOSITE_POD_GROUPS, POD_GROUPS
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.manifests.resource import Resource
from reprieve.model.conditions import changed_condition, condition_of, conditions_of, has_condition
from reprieve.model.names import UnitName, parts_of
from reprieve.scheduler.context import Context
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record

SCHEDULED, TARGET = "PodGroupInitiallyScheduled", "DisruptionTarget"
_KINDS: dict[str, Resource] = {each.kind: each for each in (POD_GROUPS, COMPOSITE_POD_GROUPS)}


class GroupConditions:
    """Writes them; what a group that is no such object should say is said by its pods alone."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def scheduled(self, group: UnitName) -> None:
        """It has its places."""
        record = self._find(group)
        if record is not None and not has_condition(record.data, SCHEDULED):
            await self._set(record, SCHEDULED, "True", "Scheduled")

    async def stays(self, group: UnitName) -> None:
        """It is not to leave any more, or has left and come back."""
        record = self._find(group)
        if record is not None and has_condition(record.data, TARGET):
            await self._set(record, TARGET, "False", "Scheduled")

    async def unschedulable(self, group: UnitName, message: str) -> None:
        """It has none, and never had any."""
        record = self._find(group)
        if record is None or has_condition(record.data, SCHEDULED):
            return
        if condition_of(record.data, SCHEDULED).get("message") != message:
            await self._set(record, SCHEDULED, "False", "Unschedulable", message)

    async def preempted(self, group: UnitName, message: str) -> None:
        """It is to leave as a whole."""
        record = self._find(group)
        if record is not None and not has_condition(record.data, TARGET):
            await self._set(record, TARGET, "True", PREEMPTION_BY_SCHEDULER, message)

    def _find(self, group: UnitName) -> Record | None:
        kind, namespace, name = parts_of(group)
        return self._context.mirror.get(_KINDS[kind], name, namespace) if kind in _KINDS else None

    async def _set(self, record: Record, kind: str, status: str, reason: str, message: str = "") -> Record | None:
        now = self._context.clock()
        changed = changed_condition(conditions_of(record.data), kind, status, reason, message, now=now)
        others = [each for each in conditions_of(record.data) if each.get("type") != kind]
        patch: dict[str, Any] = {"status": {"conditions": [*others, changed]}}
        try:
            written = await self._context.store.patch(
                record.resource, record.name, record.namespace, patch, subresource="status", uid=record.uid
            )
        except (Conflict, NotFound):
            return None  # gone, or another one: nobody is to be told
        self._context.absorb(written)
        return written
