"""What agents and controllers read besides what policies decide over: read here once, so that nobody stumbles later.

The typed manifests hold what decisions need. A container's command, a Job's limits and an object's finalizers are not
among that, but whoever runs the container must be able to trust them.
"""

from collections.abc import Iterator
from typing import Any, Literal

from reprieve.manifests import core, pods
from reprieve.manifests.core import IntOrPercent, scaled
from reprieve.manifests.diagnosis import mended
from reprieve.manifests.meta import Count, LabelSelector, Manifest, Model, ObjectMeta, PositiveCount, Reader
from reprieve.manifests.problems import Finding, found

RestartPolicy = Literal["Always", "OnFailure", "Never"]


class Metadata(ObjectMeta):
    finalizers: tuple[str, ...] = ()


class Served(Manifest):
    """Any object."""

    metadata: Metadata = Metadata()


class ServedVariable(Model):
    name: str
    value: str = ""


class ServedContainer(Model):
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[ServedVariable, ...] = ()


class ServedPodSpec(Model):
    containers: tuple[ServedContainer, ...] = ()
    init_containers: tuple[ServedContainer, ...] = ()
    restart_policy: RestartPolicy | None = None
    active_deadline_seconds: PositiveCount | None = None


class ServedPod(Served):
    spec: ServedPodSpec = ServedPodSpec()


class Template(Model):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServedPodSpec = ServedPodSpec()


class ServedJobSpec(Model):
    template: Template = Template()
    backoff_limit: Count | None = None
    active_deadline_seconds: Count | None = None
    ttl_seconds_after_finished: Count | None = None
    completion_mode: Literal["NonIndexed", "Indexed"] | None = None
    manual_selector: bool = False
    selector: LabelSelector | None = None


class ServedJob(Served):
    spec: ServedJobSpec = ServedJobSpec()


class RollingUpdate(Model):
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None


class UpdateStrategy(Model):
    """How pods of a new template replace the old ones: of DaemonSets, and of StatefulSets."""

    type: Literal["", "RollingUpdate", "OnDelete"] = ""
    rolling_update: RollingUpdate | None = None


class ServedControllerSpec(Model):
    selector: LabelSelector | None = None
    update_strategy: UpdateStrategy | None = None
    min_ready_seconds: Count = 0
    template: Template = Template()


class ServedController(Served):
    kind: str = ""
    spec: ServedControllerSpec = ServedControllerSpec()


class NamespaceSpec(Model):
    finalizers: tuple[str, ...] = ()


class ServedNamespace(Served):
    spec: NamespaceSpec = NamespaceSpec()


_MANY = 100
"""Of so many nodes any percentage is a whole number."""
_ANY = Reader("", "", Served)
# By the type that policies read: whoever reads a kind as that one reads it as this one, too.
_READERS: dict[type[Manifest], Reader] = {
    pods.Pod: Reader("", "Pod", ServedPod),
    core.Namespace: Reader("", "Namespace", ServedNamespace),
    core.Job: Reader("", "Job", ServedJob),
    core.Controller: Reader("", "Controller", ServedController),
}


def type_of(written: type[Any]) -> Any:
    """What agents and controllers read an object as; None: it is no object of a server."""
    return _READERS.get(written, _ANY).written if issubclass(written, Manifest) else None


def has_rules(written: type[Any]) -> bool:
    """Whether more can be wrong with such an object than the type of a field."""
    return written in (core.Job, core.Controller)


def mistakes(data: dict[str, Any], written: type[Manifest]) -> list[Finding]:
    """All that agents and controllers could not read, or could not act on, in an object that is read as `written`."""
    reader = _READERS.get(written, _ANY)
    findings, served = mended(data, reader)
    if isinstance(served, ServedJob):
        findings += _check_job(served)
    elif isinstance(served, ServedController):
        findings += _check_controller(served)
    return findings


def _check_job(job: ServedJob) -> list[Finding]:
    if job.spec.template.spec.restart_policy == "Always":
        right = "allowed: Never, OnFailure; a Job ends when its pods do"
        return [Finding("$.spec.template.spec.restartPolicy", found("Always"), right)]
    return []


def _check_controller(controller: ServedController) -> list[Finding]:
    """A controller that does not find the pods it makes would make more and more of them."""
    selector, labels = controller.spec.selector, controller.spec.template.metadata.labels
    if (selector is None and not labels) or (selector is not None and selector.empty):
        return [Finding("$.spec.selector", "missing", "it must select the labels of the template")]
    if selector is not None and not selector.matches(labels):
        right = "allowed: labels that the selector selects"
        return [Finding("$.spec.template.metadata.labels", "not selected by spec.selector", right)]
    return [*_check_update(controller)]


def _check_update(controller: ServedController) -> Iterator[Finding]:
    """A DaemonSet takes old pods away first, or puts new ones beside them: one of both, and not neither."""
    strategy = controller.spec.update_strategy
    if controller.kind != "DaemonSet" or strategy is None or strategy.rolling_update is None:
        return
    where, said = "$.spec.updateStrategy.rollingUpdate", strategy.rolling_update
    unavailable = 1 if said.max_unavailable is None else scaled(said.max_unavailable, _MANY)
    surge = scaled(said.max_surge or 0, _MANY)
    if surge and said.max_unavailable is not None and unavailable:
        yield Finding(f"{where}.maxSurge", found(said.max_surge), "allowed: 0, beside a maxUnavailable that is not 0")
    if not surge and not unavailable:
        right = "allowed: more than 0, unless maxSurge is: else no pod could ever be replaced"
        yield Finding(f"{where}.maxUnavailable", found(said.max_unavailable), right)
