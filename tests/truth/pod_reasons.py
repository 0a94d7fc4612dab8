"""Why pods are said to go or to stay, looked up in the manifests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.reasons.reach import named
from tests.reasons.worlds import NOW, Dict, World
from tests.reference.cluster import condition, moment, priority_of, read
from tests.reference.decision import ANNOTATION
from tests.truth.compare import Check, differs
from tests.truth.pods import Ground, class_of, microseconds


def _own(world: World, said: Dict) -> tuple[Dict, Any]:
    return named(world.objects, said["unit"]), read(world.objects)


def by_priority(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    pod, cluster = _own(world, said)
    facts = said["facts"]
    lower = facts["priority"] < facts["preemptorPriority"]
    wrong = differs(lower=((said.get("reason") == "LowerPriority"), lower))
    if world.policy == "pod" and not said.get("group") and not _grouped(pod):
        wrong = wrong or differs(
            priority=(facts["priority"], priority_of(cluster, pod)),
            preemptor=(facts["preemptorPriority"], priority_of(cluster, named(world.objects, world.preemptor))),
        )
    return wrong


def _grouped(pod: Dict) -> bool:
    return bool(pod["spec"].get("schedulingGroup") or pod["spec"].get("workloadRef"))


def tolerates(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    facts, cluster = said["facts"], read(world.objects)
    pod = named(world.objects, facts.get("member") or said["unit"])
    item = cluster.classes[facts["className"]]
    annotations = item["metadata"].get("annotations", {})
    minimum = int(annotations.get(f"{ANNOTATION}minimum-preemptable-priority", item["value"] + 1))
    seconds = int(annotations.get(f"{ANNOTATION}toleration-seconds", "0"))
    scheduled = condition(pod, "PodScheduled")
    timed = seconds >= 0 and scheduled is not None and scheduled["status"] == "True"
    end = moment(scheduled["lastTransitionTime"]) + timedelta(seconds=seconds) if timed and scheduled else None
    return differs(
        class_name=(facts["className"], class_of(pod)),
        minimum=(facts["minimum"], minimum),
        below=(True, facts["preemptorPriority"] < minimum),
        until=(facts.get("until"), None if end is None else microseconds(end)),
        lasts=(True, end is None or end > moment(NOW)),
    )


def unknown_class(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    facts = said["facts"]
    pod = named(world.objects, facts.get("member") or said["unit"])
    exists = facts["className"] in read(world.objects).classes
    return differs(class_name=(facts["className"], class_of(pod)), exists=(False, exists))


def unreadable(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    facts, cluster = said["facts"], read(world.objects)
    pod = named(world.objects, facts.get("member") or said["unit"])
    doubt = Ground(world, pod).decision.in_doubt(facts["className"]) and facts["className"] in cluster.classes
    return differs(class_name=(facts["className"], class_of(pod)), doubt=(True, doubt))


def left_out(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    """A pod on a node that its group runs on, too, has a class of which nobody knows what it tolerates."""
    facts = said["facts"]
    pod, spared = named(world.objects, facts["pod"]), named(world.objects, said["unit"])
    return differs(
        node=(facts["node"], pod["spec"]["nodeName"]),
        class_name=(facts["className"], class_of(pod)),
        doubt=(True, Ground(world, pod).decision.in_doubt(facts["className"])),
        grouped=(True, _grouped(spared)),
    )


def above_minimum(world: World, decision: Dict, said: Dict) -> str:  # noqa: ARG001
    facts = said["facts"]
    tops = [victim["facts"]["priority"] for victim in decision["victims"]]
    return differs(above=(True, facts["priority"] > facts["minimum"]), enough=(True, max(tops) <= facts["minimum"]))


def cheaper_elsewhere(world: World, decision: Dict, said: Dict) -> str:
    """By the criterion that decided, the chosen place is not worse than that of the one who was spared."""
    facts, costs = said["facts"], decision["candidates"]
    chosen, other = costs.get(decision["domain"]), costs.get(said["domain"])
    if facts["domain"] != decision["domain"]:
        return f"{decision['domain']} was chosen"
    if chosen is None or other is None:
        return ""
    values = [_value(world, facts["criterion"], cost) for cost in (chosen, other)]
    return "" if None in values or values[0] <= values[1] else f"there it is {values[1]}, and here {values[0]}"  # type: ignore[operator]


def _value(world: World, criterion: str, cost: Dict) -> int | None:
    cluster = read(world.objects)
    found = [named(world.objects, unit) for unit in cost["victims"]]
    if world.policy not in ("pod", "podgroup") or any(map(_grouped, found)):
        return len(found) if criterion == "FewestVictims" else None
    priorities = [priority_of(cluster, pod) for pod in found]
    return {
        "FewestBudgetViolations": cost["pdbViolations"],
        "LowestHighestPriority": max(priorities),
        "FewestVictims": len(found),
    }.get(criterion)


REASONS: dict[str, Check] = {
    "LowerPriority": by_priority,
    "Priority": by_priority,
    "Toleration": tolerates,
    "UnknownPriorityClass": unknown_class,
    "UnreadableToleration": unreadable,
    "NodeLeftOut": left_out,
    "MinimalPriority": above_minimum,
    "CheaperElsewhere": cheaper_elsewhere,
}
