"""The five policies over one world, which may change between decisions: what plans from files and the loop share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.manifests import yunikorn
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.pod import PodPolicy
from reprieve.policies.podgroup.groups import Group, Groups
from reprieve.policies.podgroup.policy import PodGroupPolicy
from reprieve.policies.queue.pods import OWN_NAME, stays_out
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import PodFacts, World

__all__ = ["OWN_NAME", "Deciding", "Waiting", "pod_alone"]


class Waiting(NamedTuple):
    """A unit that is pending: a pod, or a group with the pods of it that wait."""

    unit: str
    pods: list[PodFacts]
    priority: int
    never_preempts: bool
    created: int
    group: Group | None = None


class Deciding:
    """All policies, sharing one table of nodes."""

    def __init__(self, world: World, settings: Settings, moment: int) -> None:
        self.world = world
        self.settings = settings
        self.pods = PodPolicy(world, settings)
        self.groups = Groups(world, settings)
        self.podgroups = PodGroupPolicy(world, settings, self.pods.table, self.pods.labels)
        self.quota = QuotaPolicy(QuotaWorld(world, settings, moment))
        self.federation = FederationPolicy(world, settings)
        self._queues: QueuePolicy | None = None

    @property
    def queues(self) -> QueuePolicy | None:
        """The queue policy, where YuniKorn's queues are configured; that may change while the world lives."""
        configured = any(True for _ in self.world.all(yunikorn.QueueConfiguration))
        if configured and self._queues is None:
            self._queues = QueuePolicy(self.world, self.settings, self.pods)
        elif not configured:
            self._queues = None
        return self._queues

    def waiting(self) -> list[Waiting]:
        """All that is pending on nodes: groups, and pods that belong to none."""
        groups = self.groups.waiting()
        grouped = {facts.key for members in groups.values() for facts in members}
        alone = [pod_alone(facts) for facts in self.world.pending() if facts.key not in grouped]
        return [*alone, *(self.as_group(name, members) for name, members in groups.items())]

    def as_group(self, name: str, members: Iterable[PodFacts]) -> Waiting:
        """A group with those of its pods that wait, the oldest first."""
        ordered = sorted(members, key=lambda facts: (facts.created, facts.key))
        group = self.groups.group(name, ordered)
        return Waiting(name, ordered, group.gang.priority, group.never_preempts, ordered[0].created, group)

    def decide(self, waiting: Waiting, moment: int) -> Plan:
        """Who makes way for a unit on nodes, at a moment in microseconds since 1970."""
        if waiting.group is not None:
            # Asked again: in a cycle, pods of the group that had their place may have made way since.
            return self.podgroups.decide(self.groups.group(waiting.unit, waiting.pods), moment)
        facts = waiting.pods[0]
        queues = self.queues
        if queues is not None and not stays_out(facts):
            return queues.decide(facts, moment)
        return self.pods.decide(facts, moment)


def pod_alone(facts: PodFacts) -> Waiting:
    return Waiting(facts.unit, [facts], facts.priority, facts.preemption_policy == "Never", facts.created)
