"""Queues, applications and nodes as YuniKorn's REST API tells them, with its field names.

As there, cpu is `vcore` in thousandths, memory is in bytes, times are nanoseconds since 1970, and what is empty is left
out. What Reprieve does not keep is left out, too: the log of an application's states, the most that it ever used, and
what becomes of placeholders.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from reprieve.engine.nodes.reservations import is_reserved
from reprieve.manifests.core import Node
from reprieve.manifests.meta import Condition, find_condition
from reprieve.manifests.yunikorn import VCORE, ChildTemplate
from reprieve.model.resources import CPU, NOTHING, Resources
from reprieve.planning.queue_figures import (
    ApplicationFigures,
    QueueFigures,
    QueueSurvey,
    application_of,
    is_preempted,
)
from reprieve.policies.queue.pods import required_node
from reprieve.world import PodFacts, microseconds

Data = dict[str, Any]
CLUSTER = "reprieve"
_NOBODY = "nobody"
_USER, _USER_INFO = "yunikorn.apache.org/username", "yunikorn.apache.org/user.info"


class YunikornAnswers:
    """What is answered about one survey."""

    def __init__(self, survey: QueueSurvey) -> None:
        self._survey = survey
        self.partition = survey.partition.name

    # Partitions and queues

    def partition_info(self) -> Data:
        used = self._survey.queues["root"].used
        total = self._survey.total
        states = Counter(app.state for app in self._survey.applications.values())
        return _kept(
            clusterId=CLUSTER,
            name=self.partition,
            capacity=_kept(capacity=_amounts(total), usedCapacity=_amounts(used), utilization=_shares(used, total)),
            nodeSortingPolicy={"type": "fair"},
            preemptionEnabled=self._survey.preemption,
            totalNodes=len(self._survey.nodes),
            applications={**states, "total": len(self._survey.applications)},
            totalContainers=self._survey.queues["root"].running,
            state="Active",
        )

    def tree(self) -> Data:
        return self.queue("root") or {}

    def queue(self, name: str, *, subtree: bool = True) -> Data | None:
        """One queue, with all below it or with their names only; None: there is none of that name."""
        figures = self._survey.queues.get(name.lower())
        return self._queue(figures, subtree=subtree) if figures is not None else None

    def _queue(self, figures: QueueFigures, *, subtree: bool) -> Data:
        node, configured = figures.node, figures.configured
        most = self._survey.maximum(node)
        below = list(self._survey.below(node))
        return _kept(
            queuename=node.name,
            status="Active",
            partition=self.partition,
            pendingResource=_amounts(figures.pending),
            maxResource=_amounts(most),
            guaranteedResource=_amounts(node.guaranteed or NOTHING),
            allocatedResource=_amounts(figures.used),
            preemptingResource=_amounts(figures.preempting),
            headroom=_amounts(self._survey.headroom(node)),
            isLeaf=figures.leaf,
            isManaged=configured is not None,
            properties=dict(configured.properties) if configured is not None else {},
            parent=node.parent.name if node.parent is not None else "",
            template=_template(node.template),
            children=[self._queue(each, subtree=True) for each in below] if subtree else [],
            childNames=[each.name for each in below],
            absUsedCapacity=_shares(figures.used, most),
            maxRunningApps=configured.maxapplications if configured is not None else 0,
            runningApps=sum(bool(app.running) for app in self._in(node.name)),
            currentPriority=figures.priority or 0,
            preemptionEnabled=not node.disabled,
            isPreemptionFence=node.fenced,
            preemptionDelay=f"{node.delay:g}s",
            isPriorityFence=node.priority_fence,
            priorityOffset=node.offset,
        )

    # Applications

    def _in(self, queue: str) -> list[ApplicationFigures]:
        """The applications of a queue and of all below it."""
        found = self._survey.applications.values()
        return [app for app in found if f"{app.queue}.".startswith(f"{queue}.")]

    def applications(self, *, queue: str = "", active: bool = True, state: str = "") -> list[Data] | None:
        """Those that have pods which run or wait, or those that have ended, in the whole partition or in one queue;
        None: there is no such queue."""
        if queue and queue.lower() not in self._survey.queues:
            return None
        found = (app for app in self._survey.applications.values() if queue.lower() in ("", app.queue))
        asked = (app for app in found if app.active == active and state.lower() in ("", app.state.lower()))
        return [self._application(app) for app in asked]

    def application(self, name: str, queue: str = "") -> Data | None:
        found = self._survey.applications.values()
        named = [app for app in found if app.name == name and queue.lower() in ("", app.queue)]
        return self._application(named[0]) if named else None

    def _application(self, app: ApplicationFigures) -> Data:
        ended = [each for facts in app.pods if (each := _finished(facts)) is not None] if not app.active else []
        return _kept(
            applicationID=app.name,
            usedResource=_amounts(app.used),
            pendingResource=_amounts(app.pending),
            partition=self.partition,
            queueName=app.queue,
            submissionTime=app.pods[0].created * 1000,
            finishedTime=max(ended, default=0),
            requests=[self._request(facts) for facts in app.pods if facts.pending],
            allocations=[self._allocation(facts) for facts in app.pods if facts.node],
            applicationState=app.state,
            user=user_of(app.pods[0].pod.metadata.labels, app.pods[0].pod.metadata.annotations),
            hasReserved=bool(app.reservations),
            reservations=app.reservations,
            maxRequestPriority=max((facts.priority for facts in app.pods if facts.pending), default=0),
        )

    def _pod(self, facts: PodFacts) -> Data:
        return {
            "allocationKey": facts.pod.metadata.uid or facts.unit,
            "allocationTags": _tags(facts),
            "requestTime": facts.created * 1000,
            "resource": _amounts(facts.requests),
            "priority": str(facts.priority),
            "applicationId": application_of(facts),
            "originator": self._survey.leads(facts),
        }

    def _allocation(self, facts: PodFacts) -> Data:
        scheduled = _scheduled(facts)
        placed = _since(scheduled) if scheduled is not None and scheduled.status == "True" else 0
        return _kept(
            **self._pod(facts),
            allocationTime=placed,
            allocationDelay=max(0, placed - facts.created * 1000) if placed else 0,
            nodeId=facts.node,
            preempted=is_preempted(facts),
        )

    def _request(self, facts: PodFacts) -> Data:
        scheduled = _scheduled(facts)
        said = {"message": scheduled.message, "lastOccurrence": _since(scheduled), "count": 1} if scheduled else {}
        return _kept(
            **self._pod(facts),
            requiredNodeId=required_node(facts) or "",
            allocationLog=[said] if said.get("message") else [],
            triggeredPreemption=is_reserved(facts),
            schedulingAttempted=scheduled is not None,
        )

    # Nodes

    def nodes(self) -> list[Data]:
        return [self._node(node) for node in self._survey.nodes]

    def _node(self, node: Node) -> Data:
        here = self._survey.on_node.get(node.name, [])
        allocated, occupied = NOTHING, self._survey.elsewhere.get(node.name, NOTHING)
        for facts in here:
            allocated += facts.requests
        left = {name: units - allocated.of(name) - occupied.of(name) for name, units in node.allocatable.items()}
        held = sorted(self._survey.reserved.get(node.name, ()))
        return _kept(
            nodeID=node.name,
            hostName=node.metadata.labels.get("kubernetes.io/hostname", ""),
            attributes=dict(node.metadata.labels),
            capacity=_amounts(node.allocatable),
            allocated=_amounts(allocated),
            occupied=_amounts(occupied),
            available=_units(left),
            utilized=_shares(allocated + occupied, node.allocatable),
            allocations=[self._allocation(facts) for facts in here],
            schedulable=not node.spec.unschedulable,
            isReserved=bool(held),
            reservations=held,
        )


_ALWAYS = {
    *("allocationKey", "applicationID", "clusterId", "name", "nodeID", "partition", "queueName", "queuename"),
    *("capacity", "currentPriority", "isLeaf", "isManaged", "isPreemptionFence", "isPriorityFence", "isReserved"),
    *("preemptionEnabled", "schedulable"),
}
"""Fields that YuniKorn tells also when they are empty."""


def _kept(**fields: Any) -> Data:
    return {name: value for name, value in fields.items() if value or name in _ALWAYS}


def _amounts(resources: Resources) -> dict[str, int]:
    return _units(resources)


def _units(amounts: Mapping[str, int]) -> dict[str, int]:
    """In YuniKorn's words: cpu is vcore."""
    return {VCORE if name == CPU else name: units for name, units in sorted(amounts.items())}


