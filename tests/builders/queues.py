"""Manifests of YuniKorn's queues and of the pods in them, with only what the test is about.

queues(tree("prod", cpu=3), tree("test", cpu=2))
in_queue("prod-1", "root.prod", node="n1")
in_queue("ask", "root.prod", cpu="2")
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.manifests.loading import load_objects
from reprieve.planning.result import Decision, decision
from reprieve.policies.entry import Asked
from reprieve.policies.registry import Policies
from reprieve.world import World, microseconds
from tests.builders.pods import Dict, config_map, pod, without_nothing

Search = Literal["Best", "Design"]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = "2026-01-01T12:00:00Z"
OPTED_OUT = {"yunikorn.apache.org/allow-preemption": "false"}


def tree(
    name: str,
    *children: Dict,
    cpu: float | None = None,
    memory: str | None = None,
    pods: int | None = None,
    most: Dict | None = None,
    **more: Any,
) -> Dict:
    """A queue that guarantees `cpu`, `memory`, `pods` and uses `most` at most; properties by name, with _ for a dot."""
    numbers = {name: None if units is None else str(units) for name, units in (("vcore", cpu), ("pods", pods))}
    guaranteed = without_nothing(memory=memory, **numbers)
    template = more.pop("template", None)
    properties = {key.replace("_", "."): str(value) for key, value in more.items()}
    bounds = without_nothing(guaranteed=guaranteed, max=most)
    return without_nothing(
        name=name,
        parent=bool(children) or template is not None or None,
        resources=bounds,
        properties=properties,
        childtemplate=template,
        queues=list(children),
    )


def queues(*below_root: Dict, root: Dict | None = None, **preemption: Any) -> Dict:
    """The ConfigMap with a tree; `enabled` and `quotapreemptionenabled` are the partition's."""
    top = {"name": "root", **(root or {}), "queues": list(below_root)}
    partition = without_nothing(name="default", preemption=preemption, queues=[top])
    return config_map("yunikorn-configs", {"queues.yaml": json.dumps({"partitions": [partition]})}, "yunikorn")


def in_queue(
    name: str, queue: str, *, app: str | None = None, minutes: float = 60, daemon_on: str | None = None, **fields: Any
) -> Dict:
    """A pod of a queue, created so many minutes ago; its application is named after its queue if nobody says."""
    labels = {"queue": queue, "applicationId": app or queue.rpartition(".")[2], **fields.pop("labels", {})}
    fields.setdefault("cpu", "1")
    item = pod(name, labels=labels, created=ago(minutes), **fields)
    if daemon_on:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [daemon_on]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        item["spec"].setdefault("affinity", {})["nodeAffinity"] = required
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ds", "uid": "ds", "controller": True}
        item["metadata"]["ownerReferences"] = [owner]
    return item


def ago(minutes: float) -> str:
    return (NOON - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def decide(*objects: Any, preemptor: str = "ask", search: Search | None = None) -> Decision:
    """The decision over manifests and lists of them; the ledger must be afterwards what it was before."""
    policies = policies_over(
        [each for item in objects for each in (item if isinstance(item, list) else [item])], search
    )
    return decision(decide_for(policies, preemptor, at()))


def victims(decision: Decision) -> list[str]:
    return sorted(short(victim["unit"]) for victim in decision.victims)


def rules(decision: Decision) -> dict[str, str]:
    """By which rule each one stays."""
    return {short(item["unit"]): item["rule"] for item in decision.spared}


def short(unit: str) -> str:
    return unit.removeprefix("Pod/default/")


def policies_over(objects: list[Dict], search: Search | None = None) -> Policies:
    """All policies, over a world that may change."""
    return Policies(World(load_objects(objects).objects), Settings(validate=True, search=search))


def decide_for(policies: Policies, pod: str, now: int) -> Plan:
    found = policies.find(Asked("Pod", "default", pod))
    assert found is not None
    return policies.decide(found, now)


def at(minutes: float = 0) -> int:
    """So many minutes after noon."""
    return microseconds(NOON + timedelta(minutes=minutes))
