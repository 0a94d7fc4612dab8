"""The Workload of a Job, and the Job of an admission: what is made of the one for the other, and back again.

1. The Workload keeps the Job's template and parallelism as they were: they are the original to come back to.
2. An admission adds the node labels and tolerations of its flavors to the template, and lowers the parallelism where
   only a part was admitted. Both are worked out from the original, so that doing it again changes nothing.
3. Restoring touches only what was added.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reprieve.controllers.quota.conditions import FINALIZER, admission_of
from reprieve.manifests import kueue
from reprieve.manifests.diagnosis import drop_nulls
from reprieve.manifests.kueue import workload_name
from reprieve.manifests.kueue_annotations import carried_annotations
from reprieve.manifests.kueue_topology import GATE, topology_request
from reprieve.manifests.priorities import parse_integer
from reprieve.stores.records import Record
from reprieve.stores.writing import Change, owner_reference

JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
_WISHES = (kueue.WAIT_BEFORE_PREEMPTION, kueue.ON_PREEMPTION, kueue.DISRUPTION_COST, kueue.PRIORITY_BOOST)
MAIN = "main"
Data = dict[str, Any]


def queue_of(record: Record) -> str:
    return record.labels.get(kueue.QUEUE_NAME_LABEL, "")


def job_count(spec: Data) -> int:
    """How many pods a Job runs at a time."""
    parallelism: int = spec.get("parallelism", 1)
    completions: int | None = spec.get("completions")
    return parallelism if completions is None else min(parallelism, completions)


def pods_done(data: Data, count: int) -> int:
    """Of so many pods at a time, those that a Job does not need any more for what it has still to do."""
    completions: int | None = data["spec"].get("completions")
    succeeded: int = data.get("status", {}).get("succeeded", 0)
    remaining = max(0, (count if completions is None else completions) - succeeded)
    return count - min(count, remaining)


def pods_left(data: Data) -> int:
    """How many pods a Job runs at a time from now on."""
    count = job_count(data["spec"])
    return count - pods_done(data, count)


def pod_set_of(name: str, count: int, template: Data) -> Data:
    """So many pods of a template, and where they want to be."""
    asked = topology_request((template.get("metadata") or {}).get("annotations") or {})
    return {"name": name, "count": count, "template": template, **({"topologyRequest": asked} if asked else {})}


def job_pod_set(job: Record) -> Data:
    spec = job.data["spec"]
    pod_set = pod_set_of(MAIN, job_count(spec), spec["template"])
    least = parse_integer(job.annotations.get(kueue.MINIMUM_PARALLELISM, ""), 32)
    if least is not None and 0 < least < pod_set["count"]:
        pod_set["minCount"] = least
    return pod_set


def replicated_job_pods(replicated: Data) -> Data:
    """The pods of all Jobs of a replicated job of a JobSet."""
    spec = replicated["template"]["spec"]
    return pod_set_of(replicated["name"], replicated.get("replicas", 1) * job_count(spec), spec["template"])


def job_set_workload(job_set: Record, pod_sets: list[Data], rank: Data) -> Data:
    """The Workload of a JobSet that waits."""
    return owned(make_workload(workload_name("jobset", job_set.name, job_set.uid), job_set, pod_sets, rank), job_set)


def stateful_set_pods(stateful_set: Record) -> Data:
    spec = stateful_set.data["spec"]
    return pod_set_of(MAIN, spec.get("replicas", 1), spec["template"])


def stateful_set_workload(stateful_set: Record, rank: Data) -> Data:
    """The Workload of a StatefulSet that waits."""
    name = kueue.stateful_set_workload(stateful_set.name)
    return owned(make_workload(name, stateful_set, [stateful_set_pods(stateful_set)], rank), stateful_set)


def job_workload(job: Record, rank: Data) -> Data:
    """The Workload of a Job that waits."""
    return owned(make_workload(workload_name("job", job.name, job.uid), job, [job_pod_set(job)], rank), job)


def owned(workload: Data, owner: Record) -> Data:
    """The same as that of an owner, which controls it."""
    workload["metadata"] |= {"labels": {JOB_UID_LABEL: owner.uid}, "ownerReferences": [owner_reference(owner)]}
    return workload


def make_workload(name: str, owner: Record, pod_sets: list[Data], rank: Data) -> Data:
    """The Workload of an object that waits, all but its owners."""
    said = carried_annotations(owner.annotations)
    metadata = {"name": name, "namespace": owner.namespace, "annotations": said, "finalizers": [FINALIZER]}
    spec = {"queueName": queue_of(owner), "podSets": pod_sets, **rank, **limits(owner)}
    return {"apiVersion": kueue.V1BETA2, "kind": "Workload", "metadata": metadata, "spec": spec}


def follow_owner(owner: Record, rank: Data | None) -> Change:
    """What a Workload takes over from its owner at any time: its priority, if known, and the annotations it carries.

    A wish that its owner no longer has goes; what others have written on the Workload stays.
    """
    said = carried_annotations(owner.annotations)

    def change(data: Data) -> None:
        before = data["metadata"].get("annotations", {})
        kept = {key: value for key, value in before.items() if key not in _WISHES}
        set_or_drop(data["metadata"], "annotations", {**kept, **said})
        if rank is not None:
            set_or_drop(data["spec"], "priorityClassRef", rank.get("priorityClassRef"))
            data["spec"]["priority"] = rank["priority"]

    return change


def limits(record: Record) -> dict[str, int]:
    """How long it may run, where its label says so."""
    seconds = parse_integer(record.labels.get(kueue.MAXIMUM_TIME_LABEL, ""), 32)
    return {"maximumExecutionTimeSeconds": seconds} if seconds is not None and seconds > 0 else {}


class JobPlacement(NamedTuple):
    """What an admission makes of the pods of one pod set."""

    node_selector: dict[str, str]
    tolerations: list[Data]
    pods: int | None
    """How many of them were admitted, where the admission says so."""
    held: bool = False
    """Whether each has to wait for a domain of its own, in a topology."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    """What admission checks add to them."""

    def into(self, template: Data, original: Data) -> None:
        """Send the pods of a template, or a pod, to the nodes of their flavors, with what admission checks add."""
        spec, known = template["spec"], original["spec"]
        set_or_drop(spec, "nodeSelector", {**known.get("nodeSelector", {}), **self.node_selector})
        tolerations = known.get("tolerations", [])
        set_or_drop(
            spec, "tolerations", [*tolerations, *(item for item in self.tolerations if item not in tolerations)]
        )
        gates = [{"name": GATE}] if self.held else []
        set_or_drop(spec, "schedulingGates", [*known.get("schedulingGates", []), *gates])
        for field, added in (("labels", self.labels), ("annotations", self.annotations)):
            if added:
                metadata = template.setdefault("metadata", {})
                metadata[field] = {**(metadata.get(field) or {}), **added}


def set_or_drop(data: Data, field: str, value: Any) -> None:
    """An empty value is none, unless it stands there as an empty one."""
    if value or (field in data and data[field] == value):
        data[field] = value
    else:
        data.pop(field, None)


def assignment_of(workload: Record, pod_set: str) -> Data:
    admission = admission_of(workload) or {}
    found = (each for each in admission.get("podSetAssignments", []) if each.get("name", MAIN) == pod_set)
    return next(found, {})


def flavors_of(workload: Record) -> list[str]:
    """All flavors that it was admitted on, each once."""
    assignments = (admission_of(workload) or {}).get("podSetAssignments", [])
    return list(dict.fromkeys(flavor for each in assignments for flavor in each.get("flavors", {}).values()))


def updates_of(workload: Record, pod_set: str) -> list[Data]:
    """What admission checks add to the pods of a set."""
    checks = workload.data.get("status", {}).get("admissionChecks") or ()
    return [each for check in checks for each in check.get("podSetUpdates") or () if each["name"] == pod_set]


def placement(assignment: Data, flavors: Iterable[Data], updates: Iterable[Data] = ()) -> JobPlacement:
    """Where an assignment to these flavors sends the pods of a pod set, and what is added to them."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    selector: dict[str, str] = {}
    tolerations: list[Data] = []
    for flavor in flavors:
        spec = flavor.get("spec", {})
        selector |= spec.get("nodeLabels", flavor.get("nodeSelector", {}))  # the first version has its labels elsewhere
        tolerations += (item for item in spec.get("tolerations", []) if item not in tolerations)
    for update in updates:
        selector |= update.get("nodeSelector") or {}
        tolerations += (item for item in update.get("tolerations") or () if item not in tolerations)
        labels |= update.get("labels") or {}
        annotations |= update.get("annotations") or {}
    held = "topologyAssignment" in assignment
    return JobPlacement(selector, tolerations, assignment.get("count"), held, labels, annotations)


