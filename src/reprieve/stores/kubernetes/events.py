"""Events as events.k8s.io has them: the core API's are the same objects in an older form, which is on its way out."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

API = "/apis/events.k8s.io/v1"
_ACTIONS = {
    "Scheduled": "Binding",
    "FailedScheduling": "Scheduling",
    "Preempting": "Preempting",
    "Preempted": "Preempting",
    "NominationLost": "Preempting",
}
_OTHERWISE = "Scheduling"


def path(namespace: str, name: str = "") -> str:
    return "/".join(filter(None, (f"{API}/namespaces/{namespace}/events", name)))


def in_new_form(event: Mapping[str, Any], instance: str) -> dict[str, Any]:
    """A core event as one of events.k8s.io; `instance` is who of several replicas says it."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": _named(event["metadata"]),
        "regarding": event["involvedObject"],
        "type": event["type"],
        "reason": event["reason"],
        "note": event["message"],
        "action": _ACTIONS.get(event["reason"], _OTHERWISE),
        "eventTime": _precisely(event["firstTimestamp"]),
        "reportingController": event["reportingComponent"],
        "reportingInstance": event.get("reportingInstance") or instance,
    }


def _named(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """In the new form the beginning of a name that the server completes may not end with a dot: so it is completed."""
    beginning = metadata.get("generateName", "")
    if not beginning.endswith("."):
        return metadata
    rest = {key: value for key, value in metadata.items() if key != "generateName"}
    return {**rest, "name": f"{beginning}{uuid4().hex[:16]}"}


def counted(patch: Mapping[str, Any]) -> dict[str, Any]:
    """One more of the same: a series, in the new form."""
    return {"series": {"count": patch["count"], "lastObservedTime": _precisely(patch["lastTimestamp"])}}


def _precisely(moment: str) -> str:
    """Whole seconds, as the new form writes moments."""
    return moment if "." in moment else f"{moment.removesuffix('Z')}.000000Z"
