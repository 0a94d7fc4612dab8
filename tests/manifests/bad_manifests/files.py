"""Documents, lists and kinds: what a file holds, and what each part says it is."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case, documents, obj, pod

NAMESPACE = obj("v1 Namespace")
SERVICE = obj("v1 Service")
QUEUES = "partitions: [{name: default, queues: [{name: root}]}]\n"
CONFIG = obj("v1 ConfigMap", f"data: {{queues.yaml: '{QUEUES.strip()}'}}", name="yunikorn-configs")

CASES = [
    Case(
        "a document that is text",
        "hello\n",
        want="""
        error: bad.yaml: document 1, line 1: $: found "hello"; it must be an object with apiVersion and kind
        """,
    ),
    Case(
        "a document that is a list",
        "[{kind: Pod}]\n",
        want="""
        error: bad.yaml: document 1, line 1: $: found a list; it must be an object with apiVersion and kind
        """,
    ),
    Case(
        "neither apiVersion nor kind",
        "metadata: {name: a}\n",
        want="""
        error: bad.yaml: document 1, line 1: a: $.apiVersion: missing; it must be text such as v1
        error: bad.yaml: document 1, line 1: a: $.kind: missing; it must be text such as Pod
        """,
    ),
    Case(
        "no apiVersion",
        "kind: Pod\nmetadata: {name: a}\n",
        want="""
        error: bad.yaml: document 1, line 1: Pod/default/a: $.apiVersion: missing; it must be text such as v1
        """,
    ),
    Case(
        "no kind",
        "apiVersion: v1\nmetadata: {name: a}\n",
        want="""
        error: bad.yaml: document 1, line 1: a: $.kind: missing; it must be text such as Pod
        """,
    ),
    Case(
        "an apiVersion that is a number",
        "apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n",
        want="""
        error: bad.yaml: document 1, line 1: Pod/default/a: $.apiVersion: found 1; it must be text such as v1
        """,
    ),
    Case(
        "a kind that is an object",
        "apiVersion: v1\nkind: {name: Pod}\nmetadata: {name: a}\n",
        want="""
        error: bad.yaml: document 1, line 2: a: $.kind: found an object; it must be text such as Pod
        """,
    ),
    Case(
        "no name",
        "apiVersion: v1\nkind: Namespace\n",
        want="""
        error: bad.yaml: document 1, line 1: Namespace: $.metadata.name: missing; every object needs a name, or a
            generateName
        """,
    ),
    Case(
        "metadata that is text",
        "apiVersion: v1\nkind: Namespace\nmetadata: team-a\n",
        want="""
        error: bad.yaml: document 1, line 3: Namespace: $.metadata: found "team-a"; it must be an object
        """,
    ),
    Case(
        "a name that is a number",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: 42}\n",
        want="""
        error: bad.yaml: document 1, line 3: Namespace: $.metadata.name: found 42; it must be text; put it in
            quotes
        """,
    ),
    Case(
        "a name with a line break in it",
        obj("v1 Namespace", name='"a\\nb"'),
        want="""
        error: bad.yaml: document 1, line 3: Namespace/a\\nb: $.metadata.name: found "a\\nb"; allowed: a DNS name:
            a-z, 0-9, - and ., starting and ending with a letter or digit, at most 253 long
        """,
    ),
    Case(
        "a key with an escape sequence for terminals",
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {"\\e[31mred": 5}\n',
        want="""
        error: bad.yaml: document 1, line 4: ConfigMap/default/a: $.data["\\x1b[31mred"]: found 5; it must be text;
            put it in quotes
        """,
    ),
    Case(
        "an unknown version of a known kind",
        obj("policy/v1beta1 PodDisruptionBudget"),
        want="""
        error: bad.yaml: document 1, line 1: PodDisruptionBudget/default/a: $.apiVersion: found "policy/v1beta1";
            allowed for PodDisruptionBudget: policy/v1
        """,
    ),
    Case(
        "an unknown version of a kind with several",
        obj("kueue.x-k8s.io/v1 ClusterQueue"),
        want="""
        error: bad.yaml: document 1, line 1: ClusterQueue/a: $.apiVersion: found "kueue.x-k8s.io/v1"; allowed for
            ClusterQueue: kueue.x-k8s.io/v1beta2, kueue.x-k8s.io/v1beta1, kueue.x-k8s.io/v1alpha2
        """,
    ),
    Case(
        "a kind of another API group",
        obj("v1 PriorityClass", "value: 5"),
        want="""
        warning: bad.yaml: document 1, line 2: PriorityClass/a: $.kind: v1 PriorityClass is not a kind Reprieve
            reads; ignored; did you mean "apiVersion: scheduling.k8s.io/v1"?
        """,
    ),
    Case(
        "a kind in lower case",
        obj("v1 pod"),
        want="""
        warning: bad.yaml: document 1, line 2: pod/default/a: $.kind: v1 pod is not a kind Reprieve reads;
            ignored; did you mean "Pod"?
        """,
    ),
    Case(
        "a kind of the same name in a foreign API",
        obj("batch.volcano.sh/v1alpha1 Job"),
        want="""
        warning: bad.yaml: document 1, line 2: Job/default/a: $.kind: batch.volcano.sh/v1alpha1 Job is not a kind
            Reprieve reads; ignored
        """,
    ),
    Case(
        "a kind that looks like one of ours but is not",
        obj("rbac.authorization.k8s.io/v1 ClusterRole"),
        want="""
        warning: bad.yaml: document 1, line 2: ClusterRole/default/a: $.kind: rbac.authorization.k8s.io/v1
            ClusterRole is not a kind Reprieve reads; ignored
        """,
    ),
    Case(
        "an unknown kind, three times: one warning",
        documents(SERVICE, obj("v1 Service", name="b"), obj("v1 Service", name="c")),
        want="""
        warning: bad.yaml: document 1, line 2: Service/default/a: $.kind: v1 Service is not a kind Reprieve reads;
            ignored
        """,
    ),
    Case(
        "an error in the third document, counted past comments and empty ones",
        documents("# Licence\n", NAMESPACE, "\n", obj("v1 Node", "spec: {unschedulable: 1}")),
        want="""
        error: bad.yaml: document 3, line 13: Node/a: $.spec.unschedulable: found 1; it must be true or false
        """,
    ),
    Case(
        "a broken document between two others",
        documents(obj("v1 Node", "spec: 5"), "x: [\n", obj("v1 Node", "spec: 6", name="b")),
        want="""
        error: bad.yaml: document 1, line 4: Node/a: $.spec: found 5; it must be an object
        error: bad.yaml: document 2, line 7: not YAML: while parsing a flow node, did not find expected node
            content; close every [ and {, with commas between
        error: bad.yaml: document 3, line 11: Node/b: $.spec: found 6; it must be an object
        """,
    ),
    Case(
        "a wrong item of a List",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node}\n- 5\n-\n- {}\n",
        want="""
        error: bad.yaml: document 1, item 1, line 4: Node: $.metadata.name: missing; every object needs a name, or a
            generateName
        error: bad.yaml: document 1, item 2, line 5: $: found 5; it must be an object with apiVersion and kind
        error: bad.yaml: document 1, item 3, line 6: $: found null; it must be an object with apiVersion and kind
        error: bad.yaml: document 1, item 4, line 7: $.apiVersion: missing; it must be text such as v1
        error: bad.yaml: document 1, item 4, line 7: $.kind: missing; it must be text such as Pod
        """,
    ),
    Case(
        "a wrong item of a PodList",
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- {metadata: {name: b}, spec: 5}\n",
        want="""
        error: bad.yaml: document 1, item 1, line 4: Pod/default/a: $.spec: missing; it must be an object
        error: bad.yaml: document 1, item 2, line 5: Pod/default/b: $.spec: found 5; it must be an object
        """,
    ),
    Case(
        "a wrong item of a PodList in JSON",
        '{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"spec": 5}]}',
        want="""
        error: bad.json: document 1, item 1, line 1: Pod/default/a: $.spec: missing; it must be an object
        error: bad.json: document 1, item 2, line 1: Pod: $.spec: found 5; it must be an object
        error: bad.json: document 1, item 2, line 1: Pod: $.metadata.name: missing; every object needs a name, or a
            generateName
        """,
        file="bad.json",
    ),
    Case(
        "a List without items",
        "apiVersion: v1\nkind: List\nmetadata: {}\n",
        want="""
        error: bad.yaml: document 1, line 1: List: $.items: not a list; it must be a list of objects
        """,
    ),
    Case(
        "a List whose items are an object",
        "apiVersion: v1\nkind: List\nitems: {kind: Pod}\n",
        want="""
        error: bad.yaml: document 1, line 3: List: $.items: not a list; it must be a list of objects
        """,
    ),
    Case(
        "a PodList without items in JSON",
        '{"apiVersion": "v1", "kind": "PodList"}',
        want="""
        error: bad.json: document 1, line 1: PodList: $.items: not a list; it must be a list of objects
        """,
        file="bad.json",
    ),
    Case(
        "items of an unknown kind",
        "apiVersion: v1\nkind: ServiceList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n",
        want="""
        warning: bad.yaml: document 1, item 1, line 3: Service/default/a: $.kind: v1 Service is not a kind
            Reprieve reads; ignored
        """,
    ),
    Case(
        "one object twice",
        documents(NAMESPACE, NAMESPACE),
        want="""
        error: bad.yaml: document 2, line 8: Namespace/a: $.metadata.name: already read from bad.yaml: document
            1; allowed: each object once
        """,
    ),
    Case(
        "one object twice, in two versions",
        documents(obj("kueue.x-k8s.io/v1beta1 Cohort"), obj("kueue.x-k8s.io/v1beta2 Cohort")),
        want="""
        error: bad.yaml: document 2, line 8: Cohort/a: $.metadata.name: already read from bad.yaml: document 1;
            allowed: each object once
        """,
    ),
    Case(
        "one object twice, once with its namespace",
        documents(obj("v1 ConfigMap"), obj("v1 ConfigMap").replace("{name: a}", "{name: a, namespace: default}")),
        want="""
        error: bad.yaml: document 2, line 8: ConfigMap/default/a: $.metadata.name: already read from bad.yaml:
            document 1; allowed: each object once
        """,
    ),
    Case(
        "two queue configurations",
        documents(QUEUES, QUEUES),
        want="""
        error: bad.yaml: document 2, line 3: QueueConfiguration/queues.yaml: $.partitions: already read from
            bad.yaml: document 1; allowed: each object once
        """,
    ),
    Case(
        "two queue configurations, one in a ConfigMap",
        documents(CONFIG, QUEUES),
        want="""
        error: bad.yaml: document 2, line 6: QueueConfiguration/queues.yaml: $.partitions: already read from
            bad.yaml: document 1; allowed: each object once
        """,
    ),
    Case(
        "several mistakes in one document, all reported",
        pod("priority: high, preemptionPolicy: Maybe, nodeSelector: {disk: 5}, overhead: {cpu: lots}, tolerations: {}"),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found "high"; it must be a whole
            number from -2147483648 to 2147483647
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.preemptionPolicy: found "Maybe"; allowed:
            Never, PreemptLowerPriority
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.nodeSelector.disk: found 5; it must be text;
            put it in quotes
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.overhead.cpu: not a quantity: found "lots";
            allowed: a number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.tolerations: found {}; it must be a list
        """,
    ),
    Case(
        "mistakes in several documents, all reported",
        documents(pod("priority: high"), obj("v1 Node", "spec: {taints: [{effect: NoSchedule}]}"), obj("batch/v1 Job")),
        want="""
        error: bad.yaml: document 1, line 4: Pod/default/a: $.spec.priority: found "high"; it must be a whole
            number from -2147483648 to 2147483647
        error: bad.yaml: document 2, line 9: Node/a: $.spec.taints[0].key: missing; it must be text
        error: bad.yaml: document 3, line 11: Job/default/a: $.spec: missing; it must be an object
        """,
    ),
]