def original(workload: Record, pod_set: str = MAIN) -> Data:
    """A pod set as it was before any admission."""
    found: Data = next(each for each in workload.data["spec"]["podSets"] if each.get("name", MAIN) == pod_set)
    return found


def placed_job(data: Data, pod_set: Data, place: JobPlacement) -> None:
    """Make of a Job what was admitted: smaller, where that is less than it still needs."""
    spec = data["spec"]
    place.into(spec["template"], pod_set["template"])
    if place.pods is not None and place.pods < pods_left(data):
        spec["parallelism"] = place.pods


def placed_template(job: Record, workload: Record, place: JobPlacement) -> Data:
    """The template of a Job as its admission makes it."""
    return placed(job.data["spec"]["template"], original(workload)["template"], place)


def placed(template: Data, was: Data, place: JobPlacement) -> Data:
    """A template as an admission makes it of what it was before."""
    made = {**template, "spec": dict(template["spec"])}
    if "metadata" in template:
        made["metadata"] = dict(template["metadata"])
    place.into(made, was)
    return made


def restored_job_spec(spec: Data, pod_set: Data, admitted: int | None, updates: Iterable[Data]) -> None:
    """Take back what was added; a parallelism that somebody else has set since stays."""
    kept = pod_set["template"]["spec"]
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        if field in kept:
            spec["template"]["spec"][field] = kept[field]
        else:
            spec["template"]["spec"].pop(field, None)
    for update in updates:
        for field in ("labels", "annotations"):
            _take_back(spec["template"], pod_set["template"], field, update.get(field) or {})
    if admitted is not None and admitted < pod_set["count"] and spec.get("parallelism") == admitted:
        spec["parallelism"] = pod_set["count"]


def _take_back(template: Data, kept: Data, field: str, added: Mapping[str, str]) -> None:
    """Without what a check has added to the labels or annotations of a template."""
    said = (kept.get("metadata") or {}).get(field) or {}
    metadata = template.get("metadata") or {}
    for key in added:
        if key not in said:
            (metadata.get(field) or {}).pop(key, None)
    if field in metadata and not metadata[field]:
        del metadata[field]


def same(one: Any, other: Any) -> bool:
    """Whether two parts of manifests say the same: null is as good as nothing."""
    return bool(one == other or drop_nulls(one) == drop_nulls(other))
