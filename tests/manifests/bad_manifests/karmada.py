"""Karmada's policies, bindings and clusters."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj

POLICY = "policy.karmada.io/v1alpha1 PropagationPolicy"
BINDING = "work.karmada.io/v1alpha2 ResourceBinding"
CLUSTER = "cluster.karmada.io/v1alpha1 Cluster"
RESOURCE = "resource: {apiVersion: v1, kind: ConfigMap, name: x}"
STATIC = "staticWeightList: [{targetCluster: {}, weight: 1}]"


def policy(spec: str) -> str:
    return obj(POLICY, f"spec: {{resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}], {spec}}}", "p")


def placement(body: str) -> str:
    return policy(f"placement: {{{body}}}")


CASES = [
    Case(
        "nothing is selected",
        obj(POLICY, "spec: {resourceSelectors: []}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/a: $.spec.resourceSelectors: found []; it
            must be a list of at least 1
        """,
    ),
    Case(
        "something without an API version is selected",
        obj(POLICY, "spec: {resourceSelectors: [{kind: Deployment}]}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/a: $.spec.resourceSelectors[0].apiVersion:
            missing; it must be text
        """,
    ),
    Case(
        "something in another namespace is selected",
        obj(POLICY, "spec: {resourceSelectors: [{apiVersion: v1, kind: Pod, namespace: other}]}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/a: $.spec.resourceSelectors[0].namespace:
            found "other"; allowed: default, the namespace of the policy
        """,
    ),
    Case(
        "a source of priority classes that is cut short",
        policy("schedulePriority: {priorityClassSource: KubePriority}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassSource: found "KubePriority"; allowed: FederatedPriorityClass,
            KubePriorityClass, PodPriorityClass; did you mean "KubePriorityClass"?
        """,
    ),
    Case(
        "a source of priority classes that does not exist",
        policy("schedulePriority: {priorityClassSource: Cluster}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassSource: found "Cluster"; allowed: FederatedPriorityClass,
            KubePriorityClass, PodPriorityClass
        """,
    ),
    Case(
        "a class that is not there: what it falls back to",
        policy("schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: nope}"),
        want="""
        warning: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: there is no PriorityClass "nope"; priority 0 and Never are used
        """,
    ),
    Case(
        "a class that is not there: the global default it falls back to",
        documents(
            policy("schedulePriority: {priorityClassName: nope}"),
            obj("scheduling.k8s.io/v1 PriorityClass", "value: 7\nglobalDefault: true"),
        ),
        want="""
        warning: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: there is no PriorityClass "nope"; priority 7 and
            PreemptLowerPriority are used
        """,
    ),
    Case(
        "a class named beside the pod's own",
        policy("schedulePriority: {priorityClassSource: PodPriorityClass, priorityClassName: high}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: found "high"; allowed with PodPriorityClass: nothing, the pod
            template names the class
        """,
    ),
    Case(
        "a federated class without a name",
        policy("schedulePriority: {priorityClassSource: FederatedPriorityClass}"),
        want="""
        warning: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassSource: found "FederatedPriorityClass", which no API defines yet;
            allowed: KubePriorityClass, PodPriorityClass; priority 0 and Never are used
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: missing; it must be named with FederatedPriorityClass
        """,
    ),
    Case(
        "a class whose name no class can have",
        policy("schedulePriority: {priorityClassName: Very_High}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: found "Very_High"; allowed: a DNS name: a-z, 0-9, - and .,
            starting and ending with a letter or digit, at most 253 long
        """,
    ),
    Case(
        "a class that is a number",
        policy("schedulePriority: {priorityClassName: 5}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.schedulePriority.priorityClassName: found 5; it must be text; put it in quotes
        """,
    ),
    Case(
        "a schedule priority that is a number",
        policy("schedulePriority: 5"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p: $.spec.schedulePriority: found 5; it
            must be an object
        """,
    ),
    Case(
        "preemption and priority that cannot be",
        policy("preemption: Sometimes, priority: 9999999999"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p: $.spec.preemption: found "Sometimes";
            allowed: Always, Never
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p: $.spec.priority: found 9999999999; it
            must be a whole number from -2147483648 to 2147483647
        """,
    ),
    Case(
        "cluster names that are one text",
        placement("clusterAffinity: {clusterNames: member-1}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.clusterAffinity.clusterNames: found "member-1"; it must be a list
        """,
    ),
    Case(
        "one affinity beside several, of one name",
        placement("clusterAffinity: {}, clusterAffinities: [{affinityName: a}, {affinityName: a}]"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p: $.spec.placement.clusterAffinities: set
            beside clusterAffinity; allowed: one of them
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.clusterAffinities[1].affinityName: found "a" a second time; allowed: each name once
        """,
    ),
    Case(
        "an affinity without a name",
        placement("clusterAffinities: [{clusterNames: [member-1]}]"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.clusterAffinities[0].affinityName: missing; it must be text
        """,
    ),
    Case(
        "spreading by racks",
        placement("spreadConstraints: [{spreadByField: rack}]"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.spreadConstraints[0].spreadByField: found "rack"; allowed: "", cluster, provider, region,
            zone
        """,
    ),
    Case(
        "spreading by zones alone, over more than the most",
        placement("spreadConstraints: [{spreadByField: zone, minGroups: 3, maxGroups: 2}]"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.spreadConstraints[0].minGroups: found 3; allowed: at most maxGroups, 2
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p: $.spec.placement.spreadConstraints:
            spread by zone only; allowed: with a constraint spreadByField: cluster beside it
        """,
    ),
    Case(
        "replicas divided by a misspelt preference",
        placement("replicaScheduling: {replicaSchedulingType: Divide, replicaDivisionPreference: Weightd}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.replicaSchedulingType: found "Divide"; allowed: Divided, Duplicated;
            did you mean "Divided"?
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.replicaDivisionPreference: found "Weightd"; allowed: "", Aggregated,
            Weighted; did you mean "Weighted"?
        """,
    ),
    Case(
        "replicas duplicated, with a preference for dividing",
        placement("replicaScheduling: {replicaSchedulingType: Duplicated, replicaDivisionPreference: Aggregated}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.replicaDivisionPreference: found "Aggregated"; allowed only with
            Divided
        """,
    ),
    Case(
        "weights of both kinds for what is not weighted",
        placement(f"replicaScheduling: {{weightPreference: {{dynamicWeight: AvailableReplicas, {STATIC}}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.weightPreference: set; allowed only with replicaDivisionPreference
            Weighted
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.weightPreference.dynamicWeight: set beside staticWeightList; allowed:
            one of them
        """,
    ),
    Case(
        "a weight of zero",
        placement("replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {}, weight: 0}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: PropagationPolicy/default/p:
            $.spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight: found 0; it must be a
            whole number from 1 to 2147483647
        """,
    ),
    Case(
        "a binding of nothing",
        obj(BINDING, "spec: {}"),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.resource: missing; it must be an
            object
        """,
    ),
    Case(
        "a binding of something without a name",
        obj(BINDING, "spec: {resource: {apiVersion: v1, kind: ConfigMap}}"),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.resource.name: missing; it must be
            text
        """,
    ),
    Case(
        "a binding with numbers and policies that cannot be",
        obj(
            BINDING,
            f"spec: {{{RESOURCE}, replicas: -1, schedulePriority: {{priority: 1.5, preemptionPolicy: Always}}}}",
        ),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.replicas: found -1; it must be a
            whole number from 0 to 2147483647
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.schedulePriority.priority: found
            1.5; it must be a whole number from -2147483648 to 2147483647
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.schedulePriority.preemptionPolicy:
            found "Always"; allowed: Never, PreemptLowerPriority
        """,
    ),
    Case(
        "a priority of which half is missing",
        documents(
            obj(BINDING, f"spec: {{{RESOURCE}, schedulePriority: {{priority: 5}}}}"),
            obj(BINDING, f"spec: {{{RESOURCE}, schedulePriority: {{preemptionPolicy: Never}}}}", "b"),
        ),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.schedulePriority.preemptionPolicy:
            missing; allowed: Never, PreemptLowerPriority; that of its propagation policy's class is used, else Never
        error: bad.yaml: document 2, line 9: ResourceBinding/default/b: $.spec.schedulePriority.priority: missing;
            it must be a whole number of 32 bits; 0 is used
        """,
    ),
    Case(
        "a binding to one cluster twice",
        obj(BINDING, f"spec: {{{RESOURCE}, clusters: [{{name: m}}, {{name: m}}]}}"),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a: $.spec.clusters[1].name: found "m" a
            second time; allowed: each name once
        """,
    ),
    Case(
        "a binding that needs what is no quantity",
        obj(BINDING, f"spec: {{{RESOURCE}, replicaRequirements: {{resourceRequest: {{cpu: 1x}}}}}}"),
        want="""
        error: bad.yaml: document 1, line 4: ResourceBinding/default/a:
            $.spec.replicaRequirements.resourceRequest.cpu: not a quantity: found "1x"; allowed: a number with an
            optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
    Case(
        "a binding in a version that is gone",
        obj("work.karmada.io/v1alpha1 ResourceBinding"),
        want="""
        error: bad.yaml: document 1, line 1: ResourceBinding/default/a: $.apiVersion: found
            "work.karmada.io/v1alpha1"; allowed for ResourceBinding: work.karmada.io/v1alpha2
        """,
    ),
    Case(
        "a cluster in an unknown mode, with a taint of no effect",
        obj(CLUSTER, "spec: {syncMode: push, taints: [{key: a}]}"),
        want="""
        error: bad.yaml: document 1, line 4: Cluster/a: $.spec.syncMode: found "push"; allowed: Pull, Push; did
            you mean "Push"?
        error: bad.yaml: document 1, line 4: Cluster/a: $.spec.taints[0].effect: missing; it must be one of
            NoExecute, NoSchedule, PreferNoSchedule
        """,
    ),
    Case(
        "a cluster in one zone and in several",
        obj(CLUSTER, "spec: {zone: a, zones: [a]}"),
        want="""
        error: bad.yaml: document 1, line 4: Cluster/a: $.spec.zone: set beside zones; allowed: zones, which
            replaces it
        """,
    ),
    Case(
        "a cluster that has less than nothing",
        obj(CLUSTER, "status: {resourceSummary: {allocatable: {cpu: -1}, allocated: {memory: much}}}"),
        want="""
        error: bad.yaml: document 1, line 4: Cluster/a: $.status.resourceSummary.allocatable.cpu: negative: found
            -1; allowed: zero or more
        error: bad.yaml: document 1, line 4: Cluster/a: $.status.resourceSummary.allocated.memory: not a
            quantity: found "much"; allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        """,
    ),
]
