"""The world: everything that exists at one moment, indexed for decisions, brought up to date in place.

Every change is written to a journal. What is derived from the world (tables of nodes, trees of queues) reads the
journal from where it left off, so that a few changes cost a few changes and not a rebuild. The journal keeps no more
than what is worth reading: whoever is behind by a good part of all there is looks at everything instead, which costs
hardly more. So nobody has to be waited for who reads seldom, or never again.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from reprieve.manifests.karmada import PropagationPolicy
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.meta import Manifest, PreemptionPolicy, find_condition
from reprieve.manifests.pods import Pod
from reprieve.manifests.priorities import PriorityClasses
from reprieve.manifests.propagation import selected_by
from reprieve.manifests.resizing import slots_held
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import Key, unit_name
from reprieve.model.resources import Resources

_SHORTEST_JOURNAL = 1_000
_WORTH_READING = 4
"""The journal may be as long as a quarter of the world."""
NEVER = 2**62
"""The start of a pod that has not started: later than any other."""


class PodFacts:
    """What decisions ask about a pod, worked out once when it changes."""

    __slots__ = (
        "claims",
        "created",
        "host_ports",
        "importance",
        "key",
        "labels",
        "node",
        "nominated",
        "pod",
        "preemption_policy",
        "priority",
        "requests",
        "scheduled",
        "start",
        "unit",
    )

    def __init__(self, pod: Pod, classes: PriorityClasses, made: int = NEVER) -> None:
        """`made` is when it was created, if it does not say so itself."""
        resolved = classes.of_pod(pod.spec)
        self.pod = pod
        self.key: Key = (pod.metadata.namespace, pod.metadata.name)
        self.unit = unit_name("Pod", *self.key)
        self.priority = resolved.value
        self.preemption_policy: PreemptionPolicy = resolved.preemption_policy
        self.requests: Resources = slots_held(pod)
        self.node = "" if pod.finished else pod.spec.node_name
        # Who leaves will never take the place it was promised: nobody keeps it free for it.
        waits = not (pod.finished or pod.terminating or pod.spec.node_name)
        self.nominated = pod.status.nominated_node_name if waits else ""
        self.labels = frozenset(pod.metadata.labels.items())
        self.host_ports = _host_ports(pod)
        self.claims = _claims(pod)
        self.start = microseconds(pod.status.start_time, NEVER)
        self.scheduled = _scheduled(pod)
        self.created = microseconds(pod.metadata.creation_timestamp, made)
        # More important first: higher priority, earlier start; the rest only makes the order total.
        self.importance = (-self.priority, self.start, self.created, self.key)

    @property
    def pending(self) -> bool:
        pod = self.pod
        return not self.node and not pod.finished and not pod.terminating and not pod.spec.scheduling_gates


def microseconds(moment: datetime | None, otherwise: int = 0) -> int:
    """Microseconds since 1970: a moment as a number that columns can hold."""
    return otherwise if moment is None else (moment - _EPOCH) // _MICROSECOND


def _scheduled(pod: Pod) -> int:
    """When it got its node, as far as its condition says; a pod without one has never been scheduled."""
    condition = find_condition(pod.status.conditions, "PodScheduled")
    if condition is None or condition.status != "True":
        return NEVER
    return microseconds(condition.last_transition_time)


def _host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """Address, protocol and port of everything it holds on its node for as long as it runs."""
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    return tuple(
        (port.host_ip or ANY_ADDRESS, port.protocol, port.host_port or port.container_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port or pod.spec.host_network
    )


def _claims(pod: Pod) -> tuple[str, ...]:
    """The names of the claims that its volumes stand for."""
    return tuple(
        f"{pod.metadata.name}-{volume.name}" if claim is None else claim.claim_name
        for volume in pod.spec.volumes
        if (claim := volume.persistent_volume_claim) is not None or volume.ephemeral is not None
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - what Kubernetes calls an address that was not given


class Change(NamedTuple):
    """One step of the journal: what was there (None: nothing) and what is now. Pods stand as their facts."""

    kind: type[Any]
    key: Key
    old: Any
    new: Any


def _called(kind: type[Any]) -> str:
    """The kind that a type is read from; Kueue's Workload is the one that goes by another name here."""
    return "Workload" if kind is QuotaWorkload else kind.__name__


