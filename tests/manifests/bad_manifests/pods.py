"""Pods."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, obj, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_affinity(expressions: str) -> str:
    terms = f"{{nodeSelectorTerms: [{{matchExpressions: {expressions}}}]}}"
    return pod(f"affinity: {{nodeAffinity: {{{REQUIRED}: {terms}}}}}")


CASES = [
    Case(
        "a pod without a spec",
        obj("v1 Pod"),
        want="""
        error: bad.yaml: document 1, line 1: Pod/default/a: $.spec: missing; it must be an object
        """,
    ),
    Case(
        "a pod whose spec is null",
        obj("v1 Pod", "spec: null"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec: missing; it must be an object
        """,
    ),
    Case(
        "a pod without containers",
        obj("v1 Pod", "spec: {}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers: missing; it must be a list
        """,
    ),
    Case(
        "a pod with an empty list of containers",
        obj("v1 Pod", "spec: {containers: []}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers: found []; it must be a list of at
            least 1
        """,
    ),
    Case(
        "a container without a name",
        obj("v1 Pod", "spec: {containers: [{image: x}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].name: missing; it must be text
        """,
    ),
    Case(
        "a container with a misspelt name field",
        obj("v1 Pod", "spec: {containers: [{nmae: x}]}"),
        want="""
        warning: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].nmae: unknown field; did you
            mean "name"?
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].name: missing; it must be text;
            "nmae" is no field here
        """,
    ),
    Case(
        "containers of one name, also among init containers",
        obj("v1 Pod", "spec: {containers: [{name: c}, {name: c}], initContainers: [{name: c}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[1].name: found "c" a second time;
            allowed: each name once
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.initContainers[0].name: found "c" a second
            time; allowed: each name once
        """,
    ),
    Case(
        "a container's name that is no DNS label",
        obj("v1 Pod", "spec: {containers: [{name: My_App}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].name: found "My_App"; allowed: a
            DNS label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long
        """,
    ),
    Case(
        "a port that does not exist",
        obj("v1 Pod", "spec: {containers: [{name: c, ports: [{containerPort: 70000, protocol: HTTP}]}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].ports[0].containerPort: found
            70000; it must be a whole number from 1 to 65535
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].ports[0].protocol: found "HTTP";
            allowed: SCTP, TCP, UDP
        """,
    ),
    Case(
        "a host port that is not the container's, on the host's network",
        obj("v1 Pod", "spec: {hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80, hostPort: 81}]}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].ports[0].hostPort: found 81;
            allowed with hostNetwork: 80
        """,
    ),
    Case(
        "a request above its limit",
        obj("v1 Pod", "spec: {containers: [{name: c, resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].resources.requests.cpu: found 2;
            allowed: at most its limit, 1500m
        """,
    ),
    Case(
        "a request of the whole pod above its limit",
        pod("resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.resources.requests.memory: found "2Gi";
            allowed: at most its limit, 1Gi
        """,
    ),
    Case(
        "a misspelt resource",
        obj("v1 Pod", "spec: {containers: [{name: c, resources: {requests: {memroy: 2Gi}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].resources.requests.memroy: no
            such resource; allowed: cpu, memory, ephemeral-storage, or a name with a domain such as example.com/gpu;
            did you mean "memory"?
        """,
    ),
    Case(
        "a resource that has no domain",
        obj("v1 Pod", "spec: {containers: [{name: c, resources: {limits: {gpu: 1}}}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.containers[0].resources.limits.gpu: no such
            resource; allowed: cpu, memory, ephemeral-storage, or a name with a domain such as example.com/gpu
        """,
    ),
    Case(
        "a priority that is no number",
        pod("priority: high"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found "high"; it must be a whole
            number from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a priority in quotes",
        pod('priority: "100"'),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found "100"; it must be a whole
            number from -2147483648 to 2147483647; write it without quotes
        """,
    ),
    Case(
        "a priority beyond 32 bits",
        pod("priority: 3000000000"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found 3000000000; it must be a whole
            number from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a priority with a fraction",
        pod("priority: 1.5"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found 1.5; it must be a whole number
            from -2147483648 to 2147483647
        """,
    ),
    Case(
        "a priority class that is not there",
        pod("priorityClassName: system-node-critcal"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priorityClassName: there is no PriorityClass
            "system-node-critcal"; did you mean "system-node-critical"?
        """,
    ),
    Case(
        "a priority that is not that of its class",
        pod("priorityClassName: system-node-critical, priority: 5, preemptionPolicy: Never"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found 5; allowed: 2000001000, the
            value of system-node-critical, or nothing
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.preemptionPolicy: found "Never"; allowed:
            PreemptLowerPriority, the policy of system-node-critical, or nothing
        """,
    ),
    Case(
        "a preemption policy in lower case",
        pod("preemptionPolicy: never"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.preemptionPolicy: found "never"; allowed:
            Never, PreemptLowerPriority; did you mean "Never"?
        """,
    ),
    Case(
        "a preemption policy that is a list",
        pod("preemptionPolicy: [Never]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.preemptionPolicy: found a list; allowed: Never,
            PreemptLowerPriority
        """,
    ),
    Case(
        "a node selector with a value that YAML takes for a boolean",
        pod("nodeSelector: {gpu: yes}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.nodeSelector.gpu: found yes; it must be text;
            put it in quotes
        """,
    ),
    Case(
        "a node selector that is a list",
        pod("nodeSelector: [gpu]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.nodeSelector: found a list; it must be names
            and values, such as {name: value}
        """,
    ),
    Case(
        "a label value with a space",
        pod('nodeSelector: {disk: "very fast"}'),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.nodeSelector.disk: found "very fast"; allowed:
            letters, digits, -, _ and ., at most 63 long
        """,
    ),
    Case(
        "a toleration with a misspelt operator",
        pod("tolerations: [{key: a, operator: Exist}]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.tolerations[0].operator: found "Exist";
            allowed: "", Equal, Exists, Gt, Lt; did you mean "Exists"?
        """,
    ),
    Case(
        "tolerations that contradict themselves",
        pod("tolerations: [{operator: Equal}, {key: a, operator: Exists, value: b}, {key: a, tolerationSeconds: 5}]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.tolerations[0].operator: found "Equal"; allowed
            without a key: Exists
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.tolerations[1].value: found "b"; allowed with
            the operator Exists: nothing
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.tolerations[2].effect: found ""; allowed beside
            tolerationSeconds: NoExecute
        """,
    ),
    Case(
        "a scheduling gate that is only a name",
        pod("schedulingGates: [wait]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.schedulingGates[0]: found "wait"; it must be an
            object
        """,
    ),
    Case(
        "scheduling gates on a pod that has a node",
        pod("schedulingGates: [{name: wait}], nodeName: node-1"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.schedulingGates: set on a pod that has a node;
            allowed: only before it is scheduled
        """,
    ),
    Case(
        "a node affinity that is a list",
        pod(f"affinity: {{nodeAffinity: {{{REQUIRED}: []}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: found []; it must be an
            object
        """,
    ),
    Case(
        "a node affinity with an unknown operator and no values",
        node_affinity("[{key: zone, operator: Is}]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator:
            found "Is"; allowed: DoesNotExist, Exists, Gt, In, Lt, NotIn
        """,
    ),
    Case(
        "node affinities whose values do not go with their operators",
        node_affinity("[{key: a, operator: In}, {key: b, operator: Gt, values: [many]}]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values:
            found []; allowed with the operator In: at least one value
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values:
            found a list; allowed with the operator Gt: one whole number
        """,
    ),
    Case(
        "a preference without a weight",
        pod(f"affinity: {{podAffinity: {{{PREFERRED}: [{{podAffinityTerm: {{topologyKey: zone}}}}]}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: missing; it must be
            a whole number from 1 to 100
        """,
    ),
    Case(
        "pod affinity without a topology key",
        pod(f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{{labelSelector: {{}}}}]}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a:
            $.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: missing; it
            must be text
        """,
    ),
    Case(
        "a spread constraint with a skew of zero",
        pod("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.topologySpreadConstraints[0].maxSkew: found 0;
            it must be a whole number from 1 to 2147483647
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.topologySpreadConstraints[0].whenUnsatisfiable:
            found "Never"; allowed: DoNotSchedule, ScheduleAnyway
        """,
    ),
    Case(
        "a pod that belongs to two groups",
        pod("schedulingGroup: {podGroupName: g}, workloadRef: {name: w, podGroup: g}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.workloadRef: set beside schedulingGroup;
            allowed: one of them, a pod has one group
        """,
    ),
    Case(
        "a scheduling group without a name",
        pod("schedulingGroup: {}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.schedulingGroup.podGroupName: missing; it must
            be the name of a PodGroup
        """,
    ),
    Case(
        "a workload reference without its group",
        pod("workloadRef: {name: w}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.workloadRef.podGroup: missing; it must be text
        """,
    ),
    Case(
        "conditions and a phase that do not exist",
        pod("priority: 1") + "status: {phase: Runing, conditions: [{type: Ready, status: true}, {type: Ready}]}\n",
        want="""
        error: bad.yaml: document 1, line 5: Pod/default/a: $.status.phase: found "Runing"; allowed: Failed,
            Pending, Running, Succeeded, Unknown; did you mean "Running"?
        error: bad.yaml: document 1, line 5: Pod/default/a: $.status.conditions[0].status: found true; allowed:
            False, True, Unknown; did you mean "True"?
        error: bad.yaml: document 1, line 5: Pod/default/a: $.status.conditions[1].status: missing; it must be one
            of False, True, Unknown
        """,
    ),
    Case(
        "a creation time without a time zone",
        pod("priority: 1").replace("{name: a}", "{name: a, creationTimestamp: '2026-01-01T12:00:00'}"),
        want="""
        error: bad.yaml: document 1, line 3: Pod/default/a: $.metadata.creationTimestamp: found
            "2026-01-01T12:00:00"; it must be a time such as 2026-01-01T12:00:00Z
        """,
    ),
    Case(
        "a name in upper case and a label with a space",
        obj("v1 Pod", "spec: {containers: [{name: c}]}", name="Web").replace(
            "{name: Web}", '{name: Web, labels: {"my app": x}}'
        ),
        want="""
        error: bad.yaml: document 1, line 3: Pod/default/Web: $.metadata.name: found "Web"; allowed: a DNS name:
            a-z, 0-9, - and ., starting and ending with a letter or digit, at most 253 long
        error: bad.yaml: document 1, line 3: Pod/default/Web: $.metadata.labels["my app"]: not a label key;
            allowed: an optional DNS name and /, then letters, digits, -, _ and ., at most 63 long
        """,
    ),
    Case(
        "a namespace that is no DNS label",
        obj("v1 Pod", "spec: {containers: [{name: c}]}").replace("{name: a}", "{name: a, namespace: team.a}"),
        want="""
        error: bad.yaml: document 1, line 3: Pod/team.a/a: $.metadata.namespace: found "team.a"; allowed: a DNS
            label: a-z, 0-9 and -, starting and ending with a letter or digit, at most 63 long
        """,
    ),
]
