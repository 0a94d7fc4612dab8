"""YuniKorn's queue configuration."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reprieve.manifests import yunikorn
from reprieve.manifests.admission import yunikorn_without_effect as without_effect
from reprieve.manifests.admission.metadata import check_unique
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.yunikorn_limits import check_limits
from reprieve.manifests.admission.yunikorn_limits import check_tree as check_limit_tree
from reprieve.manifests.admission.yunikorn_placement import check_rules
from reprieve.manifests.core import ConfigMap, Namespace
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, one_of
from reprieve.model.resources import CPU, NOTHING, Resources, print_amount

_PROPERTIES = {
    "preemption.policy": ("default", "fence", "disabled"),
    "priority.policy": ("default", "fence"),
    "application.sort.policy": ("fifo", "fair", "stateaware"),
    "application.sort.priority": ("enabled", "disabled"),
}
_SORT = "application.sort.policy"
_QUOTA_DELAY = "quota.preemption.delay"
_NODE_SORTS = ("", "fair", "binpacking")
_KNOWN = (*_PROPERTIES, "preemption.delay", "priority.offset", _QUOTA_DELAY)
_OFFSET = re.compile(r"[+-]?\d{1,10}", re.ASCII)


def check(configuration: yunikorn.QueueConfiguration, _: Neighbours) -> Iterator[Finding]:
    if not configuration.partitions:
        yield Finding("$.partitions", "found []", "it must be a list of at least 1")
    yield from check_unique("$.partitions", [partition.name for partition in configuration.partitions])
    used = yunikorn.used_partition(configuration)
    for index, partition in enumerate(configuration.partitions):
        yield from _check_partition(f"$.partitions[{index}]", partition)
        if used is not None and partition.name.lower() != used.name.lower():
            instead = f"only the partition {used.name} is used"
            yield Finding(f"$.partitions[{index}]", "no effect", instead, severity="warning")


def _check_partition(path: str, partition: yunikorn.Partition) -> Iterator[Finding]:
    yield from check_limits(f"{path}.limits", partition.limits)
    yield from check_rules(path, partition)
    yield from _check_node_sort(f"{path}.nodesortpolicy", partition.nodesortpolicy)
    yield from without_effect.of_partition(path, partition)
    if not partition.queues:
        yield Finding(f"{path}.queues", "missing", "it must be a list of at least 1")
    # A single root may be left out; then the queues listed are its children.
    named = [queue for queue in partition.queues if queue.name.lower() == yunikorn.ROOT]
    if named and len(partition.queues) > 1:
        right = "allowed: one root with all other queues below it, or no root at all"
        yield Finding(f"{path}.queues", "root beside other queues", right)
    yield from _check_names(path, partition.queues)
    for index, queue in enumerate(partition.queues):
        place = f"{path}.queues[{index}]"
        root = queue in named
        yield from _check_queue(place, queue, root=root)
        yield from _check_tree(place, queue, NOTHING)[1]
        yield from check_limit_tree(place, queue)


def _check_names(path: str, queues: tuple[yunikorn.Queue, ...]) -> Iterator[Finding]:
    yield from check_unique(f"{path}.queues", [queue.name.lower() for queue in queues])
    for index, queue in enumerate(queues):
        if not yunikorn.QUEUE_NAME.fullmatch(queue.name):
            right = "allowed: 1 to 64 letters, digits, _, -, :, #, / and @"
            yield Finding(f"{path}.queues[{index}].name", found(queue.name), right)


def _check_queue(path: str, queue: yunikorn.Queue, *, root: bool = False) -> Iterator[Finding]:
    if root and queue.resources.max:
        right = "allowed: nothing, the maximum of root is what the nodes have"
        yield Finding(f"{path}.resources.max", "set on root", right)
    yield from _check_properties(f"{path}.properties", queue.properties, leaf=queue.leaf, root=root)
    if queue.childtemplate is not None:
        place = f"{path}.childtemplate"
        yield from _check_properties(f"{place}.properties", queue.childtemplate.properties, leaf=True, root=False)
        yield from _check_bounds(f"{place}.resources", queue.childtemplate.resources)
    yield from check_limits(f"{path}.limits", queue.limits)
    yield from without_effect.of_queue(path, queue, root=root)
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
    yield from _check_quota_delay(path, properties)
    if properties.get(_SORT, "").lower() == "stateaware":
        yield Finding(join_path(path, _SORT), found(properties[_SORT]), "the same as fifo", severity="warning")
    for name in properties:
        if name not in _KNOWN:
            yield Finding(join_path(path, name), "no such property", "ignored", did_you_mean(name, _KNOWN), "warning")


def _check_delay(path: str, properties: dict[str, str]) -> Iterator[Finding]:
    """The design: a delay that is no duration, or not above zero, counts as the default."""
    delay = properties.get("preemption.delay")
    seconds = yunikorn.parse_duration(delay) if delay is not None else yunikorn.DEFAULT_DELAY_SECONDS
    if seconds is None or seconds <= 0:
        right = f"allowed: a duration above 0 such as 45s or 1m30s; {yunikorn.DEFAULT_DELAY_SECONDS:.0f}s is used"
        yield Finding(join_path(path, "preemption.delay"), found(delay), right, severity="warning")


def _check_quota_delay(path: str, properties: dict[str, str]) -> Iterator[Finding]:
    """Zero is allowed here: it is how quota preemption is switched off."""
    delay = properties.get(_QUOTA_DELAY)
    seconds = yunikorn.parse_duration(delay) if delay is not None else 0
    if seconds is None or seconds < 0:
        right = "allowed: a duration such as 45s or 1m30s; this queue's quota is not enforced by preemption"
        yield Finding(join_path(path, _QUOTA_DELAY), found(delay), right, severity="warning")


def _check_node_sort(path: str, policy: yunikorn.NodeSortPolicy) -> Iterator[Finding]:
    if policy.type.lower() not in _NODE_SORTS:
        yield Finding(f"{path}.type", found(policy.type), one_of(_NODE_SORTS), did_you_mean(policy.type, _NODE_SORTS))
    for name, weight in policy.resourceweights.items():
        if weight < 0:
            yield Finding(join_path(f"{path}.resourceweights", name), found(weight), "allowed: 0 or more")


def _check_tree(path: str, queue: yunikorn.Queue, above: Resources) -> tuple[Resources, list[Finding]]:
    """Guarantees and maxima down one branch; gives what the branch guarantees in all.

    A guarantee fits in the queue's maximum and in those above it; what the children guarantee fits in the queue's own.
    What is too large in itself counts as no more than it may be: one mistake, one finding.
    """
    maximum = queue.resources.max or NOTHING
    guaranteed = queue.resources.guaranteed or NOTHING
    findings = _check_within(f"{path}.resources.max", maximum, above, "the maximum of its parent")
    findings += _check_bounds(f"{path}.resources", queue.resources)
    findings += _check_within(
        f"{path}.resources.guaranteed", _without(guaranteed, maximum), above, "the maximum of its parent"
    )
    bound = _smaller({**above, **maximum}, above)
    total = NOTHING
    for index, child in enumerate(queue.queues):
        branch, below = _check_tree(f"{path}.queues[{index}]", child, bound)
        findings += below
        total += branch
    findings += _check_children(f"{path}.queues", total, queue, _smaller(guaranteed, bound), bound)
    return _smaller({**total, **guaranteed}, bound), findings


def _check_bounds(path: str, bounds: yunikorn.Bounds) -> list[Finding]:
    guaranteed, maximum = bounds.guaranteed or NOTHING, bounds.max or NOTHING
    return _check_within(f"{path}.guaranteed", guaranteed, maximum, "its maximum")


def _check_children(
    path: str, total: Resources, queue: yunikorn.Queue, guaranteed: Resources, bound: Resources
) -> Iterator[Finding]:
    """What the children guarantee in all; where the queue has a guarantee of its own, that is the bound to meet."""
    own = queue.resources.max or NOTHING
    for name, units in total.items():
        what, most = ("guarantee of", guaranteed) if name in guaranteed else ("maximum of", bound)
        if name in most and units > most[name]:
            what = what if name in guaranteed or name in own else "maximum above"
            message = f"guarantee {print_amount(name, units)} {_written(name)} in all"
            right = f"allowed: at most the {what} {queue.name}, {print_amount(name, most[name])}"
            yield Finding(path, message, right)


def _check_within(path: str, inner: Resources, outer: Resources, what: str) -> list[Finding]:
    """Only resources that both sides name can be too large."""
    return [
        Finding(
            join_path(path, _written(name)),
            f"found {print_amount(name, units)}",
            f"allowed: at most {what}, {print_amount(name, outer[name])}",
        )
        for name, units in inner.items()
        if name in outer and units > outer[name]
    ]


def _smaller(amounts: Mapping[str, int], bound: Resources) -> Resources:
    return Resources({name: min(units, bound.get(name, units)) for name, units in amounts.items()})


def _without(amounts: Resources, other: Resources) -> Resources:
    return Resources({name: units for name, units in amounts.items() if name not in other})


def _written(name: str) -> str:
    return yunikorn.VCORE if name == CPU else name


def _check_config_map(config_map: ConfigMap, _: Neighbours) -> Iterator[Finding]:
    yield from without_effect.of_config_map(config_map)


def _check_namespace(namespace: Namespace, _: Neighbours) -> Iterator[Finding]:
    yield from without_effect.of_namespace(namespace.metadata)


RULES: dict[type, Any] = {
    yunikorn.QueueConfiguration: check,
    ConfigMap: _check_config_map,
    Namespace: _check_namespace,
}
