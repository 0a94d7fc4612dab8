"""Which lanes a scheduler has: the built-in ones, and whoever else is registered before it is made.

A lane carries out what some policies decide: where all of them are off, there is no such lane.
"""

from collections.abc import Callable

from reprieve.policies.federation.entry import FederationEntry
from reprieve.policies.pod import PodEntry
from reprieve.policies.podgroup.entry import PodGroupEntry
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.scheduler.federation.lane import BindingLane
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.pods.lane import PodLane
from reprieve.scheduler.queues.lane import QueueLimitLane
from reprieve.scheduler.queues.placeholders import PlaceholderLane
from reprieve.scheduler.quota.lane import QuotaLane

MakeLane = Callable[[Services], Lane]

_MAKERS: list[tuple[MakeLane, tuple[str, ...]]] = []


def register(make: MakeLane, *policies: str) -> None:
    """One more lane for every scheduler that is made from now on, and decides by one of these policies; where none is
    named, for every scheduler."""
    _MAKERS.append((make, policies))


def unregister(make: MakeLane) -> None:
    _MAKERS.remove(next(each for each in _MAKERS if each[0] is make))


register(PodLane, PodGroupEntry.name, QueueEntry.name, PodEntry.name)
register(QueueLimitLane, QueueEntry.name)
register(PlaceholderLane, QueueEntry.name)
register(QuotaLane, QuotaEntry.name)
register(BindingLane, FederationEntry.name)


def make_lanes(services: Services) -> dict[str, Lane]:
    """The lane of each kind of unit."""
    lanes: dict[str, Lane] = {}
    on = services.policies.decides
    needed = [make for make, policies in _MAKERS if not policies or any(map(on, policies))]
    for lane in [make(services) for make in needed]:
        taken = sorted(lane.kinds & lanes.keys())
        if taken:
            raise ValueError(f"two lanes take the turn of {', '.join(taken)}")
        lanes |= dict.fromkeys(lane.kinds, lane)
    return lanes
