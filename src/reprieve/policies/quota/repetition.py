"""Nobody makes way twice for the same workload of another queue, as long as only preemption changes anything: our rule.

KEP-83 as it has grown gives several rights that do not agree on who is above whom: nominal quota, priority while
borrowing, shares. They can go in a circle. `p` reclaims the nominal quota of its queue from `x`, which borrows; another
of p's queue borrows what x left over; so p's queue is above its quota, and x, of higher priority, may take from it, and
takes p, the lowest in it; and so on. Two shares that another resource dominates do the same.

A circle is a preemption that is made again in the world in which it was made. So whoever preempts in another queue has
it written down whom, and how the world looked from outside: queues, cohorts, flavors, and who is there with which
priority, be it admitted or not. While it still looks so, these are protected from it. The first arrival, end or change
makes all of that void.

Peace. In a tree with n workloads, n(q) of them in queue q, between two changes from outside:
1. Across queues each ordered pair is used once: at most P = n * (n - 1) victims.
2. Inside a queue only less important ones make way for more important ones (higher priority, older). Read who is
   admitted or promised there from the most important down as a binary number: each such preemption makes it larger,
   since what is promised is kept for all but more important ones of the queue. So between two preemptions across
   queues there are at most 2**n(q) - 1.
Together at most (P + 1) * sum(2**n(q)) preemptions; then everything rests. Without the rule there is no bound. It is
the least that gives one: it forbids nothing but to preempt in another queue whom the same workload has preempted there
before, in a world that only preemption has changed since.
"""

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from reprieve.manifests.kueue import QuotaWorkload

PREEMPTED_ANNOTATION = "reprieve.scheduling/preempted"


class Preempted(msgspec.Struct, frozen=True):
    """Whom a workload has preempted in other queues, and how the world looked from outside."""

    world: str = ""
    victims: frozenset[str] = frozenset()
    """By uid."""

    def text(self) -> str:
        """As it stands in the annotation."""
        return msgspec.json.encode(self, order="deterministic").decode()

    def and_also(self, victims: Iterable[str], world: str) -> "Preempted":
        """With some more; what was written down of another world is void."""
        return Preempted(world, self.in_world(world) | frozenset(victims))

    def in_world(self, world: str) -> frozenset[str]:
        return self.victims if self.world == world else frozenset()


def hash_of(*values: object) -> int:
    """A number for them, the same after a restart."""
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest())


_DECODER = msgspec.json.Decoder(Preempted)
_NOBODY = Preempted()


def preempted_by(workload: QuotaWorkload) -> Preempted:
    """What is written down with a workload; what cannot be read says nothing."""
    text = workload.metadata.annotations.get(PREEMPTED_ANNOTATION)
    try:
        return _DECODER.decode(text) if text else _NOBODY
    except (msgspec.DecodeError, UnicodeError):
        return _NOBODY
