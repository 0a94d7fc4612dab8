"""Reprieve's own settings, and the feature gates that the designs name."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from reprieve.manifests.diagnosis import diagnose, drop_nulls, unknown_fields
from reprieve.manifests.meta import Count, Model, Reader
from reprieve.manifests.problems import Finding, InvalidInput, Origin, did_you_mean, found, one_of
from reprieve.manifests.shapes import type_at

# Every gate that is known, and whether it is on when nobody says anything.
GATES: dict[str, bool] = {
    "GenericWorkload": False,
    "CompositePodGroup": False,
    "PodGroupPreemptionPolicy": False,
    # On, unlike upstream: a group that asks for one rack must not be spread over many because nobody set a gate.
    "TopologyAwareWorkloadScheduling": True,
    "PriorityBasedScheduling": False,
    "PriorityBasedPreemptiveScheduling": False,
    "PriorityBoost": False,
    "PartialAdmission": True,
    "FairSharingPreemptWithinNominal": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
    "TopologyAwareScheduling": False,
    "TASRecomputeAssignmentWithinSchedulingCycle": False,
}


OWN_SCHEDULER = "reprieve"
"""What pods and bindings call this scheduler that want no other."""


class FairSharingSettings(Model):
    enable: bool = False
    preemption_strategies: tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )


Sorting = Literal["ByLowestPriority", "ByLowestRuntime", "ByLongestRuntime", "ByLowestCost"]


class QuotaSettings(Model):
    """What KEP-83 left open or put off; all of it off by default."""

    stop_borrowing_after_non_borrower: bool = False
    """In a cycle nobody in a cohort borrows any more after a workload that need not: as the KEP says."""
    wait_before_preemption_seconds: Count = 0
    """How long a workload waits, from its creation, before it may preempt."""
    candidate_order: tuple[Sorting, ...] = ("ByLowestPriority", "ByLowestRuntime")
    """By what candidates of one kind are told apart; ByLowestCost reads the milestones that workloads carry."""


class Settings(Model):
    """The configuration file: every setting has a default."""

    pdb: Literal["BestEffort", "Respect"] = "BestEffort"
    """Respect: a plan that would break a PodDisruptionBudget is refused."""
    scoring: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated"
    validate: bool = False
    """Check after every search that the ledger is what it was before."""
    feature_gates: dict[str, bool] = {}
    fair_sharing: FairSharingSettings = FairSharingSettings()
    quota: QuotaSettings = QuotaSettings()

    def gate(self, name: str) -> bool:
        return self.feature_gates.get(name, GATES[name])


OWN_PLANE = {
    "GenericWorkload": True,
    "PodGroupPreemptionPolicy": True,
    "PriorityBasedScheduling": True,
    "PriorityBasedPreemptiveScheduling": True,
}
"""What the designs keep behind gates, and a control plane of our own has no reason to."""


def own_plane(settings: Settings) -> Settings:
    """Settings as a control plane of our own starts from: what somebody has said stays."""
    return msgspec.structs.replace(settings, feature_gates={**OWN_PLANE, **settings.feature_gates})


_READER = Reader("", "Configuration", Settings)


def configure(
    data: Mapping[str, Any] | None, gates: Mapping[str, bool] | None = None, *, file: str = "configuration"
) -> Settings:
    """Settings from plain data; what is given in `gates` wins. Mistakes are raised all at once."""
    plain = drop_nulls(dict(data or {}))
    findings = [*diagnose(plain, _READER), *unknown_fields(plain, type_at(Settings, ()))]
    if not findings:
        settings: Settings = _READER.convert(plain)
        merged = {**settings.feature_gates, **(gates or {})}
        findings = [_unknown_gate(name) for name in merged if name not in GATES]
        if not findings:
            return msgspec.structs.replace(settings, feature_gates=merged)
    raise InvalidInput(finding.at(Origin(file, 0), "", "read") for finding in findings)


def _unknown_gate(name: str) -> Finding:
    near = did_you_mean(name, GATES)
    return Finding(f"$.featureGates.{name}", "unknown feature gate", "" if near else one_of(sorted(GATES)), near)


def parse_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false` as on the command line."""
    gates: dict[str, bool] = {}
    findings: list[Finding] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        name, _, value = part.partition("=")
        if value.lower() in ("true", "false"):
            gates[name.strip()] = value.lower() == "true"
        else:
            findings.append(Finding("--feature-gates", found(part), "allowed: NAME=true or NAME=false"))
    findings += (_unknown_gate(name) for name in gates if name not in GATES)
    if findings:
        raise InvalidInput(finding.at(Origin("command line", 0), "", "read") for finding in findings)
    return gates
