"""YuniKorn's queues.yaml, bare and in its ConfigMap."""

from __future__ import annotations

from textwrap import indent

from tests.manifests.bad_manifests import Case, obj

BOUNDS = "resources: {guaranteed: {vcore: 2}, max: {vcore: 1}}"


def queues(*children: str) -> str:
    return f"partitions: [{{name: default, queues: [{{name: root, queues: [{', '.join(children)}]}}]}}]\n"


def queue(name: str, guaranteed: str, *children: str, most: str = "{}") -> str:
    bounds = f"{{guaranteed: {guaranteed}, max: {most}}}"
    return f"{{name: {name}, resources: {bounds}, queues: [{', '.join(children)}]}}"


def config(text: str) -> str:
    return obj("v1 ConfigMap", "data:\n  queues.yaml: |\n" + indent(text, "    "), "yunikorn-configs")


CASES = [
    Case(
        "a guarantee above the maximum",
        queues(queue("a", "{vcore: 5, memory: 1Gi}", most="{vcore: 4500m, memory: 1Gi}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.guaranteed.vcore: found 5; allowed: at most its maximum,
            4500m
        """,
    ),
    Case(
        "a maximum above that of the parent",
        queues(queue("a", "{}", queue("b", "{}", most="{vcore: 5}"), most="{vcore: 4}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].resources.max.vcore: found 5; allowed: at most the maximum
            of its parent, 4
        """,
    ),
    Case(
        "a guarantee above the maximum of the parent",
        queues(queue("a", "{}", queue("b", "{vcore: 5}"), most="{vcore: 4}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].resources.guaranteed.vcore: found 5; allowed: at most the
            maximum of its parent, 4
        """,
    ),
    Case(
        "children that guarantee more than the parent may use",
        queues(queue("a", "{}", queue("b", "{memory: 3Gi}"), queue("c", "{memory: 3Gi}"), most="{memory: 4Gi}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues: guarantee 6Gi memory in all; allowed: at most the maximum of
            a, 4Gi
        """,
    ),
    Case(
        "children that guarantee more than the parent does",
        queues(queue("a", "{vcore: 2}", queue("b", "{vcore: 3}"), most="{vcore: 9}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues: guarantee 3 vcore in all; allowed: at most the guarantee of a,
            2
        """,
    ),
    Case(
        "grandchildren that guarantee more than the grandparent may use",
        queues(
            queue("a", "{}", queue("b", "{}", queue("c", "{vcore: 3}"), queue("d", "{vcore: 3}")), most="{vcore: 4}")
        ),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].queues: guarantee 6 vcore in all; allowed: at most the
            maximum above b, 4
        """,
    ),
    Case(
        "one guarantee that is too large for everything above it: one error",
        queues(queue("a", "{}", queue("b", "{vcore: 9}", most="{vcore: 5}"), most="{vcore: 6}")),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].resources.guaranteed.vcore: found 9; allowed: at most its
            maximum, 5
        """,
    ),
    Case(
        "a maximum on root",
        "partitions: [{name: default, queues: [{name: root, resources: {max: {vcore: 5}}}]}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].resources.max: set on root; allowed: nothing, the maximum of root is what the
            nodes have
        """,
    ),
    Case(
        "root beside another queue",
        "partitions: [{name: default, queues: [{name: root}, {name: other}]}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].queues: root beside
            other queues; allowed: one root with all other queues below it, or no root at all
        """,
    ),
    Case(
        "queues of one name, whatever the case, and a name with a space",
        queues("{name: a}", "{name: A}", '{name: "b c"}'),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[1].name: found "a" a second time; allowed: each name once
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[2].name: found "b c"; allowed: 1 to 64 letters, digits, _, -, :, #, / and
            @
        """,
    ),
    Case(
        "a queue without a name",
        queues("{resources: {}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].name: missing; it must be text
        """,
    ),
    Case(
        "queues that are an object",
        "partitions: [{name: default, queues: {name: root}}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].queues: found an
            object; it must be a list
        """,
    ),
    Case(
        "properties with values that do not exist",
        queues(
            "{name: a, properties: {preemption.policy: fenced, priority.policy: fance, application.sort.policy: lifo}}"
        ),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["preemption.policy"]: found "fenced"; allowed: default,
            fence, disabled; did you mean "fence"?
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["priority.policy"]: found "fance"; allowed: default, fence;
            did you mean "fence"?
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["application.sort.policy"]: found "lifo"; allowed: fifo,
            fair, stateaware; did you mean "fifo"?
        """,
    ),
    Case(
        "a priority offset that is no number",
        queues("{name: a, properties: {priority.offset: high}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["priority.offset"]: found "high"; allowed: a whole number,
            such as "100"
        """,
    ),
    Case(
        "delays that are no durations above zero",
        queues(
            "{name: a, properties: {preemption.delay: soon}}",
            "{name: b, properties: {preemption.delay: 0s}}",
            "{name: c, properties: {preemption.delay: 30}}",
        ),
        want="""
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["preemption.delay"]: found "soon"; allowed: a duration
            above 0 such as 45s or 1m30s; 30s is used
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[1].properties["preemption.delay"]: found "0s"; allowed: a duration above
            0 such as 45s or 1m30s; 30s is used
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[2].properties["preemption.delay"]: found 30; allowed: a duration above 0
            such as 45s or 1m30s; 30s is used
        """,
    ),
    Case(
        "a delay for quota that is no duration",
        queues("{name: a, properties: {quota.preemption.delay: -5s}}"),
        want="""
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["quota.preemption.delay"]: found "-5s"; allowed: a duration
            such as 45s or 1m30s; this queue's quota is not enforced by preemption
        """,
    ),
    Case(
        "a property that is misspelt",
        queues("{name: a, properties: {preemption.polcy: fence}}"),
        want="""
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["preemption.polcy"]: no such property; ignored; did you
            mean "preemption.policy"?
        """,
    ),
    Case(
        "a property that is a list",
        queues("{name: a, properties: {preemption.policy: [fence]}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["preemption.policy"]: found a list; it must be text
        """,
    ),
    Case(
        "a child template with all of it wrong",
        queues(f"{{name: a, parent: true, childtemplate: {{properties: {{preemption.delay: never}}, {BOUNDS}}}}}"),
        want="""
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].childtemplate.properties["preemption.delay"]: found "never"; allowed:
            a duration above 0 such as 45s or 1m30s; 30s is used
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].childtemplate.resources.guaranteed.vcore: found 2; allowed: at most
            its maximum, 1
        """,
    ),
    Case(
        "limits for nobody, of nothing",
        queues("{name: a, limits: [{users: [bob]}, {maxapplications: 5}]}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[0]: limits nothing; allowed: maxresources, maxapplications, or
            both
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[1]: names neither users nor groups; allowed: at least one of
            them
        """,
    ),
    Case(
        "limits that YuniKorn refuses: names, a star beside them, a user twice, more than above",
        "partitions: [{name: default, queues: [{name: root, queues: [{name: a, maxapplications: 2, "
        "resources: {max: {vcore: 4}}, limits: [{users: [sue, '*'], maxapplications: 3}, {users: [sue, 1x], "
        "maxresources: {vcore: 5}}, {groups: ['*'], maxapplications: 1}], queues: [{name: b, "
        "maxapplications: 9, limits: [{users: [sue], maxresources: {vcore: 6}}]}]}]}]}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[0].users: found * beside other names; allowed: * alone, or
            names
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[1].users[1]: found "1x"; allowed: *, or a letter or _ and then
            letters, digits, _, :, #, /, @, . and -
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[1].users: found "sue", which
            $.partitions[0].queues[0].queues[0].limits[0] names, too; allowed: each of a queue's users and groups once
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[2].groups: found * and no other limit for a group; allowed: *
            beside a named group
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[0].maxapplications: found 3; allowed: at most the
            maxapplications of its queue, 2
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].limits[1].maxresources.vcore: found 5; allowed: at most the maximum of
            a, 4
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].maxapplications: found 9; allowed: at most the
            maxapplications of a, 2
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].queues[0].limits[0].maxresources.vcore: found 6; allowed: at most what
            a queue above allows user sue, 5
        """,
    ),
    Case(
        "placement rules that cannot be",
        "partitions: [{name: default, placementrules: [{name: usr}, {name: tag}, {name: fixed, "
        "value: root.b}, {name: fixed, value: a, parent: {name: fixed, value: root.a}}, {name: user, "
        "filter: {type: some, users: ['(']}}, {name: fixed, value: root.a, parent: {name: user}}], "
        "queues: [{name: root, queues: [{name: a}]}]}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].placementrules[0].name:
            found "usr"; allowed: provided, user, tag, fixed; did you mean "user"?
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].placementrules[1].value:
            missing; a tag rule needs one
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].placementrules[2].value:
            root.b does not exist; allowed: a queue that is configured, or create: true; did you mean "root.a"?
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].placementrules[3].parent.value: root.a is a leaf; allowed: a queue that has queues below
            it
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].placementrules[4].filter.type: found "some"; allowed: "", allow, deny
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].placementrules[4].filter.users[0]: found "("; allowed: a name or a regular expression
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].placementrules[5].parent:
            beside root.a, which is whole; allowed: no parent, or a part of a name
        """,
    ),
    Case(
        "rules, orders and lists that have no effect",
        "partitions: [{name: default, nodesortpolicy: {type: best, resourceweights: {vcore: -1}}, "
        "statedumpfilepath: /tmp/x, userauth: {}, placementrules: [{name: tag, value: team}, {name: user, "
        "value: x}], queues: [{name: root, queues: [{name: a, submitacl: sue, adminacl: '*', "
        "maxrunningapps: 2, properties: {application.sort.policy: stateaware, "
        "application.sort.priority: disabled, colour: blue}}]}]}]\n",
        want="""
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].placementrules[0].value: found "team"; no effect: the rule never gives a queue; allowed:
            namespace, namespace.parentqueue
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].placementrules[1].value: found "x"; no effect: a user rule has none
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].nodesortpolicy.type:
            found "best"; allowed: "", fair, binpacking
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].nodesortpolicy.resourceweights.vcore: found -1.0; allowed: 0 or more
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].statedumpfilepath: no
            effect; no state is dumped
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].userauth: no effect;
            users are whom a pod's annotation or label names
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["application.sort.policy"]: found "stateaware"; the same as
            fifo
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties.colour: no such property; ignored
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].submitacl: no effect; whoever may create pods may use every queue
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].maxrunningapps: no effect; maxapplications is what limits applications
        warning: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].properties["application.sort.priority"]: no effect; only root says
            whether priorities decide first
        """,
    ),
    Case(
        "annotations of a pod that have no effect, or cannot be read",
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata:\n"
        "  name: a\n"
        "  annotations:\n"
        "    yunikorn.apache.org/user.info: sue\n"
        "    yunikorn.apache.org/task-group-name: x\n"
        "    yunikorn.apache.org/ignore-application: 'true'\n"
        "spec: {containers: [{name: c, image: c}]}\n",
        want="""
        warning: bad.yaml: document 1, line 7: Pod/default/a:
            $.metadata.annotations["yunikorn.apache.org/task-group-name"]: no gang: the pod names no application; name
            one with the label yunikorn.apache.org/app-id or applicationId
        warning: bad.yaml: document 1, line 6: Pod/default/a: $.metadata.annotations["yunikorn.apache.org/user.info"]:
            found "sue"; allowed: JSON such as {"user": "sue", "groups": ["dev"]}; it counts as user nobody
        warning: bad.yaml: document 1, line 8: Pod/default/a:
            $.metadata.annotations["yunikorn.apache.org/ignore-application"]: no effect; a pod belongs to the
            application that it names
        """,
    ),
    Case(
        "task groups that make no gang",
        "apiVersion: batch/v1\n"
        "kind: Job\n"
        "metadata: {name: a}\n"
        "spec:\n"
        "  template:\n"
        "    metadata:\n"
        "      labels: {applicationId: a}\n"
        "      annotations:\n"
        '        yunikorn.apache.org/task-groups: \'[{"name": "x", "minMember": 0, "minResource": {}}]\'\n'
        "        yunikorn.apache.org/schedulingPolicyParameters: gangSchedulingStyle=Firm\n"
        "    spec: {restartPolicy: Never, containers: [{name: c, image: c}]}\n",
        want="""
        warning: bad.yaml: document 1, line 9: Job/default/a:
            $.spec.template.metadata.annotations["yunikorn.apache.org/task-groups"]: no gang: Expected `int` >= 1 - at
            $[0].minMember; it must be JSON such as [{"name": "workers", "minMember": 3, "minResource": {"cpu": "1"}}]
        warning: bad.yaml: document 1, line 10: Job/default/a:
            $.spec.template.metadata.annotations["yunikorn.apache.org/schedulingPolicyParameters"]: found
            "gangSchedulingStyle=Firm"; it must be Soft or Hard; it counts as Soft
        """,
    ),
    Case(
        "a task group that is not defined",
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata:\n"
        "  name: a\n"
        "  labels: {applicationId: a}\n"
        "  annotations:\n"
        "    yunikorn.apache.org/task-group-name: y\n"
        '    yunikorn.apache.org/task-groups: \'[{"name": "x", "minMember": 1, "minResource": {"cpu": 1}}]\'\n'
        "spec: {containers: [{name: c, image: c}]}\n",
        want="""
        warning: bad.yaml: document 1, line 7: Pod/default/a:
            $.metadata.annotations["yunikorn.apache.org/task-group-name"]: found "y"; allowed: x
        """,
    ),
    Case(
        "annotations of a namespace that have no effect",
        "apiVersion: v1\n"
        "kind: Namespace\n"
        "metadata:\n"
        "  name: a\n"
        "  annotations:\n"
        "    yunikorn.apache.org/namespace.quota: '{\"cpu\": 3}'\n",
        want="""
        warning: bad.yaml: document 1, line 6: Namespace/a:
            $.metadata.annotations["yunikorn.apache.org/namespace.quota"]: no effect; a childtemplate gives queues that
            are made their bounds
        """,
    ),
    Case(
        "quantities that are none",
        queues("{name: a, resources: {guaranteed: {vcore: lots, memory: -5}, max: 5}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.guaranteed.vcore: not a quantity: found "lots"; allowed: a
            number with an optional suffix, such as 500m, 2, 1.5, 1e3, 128Mi or 10G
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.guaranteed.memory: negative: found -5; allowed: zero or more
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.max: not a map of quantities: found 5; allowed: names and
            quantities, such as {cpu: 500m}
        """,
    ),
    Case(
        "a guarantee that is a list",
        queues("{name: a, resources: {guaranteed: [ab]}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.guaranteed: not a map of quantities: found a list; allowed:
            names and quantities, such as {cpu: 500m}
        """,
    ),
    Case(
        "cpu under both of its names",
        queues("{name: a, resources: {guaranteed: {vcore: 3, cpu: 3}}}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].resources.guaranteed.cpu: cpu is named twice: found 3; allowed: either
            vcore or cpu
        """,
    ),
    Case(
        "preemption switched on with a word",
        'partitions: [{name: default, preemption: {enabled: "yes"}, queues: [{name: root}]}]\n',
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].preemption.enabled:
            found "yes"; it must be true or false
        """,
    ),
    Case(
        "no partitions",
        "partitions: []\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions: found []; it must be a
            list of at least 1
        """,
    ),
    Case(
        "partitions that are a number",
        "partitions: 5\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions: found 5; it must be a
            list
        """,
    ),
    Case(
        "a partition without queues, twice",
        "partitions: [{name: default}, {name: default}]\n",
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[1].name: found
            "default" a second time; allowed: each name once
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[0].queues: missing; it
            must be a list of at least 1
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml: $.partitions[1].queues: missing; it
            must be a list of at least 1
        """,
    ),
    Case(
        "fields that YuniKorn does not have",
        queues("{name: a, propertys: {}, submitACL: '*'}"),
        want="""
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].propertys: unknown field; did you mean "properties"?
        error: bad.yaml: document 1, line 1: QueueConfiguration/queues.yaml:
            $.partitions[0].queues[0].queues[0].submitACL: unknown field; did you mean "submitacl"?
        """,
        strict=True,
    ),
    Case(
        "no YAML in the ConfigMap",
        config("partitions:\n- name: [\n"),
        want="""
        error: bad.yaml: document 1, line 5: ConfigMap/default/yunikorn-configs: $.data["queues.yaml"]: line 3 of
            it: not YAML: while parsing a flow node, did not find expected node content; close every [ and {, with
            commas between
        """,
    ),
    Case(
        "a key twice in the ConfigMap",
        config("partitions: []\npartitions: []\n"),
        want="""
        error: bad.yaml: document 1, line 5: ConfigMap/default/yunikorn-configs: $.data["queues.yaml"]: line 2 of
            it: the key "partitions" is named twice
        """,
    ),
    Case(
        "text in the ConfigMap",
        config("hello\n"),
        want="""
        error: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs: $.data["queues.yaml"].partitions:
            missing; it must be a list of partitions
        """,
    ),
    Case(
        "queues without partitions in the ConfigMap",
        config("queues: []\n"),
        want="""
        error: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs: $.data["queues.yaml"].partitions:
            missing; it must be a list of partitions
        """,
    ),
    Case(
        "partitions that are a number in the ConfigMap",
        config("partitions: 5\n"),
        want="""
        error: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs: $.data["queues.yaml"].partitions:
            found 5; it must be a list
        """,
    ),
    Case(
        "a guarantee above the maximum and a bad delay in the ConfigMap",
        config(
            queues("{name: a, resources: {guaranteed: {vcore: 5}, max: {vcore: 4}}, properties: {preemption.delay: x}}")
        ),
        want="""
        warning: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs:
            $.data["queues.yaml"].partitions[0].queues[0].queues[0].properties["preemption.delay"]: found "x";
            allowed: a duration above 0 such as 45s or 1m30s; 30s is used
        error: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs:
            $.data["queues.yaml"].partitions[0].queues[0].queues[0].resources.guaranteed.vcore: found 5; allowed: at
            most its maximum, 4
        """,
    ),
    Case(
        "queues that are compressed",
        obj("v1 ConfigMap", "binaryData: {queues.yaml.gz: H4sIAAAA}", "yunikorn-configs"),
        want="""
        warning: bad.yaml: document 1, line 4: ConfigMap/default/yunikorn-configs: $.binaryData["queues.yaml.gz"]:
            no effect; what is compressed is not read; queues are text in $.data
        """,
    ),
    Case(
        "an unknown field in the ConfigMap",
        config(queues("{name: a, resource: {}}")),
        want="""
        error: bad.yaml: document 1, line 6: ConfigMap/default/yunikorn-configs:
            $.data["queues.yaml"].partitions[0].queues[0].queues[0].resource: unknown field; did you mean "resources"?
        """,
        strict=True,
    ),
]
