"""Which priority a quota workload gets from the object that it is made for.

1. The label kueue.x-k8s.io/priority-class names a WorkloadPriorityClass.
2. Else the pods' own PriorityClass counts, or the global default where they name none.
3. Else it is 0. A class that is named and missing is an error: nobody is queued at a rank that was not meant.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reprieve.manifests.priorities import PriorityClasses
from reprieve.stores.caches import Cache
from reprieve.stores.records import Record

PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
_GROUPS = {"WorkloadPriorityClass": "kueue.x-k8s.io", "PriorityClass": "scheduling.k8s.io"}
ClassName = tuple[str, str]
"""Kind and name of a class."""


class ClassMissing(Exception):
    """The class that an object names does not exist."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name}")
        self.kind, self.name = kind, name


class Rank(NamedTuple):
    """A priority, and the class that it comes from."""

    value: int
    kind: str = ""
    name: str = ""

    def spec(self) -> dict[str, Any]:
        """As the spec of a workload says it."""
        if not self.name:
            return {"priority": self.value}
        reference = {"group": _GROUPS[self.kind], "kind": self.kind, "name": self.name}
        return {"priority": self.value, "priorityClassRef": reference}


def class_named(record: Record, pod_spec: dict[str, Any]) -> ClassName:
    """The class that decides; an empty name means the global default."""
    label = record.labels.get(PRIORITY_CLASS_LABEL, "")
    if label:
        return "WorkloadPriorityClass", label
    return "PriorityClass", pod_spec.get("priorityClassName", "")


def class_key(record: Record) -> Iterator[ClassName]:
    """How a class itself is named in an index of those who name one; any may be the global default."""
    yield record.resource.kind, record.name
    if record.resource.kind == "PriorityClass":
        yield "PriorityClass", ""


def rank_of(wanted: ClassName, own: Cache, classes: Cache) -> Rank:
    """`own` are WorkloadPriorityClasses, `classes` Kubernetes' own."""
    kind, name = wanted
    if kind == "WorkloadPriorityClass":
        found = own.get(name)
        if found is None:
            raise ClassMissing(kind, name)
        return Rank(found.manifest.value, kind, name)
    resolved = PriorityClasses(record.manifest for record in classes).resolve(name)
    if not resolved.found:
        raise ClassMissing(kind, name)
    return Rank(resolved.value, kind if resolved.class_name else "", resolved.class_name)
