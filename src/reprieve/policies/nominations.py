"""Places on nodes that are promised to pods which wait: who loses one, and for whom somebody may still be told to go.

1. Whoever is nominated to a node takes the place of pods that rank below it and were nominated there: by the priority
   at which they are scheduled, which is that of their group where they have one.
2. A victim that was chosen before a restart must still rank below; between queues, not above.
"""

from collections.abc import Callable, Iterable

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.nodes.units import Units
from reprieve.world import PodFacts


def displaced(nominated: Iterable[PodFacts], priority: int, units: Units) -> list[PodFacts]:
    """Those of some nominated pods who have to look again, because somebody of this priority goes there."""
    return [facts for facts in nominated if units.scheduling_priority(facts) < priority]


def still_below(
    hold: Hold, priority: int, units: Units, find: Callable[[HeldVictim], PodFacts | None], *, between_queues: bool
) -> Hold:
    """A hold with those of its victims that may still be told."""
    most = priority if between_queues else priority - 1
    found = ((victim, find(victim)) for victim in hold.victims)
    return hold.only(victim for victim, facts in found if facts is not None and units.of(facts).priority <= most)
