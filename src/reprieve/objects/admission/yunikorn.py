"""YuniKorn's queue configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reprieve.objects.admission.metadata import check_unique
from reprieve.objects.admission.neighbours import Neighbours
from reprieve.objects.problems import Finding, did_you_mean, found, join_path, one_of
from reprieve.objects.yunikorn import (
    DEFAULT_DELAY_SECONDS,
    ROOT,
    VCORE,
    Limit,
    Partition,
    Queue,
    QueueConfiguration,
    parse_duration,
)
from reprieve.resources import CPU, NOTHING, Resources, print_amount

_QUEUE_NAME = re.compile(r"[a-zA-Z0-9_:#/@\-]{1,64}", re.ASCII)
_PROPERTIES = {
    "preemption.policy": ("default", "fence", "disabled"),
    "priority.policy": ("default", "fence"),
    "application.sort.policy": ("fifo", "fair", "stateaware"),
    "application.sort.priority": ("enabled", "disabled"),
}
_OFFSET = re.compile(r"[+-]?\d{1,10}", re.ASCII)


def check(configuration: QueueConfiguration, _: Neighbours) -> Iterator[Finding]:
    yield from check_unique("$.partitions", [partition.name for partition in configuration.partitions])
    for index, partition in enumerate(configuration.partitions):
        yield from _check_partition(f"$.partitions[{index}]", partition)


def _check_partition(path: str, partition: Partition) -> Iterator[Finding]:
    yield from _check_limits(f"{path}.limits", partition.limits)
    # A single root may be left out; then the queues listed are its children.
    named = [queue for queue in partition.queues if queue.name.lower() == ROOT]
    if named and len(partition.queues) > 1:
        right = "allowed: one root with all other queues below it, or no root at all"
        yield Finding(f"{path}.queues", "root beside other queues", right)
    yield from _check_names(path, partition.queues)
    for index, queue in enumerate(partition.queues):
        place = f"{path}.queues[{index}]"
        root = queue in named
        yield from _check_queue(place, queue, root=root)
        yield from _check_tree(place, queue, NOTHING)[1]


def _check_names(path: str, queues: tuple[Queue, ...]) -> Iterator[Finding]:
    yield from check_unique(f"{path}.queues", [queue.name.lower() for queue in queues])
    for index, queue in enumerate(queues):
        if not _QUEUE_NAME.fullmatch(queue.name):
            right = "allowed: 1 to 64 letters, digits, _, -, :, #, / and @"
            yield Finding(f"{path}.queues[{index}].name", found(queue.name), right)


def _check_queue(path: str, queue: Queue, *, root: bool = False) -> Iterator[Finding]:
    if root and queue.resources.max:
        right = "allowed: nothing, the maximum of root is what the nodes have"
        yield Finding(f"{path}.resources.max", "set on root", right)
    yield from _check_properties(f"{path}.properties", queue.properties, leaf=queue.leaf, root=root)
    if queue.childtemplate is not None:
        place = f"{path}.childtemplate.properties"
        yield from _check_properties(place, queue.childtemplate.properties, leaf=True, root=False)
    yield from _check_limits(f"{path}.limits", queue.limits)
    yield from _check_names(path, queue.queues)
    for index, child in enumerate(queue.queues):
        yield from _check_queue(f"{path}.queues[{index}]", child)


def _check_properties(path: str, properties: dict[str, str], *, leaf: bool, root: bool) -> Iterator[Finding]:
    for name, options in _PROPERTIES.items():
        value = properties.get(name)
        if value is None or value.lower() in options or (root and name == "preemption.policy"):
            continue
        yield Finding(join_path(path, name), found(value), one_of(options), did_you_mean(value, options))
    offset = properties.get("priority.offset")
    if offset is not None and not _OFFSET.fullmatch(offset):
        yield Finding(join_path(path, "priority.offset"), found(offset), 'allowed: a whole number, such as "100"')
    if leaf:
        yield from _check_delay(path, properties)


def _check_delay(path: str, properties: dict[str, str]) -> Iterator[Finding]:
    """The design: a delay that is no duration, or not above zero, counts as the default."""
    delay = properties.get("preemption.delay")
    seconds = parse_duration(delay) if delay is not None else DEFAULT_DELAY_SECONDS
    if seconds is None or seconds <= 0:
        right = f"a duration above 0 such as 45s or 1m30s; {DEFAULT_DELAY_SECONDS:.0f}s is used"
        yield Finding(join_path(path, "preemption.delay"), found(delay), right, severity="warning")


def _check_limits(path: str, limits: tuple[Limit, ...]) -> Iterator[Finding]:
    for index, limit in enumerate(limits):
        place = f"{path}[{index}]"
        if not limit.users and not limit.groups:
            yield Finding(place, "names neither users nor groups", "allowed: at least one of them")
        if not limit.maxresources and not limit.maxapplications:
            yield Finding(place, "limits nothing", "allowed: maxresources, maxapplications, or both")


def _check_tree(path: str, queue: Queue, above: Resources) -> tuple[Resources, list[Finding]]:
    """Guarantees and maxima down one branch; gives what the branch guarantees in all.

    A guarantee fits in the queue's maximum and in those above it; what the children guarantee fits in the queue's own.
    """
    findings: list[Finding] = []
    maximum = queue.resources.max or NOTHING
    guaranteed = queue.resources.guaranteed or NOTHING
    findings += _check_within(f"{path}.resources.max", maximum, above, "the maximum of its parent")
    bound = Resources({**above, **maximum})
    own = "its maximum" if maximum else "the maximum of its parent"
    findings += _check_within(f"{path}.resources.guaranteed", guaranteed, bound, own)
    total = NOTHING
    for index, child in enumerate(queue.queues):
        branch, below = _check_tree(f"{path}.queues[{index}]", child, bound)
        findings += below
        total += branch
    findings += _check_within(f"{path}.queues", total, bound, f"the maximum of {queue.name}", "guarantee in all")
    if guaranteed:
        findings += _check_within(
            f"{path}.queues", total, guaranteed, f"the guarantee of {queue.name}", "guarantee in all"
        )
    return guaranteed or total, findings


def _check_within(path: str, inner: Resources, outer: Resources, what: str, verb: str = "found") -> list[Finding]:
    """Only resources that both sides name can be too large."""
    return [
        Finding(
            join_path(path, _written(name)) if verb == "found" else path,
            f"{verb} {_written(name)} {print_amount(name, units)}",
            f"allowed: at most {what}, {print_amount(name, outer[name])}",
        )
        for name, units in inner.items()
        if name in outer and units > outer[name]
    ]


def _written(name: str) -> str:
    return VCORE if name == CPU else name


RULES: dict[type, Any] = {QueueConfiguration: check}
