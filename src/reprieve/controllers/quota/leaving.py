"""How a workload is made to leave, whoever finds that it has to."""

from collections.abc import Mapping
from typing import Any

from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.runner import BaseController
from reprieve.stores.records import Record


class QuotaLeaving(BaseController):
    component = "reprieve-quota"

    async def evict(
        self, workload: Record, reason: str, message: str, requeue: Mapping[str, Any] | None = None
    ) -> None:
        """It gives its quota back when its pods are gone, and is queued again: at once, or when `requeue` says."""
        change = standing.evict(reason, message, self.clock(), requeue)
        evicted = await self.modify(workload, change, subresource="status")
        await self.tell(evicted, f"EvictedDueTo{reason}", message)

    async def deactivate(self, workload: Record, reason: str, message: str) -> None:
        """First why, then what: whoever finds it inactive can say what made it so."""
        now = self.clock()

        def explain(data: dict[str, Any]) -> None:
            standing.set_condition(data, "DeactivationTarget", "True", reason, message, now)

        def deactivate(data: dict[str, Any]) -> None:
            data["spec"]["active"] = False

        explained = await self.modify(workload, explain, subresource="status")
        await self.modify(explained, deactivate)