def _shares(used: Resources, most: Resources) -> dict[str, int]:
    """How many per cent of what there is are used."""
    return _units({name: used.of(name) * 100 // units for name, units in most.items() if units and name in used})


def _template(template: ChildTemplate | None) -> Data:
    if template is None:
        return {}
    return _kept(
        maxApplications=template.maxapplications,
        maxResource=_amounts(template.resources.max or NOTHING),
        guaranteedResource=_amounts(template.resources.guaranteed or NOTHING),
        properties=dict(template.properties),
    )


def _tags(facts: PodFacts) -> dict[str, str]:
    namespace, name = facts.key
    labels = {f"kubernetes.io/label/{key}": value for key, value in sorted(facts.pod.metadata.labels.items())}
    return {**labels, "kubernetes.io/meta/namespace": namespace, "kubernetes.io/meta/podName": name}


def user_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Whose a pod is, as far as it says; whoever says nothing is nobody."""
    try:
        said = msgspec.json.decode(annotations.get(_USER_INFO, "{}"))
    except msgspec.DecodeError:
        said = {}
    told = said.get("user") if isinstance(said, dict) else None
    return str(told or labels.get(_USER) or _NOBODY)


def _scheduled(facts: PodFacts) -> Condition | None:
    return find_condition(facts.pod.status.conditions, "PodScheduled")


def _since(condition: Condition) -> int:
    return _nanoseconds(condition.last_transition_time)


def _finished(facts: PodFacts) -> int | None:
    moments = [each.last_transition_time for each in facts.pod.status.conditions if each.type == "Ready"]
    return _nanoseconds(moments[0]) if moments and moments[0] is not None else None


def _nanoseconds(moment: datetime | None) -> int:
    return microseconds(moment, 0) * 1000


def names_of(trees: Iterable[Data]) -> dict[str, Data]:
    """All queues of some trees, by name."""
    found: dict[str, Data] = {}
    for tree in trees:
        found[tree["queuename"]] = tree
        found |= names_of(tree.get("children", ()))
    return found
