"""Which nodes a pod can reach at all: what no preemption can change.

Cordons, taints, node names, selectors and node affinity, each under the name that explanations use.
"""

from collections.abc import Iterable

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.meta import Taint, Toleration
from reprieve.manifests.pods import PodSpec
from reprieve.manifests.priorities import parse_integer

REACHED = 0
CORDONED, UNTOLERATED_TAINT, OTHER_NODE, NODE_AFFINITY, GONE = 1, 2, 3, 4, 5
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def unreachable(table: NodeTable, labels: NodeLabels, spec: PodSpec) -> Ints:
    """For each node 0, or why it is out; the first reason in the order in which kube-scheduler asks."""
    reasons = np.zeros(table.size, dtype=np.int64)
    for code, mask in (
        (NODE_AFFINITY, ~affine(labels, spec)),
        (UNTOLERATED_TAINT, ~tolerated(table, spec.tolerations)),
        (CORDONED, _cordoned(table, spec.tolerations)),
        (GONE, table.gone[: table.size]),
    ):
        reasons[mask] = code
    return reasons


def affine(labels: NodeLabels, spec: PodSpec) -> Mask:
    """Nodes that the selector and the required node affinity allow."""
    mask = labels.matching(spec.node_selector)
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is not None and affinity.required is not None:
        mask &= labels.selected(affinity.required)
    return mask


def tolerated(table: NodeTable, tolerations: tuple[Toleration, ...]) -> Mask:
    """Nodes whose hard taints are all tolerated: asked once for each set of taints, not for each node."""
    allowed = np.array(
        [taints is None or not any(_untolerated(taints, tolerations)) for taints in table.taints.items], dtype=np.bool_
    )
    return allowed[table.taint_set[: table.size]]


def _untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Iterable[Taint]:
    return (
        taint
        for taint in taints
        if taint.effect != "PreferNoSchedule" and not any(tolerates(item, taint) for item in tolerations)
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return bool(toleration.key) and toleration.value == taint.value
        case "Lt" | "Gt":
            return _compares(toleration, taint)


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, number = parse_integer(toleration.value, 64), parse_integer(taint.value, 64)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _cordoned(table: NodeTable, tolerations: tuple[Toleration, ...]) -> Mask:
    if any(tolerates(item, _CORDON) for item in tolerations):
        return np.zeros(table.size, dtype=np.bool_)
    return table.unschedulable[: table.size].copy()
