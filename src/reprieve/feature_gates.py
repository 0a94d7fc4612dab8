"""The feature gates that the designs name: one table, for settings, messages, what `reprieve up` prints and the docs.

As in Kubernetes: a gate has a stage and a default. `AllAlpha` and `AllBeta` set all gates of a stage that are not named
themselves, whatever the order. A gate that is locked can only be set to what it is.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from reprieve.manifests.problems import Finding, InvalidInput, Origin, did_you_mean, found, one_of

Stage = Literal["alpha", "beta", "GA"]


class Gate(NamedTuple):
    """One feature that can be switched, and what it does when it is on."""

    stage: Stage
    default: bool
    sentence: str
    locked: bool = False
    """Only the default can be said: what it would switch is not part of Reprieve."""


GATES: dict[str, Gate] = {
    "GenericWorkload": Gate(
        "beta",
        False,
        "Pods that name a PodGroup are scheduled as a group, and preempted as one where it asks so.",
    ),
    "CompositePodGroup": Gate(
        "alpha",
        False,
        "PodGroups may stand below CompositePodGroups: they are scheduled, and preempted, as these say.",
    ),
    "PodGroupPreemptionPolicy": Gate(
        "alpha", False, "A PodGroup whose preemption policy is Never preempts nobody, whatever its pods say."
    ),
    "TopologyAwareWorkloadScheduling": Gate(
        "alpha", False, "A PodGroup may ask that all its pods go to one topology domain, such as a rack."
    ),
    "WorkloadWithJob": Gate(
        "alpha", False, "A Job that says how it is scheduled (`spec.scheduling`) gets a Workload and a PodGroup."
    ),
    "PriorityBasedScheduling": Gate(
        "alpha", False, "Bindings carry the priority of their propagation policy, and are taken by it."
    ),
    "PriorityBasedPreemptiveScheduling": Gate(
        "alpha", False, "A binding that fits nowhere may preempt bindings of lower priority."
    ),
    "PriorityBoost": Gate("alpha", False, "An annotation of a quota workload is added to its priority."),
    "PartialAdmission": Gate("beta", True, "A quota workload that does not fit whole may start with fewer pods."),
    "FairSharingPreemptWithinNominal": Gate(
        "beta", True, "Under fair sharing, a queue within its nominal quota reclaims it whatever the shares are."
    ),
    "RecomputeAssignmentUponPreemptionTargetsOverlap": Gate(
        "beta",
        True,
        "A head whose victims an earlier head of its cycle has claimed looks for others at once.",
    ),
    "TopologyAwareScheduling": Gate(
        "beta", False, "Kueue's placement by topology; here it needs no gate, so this one stays off.", locked=True
    ),
    "TASRecomputeAssignmentWithinSchedulingCycle": Gate(
        "beta",
        False,
        "A part of Kueue's placement by topology; here it needs no gate, so this one stays off.",
        locked=True,
    ),
}
ALL_OF: dict[str, Stage] = {"AllAlpha": "alpha", "AllBeta": "beta"}
"""Names that stand for all gates of a stage."""
_BY_STAGE = {stage: name for name, stage in ALL_OF.items()}


def is_on(name: str, said: Mapping[str, bool]) -> bool:
    """Whether a gate is on, where somebody has `said` something of some gates: itself, its stage, else its default."""
    if name in said:
        return said[name]
    gate = GATES[name]
    return gate.default if gate.locked else said.get(_BY_STAGE.get(gate.stage, ""), gate.default)


def gates_on(said: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """The names of all gates that are on, and of all that are off."""
    states = {name: is_on(name, said) for name in GATES}
    return [name for name, on in states.items() if on], [name for name, on in states.items() if not on]


def turn_on(name: str) -> str:
    """What has to be said to have a gate on."""
    return f"--feature-gates {name}=true"


def parse_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false` as on the command line."""
    gates: dict[str, bool] = {}
    findings: list[Finding] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        name, _, value = part.partition("=")
        if value.strip().lower() in ("true", "false"):
            gates[name.strip()] = value.strip().lower() == "true"
        else:
            findings.append(Finding("--feature-gates", found(part), "allowed: NAME=true or NAME=false"))
    findings += mistakes_in(gates)
    if findings:
        raise InvalidInput(finding.at(Origin("command line", 0), "", "read") for finding in findings)
    return gates


def mistakes_in(said: Mapping[str, bool]) -> Iterator[Finding]:
    """Gates that do not exist, and locked ones that are to be something else."""
    known = (*GATES, *ALL_OF)
    for name, value in said.items():
        place = f"$.featureGates.{name}"
        if name not in known:
            near = did_you_mean(name, known)
            yield Finding(place, "unknown feature gate", "" if near else one_of(sorted(known)), near)
        elif name in GATES and GATES[name].locked and value != GATES[name].default:
            right = f"it can only be {_written(GATES[name].default)}: {GATES[name].sentence}"
            yield Finding(place, f"found {_written(value)}", right)


def _written(value: bool) -> str:
    return "true" if value else "false"
