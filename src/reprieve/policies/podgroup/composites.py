"""Trees of groups: which composite group a pod is scheduled with, and what of the tree is there already.

1. Groups below a composite group with a gang are scheduled together: at least `minGroupCount` of them, each with what
   it needs itself, or none. The topmost such group is what is scheduled.
2. A composite group without a gang (basic) lets the groups below it go their own ways. Below a gang it counts as there
   with one of them.
3. Groups that have what they need already count; groups without pods do not.
4. Groups above `minGroupCount` and pods above `minCount` are optional, as those of a single group are. A group without
   a gang of its own is there with one pod.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reprieve.engine.nodes.trial import Gang
from reprieve.manifests.scheduling import PodGroup
from reprieve.model.names import UnitName, unit_name
from reprieve.world import PodFacts

COMPOSITE = "CompositePodGroup"


class Member(NamedTuple):
    """A pod of a tree, with the groups it stands in, from its own to the top."""

    facts: PodFacts
    path: list[PodGroup]
    state: Literal["waits", "bound", "done"]


def scheduled_as_one(path: Sequence[PodGroup]) -> PodGroup | None:
    """The topmost composite group whose groups go together; None: the pod group is scheduled by itself."""
    gangs = [group for group in path[1:] if group.policy.min_count is not None]
    return gangs[-1] if gangs else None


def composite_gang(top: PodGroup, members: Sequence[Member], priority: int, *, topology: bool) -> Gang:
    """All pods below a composite group as one gang."""
    gang = _gang(top, members, priority, topology)
    return gang._replace(required=max(gang.required, 1), entitled=gang.required)


def _gang(group: PodGroup, members: Sequence[Member], priority: int, topology: bool) -> Gang:
    waiting = [member.facts for member in members if member.state == "waits"]
    bound = tuple(member.facts for member in members if member.state == "bound")
    key = group.policy.topology_key if topology else ""
    gang = Gang(_name(group), waiting, 0, priority, key, bound)
    least = group.policy.min_count or 1
    if group.kind != COMPOSITE:
        return gang._replace(required=max(least - (len(members) - len(waiting)), 0))
    groups = tuple(_gang(each, below, priority, topology) for each, below in _below(group, members))
    return gang._replace(groups=groups, required_groups=least, required=_fewest(groups, least, len(waiting)))


def _below(group: PodGroup, members: Sequence[Member]) -> list[tuple[PodGroup, list[Member]]]:
    """The groups right below one, each with its pods."""
    found: dict[UnitName, tuple[PodGroup, list[Member]]] = {}
    for member in members:
        child = member.path[member.path.index(group) - 1]
        found.setdefault(_name(child), (child, []))[1].append(member)
    return list(found.values())


def _fewest(groups: Sequence[Gang], least: int, waiting: int) -> int:
    """With how many more pods the tree would have what it needs; more than wait, where that cannot be."""
    needed = sorted(group.required for group in groups if len(group.members) >= group.required)
    return sum(needed[:least]) if len(needed) >= least else waiting + 1


def complete_groups(gang: Gang) -> int:
    """How many groups below a composite group have enough pods, whether these have their place or wait."""
    return sum(len(group.members) >= group.required for group in gang.groups)


def _name(group: PodGroup) -> UnitName:
    return unit_name(group.kind, group.namespace, group.name)
