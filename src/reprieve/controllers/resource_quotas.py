"""How much of each ResourceQuota is used, for people to read: what is created is checked by the store itself.

Looked at again every few seconds while there is a quota: nothing else has to follow all pods for that.
"""

from typing import Any

from reprieve.controllers.runner import BaseController, own_key
from reprieve.manifests.kinds import RESOURCE_QUOTAS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.stores.api.resource_quotas import counted_kinds, used_of
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving

_EVERY = 2.0


class ResourceQuotaController(BaseController):
    component = "resourcequota-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._quotas = self.watch(RESOURCE_QUOTAS, own_key)

    async def reconcile(self, key: Any) -> float | None:
        quota = self._quotas.get(key[1], key[0])
        if quota is None or is_leaving(quota):
            return None
        spec = quota.manifest.spec
        there: dict[Resource, list[Record]] = {}
        for resource in counted_kinds(spec):
            there[resource] = (await self.store.list(resource, quota.namespace)).records
        said = {name: str(amount) for name, amount in spec.hard.items()}
        used = await used_of(spec, lambda resource: there.get(resource, ()))
        await self.modify_status(quota, lambda status: status.update({"hard": said, "used": used}))
        return _EVERY
