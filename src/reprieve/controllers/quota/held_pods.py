"""Pods that wait behind a gate for quota: how they are let go, and how they are made to leave."""

from typing import Any

from reprieve.controllers.quota import pod_groups as groups
from reprieve.controllers.quota.owners import QuotaOwners
from reprieve.controllers.quota.topology_domains import domains_left, send, topology_of
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.model.conditions import set_condition
from reprieve.stores.errors import NotFound
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving, together


class HeldPods(QuotaOwners):
    async def let_run(self, workload: Record, left: list[Record]) -> None:
        """Let those go that are held, of all pods of a workload that have not ended."""
        held = [pod for pod in left if groups.is_gated(pod) and not is_leaving(pod)]
        domains = self._domains(workload, held, left)
        await together(self._let_run(pod, workload, domains.get(pod.key)) for pod in held)

    def _domains(self, workload: Record, held: list[Record], left: list[Record]) -> dict[Any, dict[str, str]]:
        """The node selector of each pod that is sent to a domain of a topology."""
        found: dict[Any, dict[str, str]] = {}
        for name in dict.fromkeys(groups.pod_set_of(pod, workload) for pod in held):
            topology = topology_of(workload, name)
            if topology is not None:
                pods = (pod for pod in held if groups.pod_set_of(pod, workload) == name)
                found |= {pod.key: each for pod, each in zip(pods, domains_left(topology, name, left), strict=False)}
        return found

    async def _let_run(self, pod: Record, workload: Record, domain: dict[str, str] | None) -> None:
        pod_set = groups.pod_set_of(pod, workload)
        place = await self.placement(pod, workload, pod_set)
        if place is None or (place.held and domain is None):
            return

        def start(data: dict[str, Any]) -> None:
            place._replace(held=False).into(data, pod.data)
            groups.drop_gate(data["spec"])
            data["metadata"].setdefault("labels", {})[groups.POD_SET_LABEL] = pod_set
            if domain is not None:
                send(data, workload, pod_set, domain)

        running = await self.modify(pod, start)
        await self.tell_started(running, workload, 1)

    async def end_pod(self, pod: Record, reason: str, message: str) -> None:
        """Tell a pod why it has to go, and delete it with its grace period."""
        if is_leaving(pod):
            return
        preempted = reason == "Preempted"
        kind, why = ("DisruptionTarget", PREEMPTION_BY_SCHEDULER) if preempted else ("TerminationTarget", reason)
        now = self.clock()

        def mark(status: dict[str, Any]) -> None:
            set_condition(status, kind, "True", why, message, now=now)

        try:
            marked = await self.modify_status(pod, mark)
        except NotFound:
            self.forget(pod)
            return
        await self.delete(marked)
        await self.tell(marked, reason, message)
