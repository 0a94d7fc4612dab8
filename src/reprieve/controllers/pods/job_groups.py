"""The Workload and the PodGroup of a Job that says how it is scheduled (`spec.scheduling`, gate WorkloadWithJob).

1. They are made before the first pod, and are owned by the Job: they go when it goes.
2. A Job that had pods before anybody asked for a group, whose pods name a group themselves, or that another controller
   owns, is left alone.
3. A gang needs as many pods as it says, else as many as the Job runs at a time. When that changes, both follow.
"""

import hashlib
from typing import Any

from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import POD_GROUPS, WORKLOADS
from reprieve.stores.records import Record
from reprieve.stores.writing import controller_of, controller_uid, owner_reference

Data = dict[str, Any]
TEMPLATE = "pods"
_LONGEST_NAME = 253
_HASH = 5


async def group_of(controller: BaseController, job: Record, *, started: bool) -> str:
    """The name of the PodGroup that the pods of a Job name; empty: they stand for themselves."""
    if not _asks_for_group(job):
        return ""
    workload = await _own(controller, WORKLOADS, job)
    if workload is None:
        if started:
            return ""
        workload = await controller.create(WORKLOADS, _workload(job))
    group = await _own(controller, POD_GROUPS, job) or await controller.create(POD_GROUPS, _pod_group(job))
    await _follow(controller, job, workload, group)
    return group.name


def _asks_for_group(job: Record) -> bool:
    spec = job.data["spec"]
    named = spec["template"]["spec"].get("schedulingGroup")
    return bool(spec.get("scheduling")) and not named and controller_of(job) is None


async def _own(controller: BaseController, resource: Any, job: Record) -> Record | None:
    found = await controller.find(resource, job.namespace, _name(job))
    return found if found is not None and controller_uid(found) == job.uid else None


def _name(job: Record) -> str:
    """The same each time for the same Job, another one for its successor of the same name."""
    digest = hashlib.sha256(job.uid.encode()).hexdigest()[:_HASH]
    return f"{job.name[: _LONGEST_NAME - _HASH - 1].rstrip('-.')}-{digest}"


def _policy(job: Record) -> Data:
    said: Data = job.data["spec"]["scheduling"].get("schedulingPolicy") or {"basic": {}}
    if "gang" not in said:
        return said
    least = said["gang"].get("minCount", job.data["spec"].get("parallelism", 1))
    return {"gang": {"minCount": max(least, 1)}}


def _group_spec(job: Record) -> Data:
    spec, scheduling = job.data["spec"], job.data["spec"]["scheduling"]
    taken = ("schedulingConstraints", "disruptionMode", "resourceClaims")
    said = {name: scheduling[name] for name in taken if name in scheduling}
    class_name = spec["template"]["spec"].get("priorityClassName")
    return {"schedulingPolicy": _policy(job), **said, **({"priorityClassName": class_name} if class_name else {})}


def _owned(job: Record, resource: Any, spec: Data) -> Data:
    about = {"name": _name(job), "namespace": job.namespace, "ownerReferences": [owner_reference(job)]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": about, "spec": spec}


def _workload(job: Record) -> Data:
    reference = {"apiGroup": "batch", "kind": job.resource.kind, "name": job.name}
    return _owned(
        job, WORKLOADS, {"controllerRef": reference, "podGroupTemplates": [{"name": TEMPLATE, **_group_spec(job)}]}
    )


def _pod_group(job: Record) -> Data:
    reference = {"workloadName": _name(job), "templateName": TEMPLATE}
    return _owned(job, POD_GROUPS, {"workloadRef": reference, **_group_spec(job)})


async def _follow(controller: BaseController, job: Record, workload: Record, group: Record) -> None:
    """The smallest number is all of a group that may change."""
    wanted = _policy(job)
    if "gang" not in wanted:
        return

    def of_template(data: Data) -> None:
        data["spec"]["podGroupTemplates"][0]["schedulingPolicy"] = wanted

    def of_group(data: Data) -> None:
        data["spec"]["schedulingPolicy"] = wanted

    await controller.modify(workload, of_template)
    await controller.modify(group, of_group)
