"""What the controllers of Jobs and of pods in queues have in common: their classes, their flavors, their end.

Which priority a Workload gets from the object that it is made for:

1. The label kueue.x-k8s.io/priority-class names a WorkloadPriorityClass.
2. Else the pods' own PriorityClass counts, or the global default where they name none.
3. Else it is 0. A class that is named and missing is an error: nobody is queued at a rank that was not meant.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from reprieve.controllers.pods.templates import TemplateController
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import shapes
from reprieve.manifests.kinds import PRIORITY_CLASSES, QUOTA_WORKLOADS, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from reprieve.manifests.kueue import PRIORITY_CLASS_LABEL
from reprieve.manifests.kueue_annotations import unreadable
from reprieve.manifests.priorities import PriorityClasses
from reprieve.model.clock import Clock
from reprieve.stores.errors import Invalid
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts

ClassName = tuple[str, str]
"""Kind and name of a class."""


def class_named(record: Record, pod_spec: Mapping[str, Any]) -> ClassName:
    """The class that decides; an empty name means the global default."""
    label = record.labels.get(PRIORITY_CLASS_LABEL, "")
    if label:
        return WORKLOAD_PRIORITY_CLASSES.kind, label
    return PRIORITY_CLASSES.kind, pod_spec.get("priorityClassName", "")


def rank_of(kind: str, name: str, own_classes: Iterable[Record], classes: Iterable[Record]) -> shapes.Data | None:
    """A priority and the class that it comes from, as the spec of a workload says them; None: it is missing."""
    if kind == WORKLOAD_PRIORITY_CLASSES.kind:
        own = next((record for record in own_classes if record.name == name), None)
        if own is None:
            return None
        value, group = own.manifest.value, "kueue.x-k8s.io"
    else:
        resolved = PriorityClasses(record.manifest for record in classes).resolve(name)
        if not resolved.found:
            return None
        value, name, group = resolved.value, resolved.class_name, "scheduling.k8s.io"
    reference = {"group": group, "kind": kind, "name": name}
    return {"priority": value, **({"priorityClassRef": reference} if name else {})}


class QuotaOwners(TemplateController):
    """Makes Workloads for objects that name a queue."""

    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._told: set[tuple[str, str, str]] = set()
        """What was wrong with whom: it is told once."""
        self._own_classes = self.watch(WORKLOAD_PRIORITY_CLASSES, self._of_class)
        self._classes = self.watch(PRIORITY_CLASSES, self._of_class)
        self._flavors = self.watch(RESOURCE_FLAVORS, lambda flavor: self.on_flavor(flavor.name))

    def naming(self, class_name: ClassName) -> Iterable[Hashable]:
        """The keys of all whose priority a class decides."""
        raise NotImplementedError

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        """The keys of all who were admitted on a flavor."""
        raise NotImplementedError

    def _of_class(self, record: Record) -> Iterable[Hashable]:
        """Those who name a class; any PriorityClass may be the global default of those who name none."""
        names = (record.name, "") if record.resource == PRIORITY_CLASSES else (record.name,)
        return [key for name in names for key in self.naming((record.resource.kind, name))]

    async def rank(self, owner: Record, wanted: ClassName) -> shapes.Data | None:
        """The priority that an object asks for; None: its class is missing, and it is told so."""
        rank = rank_of(*wanted, self._own_classes, self._classes)
        if rank is None:
            await self.warn(owner, "PriorityClassNotFound", texts.class_missing(*wanted))
        return rank

    async def placement(self, owner: Record, workload: Record, pod_set: str) -> shapes.JobPlacement | None:
        """Where the pods of an admitted pod set go; None: a flavor is missing, and the owner is told so."""
        assignment = shapes.assignment_of(workload, pod_set)
        flavors = []
        for name in dict.fromkeys(assignment.get("flavors", {}).values()):
            flavor = self._flavors.get(name)
            if flavor is None:
                await self.warn(owner, "FlavorNotFound", texts.flavor_gone(name))
                return None
            flavors.append(flavor.data)
        return shapes.placement(assignment, flavors, shapes.updates_of(workload, pod_set))

    async def ask(self, owner: Record, workload: Mapping[str, Any]) -> None:
        """Make the Workload of an object; what is wrong with it is told the object."""
        for name, right in unreadable(owner.annotations).items():
            await self.warn(owner, "AnnotationIgnored", texts.annotation_ignored(name, right))
        try:
            made = await self.create(QUOTA_WORKLOADS, workload)
        except Invalid as error:
            await self.warn(owner, "Inadmissible", texts.workload_refused(str(error)))
        else:
            await self.tell(owner, "CreatedWorkload", texts.workload_made(made.unit, shapes.queue_of(owner)))

    async def warn(self, owner: Record, reason: str, message: str) -> None:
        if (owner.uid, reason, message) not in self._told:
            self._told.add((owner.uid, reason, message))
            await self.tell(owner, reason, message, kind="Warning")

    async def tell_started(self, running: Record, workload: Record, pods: int) -> None:
        queue = (standing.admission_of(workload) or {}).get("clusterQueue", "")
        await self.tell(running, "Started", texts.started(queue, pods, shapes.flavors_of(workload)))

    async def finish(self, workload: Record, message: str) -> None:
        """What has finished gives its quota back, and may go."""
        finished = await self.modify(workload, standing.finish(message, self.clock()), subresource="status")
        await self.modify(finished, standing.without_finalizer)

    async def let_go(self, workload: Record) -> None:
        """Take a workload away whose quota nobody uses any more."""
        freed = await self.modify(workload, standing.without_finalizer)
        if not is_leaving(freed):
            await self.delete(freed)
