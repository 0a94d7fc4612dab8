"""What is measured: the nodes and pods that are there, those that arrive, and what has to have come of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tests.kube.hollow import node

ARRIVES = "arrives"
"""The label of the pods that are waited for."""
_CPU = 4000
Object = dict[str, Any]


class Shape(NamedTuple):
    """One cluster, and who arrives in it."""

    title: str
    nodes: list[Object]
    there: list[Object]
    arrives: list[Object]
    evicts: int
    """How many have to leave for each that arrives."""

    @property
    def waits_for(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.arrives if each["kind"] == "Pod"}


def _pod(name: str, namespace: str, scheduler: str, cpu: int, *, memory: str = "500Mi", **spec: Any) -> Object:
    resources = {"requests": {"cpu": f"{cpu}m", "memory": memory}}
    container = {"name": "c", "image": "none", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def _arriving(pods: Iterable[Object]) -> list[Object]:
    return [{**pod, "metadata": {**pod["metadata"], "labels": {ARRIVES: "yes"}}} for pod in pods]


def _nodes(number: int) -> list[Object]:
    return [node(_node(index), cpu=f"{_CPU}m", memory="32Gi") for index in range(number)]


def _node(index: int) -> str:
    return f"node-{index:05d}"


def preemption_basic(number: int, namespace: str, scheduler: str) -> Shape:
    """As kube-scheduler's own benchmark of that name: every node is full, and each pod takes one whole."""
    low = [
        _pod(f"low-{index}-{each}", namespace, scheduler, 900, nodeName=_node(index))
        for index in range(number)
        for each in range(4)
    ]
    high = [_pod(f"high-{index}", namespace, scheduler, 3970, priorityClassName="high") for index in range(number)]
    return Shape(f"PreemptionBasic, {number:,} nodes", _nodes(number), low, _arriving(high), evicts=4)


def plain(number: int, namespace: str, scheduler: str) -> Shape:
    pods = [_pod(f"pod-{index}", namespace, scheduler, 100, memory="100Mi") for index in range(number)]
    return Shape(f"{number:,} pods on 1,000 empty nodes", _nodes(1000), [], _arriving(pods), evicts=0)


def gang(size: int, namespace: str, scheduler: str) -> Shape:
    low = [
        _pod(f"low-{index}-{each}", namespace, scheduler, 390, memory="100Mi", nodeName=_node(index))
        for index in range(size)
        for each in range(10)
    ]
    group: Object = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}, "priorityClassName": "high"},
    }
    member: Object = {"priorityClassName": "high", "schedulingGroup": {"podGroupName": "gang"}}
    members = [_pod(f"gang-{index}", namespace, scheduler, 3900, memory="100Mi", **member) for index in range(size)]
    title = f"a gang of {size} evicts {10 * size:,}"
    return Shape(title, _nodes(size), low, [group, *_arriving(members)], evicts=10)


Make = Callable[[str, str], Shape]
SHAPES: dict[str, Make] = {
    "preemption-500": lambda namespace, name: preemption_basic(500, namespace, name),
    "preemption-1000": lambda namespace, name: preemption_basic(1000, namespace, name),
    "preemption-5000": lambda namespace, name: preemption_basic(5000, namespace, name),
    "plain-5000": lambda namespace, name: plain(5000, namespace, name),
    "gang-100": lambda namespace, name: gang(100, namespace, name),
}
USUAL = ("preemption-500", "preemption-1000", "plain-5000", "gang-100")
LARGE = "preemption-5000"


def what_is_wrong(shape: Shape, pods: Sequence[Object]) -> list[str]:
    """All who arrived have a place, no node gives more than it has, and exactly those left who had to."""
    left = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}
    arrived = {name: left.get(name, "") for name in shape.waits_for}
    homeless = [name for name, place in arrived.items() if not place]
    gone = Counter(each["spec"]["nodeName"] for each in shape.there if each["metadata"]["name"] not in left)
    wanted = Counter({place: count * shape.evicts for place, count in Counter(arrived.values()).items() if place})
    over = [place for place, used in _used(pods).items() if used > _CPU]
    return [
        *([f"{len(homeless)} have no place, such as {homeless[0]}"] if homeless else []),
        *([f"{over[0]} and {len(over) - 1} others give more than they have"] if over else []),
        *([f"{(gone - wanted).total()} left who need not have"] if gone - wanted else []),
        *([f"{(wanted - gone).total()} did not leave who had to"] if wanted - gone else []),
    ]


def _used(pods: Sequence[Object]) -> Counter[str]:
    used: Counter[str] = Counter()
    for pod in pods:
        cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        used[pod["spec"].get("nodeName", "")] += int(cpu.removesuffix("m"))
    del used[""]
    return used
