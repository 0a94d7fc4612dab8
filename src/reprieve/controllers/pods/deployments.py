"""Deployments: one ReplicaSet for the template as it is now; those of earlier templates are scaled to nothing.

1. A ReplicaSet is named after its Deployment and the hash of its template, so that the same template finds it again.
2. A new template replaces the old pods at once (as strategy Recreate would): there are no surplus pods in between,
   which on a full cluster nobody could place.
3. Old ReplicaSets are kept as spec.revisionHistoryLimit says; a Deployment that a propagation policy selects is left
   alone.
"""

from typing import Any

from reprieve.controllers.pods.templates import TemplateController, hash_of
from reprieve.controllers.runner import controller_key, own_key
from reprieve.manifests.kinds import DEPLOYMENTS, REPLICA_SETS
from reprieve.model.clock import Clock
from reprieve.model.conditions import set_condition
from reprieve.stores import writing
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import controllers as texts

_HASH = "pod-template-hash"


class DeploymentController(TemplateController):
    component = "deployment-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._deployments = self.watch(DEPLOYMENTS, own_key)
        self._sets = self.watch(REPLICA_SETS, controller_key(DEPLOYMENTS.kind), {"owner": writing.by_controller})
        self.watch_policies(self._deployments)

    async def reconcile(self, key: Any) -> None:
        deployment = self._deployments.get(key[1], key[0])
        if deployment is None or writing.is_leaving(deployment) or self.is_federated(deployment):
            return
        current = await self._scaled(deployment)
        owned = [each for each in self._sets.by("owner", deployment.uid) if each.uid != current.uid]
        await writing.together(self.modify(each, lambda data: data["spec"].update(replicas=0)) for each in owned)
        await self._forget_old(deployment, owned)
        sets = [each for each in self._sets.by("owner", deployment.uid) if not writing.is_leaving(each)]
        await self.modify_status(deployment, lambda status: self._write_status(status, deployment, current, sets))

    async def _scaled(self, deployment: Record) -> Record:
        """The ReplicaSet of the template as it is now, at the size that is wanted."""
        spec = deployment.data["spec"]
        name = f"{deployment.name}-{hash_of(spec['template'])}"
        known = self._sets.get(name, deployment.namespace)
        if known is None or writing.is_leaving(known) or writing.controller_uid(known) not in ("", deployment.uid):
            return await self.create(REPLICA_SETS, _replica_set(deployment, name))  # refused as long as it is another's

        def change(data: dict[str, Any]) -> None:
            data["spec"]["replicas"] = spec.get("replicas", 1)
            if writing.controller_of(known) is None:
                owners = [*writing.owner_references(known), writing.owner_reference(deployment)]
                data["metadata"]["ownerReferences"] = owners

        return await self.modify(known, change)

    async def _forget_old(self, deployment: Record, old: list[Record]) -> None:
        limit = deployment.data["spec"].get("revisionHistoryLimit", 10)
        staying = [each for each in old if not writing.is_leaving(each)]
        empty = [each for each in staying if not each.data.get("status", {}).get("replicas")]
        youngest_first = writing.oldest_first(empty)[::-1]
        await writing.together(self.delete(each) for each in youngest_first[limit:])

    def _write_status(self, status: dict[str, Any], deployment: Record, current: Record, sets: list[Record]) -> None:
        wanted = deployment.data["spec"].get("replicas", 1)
        for field in ("replicas", "readyReplicas", "availableReplicas"):
            status[field] = sum(each.data.get("status", {}).get(field, 0) for each in sets)
        status["updatedReplicas"] = current.data.get("status", {}).get("replicas", 0)
        status["unavailableReplicas"] = max(0, wanted - status["availableReplicas"])
        status["observedGeneration"] = deployment.metadata.get("generation", 1)
        enough = status["availableReplicas"] >= wanted
        reason = "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"
        message = texts.minimum_available(status["availableReplicas"], wanted)
        set_condition(status, "Available", str(enough), reason, message, now=self.clock())


def _replica_set(deployment: Record, name: str) -> dict[str, Any]:
    spec = deployment.data["spec"]
    template, hashed = spec["template"], {_HASH: name.rpartition("-")[2]}
    metadata = template.get("metadata", {})
    labels = {**metadata.get("labels", {}), **hashed}
    owners, selector = [writing.owner_reference(deployment)], spec.get("selector", {})
    return {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {"name": name, "namespace": deployment.namespace, "labels": labels, "ownerReferences": owners},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": {**selector, "matchLabels": {**selector.get("matchLabels", {}), **hashed}},
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }
