"""What YuniKorn reads and nothing here goes by: told by name, so that nobody counts on it."""

from collections.abc import Iterator

import msgspec

from reprieve.manifests import yunikorn
from reprieve.manifests.admission import yunikorn_task_groups
from reprieve.manifests.admission.yunikorn_task_groups import of_task_groups
from reprieve.manifests.core import ConfigMap
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.problems import Finding, found, join_path

_FREE = ("", yunikorn.EVERYBODY)
"""Access lists that keep nobody out, or are not there."""
_READ = (yunikorn.POLICY_GROUP,)
ANNOTATIONS = yunikorn_task_groups.ANNOTATIONS | {yunikorn.USER_INFO, yunikorn.IGNORE_APPLICATION}
"""Of pods."""
_OF_NAMESPACES = "yunikorn.apache.org/namespace."
_ABOUT_PODS = ("generateAppId", "enableYuniKorn")


def of_partition(path: str, partition: yunikorn.Partition) -> Iterator[Finding]:
    if partition.statedumpfilepath:
        yield _none(f"{path}.statedumpfilepath", "no state is dumped")
    if partition.userauth is not None:
        yield _none(f"{path}.userauth", "users are whom a pod's annotation or label names")


def of_queue(path: str, queue: yunikorn.Queue, *, root: bool) -> Iterator[Finding]:
    for name in ("submitacl", "adminacl"):
        if getattr(queue, name).strip() not in _FREE:
            yield _none(f"{path}.{name}", "whoever may create pods may use every queue")
    if queue.maxrunningapps:
        yield _none(f"{path}.maxrunningapps", "maxapplications is what limits applications")
    if not queue.leaf and "application.sort.policy" in queue.properties:
        place = join_path(f"{path}.properties", "application.sort.policy")
        yield _none(place, "queues below it take turns by their shares; only leaves sort applications")
    if not root and "application.sort.priority" in queue.properties:
        place = join_path(f"{path}.properties", "application.sort.priority")
        yield _none(place, "only root says whether priorities decide first")


def of_config_map(config_map: ConfigMap) -> Iterator[Finding]:
    """Settings of YuniKorn's own service and admission controller."""
    if config_map.name not in yunikorn.CONFIG_MAPS:
        return
    text = yunikorn.queues_key(config_map.data)
    for name in config_map.data:
        if name not in _READ and name != text:
            yield _none(join_path("$.data", name), "only the queues, and which of them, are read from here")
    for name in config_map.binary_data:
        yield _none(join_path("$.binaryData", name), "what is compressed is not read; queues are text in $.data")


def of_pod(meta: ObjectMeta) -> Iterator[Finding]:
    """YuniKorn's annotations of pods."""
    yield from of_task_groups(meta)
    said = meta.annotations.get(yunikorn.USER_INFO)
    if said:
        try:
            yunikorn.read_user_info(said)
        except msgspec.MsgspecError:
            right = 'allowed: JSON such as {"user": "sue", "groups": ["dev"]}; it counts as user nobody'
            place = join_path("$.metadata.annotations", yunikorn.USER_INFO)
            yield Finding(place, found(said), right, severity="warning")
    if yunikorn.IGNORE_APPLICATION in meta.annotations:
        place = join_path("$.metadata.annotations", yunikorn.IGNORE_APPLICATION)
        yield _none(place, "a pod belongs to the application that it names")


def of_namespace(meta: ObjectMeta) -> Iterator[Finding]:
    """YuniKorn's annotations of namespaces."""
    for name in meta.annotations:
        if name.startswith(_OF_NAMESPACES):
            bounds = not name.endswith(_ABOUT_PODS)
            instead = "a childtemplate gives queues that are made their bounds" if bounds else "every pod is in a queue"
            yield _none(join_path("$.metadata.annotations", name), instead)


def _none(path: str, instead: str) -> Finding:
    return Finding(path, "no effect", instead, severity="warning")
