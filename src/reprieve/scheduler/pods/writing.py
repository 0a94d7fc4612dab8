"""How the scheduler finds pods and writes to their status."""

from typing import Any

from reprieve.manifests.kinds import PODS
from reprieve.model.conditions import changed_condition, conditions_of
from reprieve.model.names import parts_of
from reprieve.scheduler.context import Context
from reprieve.stores.records import Record
from reprieve.world import PodFacts


class PodWriter:
    """Pods as the store has them, as far as is known; what is written, the mirror sees at once."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def record(self, facts: PodFacts) -> Record | None:
        return self._context.mirror.told(PODS, facts.key[1], facts.key[0])

    def needed(self, facts: PodFacts) -> Record:
        """The same; raises `NotFound` like the store when it is gone."""
        return self.record(facts) or self._context.mirror.known(PODS, facts.key[1], facts.key[0])

    def find(self, unit: str) -> Record | None:
        """The pod that a unit is; None: it is gone, or no pod."""
        kind, namespace, name = parts_of(unit)
        return self._context.mirror.told(PODS, name, namespace) if kind == PODS.kind else None

    async def patch_status(self, record: Record, patch: dict[str, Any], *, fresh: bool = False) -> Record:
        """`fresh`: refused when the pod has changed since it was read."""
        changed = await self._context.store.patch(
            PODS,
            record.name,
            record.namespace,
            patch,
            "strategic",
            subresource="status",
            uid=record.uid,
            version=record.version if fresh else None,
        )
        self._context.absorb(changed)
        return changed

    async def set_condition(
        self, record: Record, kind: str, status: str, reason: str = "", message: str = ""
    ) -> Record:
        condition = self.condition(record, kind, status, reason, message)
        return await self.patch_status(record, {"status": {"conditions": [condition]}})

    def condition(self, record: Record, kind: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
        """A condition as it is to be."""
        known = conditions_of(record.data)
        return changed_condition(known, kind, status, reason, message, now=self._context.clock())
