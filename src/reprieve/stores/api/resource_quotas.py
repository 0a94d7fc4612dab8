"""ResourceQuota where objects are created: what is used is kept up to date, and what would be too much is refused.

Where a namespace has no quota, nothing is counted.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from reprieve.manifests.kinds import PODS, RESOURCE_QUOTAS, RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.manifests.resource_quotas import ENDED, Amounts, ResourceQuotaSpec, is_scoped, selects, unsaid, usage
from reprieve.model.resources import Quantity
from reprieve.stores.errors import forbidden
from reprieve.stores.portions import Portions
from reprieve.stores.records import Record, WatchEvent
from reprieve.texts import stores as texts

RecordsOf = Callable[[Resource, str], Iterable[Record]]
_ONE = 10**9
_AT_A_TIME = 100
"""Pods that are counted without a break; one may have many containers."""


def counted_as(resource: Resource) -> str:
    """What quotas call the number of all objects of a kind: `count/pods`, `count/jobs.batch`."""
    return f"count/{resource.full_name}"


class _Quota:
    """One quota, and what the pods that count for it use.

    They are not counted when it comes, but before the first pod is let in: some at a time, and others have their turn
    in between. What changes meanwhile is followed.
    """

    def __init__(self, record: Record, pods: Iterable[Record]) -> None:
        self.name = record.name
        self.spec: ResourceQuotaSpec = record.manifest.spec
        self.used: Amounts = {}
        self._charged: dict[str, Amounts] = {}
        self._uncounted = {pod.name: pod for pod in pods}
        self._counting = asyncio.Lock()

    @property
    def complete(self) -> bool:
        return not self._uncounted

    async def count(self) -> None:
        """Count whoever is not counted yet, for all who wait for that together."""
        async with self._counting:
            while not self.complete:
                self._count_some()
                await asyncio.sleep(0)

    def count_at_once(self) -> None:
        while not self.complete:
            self._count_some()

    def _count_some(self) -> None:
        portions = Portions(_AT_A_TIME)
        while not self.complete:
            _, pod = self._uncounted.popitem()
            self.follow(pod)
            if portions.full(pod):
                return

    def follow(self, pod: Record, *, gone: bool = False) -> None:
        """A pod is there, has changed, or has gone."""
        self._uncounted.pop(pod.name, None)
        self._add(self._charged.pop(pod.name, {}), -1)
        if not gone and selects(self.spec, pod.manifest):
            self._charged[pod.name] = _charge(pod)
            self._add(self._charged[pod.name], 1)

    def _add(self, amounts: Amounts, times: int) -> None:
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + times * amount


def _charge(pod: Record) -> Amounts:
    """What a pod counts for: one that has ended is an object still, and uses nothing else."""
    used = {} if pod.manifest.status.phase in ENDED else usage(pod.manifest)
    return {counted_as(PODS): _ONE, **used}


class NamespaceQuotas:
    """All quotas of a store."""

    def __init__(self, records_of: RecordsOf) -> None:
        self._records_of = records_of
        self._quotas: dict[str, dict[str, _Quota]] = {}
        for record in records_of(RESOURCE_QUOTAS, ""):
            self._put(record)

    def _put(self, record: Record) -> None:
        """Counted anew only where it is another quota: its status is written again and again."""
        known = self._quotas.get(record.namespace, {}).get(record.name)
        if known is not None and known.spec == record.manifest.spec:
            return
        pods = self._records_of(PODS, record.namespace)
        self._quotas.setdefault(record.namespace, {})[record.name] = _Quota(record, pods)

    def follow(self, event: WatchEvent) -> None:
        """Something has happened that may count."""
        record, gone = event.record, event.type == "DELETED"
        if record.resource is PODS:
            for quota in self._quotas.get(record.namespace, {}).values():
                quota.follow(record, gone=gone)
        elif record.resource is RESOURCE_QUOTAS:
            if gone:
                self._quotas[record.namespace].pop(record.name, None)
            else:
                self._put(record)

    async def count(self, namespace: str) -> None:
        """Before a pod is made there: count for whatever quota is not counted yet. When this is over, all are."""
        while uncounted := [each for each in self._quotas.get(namespace, {}).values() if not each.complete]:
            await uncounted[0].count()

    def check(self, new: Record) -> None:
        """Refuse a new object for which there is no room, in Kubernetes' words."""
        quotas = self._quotas.get(new.namespace)
        for name in sorted(quotas or ()):
            assert quotas is not None  # noqa: S101 - there are some
            self._check(quotas[name], new)

    def _check(self, quota: _Quota, new: Record) -> None:
        asked = {} if is_scoped(quota.spec) and new.resource is not PODS else {counted_as(new.resource): _ONE}
        if new.resource is PODS:
            if not selects(quota.spec, new.manifest):
                return
            missing = unsaid(quota.spec.hard, new.manifest)
            if missing:
                raise forbidden(new.resource, new.name, texts.failed_quota(quota.name, missing))
            asked |= usage(new.manifest)
        hard = quota.spec.hard
        used = {name: self._used(quota, name, new) for name in asked if name in hard}
        over = sorted(name for name, amount in used.items() if amount + asked[name] > hard[name].nano)
        if over:
            amounts = [_written(over, hard, each) for each in (asked, used, {name: hard[name].nano for name in hard})]
            raise forbidden(new.resource, new.name, texts.exceeded_quota(quota.name, *amounts))

    def _used(self, quota: _Quota, name: str, new: Record) -> int:
        if new.resource is PODS:
            quota.count_at_once()  # whoever has not waited for it lets nobody in for that
            return quota.used.get(name, 0)
        return sum(_ONE for _ in self._records_of(new.resource, new.namespace))


def _written(names: Iterable[str], hard: dict[str, Quantity], amounts: Amounts) -> str:
    return ",".join(f"{name}={Quantity(amounts[name], hard[name].form)}" for name in names)


async def used_of(spec: ResourceQuotaSpec, records_of: Callable[[Resource], Sequence[Record]]) -> dict[str, str]:
    """What is used of all that a quota limits, as its status says it. Between some pods and the next others on this
    loop go on."""
    totals: Amounts = {}
    pods, portions = [], Portions(_AT_A_TIME)
    for pod in records_of(PODS):
        if selects(spec, pod.manifest):
            pods.append(pod)
            for name, amount in usage(pod.manifest).items() if pod.manifest.status.phase not in ENDED else ():
                totals[name] = totals.get(name, 0) + amount
        if portions.full(pod):
            await asyncio.sleep(0)
    for resource in RESOURCES.values():
        if counted_as(resource) in spec.hard:
            there = pods if resource is PODS else () if is_scoped(spec) else records_of(resource)
            totals[counted_as(resource)] = sum(_ONE for _ in there)
    return {name: str(Quantity(totals.get(name, 0), hard.form)) for name, hard in spec.hard.items()}


def counted_kinds(spec: ResourceQuotaSpec) -> list[Resource]:
    """What has to be looked at for that: pods, and other kinds that are counted."""
    return [each for each in RESOURCES.values() if each is PODS or counted_as(each) in spec.hard]
