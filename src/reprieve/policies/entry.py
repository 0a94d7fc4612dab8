"""What a policy is to everybody else: for which units it decides, what is pending, and how a plan changes a world."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.exposure import Exposure, Overcommitted
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.manifests.meta import Condition
from reprieve.model.names import UnitName, unit_name
from reprieve.model.rank import Rank
from reprieve.policies.waiting import by_those_who_wait
from reprieve.world import PodFacts, World


class Preemptor(NamedTuple):
    """A unit that waits for a place."""

    unit: UnitName
    policy: str
    """Who decides for it."""
    priority: int
    created: int
    facts: Any
    """What its policy decides over."""
    pods: tuple[PodFacts, ...] = ()
    """Those of its pods that wait, where it is made of pods."""
    never_preempts: bool = False
    levels: tuple[int, ...] = ()
    """Its priority as others see it, from the top down, where that is not the same for everybody."""
    shares: tuple[int, ...] = ()
    """What those it belongs to have already, from the top down, where that counts."""
    before_age: tuple[int, int] | None = None
    """What decides before its own age, the less the earlier; None: nothing does."""
    line: Hashable = None
    """Who else has these shares, so that they change for all of them at once; None: nobody has any."""

    @property
    def rank(self) -> Rank:
        return Rank(*self.levels or (self.priority,), shares=self.shares)

    @property
    def order(self) -> tuple[Any, ...]:
        """Whose turn it is, among those who want the same: higher priority, smaller share, older, name."""
        return self.rank, *(self.before_age or (self.created, 0)), self.created, self.unit


class Asked(NamedTuple):
    """The unit that a question names."""

    kind: str
    namespace: str
    name: str
    api_version: str = ""
    """Where two APIs have a kind of that name: which one is meant."""
    assignment: Mapping[str, Any] | None = None
    """The flavors that a quota workload is to get, instead of choosing."""

    @property
    def unit(self) -> UnitName:
        return unit_name(self.kind, self.namespace, self.name)


class NothingToDecide(Exception):
    """There is no decision to make: the unit does not wait for a place, or what is asked of it makes no sense."""

    def __init__(self, message: str, about: str = "preemptor") -> None:
        super().__init__(message)
        self.about = about
        """The part of the question that it is about."""


class Known(NamedTuple):
    """A unit, whether it waits or not, for whoever asks about it."""

    unit: UnitName
    ledger: str
    """What it waits for, or holds something of."""
    pending: bool
    holds: bool
    """Whether it holds something that others could want."""
    whereabouts: str
    """What it is doing, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    unrelated: str = ""
    """Why a decision that does not name it has nothing to do with it; empty: it holds nothing."""


class Decided(NamedTuple):
    preemptor: Preemptor
    plan: Plan
    instead_of: tuple[UnitName, ...] = ()
    """Units that were given a place earlier in the same cycle, which this one could take from them: that is void, and
    they are decided for again."""


class Entry(ABC):
    """One policy, set up over a world which may change between decisions."""

    name = ""
    ledger = ""
    """What it decides over. Units of policies over one ledger take their turns together, by priority."""
    kinds: tuple[str, ...] = ()
    """What it decides for."""
    places_units = True
    """Whether what it decides for gets a place; False: it only makes others leave."""
    config_maps: frozenset[str] | None = None
    """The names of the ConfigMaps that it reads; None: any may be one of them."""
    looks_at_budgets = False
    """Whether its plans respect PodDisruptionBudgets where the settings say so. Not every design knows them."""

    @abstractmethod
    def find(self, asked: Asked) -> Preemptor | None:
        """The unit of that name, if it waits; None: it is not this policy's. Raises `NothingToDecide`."""

    @abstractmethod
    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        """All that wait but those that an earlier policy has `taken`; what it takes itself is added to them."""

    @abstractmethod
    def decide(self, preemptor: Preemptor, now: int) -> Plan: ...

    def has_place(self, preemptor: Preemptor, now: int) -> bool:
        """Whether it fits as things are; a policy may answer without a whole decision."""
        return self.decide(preemptor, now).outcome == "Fits"

    @abstractmethod
    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        """In the world that is looked at: victims are gone, places are taken or held."""

    def standing_now(self, preemptor: Preemptor) -> Preemptor:
        """The same unit as it stands among those who wait once others have got something."""
        return preemptor

    def undo(self, preemptor: Preemptor) -> bool:  # noqa: ARG002 - nothing is taken back
        """Take back a place that was committed for a unit, so that it waits as before; whether that was possible."""
        return False

    def known(self, asked: Asked) -> Known | None:  # noqa: ARG002 - nothing more to tell
        return None

    def without_turn(self) -> Mapping[UnitName, str]:
        """Who waits and may have no turn in a cycle, and why, in a sentence."""
        return {}

    def names(self) -> Iterable[UnitName]:
        """All units that could be asked about."""
        return ()

    def cycle(self, pending: list[Preemptor], now: int) -> Iterator[Decided] | None:  # noqa: ARG002
        """One pass over all that wait, where that is not one after the other; None: it is."""
        return None

    def waiting(self) -> Iterable[UnitName]:
        """All who wait, where not all of them have a turn in a cycle."""
        return ()

    def priorities(self, pending: list[Preemptor]) -> dict[UnitName, dict[str, Any]]:
        """What priority and preemption policy each unit resolved to."""
        policies = {True: "Never", False: "PreemptLowerPriority"}
        return {
            one.unit: {"priority": one.priority, "preemptionPolicy": policies[one.never_preempts]} for one in pending
        }

    def exposure(self, now: int) -> Exposure:
        """Who of those that have a place may be preempted, and by whom; unless it says more, by those who wait."""
        return by_those_who_wait([self.decide(one, now) for one in self.pending(set())], self.names())

    def overcommitted(self) -> Iterable[Overcommitted]:
        """Places that hold more than they have, so that what is there could not be placed again."""
        return ()

    def carried(self) -> Iterable[Any]:
        """Units that only name a class, with the priority that admission has written on them: what it resolved to when
        they came is theirs, and a class that changes later does not change it."""
        return ()

    def follows(self) -> Iterable[Any]:
        """Objects as their controllers would write them, where they follow from others that may be changed."""
        return ()

    def missing(self) -> Iterable[Any]:
        """Objects that a controller would make for others that are there, and that nobody has made yet."""
        return ()

    def answer(self, decided: Decided) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002 - nothing more to tell
        """What a result tells of a unit that got its place, beyond its placement: by field, by unit."""
        return {}


class Ground(NamedTuple):
    """What policies are set up over."""

    world: World
    settings: Settings
    nodes: NodeLedger
    moment: int
    """When it was looked at first, in microseconds since 1970."""
    names: frozenset[str] | None = None
    """The schedulers whose units are this one's; None: everybody's."""
    deciding: frozenset[str] = frozenset()
    """The policies that are on."""

    def mine(self, scheduler: str) -> bool:
        """Whether units that name a scheduler are decided for; all others take room, and are none of its business."""
        return self.names is None or scheduler in self.names

    def waiting_pods(self) -> Iterator[PodFacts]:
        """The pods that wait for it to decide."""
        return (facts for facts in self.world.pending() if self.mine(facts.pod.spec.scheduler_name))
