"""Pod disruption budgets: how many of the pods they cover may be disrupted now.

1. Expected are the pods that their controllers are to have; pods of no such controller are counted one by one. Where
   the budget gives the number that must stay, it does not matter, and all are counted one by one.
2. Percentages are of the expected pods, rounded up.
3. Healthy are pods that are ready, not leaving, and not evicted a moment ago: an eviction that was allowed and of which
   nothing is seen yet holds its place for two minutes.
"""

import asyncio
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from reprieve.controllers.pods.templates import is_finished, is_ready
from reprieve.controllers.runner import BaseController, own_key, patience_for
from reprieve.manifests.core import PodDisruptionBudgetSpec, desired_healthy
from reprieve.manifests.kinds import BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS
from reprieve.model.clock import Clock, moment_of
from reprieve.model.conditions import set_condition
from reprieve.stores.portions import Portions
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import controller_of, is_leaving
from reprieve.texts import controllers as texts

_REMEMBERED = timedelta(minutes=2)
_ANY = ("", "")
_AT_A_TIME = 1_000


class BudgetController(BaseController):
    component = "disruption-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._budgets = self.watch(BUDGETS, own_key, {"namespace": lambda budget: (budget.namespace,)})
        self._pods = self.watch(PODS, self._covering, {"label": _labels}, concern=_health, patience=self._patience)
        self._scales = {
            resource.kind: self.watch(resource, self._all_in_namespace, concern=_size)
            for resource in (REPLICA_SETS, STATEFUL_SETS, DEPLOYMENTS)
        }

    def _patience(self, key: Any) -> float:
        budget = self._budgets.get(key[1], key[0])
        return patience_for(self._pods.count("label", _narrowest(budget))) if budget is not None else 0.0

    def _covering(self, pod: Record) -> Iterator[Hashable]:
        return (budget.key for budget in self._budgets.by("namespace", pod.namespace) if _covers(budget, pod))

    def _all_in_namespace(self, record: Record) -> Iterable[Hashable]:
        return (budget.key for budget in self._budgets.by("namespace", record.namespace))

    async def reconcile(self, key: Any) -> float | None:
        budget = self._budgets.get(key[1], key[0])
        if budget is None or is_leaving(budget):
            return None
        pods, ready = await self._covered(budget)
        if self._budgets.get(key[1], key[0]) is not budget:
            return 0.0  # it has changed meanwhile: an eviction may stand in it
        now = self.clock()
        disrupted = _still_disrupted(budget, pods, now)
        healthy = ready - disrupted.keys()
        await self.modify_status(
            budget, lambda status: self._write_status(status, budget, pods, healthy, disrupted, now), tries=1
        )
        ends = [moment_of(moment) + _REMEMBERED for moment in disrupted.values()]
        return (min(ends) - now).total_seconds() if ends else None

    async def _covered(self, budget: Record) -> tuple[list[Record], set[str]]:
        """The pods of a budget, and the names of those that are ready. Of many, others have their turn in between."""
        pods: list[Record] = []
        ready: set[str] = set()
        within = self._pods.by("label", _narrowest(budget))
        portions = Portions(_AT_A_TIME)
        for pod in within:
            if _covers(budget, pod):
                pods.append(pod)
                ready |= {pod.name} if is_ready(pod) and not is_leaving(pod) else set()
            if portions.full(pod):
                await asyncio.sleep(0)
        return pods, ready

    def _write_status(
        self,
        status: dict[str, Any],
        budget: Record,
        pods: list[Record],
        healthy_pods: set[str],
        disrupted: dict[str, str],
        now: datetime,
    ) -> None:
        expected = self._expected(budget.manifest.spec, pods)
        desired = desired_healthy(budget.manifest.spec, expected)
        healthy = len(healthy_pods)
        allowed = max(0, healthy - desired) if expected else 0
        status |= {"expectedPods": expected, "desiredHealthy": desired}
        status |= {"currentHealthy": healthy, "disruptionsAllowed": allowed}
        status["observedGeneration"] = generation = budget.metadata.get("generation", 1)
        status["disruptedPods"] = disrupted
        if not disrupted:
            del status["disruptedPods"]
        said = (
            str(allowed > 0),
            "SufficientPods" if allowed else "InsufficientPods",
            texts.enough_pods(healthy, desired),
        )
        set_condition(status, "DisruptionAllowed", *said, now=now, observedGeneration=generation)

    def _expected(self, spec: PodDisruptionBudgetSpec, pods: list[Record]) -> int:
        """Each controller counts once, with what it is to have; a pod without one counts for itself."""
        if spec.max_unavailable is None and not str(spec.min_available).endswith("%"):
            return len(pods)
        return sum(dict(map(self._scale, pods)).values())

    def _scale(self, pod: Record) -> tuple[str, int]:
        """The topmost controller of a pod that says how many there are to be, and how many."""
        found, owned = (pod.uid, 1), pod
        while (owner := controller_of(owned)) is not None and owner["kind"] in self._scales:
            above = self._scales[owner["kind"]].get(owner["name"], pod.namespace)
            if above is None or above.uid != owner["uid"]:
                break
            found, owned = (above.uid, above.data["spec"].get("replicas", 1)), above
        return found


def _still_disrupted(budget: Record, pods: list[Record], now: datetime) -> dict[str, str]:
    """The evictions that were allowed and have not shown yet; those that never will are forgotten."""
    awaited = {pod.name for pod in pods if not is_leaving(pod)}
    listed = budget.data.get("status", {}).get("disruptedPods") or {}
    return {name: at for name, at in listed.items() if name in awaited and moment_of(at) + _REMEMBERED > now}


def _covers(budget: Record, pod: Record) -> bool:
    selector = budget.manifest.spec.selector
    return selector is not None and selector.matches(pod.labels)


def _narrowest(budget: Record) -> Hashable:
    """Where in the index the pods of a budget are to be found: by one of its labels, or among all of its namespace."""
    selector = budget.manifest.spec.selector
    labels = selector.match_labels if selector is not None else {}
    return (budget.namespace, *next(iter(labels.items()), _ANY))


def _labels(pod: Record) -> Iterator[Hashable]:
    """An index: by each label, and one for all pods of a namespace; what has finished cannot be disrupted."""
    if is_finished(pod):
        return
    yield (pod.namespace, *_ANY)
    for key, value in pod.labels.items():
        yield (pod.namespace, key, value)


def _health(pod: Record) -> tuple[Any, ...]:
    said = pod.metadata.get("labels"), pod.metadata.get("ownerReferences")
    return is_ready(pod), is_leaving(pod), is_finished(pod), *said


def _size(controller: Record) -> tuple[Any, ...]:
    return controller.data["spec"].get("replicas", 1), controller.metadata.get("ownerReferences")
