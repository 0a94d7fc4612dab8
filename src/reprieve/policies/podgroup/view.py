"""What can be seen for a group that waits."""

from typing import NamedTuple

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.pool import NodeRule
from reprieve.model.names import UnitName
from reprieve.policies.podgroup.groups import Group
from reprieve.policies.podgroup.search import DomainSearch, FoundInDomain


class Domain(NamedTuple):
    """The whole cluster, or the nodes of one topology domain."""

    name: str
    nodes: Mask


class GroupView:
    """A group that waits, and the domains of nodes that it could go to, at one moment."""

    def __init__(
        self, group: Group, search: DomainSearch, domains: list[Domain], rules: list[NodeRule], now: int
    ) -> None:
        self.group = group
        self.gang = group.gang
        self.search = search
        self.domains = domains
        self.rules = rules
        self.now = now
        self.found: dict[str, FoundInDomain | None] = {}
        """What the search of each domain came to."""
        self.placed = 0
        """For how many of its pods there is room without asking anybody, in the domain that has most."""

    @property
    def unit(self) -> UnitName:
        return self.gang.name
