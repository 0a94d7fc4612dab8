"""Why: typed reasons, from which `texts` makes every sentence a person reads."""

from typing import Any, ClassVar, Literal

import msgspec

from reprieve.engine.claims import Claim, NotHonoured
from reprieve.model.names import UnitName

Because = Literal["Never", "Leaving", "Budget", "NotYet", "Turn", "Optional", "GateOff", "Suspended", "NotAllowed"]
"""Why nobody is asked: the preemption policy, victims that still leave, a budget that is respected, a time that has not
come, others whose turn is first, pods that a group can do without, a feature gate that is off, a preemptor that is
suspended, or what else."""


class Reason(msgspec.Struct, frozen=True, rename="camel"):
    """Why somebody makes way or stays; `rule` is the name that explanations quote: that of its type, or another."""

    rule: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.rule = cls.__dict__.get("rule") or cls.__name__


class LowerPriority(Reason, frozen=True):
    """Eligible: it ranks below the preemptor."""

    priority: int
    preemptor_priority: int


class NotLower(Reason, frozen=True):
    """Protected: it does not rank below the preemptor."""

    priority: int
    preemptor_priority: int
    rule: ClassVar[str] = "Priority"


class Tolerates(Reason, frozen=True):
    """Protected: its priority class tolerates preemption by those below a minimum, for a time or for ever."""

    class_name: str
    minimum: int
    preemptor_priority: int
    until: int | None
    """Microseconds since 1970; None: for ever, or until it is known when it was scheduled."""
    member: UnitName | None = None
    """Whose class that is, where it is not the pod's own but that of another one of its group."""
    rule: ClassVar[str] = "Toleration"


class UnknownClass(Reason, frozen=True):
    """Protected, with its whole node: its priority class cannot be looked up."""

    class_name: str
    member: UnitName | None = None
    rule: ClassVar[str] = "UnknownPriorityClass"


class UnreadableToleration(Reason, frozen=True):
    """Protected, with its whole node: what its priority class says of toleration is no number."""

    class_name: str
    member: UnitName | None = None


class NodeLeftOut(Reason, frozen=True):
    """Protected, with its whole node: nobody knows what another pod there tolerates, as its class cannot be read."""

    node: str
    pod: UnitName
    class_name: str


class NoSuchPreemptor(Reason, frozen=True):
    """Safe: nobody of that kind can ask, because the class or the queue is not there."""


class Reprieved(Reason, frozen=True):
    """Spared: the preemptor fits beside it."""


class SparedByBudget(Reason, frozen=True):
    """Spared: its disruption budget would have broken, and others could go."""

    rule: ClassVar[str] = "DisruptionBudget"


class AboveMinimum(Reason, frozen=True):
    """Spared: units of lower priority are enough."""

    priority: int
    minimum: int
    rule: ClassVar[str] = "MinimalPriority"


class OptionalPods(Reason, frozen=True):
    """Protected from pods that a group can do without: nobody so important made way for those it needs."""

    priority: int
    limit: int
    rule: ClassVar[str] = "AboveMinimum"


class QuotaTaken(Reason, frozen=True):
    """Eligible: by the preemption policy of the preemptor's queue; `kind` is the reason as Kueue names it."""

    kind: str
    queue: str
    preemptor_queue: str
    priority: int
    preemptor_priority: int

    @property
    def rule(self) -> str:  # type: ignore[override]
        return self.kind


class WithinQuota(Reason, frozen=True):
    """Protected: its queue, or a cohort above it, does not use more than its quota."""

    queue: str
    others_gone: bool = False
    """That is so only without those who were asked before it."""
    rule: ClassVar[str] = "WithinNominalQuota"


class NotReached(Reason, frozen=True):
    """Protected: the preemption policy of the preemptor's queue does not reach it."""

    policy: str
    queue: str
    priority: int
    preemptor_priority: int
    rule: ClassVar[str] = "PreemptionPolicy"


class OtherCohort(Reason, frozen=True):
    """Protected: its queue shares no cohort with the preemptor's, and so no quota."""

    queue: str
    preemptor_queue: str


class QueueClosed(Reason, frozen=True):
    """Protected: its queue is stopped, or names a flavor that is not there."""

    queue: str


class Claimed(Reason, frozen=True):
    """Protected: it makes way for an earlier head of the same cycle."""


class LongRunning(Reason, frozen=True):
    """Protected: it has run for so long that the settings let nobody preempt it."""

    seconds: int


class MadeWayBefore(Reason, frozen=True):
    """Protected: the preemptor has had its quota before, and nothing has changed since but who is admitted."""

    preemptor: str


