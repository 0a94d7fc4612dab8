"""Kueue as KEP-83 knew it."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, obj

FIRST = "kueue.x-k8s.io/v1alpha2"
FLAVOR = "{name: f, quota: {min: 1}}"


def queue(spec: str) -> str:
    return obj(f"{FIRST} ClusterQueue", f"spec: {{{spec}}}", "q")


def workload(spec: str) -> str:
    return obj(f"{FIRST} Workload", f"spec: {{{spec}}}", "w")


CASES = [
    Case(
        "a policy that is misspelt",
        queue("preemption: {withinCohort: ReclaimFromLowerPriorty}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.withinCohort: found
            "ReclaimFromLowerPriorty"; allowed: Always, LowerPriority, Never, ReclaimAny, ReclaimFromAny,
            ReclaimFromLowerPriority; did you mean "ReclaimFromLowerPriority"?
        """,
    ),
    Case(
        "policies as later versions spell them",
        queue("preemption: {withinCohort: Any, withinClusterQueue: Lower}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.withinCohort: found "Any";
            allowed: Always, LowerPriority, Never, ReclaimAny, ReclaimFromAny, ReclaimFromLowerPriority
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.withinClusterQueue: found "Lower";
            allowed: LowerOrNewerEqualPriority, LowerPriority, LowerPriorityOnly, Never
        """,
    ),
    Case(
        "a maximum below the minimum",
        queue("resources: [{name: cpu, flavors: [{name: f, quota: {min: 5, max: 4500m}}]}]"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[0].flavors[0].quota.max: found
            "4500m"; allowed: at least the minimum, 5
        """,
    ),
    Case(
        "a quota without a minimum, and one that is none",
        queue("resources: [{name: cpu, flavors: [{name: f, quota: {max: 4}}, {name: g, quota: {min: lots}}]}]"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[0].flavors[0].quota.min: missing;
            it must be a quantity such as 500m or 2Gi
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[0].flavors[1].quota.min: not a
            quantity: found "lots"; allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a resource without flavors",
        queue("resources: [{name: cpu, flavors: []}, {name: memory}]"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[0].flavors: found []; it must be a
            list of at least 1
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[1].flavors: missing; it must be a
            list of at least 1
        """,
    ),
    Case(
        "resources and flavors twice",
        queue(f"resources: [{{name: cpu, flavors: [{FLAVOR}, {FLAVOR}]}}, {{name: cpu, flavors: [{FLAVOR}]}}]"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[1].name: found "cpu" a second time;
            allowed: each name once
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.resources[0].flavors[1].name: found "f" a
            second time; allowed: each name once
        """,
    ),
    Case(
        "fields of later versions",
        queue("cohortName: c, preemption: {reclaimWithinCohort: Any}"),
        want="""
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.cohortName: unknown field; did you mean
            "cohort"?
        error: bad.yaml: document 1, line 4: ClusterQueue/q: $.spec.preemption.reclaimWithinCohort: unknown
            field; did you mean "withinCohort"?
        """,
        strict=True,
    ),
    Case(
        "a flavor with a label and a taint that cannot be",
        obj(f"{FIRST} ResourceFlavor", 'nodeSelector: {a: "b c"}\ntaints: [{key: "a b", effect: NoSchedule}]'),
        want="""
        error: bad.yaml: document 1, line 4: ResourceFlavor/a: $.nodeSelector.a: found "b c"; allowed: letters,
            digits, -, _ and ., at most 63 long
        error: bad.yaml: document 1, line 5: ResourceFlavor/a: $.taints[0].key: found "a b"; allowed: a label key
        """,
    ),
    Case(
        "a workload of pods that would be refused",
        workload("podSets: [{name: A, spec: {containers: []}}], priorityClassName: nope"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.podSets[0].name: found "A"; allowed: a DNS
            label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.podSets[0].spec.containers: found []; it
            must be a list of at least 1
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassName: there is no
            PriorityClass "nope"
        """,
    ),
    Case(
        "a workload admitted without a queue",
        workload("podSets: [{spec: {containers: [{name: c}]}}], admission: {podSetFlavors: []}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.admission.clusterQueue: missing; it must
            be text
        """,
    ),
    Case(
        "an admission of a pod set that is not there",
        workload(
            "podSets: [{spec: {containers: [{name: c}]}}], admission: {clusterQueue: q, podSetFlavors: [{name: mian}]}"
        ),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.admission.podSetFlavors[0].name: found
            "mian"; allowed: a pod set of the workload: main; did you mean "main"?
        """,
    ),
    Case(
        "a kind that came later",
        obj(f"{FIRST} WorkloadPriorityClass", "value: 5"),
        want="""
        error: bad.yaml: document 1, line 1: WorkloadPriorityClass/a: $.apiVersion: found
            "kueue.x-k8s.io/v1alpha2"; allowed for WorkloadPriorityClass: kueue.x-k8s.io/v1beta2,
            kueue.x-k8s.io/v1beta1
        """,
    ),
]
