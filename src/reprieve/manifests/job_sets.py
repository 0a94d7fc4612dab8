"""JobSets (jobset.x-k8s.io/v1alpha2): several Jobs that begin, fail and end together."""

from typing import Any, Literal

from msgspec import field

from reprieve.manifests.core import JobSpec
from reprieve.manifests.meta import Condition, Count, Manifest, Model, ObjectMeta

GROUP = "jobset.sigs.k8s.io"
NAME, UID, REPLICATED_JOB = (f"{GROUP}/{each}" for each in ("jobset-name", "jobset-uid", "replicatedjob-name"))
"""Labels of the Jobs and pods of a JobSet."""


class JobTemplate(Model):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec


class DependsOn(Model):
    name: str
    status: Literal["Ready", "Complete"]


class ReplicatedJob(Model):
    name: str
    template: JobTemplate
    replicas: Count = 1
    depends_on: tuple[DependsOn, ...] = ()


class SuccessPolicy(Model):
    operator: Literal["All", "Any"] = "All"
    target_replicated_jobs: tuple[str, ...] = ()


class FailurePolicy(Model):
    max_restarts: Count = 0
    rules: tuple[dict[str, Any], ...] = ()
    restart_strategy: str = ""


class StartupPolicy(Model):
    order: Literal["AnyOrder", "InOrder"] = field(name="startupPolicyOrder", default="AnyOrder")


class JobSetSpec(Model):
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    suspend: bool = False
    success_policy: SuccessPolicy = SuccessPolicy()
    failure_policy: FailurePolicy = FailurePolicy()
    startup_policy: StartupPolicy = StartupPolicy()
    ttl_seconds_after_finished: Count | None = None
    managed_by: str = ""


class ReplicatedJobStatus(Model):
    name: str
    ready: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    active: Count = 0
    suspended: Count = 0


class JobSetStatus(Model):
    conditions: tuple[Condition, ...] = ()
    restarts: Count = 0
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class JobSet(Manifest):
    api_version: Literal["jobset.x-k8s.io/v1alpha2"] = "jobset.x-k8s.io/v1alpha2"
    kind: Literal["JobSet"] = "JobSet"
    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()
