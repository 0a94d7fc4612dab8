"""Kueue's cluster queues of today, and of v1beta1."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj

NEWEST = "kueue.x-k8s.io/v1beta2"
NEWER = "kueue.x-k8s.io/v1beta1"


def queue(version: str, spec: str) -> str:
    return obj(f"{version} ClusterQueue", f"spec: {{{spec}}}", "q")


def group(quota: str, cohort: str = "") -> str:
    return queue(NEWEST, f"{cohort}resourceGroups: [{{coveredResources: [cpu], flavors: [{quota}]}}]")


def limits(quota: str, cohort: str = "") -> str:
    return group(f"{{name: f, resources: [{{name: cpu, {quota}}}]}}", cohort)


CASES = [
    Case(
        "v1beta2: policies that are misspelt or of another field",
        queue(NEWEST, "preemption: {reclaimWithinCohort: LowerPriorty, withinClusterQueue: Any}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.reclaimWithinCohort: found
            "LowerPriorty"; allowed: Any, LowerPriority, Never; did you mean "LowerPriority"?
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.withinClusterQueue: found "Any";
            allowed: LowerOrNewerEqualPriority, LowerPriority, Never
        """,
    ),
    Case(
        "v1beta2: a policy as v1alpha2 spells it",
        queue(NEWEST, "preemption: {reclaimWithinCohort: ReclaimFromAny}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.reclaimWithinCohort: found
            "ReclaimFromAny"; allowed: Any, LowerPriority, Never; did you mean "Any"?
        """,
    ),
    Case(
        "v1beta2: borrowing by preemption without reclaiming",
        queue(NEWEST, "preemption: {borrowWithinCohort: {policy: LowerPriority}}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.borrowWithinCohort.policy: found
            "LowerPriority"; allowed: Never, or with a reclaimWithinCohort other than Never
        """,
    ),
    Case(
        "v1beta2: a threshold for borrowing that is off",
        queue(NEWEST, "preemption: {reclaimWithinCohort: Any, borrowWithinCohort: {maxPriorityThreshold: 5}}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.preemption.borrowWithinCohort.maxPriorityThreshold: found 5; allowed only with the policy
            LowerPriority
        """,
    ),
    Case(
        "v1beta2: a threshold that is a word, for a policy that does not exist",
        queue(NEWEST, "preemption: {borrowWithinCohort: {policy: Any, maxPriorityThreshold: high}}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.borrowWithinCohort.policy: found
            "Any"; allowed: LowerPriority, Never
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.preemption.borrowWithinCohort.maxPriorityThreshold: found "high"; it must be a whole number from
            -2147483648 to 2147483647
        """,
    ),
    Case(
        "v1beta2: a strategy, a stop policy and fungibility that do not exist",
        queue(NEWEST, "queueingStrategy: FIFO, stopPolicy: hold, flavorFungibility: {whenCanBorrow: Borrow}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.queueingStrategy: found "FIFO"; allowed:
            BestEffortFIFO, StrictFIFO
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.stopPolicy: found "hold"; allowed: Hold,
            HoldAndDrain, None; did you mean "Hold"?
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.flavorFungibility.whenCanBorrow: found
            "Borrow"; allowed: MayStopSearch, TryNextFlavor
        """,
    ),
    Case(
        "v1beta2: quotas that are no quantities",
        limits("nominalQuota: -5, borrowingLimit: x, lendingLimit: []"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: negative: found -5; allowed: zero or more
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: not a quantity: found "x"; allowed: a
            number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: not a quantity: found []; allowed: a number
            with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "v1beta2: limits without a cohort",
        limits("nominalQuota: 5, borrowingLimit: 5, lendingLimit: 6"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: found 5; allowed only in a cohort
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: found 6; allowed only in a cohort
        """,
    ),
    Case(
        "v1beta2: lending more than there is",
        limits("nominalQuota: 5, lendingLimit: 6", "cohortName: c, "),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: found 6; allowed: at most the nominal
            quota, 5
        """,
    ),
    Case(
        "v1beta2: a resource that is not covered",
        group("{name: f, resources: [{name: memory, nominalQuota: 5}]}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resourceGroups[0].flavors[0].resources: found
            memory; allowed: the covered resources in their order: cpu
        """,
    ),
    Case(
        "v1beta2: a flavor twice",
        group("{name: f, resources: [{name: cpu}]}, {name: f, resources: [{name: cpu}]}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resourceGroups[0].flavors[1].name: found "f"
            a second time; allowed: each flavor in one group
        """,
    ),
    Case(
        "v1beta2: a group of nothing",
        queue(NEWEST, "resourceGroups: [{coveredResources: [], flavors: []}]"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resourceGroups[0].coveredResources: found [];
            it must be a list of at least 1
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resourceGroups[0].flavors: found []; it must
            be a list of at least 1
        """,
    ),
    Case(
        "v1beta2: a flavor that is not there",
        documents(group("{name: spto, resources: [{name: cpu}]}"), obj(f"{NEWEST} ResourceFlavor", name="spot")),
        want="""
        warning: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resourceGroups[0].flavors[0].name: there is
            no ResourceFlavor "spto", so nothing is admitted on it; did you mean "spot"?
        """,
    ),
    Case(
        "v1beta2: a negative weight",
        queue(NEWEST, "fairSharing: {weight: -1}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.fairSharing.weight: negative: found -1;
            allowed: zero or more
        """,
    ),
    Case(
        "v1beta2: a namespace selector in lower case",
        queue(NEWEST, "namespaceSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q:
            $.spec.namespaceSelector.matchExpressions[0].operator: found "in"; allowed: DoesNotExist, Exists, In,
            NotIn; did you mean "In"?
        """,
    ),
    Case(
        "v1beta1: borrowing by preemption without reclaiming",
        queue(NEWER, "preemption: {reclaimWithinCohort: Never, borrowWithinCohort: {policy: LowerPriority}}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.borrowWithinCohort.policy: found
            "LowerPriority"; allowed: Never, or with a reclaimWithinCohort other than Never
        """,
    ),
    Case(
        "v1beta1: fungibility that is misspelt",
        queue(NEWER, "flavorFungibility: {whenCanBorrow: Borow, whenCanPreempt: Never}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.flavorFungibility.whenCanBorrow: found
            "Borow"; allowed: Borrow, MayStopSearch, TryNextFlavor; did you mean "Borrow"?
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.flavorFungibility.whenCanPreempt: found
            "Never"; allowed: MayStopSearch, Preempt, TryNextFlavor
        """,
    ),
    Case(
        "v1beta1: a field of v1beta2",
        queue(NEWER, "cohortName: c"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.cohortName: unknown field; did you mean
            "cohort"?
        """,
        strict=True,
    ),
]
