"""Which nodes take the pod of a DaemonSet, and what that pod looks like.

1. A node takes it where the template's node name, node selector and required node affinity mean that node, and all its
   taints with NoSchedule and NoExecute are tolerated. One that runs there already stays while it tolerates those with
   NoExecute.
2. Pods of DaemonSets tolerate what the node's own troubles taint it with, and a cordon, as in Kubernetes.
3. Its node affinity names the node, in the place of what the template requires: that has been asked already.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from reprieve.controllers.pods import templates
from reprieve.engine.nodes.labels import means
from reprieve.engine.nodes.reach import tolerates
from reprieve.manifests.core import Node
from reprieve.manifests.meta import Taint, Toleration
from reprieve.manifests.pods import PodSpec
from reprieve.stores.records import Record

REVISION = "controller-revision-hash"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TROUBLES = {
    "not-ready": "NoExecute",
    "unreachable": "NoExecute",
    "disk-pressure": "NoSchedule",
    "memory-pressure": "NoSchedule",
    "pid-pressure": "NoSchedule",
    "unschedulable": "NoSchedule",
}
_NO_NETWORK = {"network-unavailable": "NoSchedule"}
"""Only pods that use the network of the node can do without one of their own."""


class Taker(NamedTuple):
    """What a node is to a DaemonSet."""

    wants: bool
    """It gets a pod."""
    keeps: bool
    """A pod that is there stays."""


def takers(daemon_set: Record, nodes: Iterable[Record]) -> dict[str, Taker]:
    """All nodes, and what each is to a DaemonSet."""
    spec: PodSpec = daemon_set.manifest.spec.template.spec
    tolerations = (*spec.tolerations, *(_typed(each) for each in _own_tolerations(daemon_set)))
    return {record.name: _taker(record.manifest, spec, tolerations) for record in nodes}


def _taker(node: Node, spec: PodSpec, tolerations: tuple[Toleration, ...]) -> Taker:
    if (spec.node_name and spec.node_name != node.name) or not means(node, spec):
        return Taker(wants=False, keeps=False)
    resented = {taint.effect for taint in node.spec.taints if not _tolerated(taint, tolerations)}
    return Taker(wants=not resented & {"NoSchedule", "NoExecute"}, keeps="NoExecute" not in resented)


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(each, taint) for each in tolerations)


def pod_for(daemon_set: Record, node: str, revision: str) -> dict[str, Any]:
    """The pod of a DaemonSet for one node."""
    pod = templates.make_pod(daemon_set, daemon_set.data["spec"]["template"], labels={REVISION: revision})
    spec = pod["spec"]
    affinity = dict(spec.get("affinity") or {})
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {_REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), **required}
    spec["affinity"] = affinity
    spec["tolerations"] = [*(spec.get("tolerations") or ()), *_own_tolerations(daemon_set)]
    return pod


def node_of(pod: Record) -> str:
    """The node that a pod of a DaemonSet is on, or was made for; empty: it says none."""
    spec = pod.data["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    fields = [each for term in required.get("nodeSelectorTerms") or () for each in term.get("matchFields") or ()]
    names = [name for each in fields if each.get("key") == "metadata.name" for name in each.get("values") or ()]
    return str(names[0]) if names else ""


def _own_tolerations(daemon_set: Record) -> list[dict[str, str]]:
    """What pods of DaemonSets tolerate beside what their template says; what that says already is not said twice."""
    spec = daemon_set.data["spec"]["template"]["spec"]
    own = {**_TROUBLES, **(_NO_NETWORK if spec.get("hostNetwork") else {})}
    made = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in own.items()]
    return [each for each in made if each not in (spec.get("tolerations") or ())]


def _typed(toleration: dict[str, str]) -> Toleration:
    return Toleration(**toleration)  # type: ignore[arg-type]
