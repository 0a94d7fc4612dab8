"""Which units wait: pods alone, or groups with the pods of them that wait; kept as pods come, change and go."""

from collections.abc import Collection, Hashable, Iterator, Sequence

from reprieve.engine.nodes.volumes import storage_shape
from reprieve.manifests.pods import Pod
from reprieve.manifests.yunikorn import APPLICATION, TASK_GROUP_NAME
from reprieve.model.clock import Clock
from reprieve.model.names import Key, UnitName, kind_of, parts_of, unit_name
from reprieve.model.rank import Rank, rank_of
from reprieve.policies.entry import Asked, Preemptor
from reprieve.policies.pod import PodEntry
from reprieve.policies.podgroup.entry import PodGroupEntry
from reprieve.policies.podgroup.groups import Groups
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.queue.gang_entry import GangEntry
from reprieve.policies.queue.task_groups import Application
from reprieve.policies.registry import Policies
from reprieve.scheduler.scheduling_queue import Age
from reprieve.world import PodFacts, microseconds


class PendingUnits:
    """Units on nodes that are this scheduler's to place. Pods that name another scheduler are none of its business, nor
    those that a propagation policy selects for member clusters."""

    def __init__(self, policies: Policies, names: Collection[str], clock: Clock) -> None:
        self._world = policies.world
        self._policies = policies
        self._podgroups: PodGroupEntry = policies[PodGroupEntry.name]
        self._groups: Groups = self._podgroups.groups
        self._queues: QueueEntry = policies[QueueEntry.name]
        self._gangs: GangEntry = policies[GangEntry.name]
        self._clock = clock
        self._names = frozenset(names)
        self._all_on = all(policies.decides(entry.name) for entry in (PodGroupEntry, QueueEntry, PodEntry))
        self._unit_of: dict[Key, UnitName] = {}
        self._members: dict[str, dict[Key, None]] = {}
        self._nominated: dict[str, dict[Key, None]] = {}
        self._place_of: dict[Key, str] = {}
        self._claiming: dict[Key, None] = {}
        """Pods that wait and mind volumes."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, unit: str) -> bool:
        return unit in self._members

    def mine(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._names and not self._world.propagated(pod)

    def decided_for(self, facts: PodFacts) -> bool:
        """Whether it is this scheduler's, and the policy that claims it is on."""
        if not self.mine(facts.pod) or self._all_on:
            return self.mine(facts.pod)
        policy = PodEntry.name
        if self._groups.name_of(facts):
            policy = PodGroupEntry.name
        elif self._queues.takes(facts):
            policy = QueueEntry.name
        return self._policies.decides(policy)

    def update(self, key: Key) -> tuple[UnitName | None, UnitName | None]:
        """A pod has changed: the unit it waited with, and the one it waits with now; None: it does not wait."""
        before = self._unit_of.pop(key, None)
        if before:
            self._leave(before, key)
        facts = self._world.pods.get(key)
        after = self.unit_of(facts) if facts is not None and facts.pending and self.decided_for(facts) else None
        if after:
            self._unit_of[key] = after
            self._members.setdefault(after, {})[key] = None
        self._claiming.pop(key, None)
        if after and facts is not None and storage_shape(facts):
            self._claiming[key] = None
        self._note_nomination(key, facts)
        return before, after

    def _leave(self, unit: str, key: Key) -> None:
        members = self._members[unit]
        members.pop(key, None)
        if not members:
            del self._members[unit]

    def _note_nomination(self, key: Key, facts: PodFacts | None) -> None:
        node = self._place_of.pop(key, "")
        if node:
            self._nominated[node].pop(key, None)
            if not self._nominated[node]:
                del self._nominated[node]  # the node may be gone, too
        if facts is not None and facts.nominated and facts.pending:
            self._place_of[key] = facts.nominated
            self._nominated.setdefault(facts.nominated, {})[key] = None

    def unit_of(self, facts: PodFacts) -> UnitName:
        """The pod itself, the group that it names, whether that exists yet or not, or the application that it starts
        with."""
        application = self._starts_with(facts) if TASK_GROUP_NAME in facts.pod.metadata.annotations else None
        return self._groups.name_of(facts) or (facts.unit if application is None else application.unit)

    def _starts_with(self, facts: PodFacts) -> Application | None:
        self._gangs.now = microseconds(self._clock())
        return self._gangs.of(facts) if facts.pending else None

    def application(self, unit: str) -> Application | None:
        """One that is to start as a whole, by its name; None: it has started, or its pods go one by one by now."""
        found = next(iter(map(self._starts_with, self.pods(unit))), None)
        return found if found is not None and found.unit == unit else None

    def waiting(self, unit: str) -> Preemptor | None:
        """A unit with its pods; None: it does not wait any more."""
        pods = self.pods(unit)
        if not pods:
            return None
        if kind_of(unit) == "Pod":
            return self._policies.find(Asked(*parts_of(unit)))
        if kind_of(unit) == APPLICATION:
            one = self.application(unit)
            return None if one is None else self._gangs.preemptor(one)
        return self._podgroups.preemptor(UnitName(unit), pods)

    def units_with(self, key: Key) -> list[UnitName]:
        """The unit that a pod waits with, if it does."""
        return [self._unit_of[key]] if key in self._unit_of else []

    def pods(self, unit: str) -> list[PodFacts]:
        return [self._world.pods[key] for key in self._members.get(unit, ()) if key in self._world.pods]

    def has_place(self, key: Key) -> bool:
        """Whether a pod is on a node."""
        facts = self._world.pods.get(key)
        return facts is not None and bool(facts.node)

    def priority(self, unit: str) -> int:
        """However many pods it has: that of the group, which all of them share."""
        pods = self.pods(unit)
        return self._groups.priority_of(pods) if pods else 0

    def rank(self, unit: str) -> tuple[Rank, Age, Hashable]:
        """By what it is taken from the queue, as in a plan: its priority as its queues see it, what these have, then
        when the first of its pods was made. And the line that it stands in, with others whose queues have as much."""
        pods = self.pods(unit)
        created = min((facts.created for facts in pods), default=0)
        one = self.application(unit) if kind_of(unit) == APPLICATION else None
        if not pods or kind_of(unit) not in ("Pod", APPLICATION):
            return rank_of(self.priority(unit)), (created, 0, created, unit), None
        # An application that gave up to start as a whole has the place of its first pod, until that has its own.
        first = min(pods, key=lambda facts: (facts.created, facts.key))
        turn = self._queues.turn(first) if one is None else self._gangs.turn(one)
        rank = Rank(*turn.levels, shares=turn.shares) if turn.levels else rank_of(self.priority(unit))
        return rank, (*turn.before_age, created, unit), turn.line

    def nominated_to(self, node: str) -> list[PodFacts]:
        """Pods that wait for a place on a node."""
        return [self._world.pods[key] for key in self._nominated.get(node, ()) if key in self._world.pods]

    def own_nominated_to(self, node: str) -> list[PodFacts]:
        """Those of them that are this scheduler's to place: nobody else's nomination is touched."""
        return [facts for facts in self.nominated_to(node) if self.mine(facts.pod)]

    def with_claims(self, namespace: str = "", name: str = "") -> list[str]:
        """The units of pods that mind volumes or, where a claim is named, have that one."""
        pods = (self._world.pods[key] for key in self._claiming if key in self._world.pods)
        asked = (facts for facts in pods if not name or (facts.key[0] == namespace and name in facts.claims))
        return list(dict.fromkeys(map(self.unit_of, asked)))

    def of_group(self, kind: str, namespace: str, name: str) -> Sequence[str]:
        """The units that are a group or a part of it: the pod group itself, those of a Workload, those below."""
        if kind == "Workload":
            beginning = unit_name(kind, namespace, f"{name}/")
            return [unit for unit in self._members if unit.startswith(beginning)]
        trees = [unit for unit in self._members if unit.startswith(unit_name("CompositePodGroup", namespace, ""))]
        if kind == "PodGroup":
            alone = [unit for unit in (unit_name(kind, namespace, name),) if unit in self._members]
            return [*alone, *(unit for unit in trees if any(_names(facts, name) for facts in self.pods(unit)))]
        groups = [unit for unit in self._members if unit.startswith(unit_name("PodGroup", namespace, ""))]
        return [unit for unit in (*trees, *groups) if any(self._groups.below(each, name) for each in self.pods(unit))]


def _names(facts: PodFacts, group: str) -> bool:
    named = facts.pod.spec.scheduling_group
    return named is not None and named.pod_group_name == group
