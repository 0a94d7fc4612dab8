"""What the controllers of Jobs and of pods in queues have in common: their classes, their flavors, their end."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from reprieve.controllers.pods.templates import TemplateController
from reprieve.controllers.quota import priority, shapes
from reprieve.controllers.quota.conditions import without_finalizer
from reprieve.manifests.kinds import PRIORITY_CLASSES, QUOTA_WORKLOADS, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from reprieve.manifests.kueue_annotations import unreadable
from reprieve.model.clock import Clock
from reprieve.stores.errors import Invalid
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts


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

    def naming(self, class_name: priority.ClassName) -> Iterable[Hashable]:
        """The keys of all whose priority a class decides."""
        raise NotImplementedError

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        """The keys of all who were admitted on a flavor."""
        raise NotImplementedError

    def _of_class(self, record: Record) -> Iterable[Hashable]:
        return [key for name in priority.class_key(record) for key in self.naming(name)]

    async def rank(self, owner: Record, wanted: priority.ClassName) -> priority.Rank | None:
        """The priority that an object asks for; None: its class is missing, and it is told so."""
        try:
            return priority.rank_of(wanted, self._own_classes, self._classes)
        except priority.ClassMissing as missing:
            await self.warn(owner, "PriorityClassNotFound", texts.class_missing(missing.kind, missing.name))
            return None

    async def placement(self, owner: Record, workload: Record, pod_set: str) -> shapes.JobPlacement | None:
        """Where the pods of an admitted pod set go; None: a flavor is missing, and the owner is told so."""
        found = {name: self._flavors.get(name) for name in shapes.flavors_of(workload)}
        flavors = {name: flavor for name, flavor in found.items() if flavor is not None}
        try:
            return shapes.placement(workload, pod_set, flavors)
        except shapes.FlavorMissing as missing:
            await self.warn(owner, "FlavorNotFound", texts.flavor_gone(str(missing)))
            return None

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

    async def let_go(self, workload: Record) -> None:
        """Take a workload away whose quota nobody uses any more."""
        freed = await self.modify(workload, without_finalizer)
        if not is_leaving(freed):
            await self.delete(freed)
