"""What a preemptor holds while its victims leave, written on the preemptor itself: one form for every policy.

A decision is carried out by many writes, and the scheduler may die between any two. So the first write of all is the
decision: who goes, and where the preemptor then goes. Whoever starts next reads it and does what is left to do. Nobody
is chosen twice, and nobody has left in vain.

What cannot be read, because somebody changed it by hand, holds nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from reprieve.model.remembering import remembered

HOLD_ANNOTATION = "reprieve.scheduling/hold"
HeldUnit = Annotated[str, Meta(pattern=r"^[A-Za-z]+/[^/]+/[^/]+$")]
"""Kind, namespace and name: whatever else stands in an annotation, somebody else has written it."""
Replicas = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class HeldVictim(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody who has to go: this one, and no later one of the same name."""

    unit: HeldUnit
    uid: str
    domain: str = ""
    """What it has to leave, where it may stay in others: a member cluster."""
    message: str = ""
    reason: str = ""
    ends: bool = False
    """It is not to come back."""
    since: str = ""
    """Since when it has the quota that it is to give back. It may come back, as the same one."""
    pdb_violation: bool = False
    group: str = ""
    """The group that it goes with as a whole."""


class Hold(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A decision that is being carried out."""

    preemptor: str = ""
    policy: str = ""
    victims: tuple[HeldVictim, ...] = ()
    leaving: tuple[HeldVictim, ...] = ()
    """Quota workloads that are not its victims, and that the preemptor counts on: they were leaving already."""
    flavors: dict[str, dict[str, str]] = {}
    """Of each pod set of a quota workload, by resource: on these it has preempted."""
    placement: dict[HeldUnit, str] = {}
    """Unit to node, for a group: where each of its pods goes."""
    members: dict[HeldUnit, str] = {}
    """Unit to uid, for a group: which pods these are. Later ones of the same names have no place yet."""
    counts: dict[str, int] = {}
    """Pod sets of a quota workload: for so many pods of each it has preempted, and more it does not get."""
    clusters: dict[str, Replicas] = {}
    """Replicas by member cluster: the place that is held against whoever does not rank above the preemptor."""
    version: int = 0
    """The highest of all that are part of it when it was decided: of two holds with a victim in common, the later one
    has the higher version."""
    reserves: bool = False
    """The place is held against everybody until the preemptor is there: priorities do not count. Else it yields to
    whoever ranks above."""
    closes: bool = False
    """Until then nobody else is placed there at all, but who was promised a place before."""
    limit: int | None = None
    """Of a group: the highest priority that made way for the pods it needs. Nobody above makes way for more of them."""
    decision: int = 0

    @property
    def of_application(self) -> bool:
        """Whether it is that of an application that starts as a whole: each of its pods carries it."""
        return self.preemptor.startswith("Application/")

    def follower(self) -> "Hold":
        """What stands on the pods of an application beside the first, which carries all of it."""
        return Hold(preemptor=self.preemptor, policy=self.policy, reserves=self.reserves, decision=self.decision)

    def text(self) -> str:
        """As it stands in the annotation."""
        return msgspec.json.encode(self).decode()

    def only(self, victims: Iterable[HeldVictim]) -> "Hold":
        """The same for some of the victims."""
        return msgspec.structs.replace(self, victims=tuple(victims))


_DECODER = msgspec.json.Decoder(Hold)


def hold_of(annotations: Mapping[str, str]) -> Hold | None:
    """The hold that annotations carry; None: there is none, or none that can be read."""
    text = annotations.get(HOLD_ANNOTATION)
    return _read(text) if text else None


@remembered(4096, largest=16_000)
def _read(text: str) -> Hold | None:
    """Whoever looks at a pod that holds something asks, each time."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return None
