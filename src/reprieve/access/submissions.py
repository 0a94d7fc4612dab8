"""What somebody with the role `submit` may not ask for, in what it may write.

1. A priority above its bound, by number or by class, anywhere in the object; by the global default, too, of what names
   no class and has no number yet. A class that is not there could be made later with any value, so it has to be there.
2. A node: who runs where is decided, not asked for.
3. What the control plane writes down about its own decisions: somebody who could write that could have others evicted.
4. To be another user in the queues of YuniKorn.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from reprieve.access.identities import Identity
from reprieve.agents.hollow.nodes import EXIT_CODE, RUN_SECONDS, TERMINATION_SECONDS
from reprieve.manifests.kinds import PODS, PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from reprieve.manifests.kueue import DISRUPTION_COST, ON_PREEMPTION, WAIT_BEFORE_PREEMPTION
from reprieve.manifests.lost_work import CHECKPOINT
from reprieve.manifests.resource import Resource
from reprieve.manifests.yunikorn import USER_INFO, USERNAME, read_user_info
from reprieve.stores.errors import forbidden
from reprieve.stores.records import Record
from reprieve.texts import access as texts

Data = Mapping[str, Any]
ValueOf = Callable[[Resource, str], int | None]
"""The value of a class; None: there is no such class."""
_OWN = "reprieve.scheduling/"
_USERS = (
    RUN_SECONDS,
    TERMINATION_SECONDS,
    EXIT_CODE,
    CHECKPOINT,
    DISRUPTION_COST,
    ON_PREEMPTION,
    WAIT_BEFORE_PREEMPTION,
)
_CLASSES = {
    "priorityClassName": PRIORITY_CLASSES,
    "preemptionPriorityClassName": PRIORITY_CLASSES,
    "workloadPriorityClassName": WORKLOAD_PRIORITY_CLASSES,
}
DEFAULT_CLASS = ""
"""By this name whoever knows the classes knows the global default, if there is one."""
_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
_USUAL_POLICY = "PreemptLowerPriority"
_DEEPEST = 12


def check_submission(identity: Identity, after: Record, before: Record | None, value_of: ValueOf) -> None:
    """Refuse what an object, as it would be written, must not say; what it said before is not held against it."""
    words, known = plane_words(after.metadata), plane_words(before.metadata) if before is not None else {}
    for key in words.keys() | known.keys():
        if words.get(key) != known.get(key):
            raise forbidden(after.resource, after.name, texts.plane_writes(key))
    old = set(_objections(identity, before, value_of, new=False)) if before is not None else set()
    for why in _objections(identity, after, value_of, new=before is None):
        if why not in old:
            raise forbidden(after.resource, after.name, why)


def plane_words(metadata: Data) -> dict[str, str]:
    """The annotations in which the control plane notes what it has decided, and labels of its own."""
    said = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return {key: value for key, value in said.items() if key.startswith(_OWN) and key not in _USERS}


def check_class(identity: Identity, after: Record) -> None:
    """A PriorityClass that is no more than the name of a number, as `reprieve submit --priority` makes it."""
    value = after.data.get("value")
    plain = {"apiVersion", "kind", "metadata", "value", "preemptionPolicy"} >= after.data.keys()
    name = f"priority-{value}" if isinstance(value, int) and value >= 0 else f"priority-minus-{-(value or 0)}"
    usual = after.data.get("preemptionPolicy", _USUAL_POLICY) == _USUAL_POLICY
    if not (plain and usual) or after.metadata.get("annotations") or after.name != name:
        raise forbidden(after.resource, after.name, texts.only_numbers(identity.name))
    if isinstance(value, int) and value > identity.max_priority:
        raise forbidden(after.resource, after.name, texts.priority_above(identity.name, value, identity.max_priority))


def _objections(identity: Identity, record: Record, value_of: ValueOf, *, new: bool) -> Iterator[str]:
    for field, value in _fields(record.data.get("spec") or {}, 0):
        yield from _about_priority(identity, field, value, value_of)
    for spec in _waits_for_a_class(record):
        yield from _about_default(identity, spec, value_of)
    if record.resource is not PODS or new:
        yield from (texts.NO_NODE for spec in _pod_specs(record) if spec.get("nodeName"))
    for metadata in _metadata(record):
        yield from _about_metadata(identity, metadata, value_of)


def _fields(data: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """All fields, wherever they stand: kinds have their priorities in many places."""
    if depth > _DEEPEST:
        return
    if isinstance(data, Mapping):
        yield from data.items()
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    for part in parts:
        yield from _fields(part, depth + 1)


def _about_priority(identity: Identity, field: str, value: Any, value_of: ValueOf) -> Iterator[str]:
    found: int | None = None
    if field == "priority" and isinstance(value, int):
        found = value
    elif field in _CLASSES and isinstance(value, str) and value:
        found = value_of(_CLASSES[field], value)
        if found is None:
            yield texts.no_such_class(_CLASSES[field].kind, value)
    if found is not None and found > identity.max_priority:
        yield texts.priority_above(identity.name, found, identity.max_priority)


def _about_default(identity: Identity, spec: Data, value_of: ValueOf) -> Iterator[str]:
    """Who names no class gets the global default when it is made, by whomever."""
    found = value_of(PRIORITY_CLASSES, DEFAULT_CLASS)
    if not spec.get("priorityClassName") and found is not None and found > identity.max_priority:
        yield texts.default_above(identity.name, found, identity.max_priority)


def _waits_for_a_class(record: Record) -> Iterator[Data]:
    """What has no number yet, and will get one: templates of pods and of groups, and what a Workload asks for."""
    if record.resource is WORKLOADS:
        yield from _templates_of_groups(record.data.get("spec") or {})
    elif record.resource is not PODS:
        yield from _pod_specs(record)


def _templates_of_groups(spec: Data) -> Iterator[Data]:
    inner = [spec.get(name) or [] for name in ("podGroupTemplates", "compositePodGroupTemplates")]
    templates = [each for some in inner if isinstance(some, list) for each in some if isinstance(each, Mapping)]
    if not templates or spec.get("priorityClassName"):
        yield spec
        return
    for each in templates:
        yield each
        if "compositePodGroupTemplates" in each or "podGroupTemplates" in each:
            yield from _templates_of_groups(each)


def _pod_specs(record: Record) -> Iterator[Data]:
    spec = record.data.get("spec") or {}
    if record.resource is PODS:
        yield spec
    template = spec.get("template")
    if isinstance(template, Mapping):
        yield template.get("spec") or {}


def _metadata(record: Record) -> Iterator[Data]:
    yield record.metadata
    template = (record.data.get("spec") or {}).get("template")
    if isinstance(template, Mapping):
        yield template.get("metadata") or {}


def _about_metadata(identity: Identity, metadata: Data, value_of: ValueOf) -> Iterator[str]:
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    yield from (texts.plane_writes(key) for key in plane_words(metadata))
    if labels.get(_CLASS_LABEL):
        yield from _about_priority(identity, "workloadPriorityClassName", labels[_CLASS_LABEL], value_of)
    named = {labels[USERNAME]} if USERNAME in labels else set()
    if USER_INFO in annotations:
        named.add(_user_in(annotations[USER_INFO]))
    yield from (texts.other_user(identity.name, user) for user in sorted(named - {identity.name}))


def _user_in(text: str) -> str:
    try:
        return read_user_info(text)[0]
    except msgspec.MsgspecError:
        return ""
