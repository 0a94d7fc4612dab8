"""What can be seen for one binding: the clusters within its reach, and what they have left for it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from reprieve.engine.claims import ClusterReason
from reprieve.manifests.karmada import Cluster
from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.clusters import affinity_groups, obstacle
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.placement import Free, gap
from reprieve.policies.federation.residents import ResidentBinding
from reprieve.policies.federation.world import Federation


class AffinityGroup(NamedTuple):
    """Where one affinity group of a binding leads to, and why it does not lead to the other clusters."""

    clusters: Mapping[str, Cluster]
    obstacles: Mapping[str, ClusterReason]


class BindingView:
    """All clusters as one binding finds them, worked out as far as somebody asks."""

    def __init__(self, facts: BindingFacts, federation: Federation, moment: int) -> None:
        self.facts = facts
        self.federation = federation
        self.moment = moment
        """When it is asked; only lost work goes by time."""
        self.searched: list[Mapping[str, Cluster]] = []
        """The clusters of each search that was made."""
        self._missing: dict[str, Resources] = {}

    @property
    def unit(self) -> UnitName:
        return self.facts.unit

    @cached_property
    def groups(self) -> list[AffinityGroup]:
        """In the order in which they are tried."""
        known = sorted(self.federation.clusters.items())
        spec = self.facts.binding.spec
        found = []
        for group in affinity_groups(self.facts.placement):
            why = {name: obstacle(cluster, spec, group) for name, cluster in known}
            within = {name: cluster for name, cluster in known if not why[name]}
            found.append(AffinityGroup(within, {name: text for name, text in why.items() if text}))
        return found

    @cached_property
    def reach(self) -> list[str]:
        """All clusters that any group leads to, by name."""
        return sorted({name for group in self.groups for name in group.clusters})

    @property
    def out_of_reach(self) -> dict[str, ClusterReason]:
        """Why no group leads to a cluster; where several have a reason, the last."""
        return {name: why for name, why in sorted(self.groups[-1].obstacles.items()) if name not in self.reach}

    @cached_property
    def now(self) -> Free:
        return self.federation.free_now(self.facts)

    @cached_property
    def soon(self) -> Free:
        """What clusters have left when those who are leaving are gone: nobody is asked for that a second time."""
        return self.federation.free_soon(self.facts)

    def gap(self, cluster: str, replicas: int) -> Resources:
        """What is missing in a cluster for so many replicas."""
        return gap(self.facts.request, replicas, self.soon.get(cluster, NOTHING))

    def missing(self, cluster: str) -> Resources:
        """What is missing in a cluster for all replicas that are still to be placed."""
        found = self._missing.get(cluster)
        if found is None:
            found = self._missing[cluster] = self.gap(cluster, self.facts.missing)
        return found

    def missing_now(self, cluster: str) -> Resources:
        """The same while those who are leaving are still there."""
        return gap(self.facts.request, self.facts.missing, self.now.get(cluster, NOTHING))


# What a plan for a binding says beyond what all plans say: its effects need it


class BindingTerms(NamedTuple):
    """How many replicas go where, and who loses which cluster."""

    facts: BindingFacts
    division: Division = {}
    evictions: Sequence[ResidentBinding] = ()
    gap: Resources = NOTHING
    """What was missing before they left."""

    @property
    def placement(self) -> dict[UnitName, str]:
        """`dublin`; `dublin=3,frankfurt=2` where it is more than one, with the replicas that are there already."""
        if not self.division:
            return {}
        total = self.facts.after(self.division)
        parts = [f"{name}={replicas}" if replicas and len(total) > 1 else name for name, replicas in total.items()]
        return {self.facts.unit: ",".join(parts)}
