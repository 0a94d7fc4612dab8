"""Nodes, budgets, config maps, namespaces, and what pods are made from."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, obj

BUDGET = "policy/v1 PodDisruptionBudget"

CASES = [
    Case(
        "a taint with a misspelt effect",
        obj("v1 Node", "spec: {taints: [{key: gpu, effect: NoScheduling}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.spec.taints[0].effect: found "NoScheduling"; allowed:
            NoExecute, NoSchedule, PreferNoSchedule; did you mean "NoSchedule"?
        """,
    ),
    Case(
        "a taint without an effect",
        obj("v1 Node", "spec: {taints: [{key: gpu}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.spec.taints[0].effect: missing; it must be one of
            NoExecute, NoSchedule, PreferNoSchedule
        """,
    ),
    Case(
        "one taint twice",
        obj("v1 Node", "spec: {taints: [{key: gpu, effect: NoSchedule}, {key: gpu, effect: NoSchedule}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.spec.taints[1]: gpu:NoSchedule a second time; allowed:
            each taint once
        """,
    ),
    Case(
        "unschedulable as a number",
        obj("v1 Node", "spec: {unschedulable: 1}"),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.spec.unschedulable: found 1; it must be true or false
        """,
    ),
    Case(
        "a budget with both bounds",
        obj(BUDGET, "spec: {minAvailable: 1, maxUnavailable: 1}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.spec.maxUnavailable: set beside
            minAvailable; allowed: one of them
        """,
    ),
    Case(
        "a budget of more than everything",
        obj(BUDGET, "spec: {minAvailable: 150%}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.spec.minAvailable: found "150%";
            allowed: at most 100%
        """,
    ),
    Case(
        "a budget that is a word",
        obj(BUDGET, "spec: {minAvailable: half}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.spec.minAvailable: found "half"; it
            must be a whole number from 0 to 2147483647 or a percentage such as 50%
        """,
    ),
    Case(
        "a budget that is a number in quotes",
        obj(BUDGET, 'spec: {maxUnavailable: "5"}'),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.spec.maxUnavailable: found "5"; it
            must be a whole number from 0 to 2147483647 or a percentage such as 50%; write it without quotes
        """,
    ),
    Case(
        "a budget below zero",
        obj(BUDGET, "spec: {maxUnavailable: -1}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.spec.maxUnavailable: found -1; it
            must be a whole number from 0 to 2147483647 or a percentage such as 50%
        """,
    ),
    Case(
        "a selector whose values do not go with its operators",
        obj(
            BUDGET,
            "spec: {selector: {matchExpressions: [{key: a, operator: In}, {key: b, operator: Exists, values: [c]}]}}",
        ),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a:
            $.spec.selector.matchExpressions[0].values: found []; allowed with the operator In: at least one value
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a:
            $.spec.selector.matchExpressions[1].values: found a list; allowed with the operator Exists: none
        """,
    ),
    Case(
        "a selector with an operator of nodes",
        obj(BUDGET, "spec: {selector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a:
            $.spec.selector.matchExpressions[0].operator: found "Gt"; allowed: DoesNotExist, Exists, In, NotIn
        """,
    ),
    Case(
        "a disrupted pod at no time",
        obj(BUDGET, "status: {disruptedPods: {a: 2026-01-01T12:00:00Z, b: today}}"),
        want="""
        error: bad.yaml: document 1, line 4: PodDisruptionBudget/default/a: $.status.disruptedPods.b: found
            "today"; it must be a time such as 2026-01-01T12:00:00Z
        """,
    ),
    Case(
        "config data that is not text",
        obj("v1 ConfigMap", "data: {port: 8080, debug: true, hosts: [a]}"),
        want="""
        error: bad.yaml: document 1, line 4: ConfigMap/default/a: $.data.port: found 8080; it must be text; put it
            in quotes
        error: bad.yaml: document 1, line 4: ConfigMap/default/a: $.data.debug: found true; it must be text; put
            it in quotes
        error: bad.yaml: document 1, line 4: ConfigMap/default/a: $.data.hosts: found a list; it must be text
        """,
    ),
    Case(
        "config data that is one text",
        obj("v1 ConfigMap", "data: text"),
        want="""
        error: bad.yaml: document 1, line 4: ConfigMap/default/a: $.data: found "text"; it must be names and
            values, such as {name: value}
        """,
    ),
    Case(
        "a namespace's name with a dot",
        obj("v1 Namespace", name="team.a"),
        want="""
        error: bad.yaml: document 1, line 3: Namespace/team.a: $.metadata.name: found "team.a"; allowed: a DNS
            label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long
        """,
    ),
    Case(
        "a job without a template",
        obj("batch/v1 Job", "spec: {parallelism: 2}"),
        want="""
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.template: missing; it must be an object
        """,
    ),
    Case(
        "a job with numbers and booleans in quotes",
        obj("batch/v1 Job", 'spec: {parallelism: "2", suspend: "true", template: {spec: {containers: [{name: c}]}}}'),
        want="""
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.parallelism: found "2"; it must be a whole
            number from 0 to 2147483647; write it without quotes
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.suspend: found "true"; it must be true or
            false; write it without quotes
        """,
    ),
    Case(
        "a job of fewer than no pods",
        obj("batch/v1 Job", "spec: {completions: -1, template: {spec: {containers: [{name: c}]}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.completions: found -1; it must be a whole
            number from 0 to 2147483647
        """,
    ),
    Case(
        "a job whose template has no containers",
        obj("batch/v1 Job", "spec: {template: {spec: {containers: []}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Job/default/a: $.spec.template.spec.containers: found []; it must be
            a list of at least 1
        """,
    ),
    Case(
        "a deployment without a pod spec",
        obj("apps/v1 Deployment", "spec: {replicas: many, template: {metadata: {labels: {app: a}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Deployment/default/a: $.spec.replicas: found "many"; it must be a
            whole number from 0 to 2147483647
        error: bad.yaml: document 1, line 4: Deployment/default/a: $.spec.template.spec: missing; it must be an
            object
        """,
    ),
]
