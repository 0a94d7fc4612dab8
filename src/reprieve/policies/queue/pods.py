"""What the queue policy asks about single pods: queue and application, what they hold, who opted out, who leads."""

from collections.abc import Collection
from heapq import heappop, heappush

from reprieve.configuration import OWN_SCHEDULER, QueueSettings
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.scheduling import ALLOW_PREEMPTION
from reprieve.manifests.yunikorn import APPLICATION_NAMES, TASK_GROUPS
from reprieve.model.names import Key
from reprieve.model.remembering import remembered
from reprieve.model.resources import PODS, Resources
from reprieve.world import PodFacts, World

DEFAULT_QUEUE = "root.default"
# Where the name may stand, the first that is there counts: as labels, then as annotations.
_QUEUE = ("yunikorn.apache.org/queue", "queue")


def _named(meta: ObjectMeta, keys: tuple[str, ...]) -> str:
    for where in (meta.labels, meta.annotations):
        for key in keys:
            if where.get(key):
                return where[key]
    return ""


def named_queue(meta: ObjectMeta) -> str:
    """The queue that a pod names; empty: none."""
    return _named(meta, _QUEUE)


def queue_name(meta: ObjectMeta) -> str:
    return named_queue(meta) or DEFAULT_QUEUE


def names_queue(facts: PodFacts) -> bool:
    """Whether a pod says which queue it is to be in."""
    return bool(_named(facts.pod.metadata, _QUEUE))


def stays_out(facts: PodFacts) -> bool:
    """Whether a pod is none of the queues' business: they neither count it nor ask it to leave.

    Nodes and priorities alone decide for pods that name this scheduler by its own name.
    """
    return facts.pod.spec.scheduler_name == OWN_SCHEDULER


def application(facts: PodFacts) -> str:
    """The application a pod belongs to; empty: none."""
    return application_of(facts.pod.metadata)


def application_of(meta: ObjectMeta) -> str:
    """The application that a pod names; empty: none."""
    return _named(meta, APPLICATION_NAMES)


def held(facts: PodFacts, *, pods: bool = False) -> Resources:
    """What a pod asks for; with `pods`, for queues that count those, also that it is one."""
    return _asked(facts.requests, pods)


@remembered(65536)
def _asked(requests: Resources, pods: bool) -> Resources:
    return Resources({name: units for name, units in requests.items() if units and (pods or name != PODS)})


def opted_out(world: World, facts: PodFacts, settings: QueueSettings) -> bool:
    """Law 1: whether a pod asks not to be preempted. That is up to its priority class, so that who runs the cluster
    decides who may; a pod that has none speaks for itself."""
    own = facts.pod.metadata.annotations.get(ALLOW_PREEMPTION)
    name = facts.pod.spec.priority_class_name
    item = world.classes.get(name) if name else world.classes.global_default
    if item is None or (settings.opt_out == "Pod" and own is not None):
        return own == "false"
    return item.metadata.annotations.get(ALLOW_PREEMPTION) == "false"


def required_node(facts: PodFacts) -> str | None:
    """The node that a DaemonSet's pod must run on."""
    if not any(owner.kind == "DaemonSet" for owner in facts.pod.metadata.owner_references):
        return None
    affinity = facts.pod.spec.affinity.node_affinity if facts.pod.spec.affinity else None
    for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return facts.node or None


class Applications:
    """Who is the first pod of each application, its originator: the earliest of those that have not finished. And the
    pods of those that have task groups."""

    def __init__(self) -> None:
        self._defining: dict[str, set[Key]] = {}
        """Applications of which pods say that they have task groups, with these pods."""
        self._ran: dict[str, set[Key]] = {}
        """Pods that have finished, and had a node."""
        self._members: dict[str, dict[Key, PodFacts]] = {}
        self._first: dict[str, PodFacts] = {}
        self._by_age: dict[str, list[tuple[int, Key]]] = {}
        """A heap for each application; it may still hold pods that are gone."""

    def leads(self, facts: PodFacts) -> bool:
        first = self._first.get(application(facts))
        return first is not None and first.key == facts.key

    def since(self, facts: PodFacts) -> int:
        """When the first pod of a pod's application was made; without one, when the pod was."""
        first = self._first.get(application(facts))
        return facts.created if first is None else min(first.created, facts.created)

    @property
    def with_task_groups(self) -> Collection[str]:
        """The names of those that have."""
        return self._defining.keys()

    def has_task_groups(self, name: str) -> bool:
        """Whether a pod of an application that has not finished says so."""
        return name in self._defining

    def pods(self, name: str) -> Collection[PodFacts]:
        """Those of an application that have not finished."""
        return self._members.get(name, {}).values()

    def has_run(self, name: str) -> bool:
        """Whether there is a pod of an application that has finished, and had a node."""
        return bool(self._ran.get(name))

    def _note(self, name: str, facts: PodFacts, *, there: bool) -> None:
        """What counts for task groups."""
        finished = facts.pod.finished
        for kept, counts in (
            (self._defining, not finished and TASK_GROUPS in facts.pod.metadata.annotations),
            (self._ran, finished and bool(facts.pod.spec.node_name)),
        ):
            if counts and there:
                kept.setdefault(name, set()).add(facts.key)
            elif counts and name in kept:
                kept[name].discard(facts.key)
                if not kept[name]:
                    del kept[name]

    def put(self, facts: PodFacts) -> set[str]:
        """A pod is there; tells the nodes of those who lead now, or no longer do."""
        name = application(facts)
        if name:
            self._note(name, facts, there=True)
        if not name or facts.pod.finished:
            return set()
        self._members.setdefault(name, {})[facts.key] = facts
        self._note_age(name, facts)
        first = self._first.get(name)
        if first is not None and first.key != facts.key and _age(first) < _age(facts):
            return set()
        self._first[name] = facts
        return {facts.node, first.node if first else ""}

    def take(self, facts: PodFacts) -> set[str]:
        """A pod is gone; tells the nodes of those who lead now, or no longer do."""
        name = application(facts)
        if name:
            self._note(name, facts, there=False)
        members = self._members.get(name, {})
        if members.pop(facts.key, None) is None or not self.leads(facts):
            return set()
        if not members:
            del self._members[name], self._first[name], self._by_age[name]
            return {facts.node}
        self._first[name] = self._earliest(members, self._by_age[name])
        return {facts.node, self._first[name].node}

    def _note_age(self, name: str, facts: PodFacts) -> None:
        by_age, members = self._by_age.setdefault(name, []), self._members[name]
        heappush(by_age, _age(facts))
        if len(by_age) > 2 * len(members) + 16:
            by_age[:] = sorted(_age(member) for member in members.values())

    def _earliest(self, members: dict[Key, PodFacts], by_age: list[tuple[int, Key]]) -> PodFacts:
        while (known := members.get(by_age[0][1])) is None or _age(known) != by_age[0]:
            heappop(by_age)
        return known


def _age(facts: PodFacts) -> tuple[int, Key]:
    return facts.created, facts.key