class World:
    """All objects, by kind and name."""

    def __init__(self, objects: Iterable[Manifest] = (), now: datetime | None = None) -> None:
        """What has no creationTimestamp was never written to a server: it is only tried out, and counts as made `now`.
        Where nobody says when that is, it is the newest of all."""
        self._made = microseconds(now, NEVER)
        self._objects: dict[type[Any], dict[tuple[str, str, str], Any]] = {}
        self._journal: list[Change] = []
        self._first = 0  # the version at which the journal starts
        self._classes: PriorityClasses | None = None
        self.pods: dict[Key, PodFacts] = {}
        self._for_pods: list[PropagationPolicy] = []
        """The policies that select pods; mostly there are none."""
        # Classes first: whatever comes after them is resolved once.
        for item in sorted(objects, key=lambda item: not isinstance(item, PriorityClass)):
            self.put(item)
        self.forget()

    @property
    def version(self) -> int:
        return self._first + len(self._journal)

    @property
    def classes(self) -> PriorityClasses:
        """Of many that come one after the other they are put in order once, when somebody asks."""
        if self._classes is None:
            self._classes = PriorityClasses(self.all(PriorityClass))
        return self._classes

    def put(self, item: Any) -> None:
        """Add an object, or replace the one of its kind and name."""
        kind = type(item)
        key = (item.namespace, item.name)
        # First: what fails here has changed nothing.
        facts = PodFacts(item, self.classes, self._made) if kind is Pod else None
        by_key = self._objects.setdefault(kind, {})
        old = by_key.get((item.kind, *key))
        by_key[item.kind, *key] = item
        if facts is not None:
            self._note_pod(key, facts)
        else:
            self._note(Change(kind, key, old, item))
        self._derive(kind)

    def delete(self, kind: type[Any], name: str, namespace: str = "", *, called: str = "") -> bool:
        """Take an object away; False when it was not there. `called` tells kinds apart that share a type."""
        key = (namespace, name)
        old = self._objects.get(kind, {}).pop((called or _called(kind), *key), None)
        if old is None:
            return False
        if kind is Pod:
            self._note_pod(key, None)
        else:
            self._note(Change(kind, key, old, None))
        self._derive(kind)
        return True

    def _derive(self, kind: type[Any]) -> None:
        """Bring up to date what follows from objects of a kind."""
        if kind is PriorityClass:
            self._classes_changed()
        elif kind is PropagationPolicy:
            self._policies_changed()

    def get(self, kind: type[Any], name: str, namespace: str = "", *, called: str = "") -> Any | None:
        """An object by name; `called` tells kinds apart that share a type, such as composite groups."""
        return self._objects.get(kind, {}).get((called or _called(kind), namespace, name))

    def created(self, item: Any) -> int:
        """When an object was made, in microseconds since 1970."""
        return microseconds(item.metadata.creation_timestamp, self._made)

    def find(self, called: str, name: str, namespace: str = "") -> list[Any]:
        """All objects of a kind and name, whatever they are read as: two APIs have a kind `Workload`."""
        key = (called, namespace, name)
        return [by_key[key] for by_key in self._objects.values() if key in by_key]

    def called(self, kind: str) -> list[Any]:
        """All objects of a kind, whatever they are read as."""
        return [item for by_key in self._objects.values() for key, item in by_key.items() if key[0] == kind]

    def names(self, called: str) -> Iterator[str]:
        """The names of all objects of a kind, as units are written."""
        every = (key for by_key in self._objects.values() for key in by_key)
        return (unit_name(kind, namespace, name) for kind, namespace, name in every if kind == called)

    def all(self, kind: type[Any]) -> Iterable[Any]:
        return self._objects.get(kind, {}).values()

    def number(self, kind: type[Any]) -> int:
        """How many there are of a kind."""
        return len(self._objects.get(kind, {}))

    def fork(self) -> "World":
        """Another world with the same objects, which goes its own way from here."""
        other = World()
        other._made = self._made
        other._objects = {kind: dict(by_key) for kind, by_key in self._objects.items()}
        other._classes = self._classes
        other.pods = dict(self.pods)
        other._for_pods = self._for_pods
        return other

    def changes_since(self, version: int) -> list[Change] | None:
        """What happened after `version`; None when that is too long ago to tell."""
        if version < self._first:
            return None
        return self._journal[version - self._first :]

    def forget(self) -> None:
        """Start the journal anew: whoever has not read it has to look at everything."""
        self._forget_first(len(self._journal))

    def _forget_first(self, count: int) -> None:
        self._first += count
        del self._journal[:count]

    def pending(self) -> Iterator[PodFacts]:
        return (facts for facts in self.pods.values() if facts.pending and not self.propagated(facts.pod))

    def propagated(self, pod: Pod) -> bool:
        """Whether a pod is for member clusters, because a policy selects it, and not for nodes."""
        return any(selected_by(policy, pod) for policy in self._for_pods)

    def _policies_changed(self) -> None:
        self._for_pods = [
            policy
            for policy in self.all(PropagationPolicy)
            if any(selector.kind == "Pod" for selector in policy.spec.resource_selectors)
        ]

    def _note_pod(self, key: Key, facts: PodFacts | None) -> None:
        old = self.pods.pop(key, None)
        if facts is not None:
            self.pods[key] = facts
        self._note(Change(Pod, key, old, facts))

    def _note(self, change: Change) -> None:
        length = len(self._journal)
        if length >= _SHORTEST_JOURNAL and length >= sum(map(len, self._objects.values())) // _WORTH_READING:
            self._forget_first(length // 2)  # whoever is up to date can still read on
        self._journal.append(change)

    def _classes_changed(self) -> None:
        """Pods that carry their number keep it; those that only name a class follow it."""
        self._classes = None
        for key, facts in list(self.pods.items()):
            spec = facts.pod.spec
            if spec.priority is None or spec.preemption_policy is None:
                renewed = PodFacts(facts.pod, self.classes, self._made)
                if (renewed.priority, renewed.preemption_policy) != (facts.priority, facts.preemption_policy):
                    self._note_pod(key, renewed)
