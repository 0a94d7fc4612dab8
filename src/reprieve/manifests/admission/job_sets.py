"""JobSets: what would be refused, and what of them has no effect here."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.admission.metadata import check_dns_label, check_unique
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.pods import check_pod_spec
from reprieve.manifests.job_sets import JobSet
from reprieve.manifests.problems import Finding, did_you_mean, found


def check_job_set(job_set: JobSet, _: Neighbours) -> Iterator[Finding]:
    spec, path = job_set.spec, "$.spec.replicatedJobs"
    names = [each.name for each in spec.replicated_jobs]
    yield from check_unique(path, names)
    for index, each in enumerate(spec.replicated_jobs):
        yield from check_dns_label(f"{path}[{index}].name", each.name)
        yield from check_pod_spec(f"{path}[{index}].template.spec.template.spec", each.template.spec.template.spec)
        for number, other in enumerate(each.depends_on):
            if other.name not in names[:index]:
                right = "allowed: a replicated job that stands before it"
                place = f"{path}[{index}].dependsOn[{number}].name"
                yield Finding(place, found(other.name), right, did_you_mean(other.name, names[:index]))
    for number, name in enumerate(spec.success_policy.target_replicated_jobs):
        if name not in names:
            place = f"$.spec.successPolicy.targetReplicatedJobs[{number}]"
            yield Finding(place, found(name), "allowed: a name of replicatedJobs", did_you_mean(name, names))
    yield from _without_effect(job_set)


def _without_effect(job_set: JobSet) -> Iterator[Finding]:
    policy = job_set.spec.failure_policy
    said = {"rules": bool(policy.rules), "restartStrategy": policy.restart_strategy not in ("", "Recreate")}
    for name, there in said.items():
        if there:
            message = "it has no effect in the control plane of Reprieve: a Job that fails restarts all, or fails all"
            yield Finding(f"$.spec.failurePolicy.{name}", message, "", "", "warning")


RULES: dict[type, Any] = {JobSet: check_job_set}
