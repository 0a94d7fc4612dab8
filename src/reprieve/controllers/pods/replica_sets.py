"""ReplicaSets: so many pods of a template, no more and no fewer.

1. Pods that have ended or are leaving do not count; what was created counts at once, seen by the watch or not.
2. Surplus pods go in the order of `first_to_go`: those that do least so far, then the youngest.
3. A pod that failed by itself is replaced after a while that grows with each one; failed pods are kept ten minutes for
   whoever wants to know why.
4. One look makes or deletes no more than 250 pods, in batches that double; what is left is for the next look. No more
   than 5,000 of a ReplicaSet's pods wait for a node at a time.
5. A ReplicaSet that a propagation policy selects is left alone.
"""

from datetime import datetime, timedelta
from itertools import repeat
from typing import Any

from reprieve.controllers.pods import templates
from reprieve.controllers.runner import OWNED, controller_key, earliest, own_key, patience_for
from reprieve.manifests.kinds import PODS, REPLICA_SETS
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, is_leaving, together

_KEPT = timedelta(minutes=10)


class ReplicaSetController(templates.TemplateController):
    component = "replicaset-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._sets = self.watch(REPLICA_SETS, own_key)
        of_set = controller_key(REPLICA_SETS.kind)
        self._pods = self.watch(
            PODS, of_set, {"owner": by_controller}, concern=templates.standing, patience=self._patience, mark=OWNED
        )
        self.watch_policies(self._sets)

    async def reconcile(self, key: Any) -> float | None:
        replica_set = self._sets.get(key[1], key[0])
        if replica_set is None or is_leaving(replica_set) or self.is_federated(replica_set):
            return None
        wait = await self._bring_to_size(replica_set)
        await self._forget_failures(replica_set)
        now = self.clock()
        pods = [pod for pod in self._pods.by("owner", replica_set.uid) if templates.is_active(pod)]
        available, next_available = _available(replica_set, pods, now)
        await self.modify_status(replica_set, lambda status: _write_status(status, replica_set, pods, available))
        return earliest(wait, next_available)

    def _patience(self, key: Any) -> float:
        replica_set = self._sets.get(key[1], key[0])
        return patience_for(self._pods.count("owner", replica_set.uid)) if replica_set is not None else 0.0

    async def _bring_to_size(self, replica_set: Record) -> float | None:
        """Create what is missing or delete what is too much; seconds to wait when it is too early."""
        pods = self._pods.by("owner", replica_set.uid)
        active = [pod for pod in pods if templates.is_active(pod)]
        missing = replica_set.data["spec"].get("replicas", 1) - len(active)
        if missing <= 0:
            surplus = sorted(active, key=templates.first_to_go)[:-missing] if missing else []
            await together(self.delete(pod) for pod in surplus[: templates.AT_ONCE])
            return 0.0 if len(surplus) > templates.AT_ONCE else None
        failures = sum(templates.phase_of(pod) == "Failed" and not templates.was_disrupted(pod) for pod in pods)
        wait = templates.wait_after_failures(pods, failures, self.clock())
        if wait > 0:
            return wait
        pod = templates.make_pod(replica_set, replica_set.data["spec"]["template"], labels={})
        makeable = templates.makeable(active, missing)
        await self.create_pods(replica_set, repeat(pod, min(makeable, templates.AT_ONCE)))
        return 0.0 if makeable > templates.AT_ONCE else None

    async def _forget_failures(self, replica_set: Record) -> None:
        now = self.clock()
        pods = self._pods.by("owner", replica_set.uid)
        ended = [pod for pod in pods if templates.is_finished(pod) and not is_leaving(pod)]
        old = [pod for pod in ended if templates.finished_at(pod) + _KEPT < now]
        await together(self.delete(pod) for pod in old[: templates.AT_ONCE])


def _available(replica_set: Record, pods: list[Record], now: datetime) -> tuple[int, float | None]:
    """How many pods have been ready for long enough, and after how many seconds the next one will have."""
    needed = float(replica_set.data["spec"].get("minReadySeconds", 0))
    since = [(now - moment).total_seconds() for pod in pods if (moment := templates.ready_since(pod)) is not None]
    soon = min((needed - seconds for seconds in since if seconds < needed), default=None)
    return sum(seconds >= needed for seconds in since), soon


def _write_status(status: dict[str, Any], replica_set: Record, pods: list[Record], available: int) -> None:
    status["replicas"] = status["fullyLabeledReplicas"] = len(pods)
    status["readyReplicas"] = sum(map(templates.is_ready, pods))
    status["availableReplicas"] = available
    status["observedGeneration"] = replica_set.metadata.get("generation", 1)
