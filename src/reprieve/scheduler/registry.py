"""Which lanes a scheduler has: the built-in ones, and whoever else is registered before it is made."""

from collections.abc import Callable

from reprieve.scheduler.federation.lane import BindingLane
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.pods.lane import PodLane
from reprieve.scheduler.queues.lane import QueueLimitLane
from reprieve.scheduler.quota.lane import QuotaLane

MakeLane = Callable[[Services], Lane]

_MAKERS: list[MakeLane] = [PodLane, QueueLimitLane, QuotaLane, BindingLane]


def register(make: MakeLane) -> None:
    """One more lane for every scheduler that is made from now on."""
    _MAKERS.append(make)


def unregister(make: MakeLane) -> None:
    _MAKERS.remove(make)


def make_lanes(services: Services) -> dict[str, Lane]:
    """The lane of each kind of unit."""
    lanes: dict[str, Lane] = {}
    for lane in [make(services) for make in _MAKERS]:
        taken = sorted(lane.kinds & lanes.keys())
        if taken:
            raise ValueError(f"two lanes take the turn of {', '.join(taken)}")
        lanes |= dict.fromkeys(lane.kinds, lane)
    return lanes
