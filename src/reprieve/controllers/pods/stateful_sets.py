"""StatefulSets: so many pods of a template, each with a name, a number and claims that stay its own.

1. Pods are called NAME-0, NAME-1 and so on, from spec.ordinals.start on. A pod that ends or goes is made again under
   the same name, when the one before is gone; one that failed by itself ten seconds after it did.
2. OrderedReady: each is made when all before it are available, and the last goes first, one at a time. Parallel: as
   many at once as one look makes; those that come bring about the next look.
3. A new template replaces pods as spec.updateStrategy says: RollingUpdate one after the other from the last one down to
   its partition, each when all others are available; OnDelete waits until somebody deletes the old one.
4. Each pod gets its claims from spec.volumeClaimTemplates. They stay when it goes, as they do unless
   persistentVolumeClaimRetentionPolicy.whenDeleted says otherwise: then they belong to the StatefulSet.
5. A StatefulSet that a propagation policy selects is left alone.

Old templates are not kept: a pod below the partition that is made again has the new one.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reprieve.controllers.pods import templates
from reprieve.controllers.runner import OWNED, controller_key, own_key, patience_for
from reprieve.manifests.kinds import PODS, STATEFUL_SETS, VOLUME_CLAIMS
from reprieve.model.clock import Clock
from reprieve.stores.errors import AlreadyExists
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, is_leaving, owner_reference, together

REVISION = "controller-revision-hash"
INDEX = "apps.kubernetes.io/pod-index"
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_AFTER_FAILURE = 10.0
Data = dict[str, Any]


class StatefulSetController(templates.TemplateController):
    component = "statefulset-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._sets = self.watch(STATEFUL_SETS, own_key)
        of_set = controller_key(STATEFUL_SETS.kind)
        self._pods = self.watch(
            PODS, of_set, {"owner": by_controller}, concern=templates.standing, patience=self._patience, mark=OWNED
        )
        self.watch_policies(self._sets)

    def _patience(self, key: Any) -> float:
        stateful_set = self._sets.get(key[1], key[0])
        return patience_for(self._pods.count("owner", stateful_set.uid)) if stateful_set is not None else 0.0

    async def reconcile(self, key: Any) -> float | None:
        stateful_set = self._sets.get(key[1], key[0])
        if stateful_set is None or is_leaving(stateful_set) or self.is_federated(stateful_set):
            return None
        turn = StatefulSetTurn(stateful_set, self._pods.by("owner", stateful_set.uid), self.clock())
        turn.take()
        await together(self.delete(pod) for pod in turn.doomed)
        for ordinal in turn.missing:
            await self._claim(stateful_set, ordinal)
        await self.create_pods(stateful_set, [pod_for(stateful_set, ordinal) for ordinal in turn.missing])
        now = StatefulSetTurn(stateful_set, self._pods.by("owner", stateful_set.uid), self.clock())
        await self.modify_status(stateful_set, now.write_status)
        return turn.look_again

    async def _claim(self, stateful_set: Record, ordinal: int) -> None:
        """The claims of a pod, where it has none yet; those that are there are its own from before."""
        for claim in _claims(stateful_set, ordinal):
            if await self.find(VOLUME_CLAIMS, stateful_set.namespace, claim["metadata"]["name"]) is None:
                try:
                    await self.store.create(VOLUME_CLAIMS, claim)
                except AlreadyExists:
                    continue


class StatefulSetTurn:
    """One look at a StatefulSet: who goes now (`doomed`), and which numbers get a pod (`missing`)."""

    def __init__(self, stateful_set: Record, pods: list[Record], now: datetime) -> None:
        self._set, self._spec, self._now = stateful_set, stateful_set.data["spec"], now
        self._revision = templates.hash_of(self._spec["template"])
        self._there = {ordinal: pod for pod in pods if (ordinal := _ordinal(stateful_set, pod)) is not None}
        first = first_ordinal(stateful_set)
        self._wanted = range(first, first + self._spec.get("replicas", 1))
        self._ordered = self._spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        active = filter(templates.is_active, self._there.values())
        self._makeable = min(templates.AT_ONCE, templates.makeable(active, len(self._wanted)))
        self.doomed: list[Record] = []
        self.missing: list[int] = []
        self.look_again: float | None = None

    def take(self) -> None:
        """Make what is missing; then take away what is too much; then replace what is old: one of these at a time where
        the order counts."""
        if self._make() and self._shrink():
            self._update()

    def _make(self) -> bool:
        """Whether all that are wanted are there, as far as the next step is concerned."""
        for ordinal in self._wanted:
            if ordinal not in self._there and len(self.missing) >= self._makeable:
                return False
            if not self._settled(ordinal) and self._ordered:
                return False
        return not self.missing and not self.doomed

    def _settled(self, ordinal: int) -> bool:
        pod = self._there.get(ordinal)
        if pod is None:
            self.missing.append(ordinal)
            return False
        if is_leaving(pod):
            return False
        if templates.is_finished(pod):
            self._end(pod)
            return False
        return self._available(pod)

    def _end(self, pod: Record) -> None:
        """Delete what has ended, so that it can be made again."""
        failed = templates.phase_of(pod) == "Failed" and not templates.was_disrupted(pod)
        left = _AFTER_FAILURE - (self._now - templates.finished_at(pod)).total_seconds() if failed else 0.0
        if left > 0:
            self._wait(left)
        else:
            self.doomed.append(pod)

    def _wait(self, seconds: float) -> None:
        self.look_again = seconds if self.look_again is None else min(seconds, self.look_again)

    def _shrink(self) -> bool:
        """Whether nobody is too many any more."""
        surplus = sorted((ordinal for ordinal in self._there if ordinal not in self._wanted), reverse=True)
        for ordinal in surplus:
            if not is_leaving(self._there[ordinal]):
                self.doomed.append(self._there[ordinal])
            if self._ordered:
                return False
        return not surplus

    def _update(self) -> None:
        strategy = self._spec.get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for ordinal in reversed(self._wanted):
            pod = self._there.get(ordinal)
            if pod is None or ordinal < partition:
                return
            if not self._is_new(pod):
                self.doomed += () if is_leaving(pod) else (pod,)
                return
            if is_leaving(pod) or not self._available(pod):
                return

    # How it stands

    def _is_new(self, pod: Record) -> bool:
        return bool(pod.labels.get(REVISION) == self._revision)

    def _available(self, pod: Record) -> bool:
        since = templates.ready_since(pod)
        if since is None or is_leaving(pod) or templates.is_finished(pod):
            return False
        left = float(self._spec.get("minReadySeconds", 0)) - (self._now - since).total_seconds()
        if left > 0:
            self._wait(left)
        return left <= 0

    def write_status(self, status: Data) -> None:
        active = [pod for pod in self._there.values() if templates.is_active(pod)]
        new = [pod for pod in active if self._is_new(pod)]
        status["replicas"] = len(active)
        status["readyReplicas"] = sum(map(templates.is_ready, active))
        status["availableReplicas"] = sum(map(self._available, active))
        status["updatedReplicas"] = len(new)
        status["updateRevision"] = self._revision
        if len(new) == len(self._wanted) == len(active) or "currentRevision" not in status:
            status["currentRevision"] = self._revision
        status["currentReplicas"] = sum(pod.labels.get(REVISION) == status["currentRevision"] for pod in active)
        status["observedGeneration"] = self._set.metadata.get("generation", 1)


def first_ordinal(stateful_set: Record) -> int:
    return int((stateful_set.data["spec"].get("ordinals") or {}).get("start") or 0)


def _ordinal(stateful_set: Record, pod: Record) -> int | None:
    """The number of a pod; None: it is none of those that are told apart by one."""
    base, _, number = pod.name.rpartition("-")
    return int(number) if base == stateful_set.name and number.isdecimal() else None


def pod_for(stateful_set: Record, ordinal: int) -> Data:
    """The pod of a number."""
    spec, name = stateful_set.data["spec"], f"{stateful_set.name}-{ordinal}"
    labels = {_POD_NAME: name, INDEX: str(ordinal), REVISION: templates.hash_of(spec["template"])}
    pod = templates.make_pod(stateful_set, spec["template"], labels=labels)
    del pod["metadata"]["generateName"]
    pod["metadata"]["name"] = name
    pod["spec"]["hostname"] = name
    if spec.get("serviceName"):
        pod["spec"]["subdomain"] = spec["serviceName"]
    own = {claim: f"{claim}-{name}" for claim in _claim_names(spec)}
    if own:
        others = [each for each in pod["spec"].get("volumes") or () if each.get("name") not in own]
        claimed = [{"name": each, "persistentVolumeClaim": {"claimName": claim}} for each, claim in own.items()]
        pod["spec"]["volumes"] = [*others, *claimed]
    return pod


def _claim_names(spec: Data) -> list[str]:
    return [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or ()]


def _claims(stateful_set: Record, ordinal: int) -> Iterator[Data]:
    spec = stateful_set.data["spec"]
    goes_along = (spec.get("persistentVolumeClaimRetentionPolicy") or {}).get("whenDeleted") == "Delete"
    for claim in spec.get("volumeClaimTemplates") or ():
        said = claim["metadata"]
        metadata: Data = {"name": f"{said['name']}-{stateful_set.name}-{ordinal}", "namespace": stateful_set.namespace}
        metadata |= {field: said[field] for field in ("labels", "annotations") if said.get(field)}
        if goes_along:
            metadata["ownerReferences"] = [owner_reference(stateful_set, controller=False)]
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim["spec"]}
