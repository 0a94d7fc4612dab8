"""Fields that the API does not have: a warning, and an error with `--strict`."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, obj, pod

CLASS = "scheduling.k8s.io/v1 PriorityClass"

CASES = [
    Case(
        "misspelt at the top",
        obj(CLASS, "value: 5\npreemptionpolicy: Never"),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.preemptionpolicy: unknown field; did you mean
            "preemptionPolicy"?
        """,
        strict=True,
    ),
    Case(
        "something that is nowhere near",
        obj(CLASS, "value: 5\nspec: {}"),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.spec: unknown field
        """,
        strict=True,
    ),
    Case(
        "misspelt in the metadata",
        obj("v1 Node").replace("{name: a}", "{name: a, lables: {a: b}}"),
        want="""
        error: bad.yaml: document 1, line 3: Node/a: $.metadata.lables: unknown field; did you mean "labels"?
        """,
        strict=True,
    ),
    Case(
        "misspelt deep in a list",
        obj("v1 Pod", "spec: {containers: [{name: c, resources: {request: {cpu: 1}}}, {name: d, resource: {}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].resources.request: unknown field;
            did you mean "requests"?
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[1].resource: unknown field; did you
            mean "resources"?
        """,
        strict=True,
    ),
    Case(
        "at the wrong level",
        obj("v1 Pod", "spec: {containers: [{name: c}]}\npriorityClassName: high"),
        want="""
        error: bad.yaml: document 1, line 5: Pod/default/a: $.priorityClassName: unknown field; did you mean
            $.spec.priorityClassName?
        """,
        strict=True,
    ),
    Case(
        "beside a mistake that everybody minds",
        pod("priorty: 5, priority: high"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priorty: unknown field; did you mean
            "priority"?
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found "high"; it must be a whole
            number from -2147483648 to 2147483647
        """,
        strict=True,
    ),
    Case(
        "in the second item of a List",
        "apiVersion: v1\nkind: NodeList\nitems: [{metadata: {name: a}}, {metadata: {name: b}, specs: {}}]\n",
        want="""
        error: bad.yaml: document 1, item 2, line 3: Node/b: $.specs: unknown field; did you mean "spec"?
        """,
        strict=True,
    ),
    Case(
        "in JSON",
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "stauts": {}}',
        want="""
        error: bad.json: document 1, line 1: Node/a: $.stauts: unknown field; did you mean "status"?
        """,
        strict=True,
        file="bad.json",
    ),
]