class NotWhileBorrowing(Reason, frozen=True):
    """Protected: it may only be asked by a preemptor whose queue does not borrow afterwards."""

    preemptor_queue: str
    priority: int


class NoLargerShare(Reason, frozen=True):
    """Protected: under fair sharing its queue or cohort would not have the larger share; perhaps not `without_it`."""

    queue: str
    preemptor_queue: str
    without_it: bool
    rule: ClassVar[str] = "FairSharing"


class NoFlavor(Reason, frozen=True):
    """Spared: no flavor can hold the preemptor, so nobody is asked."""

    claims: tuple[Claim, ...]


class NotEnough(Reason, frozen=True):
    """Spared: it could go, but even with everybody gone who may go the preemptor would not fit."""


class NotContested(Reason, frozen=True):
    """Spared: it uses nothing of what is needed."""


class Leaving(Reason, frozen=True):
    """Spared: it is on its way out, and is waited for."""


class NoHelp(Reason, frozen=True):
    """Spared: whoever leaves this domain, the preemptor cannot come."""

    domain: str
    obstacle: Claim


class NobodyAsked(Reason, frozen=True):
    """Spared: the preemptor asks nobody, because it never preempts, may not yet, or respects a budget."""

    because: Because = "NotAllowed"
    gate: str = ""
    """The feature gate that is off."""


class GateOff(Reason, frozen=True):
    """Something that the preemptor asks for counts for nothing: the feature gate that it needs is off."""

    gate: str
    what: str = ""
    """What it asks for, where that has a name: its group, the group above that, a topology key."""


class MemberLeftOut(Reason, frozen=True):
    """A pod of a group has something about it that cannot be honoured, so that it gets no place with the others."""

    pod: UnitName
    claim: NotHonoured


class NoTaskGroups(Reason, frozen=True):
    """A pod defines YuniKorn's task groups in a way that cannot be read, and is decided for alone."""

    pod: UnitName
    problem: str = ""


class MissingClass(Reason, frozen=True):
    """Nodes are left out of preemption: pods there name a priority class that does not exist."""

    class_name: str
    pods: tuple[UnitName, ...]
    nodes: tuple[str, ...]


class CheaperElsewhere(Reason, frozen=True):
    """Spared: another domain was chosen."""

    domain: str
    criterion: str


class QueueOver(Reason, frozen=True):
    """Eligible: its queue is over its guarantee and within reach; `reluctant`: only because there was no other way."""

    queue: str
    priority: int
    reluctant: bool = False
    rule: ClassVar[str] = "QueueOverGuarantee"


class QueueAboveMaximum(Reason, frozen=True):
    """Eligible: its queue uses more than its maximum, which was lowered."""

    queue: str


class NodeRequired(Reason, frozen=True):
    """Eligible: the preemptor must run on its node; `reluctant`: only because there was no other way."""

    node: str
    reluctant: bool = False


class PlaceholderReplaced(Reason, frozen=True):
    """Eligible: it is a placeholder, and the pod that it kept the place for has come."""

    node: str


class QueueLaw(Reason, frozen=True):
    """Protected: by one of the laws of preemption between queues; `kind` is the name of that law."""

    kind: str
    queue: str
    top: str = ""
    """Where the preemptor's reach ends: its fence, or the queue whose maximum is in the way, or root."""
    priority: int = 0
    bound: int = 0
    resource: str = ""
    """What the law is about, where that is one type."""
    others_gone: bool = False
    """That is so only without those who were asked before it."""

    @property
    def rule(self) -> str:  # type: ignore[override]
        return self.kind


class ClusterScoped(Reason, frozen=True):
    """Protected: bindings for the whole control plane take no part in preemption."""


class OtherScheduler(Reason, frozen=True):
    """Protected: it is another scheduler's to place, and two must not preempt in circles."""

    scheduler: str
    own: str


class MirrorPod(Reason, frozen=True):
    """Protected: it shows a static pod of its node, and deleting it ends nothing there."""


class BeingDeleted(Reason, frozen=True):
    """Spared: it is being deleted, so that it goes whoever asks."""


class NoRequirements(Reason, frozen=True):
    """Spared: it asks for nothing, so that its leaving frees nothing."""


class PolicyReason(Reason, frozen=True):
    """Of a policy that is no part of this package: it brings the name of its rule and its own words."""

    rule: str  # type: ignore[misc]
    sentence: str


class FewerAreEnough(Reason, frozen=True):
    """It was looked for less than the design's own order found."""

    by_design: int | None
    """So many victims; None: it found no set that is enough."""
    victims: int
    violations_by_design: int = 0
    violations: int = 0
