"""What is wrong with the annotations that make a gang of an application's pods.

YuniKorn goes on without a gang then, and so it is here: they are warnings.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from reprieve.manifests import yunikorn_task_groups as task_groups
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.problems import Finding, found, join_path, one_of
from reprieve.manifests.yunikorn import APPLICATION_NAMES, TASK_GROUP_NAME, TASK_GROUPS

ANNOTATIONS = frozenset((TASK_GROUPS, TASK_GROUP_NAME, task_groups.PARAMETERS))
_EXAMPLE = '[{"name": "workers", "minMember": 3, "minResource": {"cpu": "1"}}]'


def of_task_groups(meta: ObjectMeta, path: str = "$.metadata.annotations") -> Iterator[Finding]:
    """Of a pod, or of a template that pods are made from."""
    if ANNOTATIONS.isdisjoint(meta.annotations):
        return iter(())
    return (replace(finding, field=join_path(path, finding.field)) for finding in _of_annotations(meta))


def _of_annotations(meta: ObjectMeta) -> Iterator[Finding]:
    said, name = meta.annotations.get(TASK_GROUPS, ""), meta.annotations.get(TASK_GROUP_NAME, "")
    groups: tuple[task_groups.TaskGroup, ...] = ()
    try:
        groups = task_groups.read_task_groups(said) if said else ()
    except task_groups.BadTaskGroups as error:
        yield _warn(TASK_GROUPS, f"no gang: {error}", f"it must be JSON such as {_EXAMPLE}")
    names = [group.name for group in groups]
    if name and names and name not in names:
        yield _warn(TASK_GROUP_NAME, found(name), one_of(names))
    if (said or name) and not any(meta.labels.get(key) or meta.annotations.get(key) for key in APPLICATION_NAMES):
        yield _warn(TASK_GROUPS if said else TASK_GROUP_NAME, "no gang: the pod names no application", _named())
    for pair, right in task_groups.unusable_parameters(meta.annotations.get(task_groups.PARAMETERS, "")):
        yield _warn(task_groups.PARAMETERS, found(pair), f"it must be {right}")


def _named() -> str:
    return f"name one with the label {APPLICATION_NAMES[0]} or {APPLICATION_NAMES[1]}"


def _warn(annotation: str, message: str, right: str) -> Finding:
    return Finding(annotation, message, right, severity="warning")
