"""Priority classes, also against what the cluster had before."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj, pod

CLASS = "scheduling.k8s.io/v1 PriorityClass"
TOLERATION = "preemption-toleration.scheduling.x-k8s.io"


def annotated(annotations: str) -> str:
    return obj(CLASS, "value: 5").replace("{name: a}", f"{{name: a, annotations: {{{annotations}}}}}")


CASES = [
    Case(
        "no value",
        obj(CLASS),
        want="""
        error: bad.yaml: document 1, line 1: PriorityClass/a: $.value: missing; it must be a whole number from
            -2147483648 to 2147483647
        """,
    ),
    Case(
        "a value that is a word",
        obj(CLASS, "value: high"),
        want="""
        error: bad.yaml: document 1, line 4: PriorityClass/a: $.value: found "high"; it must be a whole number
            from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a value beyond 32 bits",
        obj(CLASS, "value: 3000000000"),
        want="""
        error: bad.yaml: document 1, line 4: PriorityClass/a: $.value: found 3000000000; it must be a whole
            number from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a value that is for the system only",
        obj(CLASS, "value: 1000000001"),
        want="""
        error: bad.yaml: document 1, line 4: PriorityClass/a: $.value: found 1000000001; allowed: at most
            1000000000
        """,
    ),
    Case(
        "a misspelt value",
        obj(CLASS, "vlaue: 5"),
        want="""
        warning: bad.yaml: document 1, line 4: PriorityClass/a: $.vlaue: unknown field; did you mean "value"?
        error: bad.yaml: document 1, line 1: PriorityClass/a: $.value: missing; it must be a whole number from
            -2147483648 to 2147483647; "vlaue" is no field here
        """,
    ),
    Case(
        "a toleration as the plugin wrote it at first",
        annotated('preemption-toleration.scheduling.sigs.k8s.io/toleration-seconds: "-1"'),
        want="""
        warning: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["preemption-toleration.scheduling.sigs.k8s.io/toleration-seconds"]: it has no
            effect; the prefix today is preemption-toleration.scheduling.x-k8s.io/
        """,
    ),
    Case(
        "a reserved name",
        obj(CLASS, "value: 5", name="system-batch"),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/system-batch: $.metadata.name: found "system-batch";
            allowed: a name that does not start with system-, which is reserved
        """,
    ),
    Case(
        "a system class with another value",
        obj(CLASS, "value: 5", name="system-cluster-critical"),
        want="""
        error: bad.yaml: document 1, line 4: PriorityClass/system-cluster-critical: $.value: found 5; allowed for
            system-cluster-critical: 2000000000
        """,
    ),
    Case(
        "a policy that is cut short",
        obj(CLASS, "value: 5\npreemptionPolicy: PreemptLower"),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.preemptionPolicy: found "PreemptLower"; allowed:
            Never, PreemptLowerPriority; did you mean "PreemptLowerPriority"?
        """,
    ),
    Case(
        "a policy of another API",
        obj(CLASS, "value: 5\npreemptionPolicy: Always"),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.preemptionPolicy: found "Always"; allowed: Never,
            PreemptLowerPriority
        """,
    ),
    Case(
        "a global default in quotes",
        obj(CLASS, 'value: 5\nglobalDefault: "true"'),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.globalDefault: found "true"; it must be true or
            false; write it without quotes
        """,
    ),
    Case(
        "three global defaults",
        documents(
            *(
                obj(CLASS, f"value: {value}\nglobalDefault: true", name)
                for name, value in (("b", 7), ("a", 5), ("c", 9))
            )
        ),
        want="""
        error: bad.yaml: document 2, line 11: PriorityClass/a: $.globalDefault: the PriorityClass b is the global
            default already; only one can be; of several that are there all the same, the smallest value counts: 5
        error: bad.yaml: document 3, line 17: PriorityClass/c: $.globalDefault: the PriorityClass b is the global
            default already; only one can be; of several that are there all the same, the smallest value counts: 5
        """,
    ),
    Case(
        "a toleration in seconds with a unit",
        annotated(f"{TOLERATION}/toleration-seconds: 30s"),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["preemption-toleration.scheduling.x-k8s.io/toleration-seconds"]: found "30s";
            allowed: a whole number of 64 bits in quotes, such as "10000"
        """,
    ),
    Case(
        "a toleration without quotes",
        annotated(f"{TOLERATION}/toleration-seconds: 30"),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["preemption-toleration.scheduling.x-k8s.io/toleration-seconds"]: found 30; it must
            be text; put it in quotes
        """,
    ),
    Case(
        "a minimum preemptable priority beyond 32 bits",
        annotated(f'{TOLERATION}/minimum-preemptable-priority: "99999999999"'),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority"]: found
            "99999999999"; allowed: a whole number of 32 bits in quotes, such as "10000"
        """,
    ),
    Case(
        "a misspelt toleration",
        annotated(f'{TOLERATION}/tolerationseconds: "30"'),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["preemption-toleration.scheduling.x-k8s.io/tolerationseconds"]: no such property;
            allowed: preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority,
            preemption-toleration.scheduling.x-k8s.io/toleration-seconds; did you mean
            "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"?
        """,
    ),
    Case(
        "allow-preemption that is neither true nor false",
        annotated('yunikorn.apache.org/allow-preemption: "no"'),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["yunikorn.apache.org/allow-preemption"]: found "no"; allowed: "true", "false"
        """,
    ),
    Case(
        "allow-preemption that is a boolean",
        annotated("yunikorn.apache.org/allow-preemption: true"),
        want="""
        error: bad.yaml: document 1, line 3: PriorityClass/a:
            $.metadata.annotations["yunikorn.apache.org/allow-preemption"]: found true; it must be text; put it in
            quotes
        """,
    ),
    Case(
        "all of a class changed but its description",
        obj(CLASS, "value: 5\npreemptionPolicy: Never\nglobalDefault: true\ndescription: new"),
        want="""
        error: bad.yaml: document 1, line 4: PriorityClass/a: $.value: found 5; allowed: 6, as before; of a
            PriorityClass only the description may change
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.preemptionPolicy: found "Never"; allowed:
            "PreemptLowerPriority", as before; of a PriorityClass only the description may change
        error: bad.yaml: document 1, line 6: PriorityClass/a: $.globalDefault: found true; allowed: false, as
            before; of a PriorityClass only the description may change
        """,
        old=obj(CLASS, "value: 6\ndescription: old"),
    ),
    Case(
        "a class whose old version cannot be read",
        obj(CLASS, "value: 5"),
        want="""
        error: old.yaml: document 1, line 4: PriorityClass/a: $.value: found "six"; it must be a whole number
            from -2147483648 to 2147483647
        """,
        old=obj(CLASS, "value: six"),
    ),
    Case(
        "a global default beside the one the cluster has",
        obj(CLASS, "value: 7\nglobalDefault: true"),
        want="""
        error: bad.yaml: document 1, line 5: PriorityClass/a: $.globalDefault: the PriorityClass old is the global
            default already; only one can be; of several that are there all the same, the smallest value counts: 6
        """,
        old=obj(CLASS, "value: 6\nglobalDefault: true", name="old"),
    ),
    Case(
        "a pod of a class that neither the files nor the cluster have",
        documents(pod("priorityClassName: high"), pod("priorityClassName: hihg", name="b")),
        want="""
        error: bad.yaml: document 2, line 9: Pod/default/b: $.spec.priorityClassName: there is no PriorityClass
            "hihg"; did you mean "high"?
        """,
        old=obj(CLASS, "value: 6", name="high"),
    ),
]
