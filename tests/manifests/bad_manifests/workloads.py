"""Workloads and pod groups of scheduling.k8s.io, old and new."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj

CLASS = "scheduling.k8s.io/v1 PriorityClass"
FIRST = "scheduling.k8s.io/v1alpha1 Workload"
WORKLOAD = "scheduling.k8s.io/v1beta1 Workload"
GROUP = "scheduling.k8s.io/v1beta1 PodGroup"
COMPOSITE = "scheduling.k8s.io/v1alpha3 CompositePodGroup"
BASIC = "{name: a, policy: {basic: {}}}"
GANG = "schedulingPolicy: {gang: {minCount: 2}}"


MADE = "workloadRef: {workloadName: w, templateName: t}"


def child(name: str, parent: str) -> str:
    spec = f"schedulingPolicy: {{basic: {{}}}}, {MADE}, parentCompositePodGroupName: {parent}"
    return obj(COMPOSITE, f"spec: {{{spec}}}", name)


CASES = [
    Case(
        "no pod groups",
        obj(FIRST, "spec: {}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups: missing; it must be a list of 1
            to 8
        """,
    ),
    Case(
        "an empty list of pod groups",
        obj(FIRST, "spec: {podGroups: []}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups: found []; it must be a list of
            1 to 8
        """,
    ),
    Case(
        "nine pod groups",
        obj(FIRST, f"spec: {{podGroups: [{', '.join([BASIC] * 9)}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups: found a list of 9; it must be a
            list of 1 to 8
        """,
    ),
    Case(
        "a pod group without a policy",
        obj(FIRST, "spec: {podGroups: [{name: a}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy: missing; it must be
            an object
        """,
    ),
    Case(
        "a policy that is neither basic nor gang",
        obj(FIRST, "spec: {podGroups: [{name: a, policy: {}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy: basic and gang:
            neither set; allowed: exactly one of basic, gang
        """,
    ),
    Case(
        "a policy that is both",
        obj(FIRST, "spec: {podGroups: [{name: a, policy: {basic: {}, gang: {minCount: 1}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy: basic and gang: both
            set; allowed: exactly one of basic, gang
        """,
    ),
    Case(
        "a gang of none, preempted in an unknown mode",
        obj(FIRST, "spec: {podGroups: [{name: a, policy: {gang: {minCount: 0, preemptionMode: podgroup}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy.gang.minCount: found
            0; it must be a whole number from 1 to 2147483647
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy.gang.preemptionMode:
            found "podgroup"; allowed: Pod, PodGroup; did you mean "PodGroup"?
        """,
    ),
    Case(
        "a gang without a count, misspelt",
        obj(FIRST, "spec: {podGroups: [{name: a, policy: {gang: {mincount: 4}}}]}"),
        want="""
        warning: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy.gang.mincount:
            unknown field; did you mean "minCount"?
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[0].policy.gang.minCount:
            missing; it must be a whole number from 1 to 2147483647; "mincount" is no field here
        """,
    ),
    Case(
        "pod groups of one name, and one that is no DNS label",
        obj(FIRST, f"spec: {{podGroups: [{BASIC}, {BASIC}, {BASIC.replace('a,', 'A,')}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[1].name: found "a" a second
            time; allowed: each name once
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups[2].name: found "A"; allowed: a
            DNS label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long
        """,
    ),
    Case(
        "priority classes that are not there",
        obj(FIRST, f"spec: {{priorityClassName: high, preemptionPriorityClassName: low, podGroups: [{BASIC}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.priorityClassName: there is no
            PriorityClass "high"
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.preemptionPriorityClassName: there is no
            PriorityClass "low"
        """,
    ),
    Case(
        "a preemption priority below its own",
        documents(
            obj(FIRST, f"spec: {{priorityClassName: high, preemptionPriorityClassName: low, podGroups: [{BASIC}]}}"),
            obj(CLASS, "value: 5", "low"),
            obj(CLASS, "value: 9", "high"),
        ),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.preemptionPriorityClassName: found "low"
            of value 5; allowed: a class of at least 9, the workload's own priority
        """,
    ),
    Case(
        "a new workload in the old form",
        obj(WORKLOAD, f"spec: {{podGroups: [{BASIC}]}}"),
        want="""
        warning: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroups: unknown field
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroupTemplates: missing; it must be a
            list of at least 1, or there must be compositePodGroupTemplates
        """,
    ),
    Case(
        "a template without a name and with a negative count",
        obj(WORKLOAD, "spec: {podGroupTemplates: [{schedulingPolicy: {gang: {minCount: -1}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a:
            $.spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: found -1; it must be a whole number from 1 to
            2147483647
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroupTemplates[0].name: missing; it
            must be text
        """,
    ),
    Case(
        "a template disrupted both ways",
        obj(
            WORKLOAD, f"spec: {{podGroupTemplates: [{{name: a, {GANG}, disruptionMode: {{single: {{}}, all: {{}}}}}}]}}"
        ),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroupTemplates[0].disruptionMode:
            single and all: both set; allowed: exactly one of single, all
        """,
    ),
    Case(
        "a version that has no pod groups",
        obj("scheduling.k8s.io/v1 PodGroup", f"spec: {{{GANG}}}"),
        want="""
        error: bad.yaml: document 1, line 1: PodGroup/default/a: $.apiVersion: found "scheduling.k8s.io/v1";
            allowed for PodGroup: scheduling.k8s.io/v1beta1, scheduling.k8s.io/v1alpha3, scheduling.k8s.io/v1alpha2
        """,
    ),
    Case(
        "a pod group without a policy for scheduling",
        obj(GROUP, "spec: {}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.schedulingPolicy: missing; it must be an
            object
        """,
    ),
    Case(
        "a disruption mode as the old form has it",
        obj(GROUP, f"spec: {{{GANG}, disruptionMode: PodGroup}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.disruptionMode: found "PodGroup"; it must
            be an object
        """,
    ),
    Case(
        "a disruption mode that says nothing",
        obj(GROUP, f"spec: {{{GANG}, disruptionMode: {{}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.disruptionMode: single and all: neither
            set; allowed: exactly one of single, all
        """,
    ),
    Case(
        "a priority that is not that of the class",
        obj(GROUP, f"spec: {{{GANG}, priorityClassName: system-node-critical, priority: 3}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.priority: found 3; allowed: 2000001000,
            the value of system-node-critical
        """,
    ),
    Case(
        "a class that is not there and a policy that does not exist",
        documents(
            obj(GROUP, f"spec: {{{GANG}, priorityClassName: nope}}"),
            obj(GROUP, f"spec: {{{GANG}, preemptionPolicy: Always}}", "b"),
        ),
        want="""
        error: bad.yaml: document 2, line 9: PodGroup/default/b: $.spec.preemptionPolicy: found "Always"; allowed:
            Never, PreemptLowerPriority
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.priorityClassName: there is no
            PriorityClass "nope"
        """,
    ),
    Case(
        "a reference to a workload without its template",
        obj(GROUP, f"spec: {{{GANG}, workloadRef: {{workloadName: w}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.workloadRef.templateName: missing; it must
            be text
        """,
    ),
    Case(
        "two topology constraints",
        obj(GROUP, f"spec: {{{GANG}, schedulingConstraints: {{topology: [{{key: rack}}, {{key: zone}}]}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.schedulingConstraints.topology: found a
            list of 2; it must be a list of at most 1
        """,
    ),
    Case(
        "a composite group that counts pods",
        obj(COMPOSITE, f"spec: {{{GANG}}}"),
        want="""
        warning: bad.yaml: document 1, line 4: CompositePodGroup/default/a: $.spec.schedulingPolicy.gang.minCount:
            unknown field; did you mean "minGroupCount"?
        error: bad.yaml: document 1, line 4: CompositePodGroup/default/a:
            $.spec.schedulingPolicy.gang.minGroupCount: missing; it must be a whole number from 1 to 2147483647;
            "minCount" is no field here
        """,
    ),
    Case(
        "a composite group that is its own parent",
        child("a", "a"),
        want="""
        error: bad.yaml: document 1, line 4: CompositePodGroup/default/a: $.spec.parentCompositePodGroupName: goes
            in a circle: a → a; allowed: a tree
        """,
    ),
    Case(
        "composite groups in a circle; who hangs below it is not to blame",
        documents(child("below", "a"), child("a", "b"), child("b", "a")),
        want="""
        error: bad.yaml: document 2, line 9: CompositePodGroup/default/a: $.spec.parentCompositePodGroupName: goes
            in a circle: a → b → a; allowed: a tree
        error: bad.yaml: document 3, line 14: CompositePodGroup/default/b: $.spec.parentCompositePodGroupName:
            goes in a circle: b → a → b; allowed: a tree
        """,
    ),
    Case(
        "composite templates: a name twice, two priorities, nothing below, and both kinds of templates",
        obj(
            WORKLOAD,
            "spec: {podGroupTemplates: [{name: x, schedulingPolicy: {basic: {}}}], compositePodGroupTemplates: "
            "[{name: x, schedulingPolicy: {basic: {}}, priority: 5}]}",
        ),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec: podGroupTemplates and
            compositePodGroupTemplates: both set; allowed: exactly one of podGroupTemplates,
            compositePodGroupTemplates
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.compositePodGroupTemplates[0].name: found
            "x"; it must be unique, and $.spec.podGroupTemplates[0] has it too
        error: bad.yaml: document 1, line 4: Workload/default/a:
            $.spec.compositePodGroupTemplates[0].podGroupTemplates: missing; a composite template must have groups
            below it
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.compositePodGroupTemplates[0].priority:
            found 5; allowed: nothing, as in the other templates of this Workload
        """,
    ),
    Case(
        "a group in a tree that is made from nothing",
        obj(GROUP, f"spec: {{{GANG}, parentCompositePodGroupName: top}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.workloadRef: missing; a group in a tree of
            groups names the Workload and the template it is made from
        """,
    ),
    Case(
        "a gang that becomes something else",
        obj(GROUP, "spec: {schedulingPolicy: {basic: {}}, disruptionMode: {all: {}}}"),
        old=obj(GROUP, f"spec: {{{GANG}}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.schedulingPolicy.basic: it was not set before;
            a group cannot change from gang to basic; of a gang the smallest number can be changed
        error: bad.yaml: document 1, line 4: PodGroup/default/a: $.spec.disruptionMode: found "PodGroup"; the field
            cannot be changed: it was "Pod"
        """,
    ),
    Case(
        "a Workload that loses a template",
        obj(WORKLOAD, f"spec: {{podGroupTemplates: [{{name: x, {GANG}}}]}}"),
        old=obj(WORKLOAD, f"spec: {{podGroupTemplates: [{{name: x, {GANG}}}, {{name: z, {GANG}}}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: Workload/default/a: $.spec.podGroupTemplates: z is missing; templates
            cannot be removed
        """,
    ),
    Case(
        "a Job whose gang is larger than it runs at a time",
        obj(
            "batch/v1 Job",
            "spec: {parallelism: 2, scheduling: {schedulingPolicy: {gang: {minCount: 3}}}, "
            "template: {spec: {containers: [{name: c}]}}}",
        ),
        want="""
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.scheduling.schedulingPolicy.gang.minCount: found
            3; allowed: at most 2, the parallelism
        """,
    ),
]
