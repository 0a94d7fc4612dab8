"""How full nodes, queues and clusters are, and who waits: worked out from objects, for `top` and the view of `up`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reprieve.manifests.core import Node
from reprieve.manifests.karmada import Cluster
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.manifests.resizing import slots_held
from reprieve.model.conditions import condition_of, true_condition
from reprieve.model.resources import CPU, NOTHING, PODS, Resources, amount
from reprieve.texts.parts import listed

Data = Mapping[str, Any]
GPU = "nvidia.com/gpu"
_GI = 1 << 30


class NodeUse(NamedTuple):
    """What a node or a member cluster offers, and what is used of it."""

    name: str
    ready: bool
    offers: Resources
    used: Resources
    silent: bool = False
    """A cluster that has never reported what it has."""

    @property
    def status(self) -> str:
        return "NotReady" if not self.ready else "NoReport" if self.silent else "Ready"

    def share(self, resource: str) -> float:
        return self.used.of(resource) / self.offers.of(resource) if self.offers.of(resource) else 0.0


def node_uses(nodes: Iterable[Node], pods: Iterable[Pod]) -> list[NodeUse]:
    """What each node offers, and what the pods there hold of it; pods that have ended hold nothing."""
    held: dict[str, Resources] = {}
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            held[pod.spec.node_name] = held.get(pod.spec.node_name, NOTHING) + slots_held(pod)
    return [NodeUse(node.name, is_ready(node), node.allocatable, held.get(node.name, NOTHING)) for node in nodes]


def is_ready(node: Node | Cluster) -> bool:
    condition = find_condition(node.status.conditions, "Ready")
    return condition is None or condition.status == "True"


def shown_resources(uses: Iterable[NodeUse]) -> dict[str, str]:
    """What tables of nodes show, and as what; GPUs only where there are any."""
    gpus = {GPU: "gpu"} if any(use.offers.of(GPU) for use in uses) else {}
    return {"cpu": "cpu", "memory": "memory", **gpus, "pods": "pods"}


def so_much(resource: str, units: int) -> str:
    """An amount, short enough for a table: 2.5 CPUs, 12.3Gi."""
    if resource == CPU:
        return f"{units / 1000:.3g}"
    if resource in ("memory", "ephemeral-storage"):
        return f"{units / _GI:.3g}Gi" if units else "0"
    return str(units)


def of_all(use: NodeUse, resource: str) -> str:
    """`2.5/8 (31%)`; nothing where there is none of it."""
    offered = use.offers.of(resource)
    if not offered:
        return "-"
    used = f"{so_much(resource, use.used.of(resource))}/{so_much(resource, offered)}"
    return used if resource == PODS else f"{used} ({use.share(resource):.0%})"


class WaitingUnit(NamedTuple):
    """A unit that waits, and what is known about why."""

    unit: str
    namespace: str
    priority: int
    since: str
    why: str

    def rank(self) -> tuple[int, str, str]:
        return -self.priority, self.since, self.unit


def waiting_pods(pods: Iterable[Pod]) -> list[WaitingUnit]:
    """Pods without a place, the most important first."""
    found = [_waiting(pod) for pod in pods if not pod.spec.node_name and not pod.finished and not pod.terminating]
    return sorted(found, key=WaitingUnit.rank)


def _waiting(pod: Pod) -> WaitingUnit:
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    why = scheduled.message if scheduled is not None else ""
    if pod.status.nominated_node_name:
        why = f"nominated to {pod.status.nominated_node_name}"
    elif pod.spec.scheduling_gates:
        why = f"held by {', '.join(gate.name for gate in pod.spec.scheduling_gates)}"
    created = pod.metadata.creation_timestamp
    since = created.isoformat() if created is not None else ""
    return WaitingUnit(f"pod/{pod.name}", pod.namespace, pod.spec.priority or 0, since, why)


def missing_classes(pods: Iterable[Pod], known: Collection[str]) -> list[list[str]]:
    """Classes that do not exist though pods on nodes name them, these pods, and where higher ones cannot preempt."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        name = pod.spec.priority_class_name
        if pod.spec.node_name and not pod.finished and name and name not in known:
            found.setdefault(name, []).append(pod)
    return [
        [name, listed([f"pod/{pod.name}" for pod in using]), listed(sorted({pod.spec.node_name for pod in using}))]
        for name, using in sorted(found.items())
    ]


def waiting_workloads(workloads: Iterable[Data]) -> list[WaitingUnit]:
    """Quota workloads without a reservation."""
    waiting = (item for item in workloads if not true_condition(item, "QuotaReserved", "Finished"))
    return sorted(map(_waiting_workload, waiting), key=WaitingUnit.rank)


def _waiting_workload(item: Data) -> WaitingUnit:
    metadata, spec = item["metadata"], item["spec"]
    why = str(condition_of(item, "QuotaReserved").get("message") or f"waits in {spec.get('queueName', '')}")
    namespace, since = metadata.get("namespace", ""), metadata.get("creationTimestamp", "")
    return WaitingUnit(f"workload/{metadata['name']}", namespace, spec.get("priority") or 0, since, why)


def queue_rows(queue: Data) -> Iterator[list[str]]:
    """Each resource of each flavor of a cluster queue: what is used of how much, and how much of that is borrowed; then
    how many workloads it has admitted, and how many wait."""
    status, name = queue.get("status") or {}, queue["metadata"]["name"]
    used = {
        (flavor["name"], each["name"]): each
        for flavor in status.get("flavorsUsage") or ()
        for each in flavor.get("resources") or ()
    }
    counts = [str(status.get(field, 0)) for field in ("admittedWorkloads", "pendingWorkloads")]
    flavors = (flavor for group in queue["spec"].get("resourceGroups") or () for flavor in group.get("flavors") or ())
    for flavor, quota in ((each["name"], quota) for each in flavors for quota in each.get("resources") or ()):
        resource = quota["name"]
        found = used.get((flavor, resource), {})
        figures = (found.get("total", 0), quota.get("nominalQuota", 0), found.get("borrowed", 0))
        total, nominal, borrowed = (so_much(resource, amount(resource, each)) for each in figures)
        yield [name, flavor, resource, f"{total}/{nominal}", borrowed, *counts]
