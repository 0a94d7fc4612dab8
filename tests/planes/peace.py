"""How many preemptions a closed world can see at most, from its manifests alone.

Where a unit is only ever preempted by one that ranks strictly above it (pods, groups, bindings), count by rank, from
the top. Let N(i) units rank i-th, and let V be the most victims that one preemption can have. A unit preempts when it
has no place: at first, again each time it was preempted, and again each time that somebody above took the place which
it had made for itself. The last two are caused by units above only: each time one of them is placed, it takes one place
and makes at most V units leave. So with P(i) for the times that units of rank i get a place,

    P(i) <= N(i) + (V + 1) * (P(1) + ... + P(i-1))

and there are at most P(1) + P(2) + ... preemptions. Tolerations, budgets and delays forbid some, and add none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def most_preemptions(ranks: Iterable[int], most_victims: int) -> int:
    """`ranks`: the priority of every unit that ever wants a place."""
    above = 0
    for _, units in sorted(Counter(ranks).items(), reverse=True):
        above += units + (most_victims + 1) * above
    return above
