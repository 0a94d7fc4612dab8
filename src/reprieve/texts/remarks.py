"""What is said beside a decision: a feature gate that is off, or a priority class that is missing, had a say in it."""

from reprieve.engine.plan import Remark
from reprieve.engine.reasons import FewerAreEnough, GateOff, MemberLeftOut, MissingClass, NoTaskGroups
from reprieve.feature_gates import turn_on
from reprieve.texts.claims import not_honoured
from reprieve.texts.parts import listed
from reprieve.texts.task_groups import useless

# What counts for nothing without the gate; each goes on to ": the feature gate ... is off".
_WITHOUT = {
    "GenericWorkload": "It names {what}, but is scheduled alone",
    "CompositePodGroup": "The priority and mode of {what} above it do not count",
    "PodGroupPreemptionPolicy": "That its group says preemptionPolicy: Never does not count",
    "TopologyAwareWorkloadScheduling": "It asks for one {what}, but may be spread over several",
    "PriorityBasedScheduling": "The priority that {what} asks for does not count",
    "PriorityBoost": "Its priority boost of {what} does not count",
    "PartialAdmission": "It may not start with fewer pods, though it says how few are enough",
    "FairSharingPreemptWithinNominal": "That its queue is within its nominal quota does not count in fair sharing",
    "RecomputeAssignmentUponPreemptionTargetsOverlap": "It does not look for other victims in this cycle",
}


def is_off(gate: str) -> str:
    """Goes on from "because" or a colon."""
    return f"the feature gate {gate} is off ({turn_on(gate)} turns it on)"


def gate_off(reason: GateOff) -> Remark:
    return Remark(reason, f"{_WITHOUT[reason.gate].format(what=reason.what)}: {is_off(reason.gate)}.")


def member_left_out(reason: MemberLeftOut) -> Remark:
    return Remark(reason, f"{reason.pod} is left out: {not_honoured(reason.claim)}.")


def no_task_groups(reason: NoTaskGroups) -> Remark:
    return Remark(reason, useless(reason.pod, reason.problem))


def missing_class(reason: MissingClass) -> Remark:
    names, they = ("names", "it tolerates") if len(reason.pods) == 1 else ("name", "they tolerate")
    sentence = f"PriorityClass {reason.class_name} does not exist, but {listed(reason.pods)} {names} it: "
    sentence += f"nobody knows what {they}, so nobody is preempted on {listed(reason.nodes)}."
    return Remark(reason, sentence)


def fewer_are_enough(reason: FewerAreEnough) -> Remark:
    """What the design's own order would have come to."""
    by_design, victims = reason.by_design, reason.victims
    enough = f"{victims} {'is' if victims == 1 else 'are'} enough"
    if by_design is None:
        return Remark(reason, f"No victims by the design's order, {enough}.")
    number = f"{by_design} victim{'' if by_design == 1 else 's'} by the design's order"
    if victims < by_design:
        return Remark(reason, f"{number}, {enough}.")
    if reason.violations < reason.violations_by_design:
        fewer = f"{reason.violations} instead of {reason.violations_by_design}"
        return Remark(reason, f"{number} against {reason.violations_by_design} budgets: now {fewer}.")
    return Remark(reason, f"{number}, and as many others who lose less.")
