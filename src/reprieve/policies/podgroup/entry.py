"""Groups of pods in the registry of policies."""

from collections.abc import Iterable

from reprieve.engine.exposure import NOBODY_ASKS, Exposure
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.scheduling import PodGroup, Workload
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Entry, Ground, Preemptor
from reprieve.policies.on_nodes import ON_NODES, commit_pods, take_back
from reprieve.policies.podgroup.groups import Groups, carried_by_groups
from reprieve.policies.podgroup.policy import PodGroupPolicy, limit_of
from reprieve.world import PodFacts


class PodGroupEntry(Entry):
    """Groups that have pods which wait."""

    name = PodGroupPolicy.name
    ledger = ON_NODES
    kinds = ("PodGroup", "CompositePodGroup", "Workload", "Pod")
    config_maps = frozenset[str]()
    looks_at_budgets = True

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._world = ground.world
        self.groups = Groups(ground.world, ground.settings)
        self.policy = PodGroupPolicy(ground.nodes)

    def names(self) -> Iterable[UnitName]:
        return self._waiting()

    def _waiting(self) -> dict[UnitName, list[PodFacts]]:
        return self.groups.gathered(self._ground.waiting_pods())

    def _anybodys(self) -> dict[UnitName, list[PodFacts]]:
        """Of groups that are another scheduler's, too, for whoever asks about one."""
        return self.groups.gathered(self._world.pending()) | self._waiting()

    def find(self, asked: Asked) -> Preemptor | None:
        """A group by its name, or by that of a pod that waits with it; of several, as of a Workload, the first."""
        if asked.kind == "Pod":
            return self._of_pod(asked)
        for name, members in sorted(self._anybodys().items()):
            if name == asked.unit or name.startswith(f"{asked.unit}/"):
                return self.preemptor(name, members)
        return self._in_tree(asked) if asked.kind == "PodGroup" else None

    def _in_tree(self, asked: Asked) -> Preemptor | None:
        """A group that is scheduled with others, by the composite group above it."""
        for facts in self._world.pending():
            named = facts.pod.spec.scheduling_group
            if named is not None and (facts.key[0], named.pod_group_name) == (asked.namespace, asked.name):
                return self._of_pod(Asked("Pod", *facts.key))
        return None

    def _of_pod(self, asked: Asked) -> Preemptor | None:
        facts = self._world.pods.get((asked.namespace, asked.name))
        name = self.groups.name_of(facts) if facts is not None and facts.pending else None
        return self.preemptor(name, self._anybodys()[name]) if name else None

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        found = [self.preemptor(name, members) for name, members in self._waiting().items()]
        taken.update(facts.unit for one in found for facts in one.pods)
        return found

    def preemptor(self, name: UnitName, members: Iterable[PodFacts]) -> Preemptor:
        """A group with those of its pods that wait, the oldest first."""
        ordered = sorted(members, key=lambda facts: (facts.created, facts.key))
        group = self.groups.group(name, ordered)
        created, never = ordered[0].created, group.never_preempts
        return Preemptor(name, self.name, group.gang.priority, created, group, tuple(ordered), never)

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        # Asked again: in a cycle, pods of the group that had their place may have made way since.
        return decide(self.policy, self.groups.group(preemptor.unit, list(preemptor.pods)), now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        commit_pods(self._world, preemptor.pods, plan, limit_of(preemptor.facts, plan))

    def exposure(self, now: int) -> Exposure:  # noqa: ARG002 - by the rules for single pods, which answer for groups
        return NOBODY_ASKS

    def carried(self) -> Iterable[Workload | PodGroup]:
        return carried_by_groups(self._world)

    def undo(self, preemptor: Preemptor) -> bool:
        return take_back(self._world, preemptor.pods)
