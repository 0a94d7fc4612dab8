"""Kueue's cohorts, local queues, flavors, classes and workloads."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj

NEWEST = "kueue.x-k8s.io/v1beta2"
NEWER = "kueue.x-k8s.io/v1beta1"
POD_SET = "{template: {spec: {containers: [{name: c}]}}}"
TAINT = "{key: a, effect: NoSchedule}"
LENDING = "{name: f, resources: [{name: cpu, nominalQuota: 1, lendingLimit: 2}]}"


def cohort(name: str, parent: str) -> str:
    return obj(f"{NEWEST} Cohort", f"spec: {{parentName: {parent}}}", name)


def workload(version: str, spec: str) -> str:
    return obj(f"{version} Workload", f"spec: {{{spec}}}", "w")


CASES = [
    Case(
        "a flavor with labels, taints and tolerations that cannot be",
        obj(
            f"{NEWEST} ResourceFlavor",
            f'spec: {{nodeLabels: {{a: "b c"}}, nodeTaints: [{TAINT}, {TAINT}], tolerations: [{{value: x}}]}}',
        ),
        want="""
        error: bad.yaml: document 1, line 4: ResourceFlavor/a: $.spec.nodeLabels.a: found "b c"; allowed:
            letters, digits, -, _ and ., at most 63 long
        error: bad.yaml: document 1, line 4: ResourceFlavor/a: $.spec.nodeTaints[1]: a:NoSchedule a second time;
            allowed: each taint once
        error: bad.yaml: document 1, line 4: ResourceFlavor/a: $.spec.tolerations[0].operator: found ""; allowed
            without a key: Exists
        """,
    ),
    Case(
        "a cohort that is its own parent",
        cohort("a", "a"),
        want="""
        error: bad.yaml: document 1, line 4: Cohort/a: $.spec.parentName: goes in a circle: a → a; allowed: a
            tree
        """,
    ),
    Case(
        "cohorts in a circle; who hangs below it is not to blame",
        documents(cohort("below", "a"), cohort("a", "b"), cohort("b", "c"), cohort("c", "a")),
        want="""
        error: bad.yaml: document 2, line 9: Cohort/a: $.spec.parentName: goes in a circle: a → b → c → a;
            allowed: a tree
        error: bad.yaml: document 3, line 14: Cohort/b: $.spec.parentName: goes in a circle: b → c → a → b;
            allowed: a tree
        error: bad.yaml: document 4, line 19: Cohort/c: $.spec.parentName: goes in a circle: c → a → b → c;
            allowed: a tree
        """,
    ),
    Case(
        "a cohort without a parent that limits lending",
        obj(f"{NEWEST} Cohort", f"spec: {{resourceGroups: [{{coveredResources: [cpu], flavors: [{LENDING}]}}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: Cohort/a:
            $.spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: found 2; allowed only below a parent
        """,
    ),
    Case(
        "a local queue that names no queue",
        obj(f"{NEWEST} LocalQueue", "spec: {stopPolicy: Stop}"),
        want="""
        error: bad.yaml: document 1, line 4: LocalQueue/default/a: $.spec.stopPolicy: found "Stop"; allowed: Hold,
            HoldAndDrain, None
        error: bad.yaml: document 1, line 4: LocalQueue/default/a: $.spec.clusterQueue: missing; it must be text
        """,
    ),
    Case(
        "a local queue of a queue that is not there",
        documents(
            obj(f"{NEWEST} LocalQueue", "spec: {clusterQueue: tean-a}"), obj(f"{NEWEST} ClusterQueue", name="team-a")
        ),
        want="""
        warning: bad.yaml: document 1, line 4: LocalQueue/default/a: $.spec.clusterQueue: there is no ClusterQueue
            "tean-a", so nothing is admitted through this queue; did you mean "team-a"?
        """,
    ),
    Case(
        "a class with a fraction",
        obj(f"{NEWEST} WorkloadPriorityClass", "value: 1.5"),
        want="""
        error: bad.yaml: document 1, line 4: WorkloadPriorityClass/a: $.value: found 1.5; it must be a whole
            number from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a workload without pod sets",
        workload(NEWEST, "podSets: []"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.podSets: found []; it must be a list of 1
            to 8
        """,
    ),
    Case(
        "a workload of more than its count",
        workload(NEWEST, f"podSets: [{POD_SET[:-1]}, count: 2, minCount: 3}}]"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.podSets[0].minCount: found 3; allowed: at
            most the count, 2
        """,
    ),
    Case(
        "a workload of a class that is not there",
        workload(NEWEST, f"podSets: [{POD_SET}], priorityClassRef: {{kind: WorkloadPriorityClass, name: nope}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassRef.name: there is no
            WorkloadPriorityClass "nope"
        """,
    ),
    Case(
        "a workload of a class of no kind",
        workload(NEWEST, f"podSets: [{POD_SET}], priorityClassRef: {{kind: Priority}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassRef.kind: found "Priority";
            allowed: PriorityClass, WorkloadPriorityClass; did you mean "PriorityClass"?
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassRef.name: missing; it must be
            text
        """,
    ),
    Case(
        "v1beta1: a workload of a class from nowhere",
        workload(NEWER, f"podSets: [{POD_SET}], priorityClassName: high, priorityClassSource: pod"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassSource: found "pod"; allowed:
            "", kueue.x-k8s.io/workloadpriorityclass, scheduling.k8s.io/priorityclass
        """,
    ),
    Case(
        "v1beta1: a workload of a class that is not there",
        workload(NEWER, f"podSets: [{POD_SET}], priorityClassName: high"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/w: $.spec.priorityClassName: there is no
            PriorityClass "high"
        """,
    ),
    Case(
        "a workload that was admitted for another pod set",
        workload(NEWEST, f"podSets: [{POD_SET}]")
        + "status: {admission: {clusterQueue: q, podSetAssignments: [{name: mian}]}}\n",
        want="""
        error: bad.yaml: document 1, line 5: Workload/default/w: $.status.admission.podSetAssignments[0].name:
            found "mian"; allowed: a pod set of the workload: main; did you mean "main"?
        """,
    ),
]
