"""The queue policy, rule by rule, where random worlds seldom go: filters, templates, maxima, DaemonSets, reasons."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.engine.reasons import QueueLaw
from reprieve.texts import reasons as texts
from tests.builders.pods import Dict, node
from tests.builders.queues import OPTED_OUT, at, decide, in_queue, policies_over, queues, rules, tree, victims

ASK = in_queue("ask", "root.a", minutes=5)
TWO = queues(tree("a", cpu=2), tree("b"))


def low(*names: str, queue: str = "root.b", where: str = "n1", **fields: Any) -> list[Dict]:
    """Pods that run, each younger than the one before; none of them leads its application."""
    app = fields.pop("app", "b")
    first = in_queue(f"{app}-leader", queue, app=app, minutes=90, cpu="0")
    running = [in_queue(name, queue, app=app, node=where, minutes=60 - n, **fields) for n, name in enumerate(names)]
    return [first, *running]


# Filters, also while victims leave


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"zone": "east"}},
        {"tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"zone": "east"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}
                        ]
                    }
                }
            }
        },
    ],
)
def test_only_nodes_that_the_pod_may_run_on_are_searched(spec: Dict) -> None:
    nodes = [node("n1", cpu="1"), node("n2", cpu="1", labels={"zone": "east"})]
    ask = in_queue("ask", "root.a", minutes=5, spec=spec)
    made = decide(TWO, nodes, low("here"), low("there", where="n2", app="c"), ask)
    assert (made.domain, victims(made)) == ("n2", ["there"])
    assert made.obstacles["n1"].startswith("not matched by its node selector")


def test_a_tainted_node_is_out() -> None:
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    made = decide(TWO, node("n1", cpu="1", taints=taints), low("here"), ASK)
    assert made.outcome == "Unschedulable"
    assert "tainted" in made.obstacles["n1"]


def test_whoever_holds_the_host_port_goes_although_others_are_younger() -> None:
    port = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}]
    holder = in_queue("holder", "root.b", app="b", node="n1", minutes=70, containers=port)
    ask = in_queue("ask", "root.a", minutes=5, containers=port)
    assert victims(decide(TWO, node("n1", cpu="4"), holder, low("young"), ask)) == ["holder"]


def beside(value: str) -> Dict:
    term = {"labelSelector": {"matchLabels": {"role": value}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_company_that_the_pod_requires_does_not_make_way() -> None:
    there = node("n1", cpu="2", labels={"kubernetes.io/hostname": "n1"})
    company = [*low("old"), in_queue("cache", "root.b", app="b", node="n1", minutes=1, labels={"role": "cache"})]
    made = decide(TWO, there, company, in_queue("ask", "root.a", minutes=5, spec=beside("cache")))
    assert victims(made) == ["old"]


def test_a_pod_that_would_be_without_its_company_preempts_nobody() -> None:
    there = node("n1", cpu="1", labels={"kubernetes.io/hostname": "n1"})
    made = decide(TWO, there, low("old"), in_queue("ask", "root.a", minutes=5, spec=beside("cache")))
    assert (made.outcome, victims(made)) == ("Unschedulable", [])


def test_a_node_that_does_not_exist_does_not_matter() -> None:
    made = decide(TWO, node("n1", cpu="1"), low("here"), low("lost", where="nowhere", app="c"), ASK)
    assert victims(made) == ["here"]


# The tree


def test_a_queue_that_is_not_configured_is_made_by_the_nearest_template() -> None:
    template = {"resources": {"guaranteed": {"vcore": "1"}}, "properties": {"preemption.delay": "1s"}}
    config = queues(tree("users", template=template), tree("b"))
    ask = in_queue("ask", "root.users.ann", minutes=0.1)
    assert victims(decide(config, node("n1", cpu="1"), low("here"), ask)) == ["here"]


def test_queues_made_on_the_way_to_a_dynamic_one_guarantee_nothing() -> None:
    template = {"resources": {"guaranteed": {"vcore": "2"}}}
    config = queues(tree("users", template=template), tree("b", cpu=1))
    running = low("x", queue="root.users.team.ann", app="ann", cpu="3")
    made = decide(config, node("n1", cpu="3"), running, in_queue("ask", "root.b", minutes=5))
    assert rules(made)["x"] == "NeverBelowGuarantee"
    assert "root.users.team.ann would" in made.spared[0]["message"]


def test_a_pod_without_a_queue_is_in_the_default_queue() -> None:
    stray = in_queue("stray", "root.b", node="n1")
    del stray["metadata"]["labels"]["queue"]
    made = decide(queues(tree("a", cpu=2)), node("n1", cpu="1"), stray, ASK)
    assert victims(made) == ["stray"]
    assert made.victims[0]["message"].startswith("root.default is over its guarantee")


@pytest.mark.parametrize("key", ["queue", "yunikorn.apache.org/queue"])
def test_a_queue_may_be_named_in_either_spelling(key: str) -> None:
    ask = in_queue("ask", "root.b", minutes=5)
    ask["metadata"]["labels"] = {key: "root.a", "applicationId": "a"}
    assert victims(decide(TWO, node("n1", cpu="1"), low("here"), ask)) == ["here"]


def test_disabled_holds_below_a_queue_until_one_says_otherwise() -> None:
    inner = [tree("b"), tree("c", preemption_policy="default")]
    config = queues(tree("a", cpu=2), tree("p", *inner, preemption_policy="disabled"))
    running = low("b1", queue="root.p.b") + low("c1", queue="root.p.c", app="c")
    made = decide(config, node("n1", cpu="2"), running, ASK)
    assert victims(made) == ["c1"]
    assert rules(made)["b1"] == "PreemptionDisabled"


# Priorities on the way


@pytest.mark.parametrize(("own", "theirs", "outcome"), [(0, 0, "Preempt"), (0, 1, "Unschedulable"), (1, 1, "Preempt")])
def test_offsets_are_added_going_up_and_taken_off_going_down(own: int, theirs: int, outcome: str) -> None:
    config = queues(tree("a", cpu=2, priority_offset=own), tree("b", priority_offset=theirs))
    assert decide(config, node("n1", cpu="1"), low("here"), ASK).outcome == outcome


def test_inside_one_priority_fence_priorities_count_as_they_are() -> None:
    config = queues(tree("p", tree("a", cpu=2), tree("b"), priority_policy="fence"))
    ask = in_queue("ask", "root.p.a", minutes=5, priority=1)
    made = decide(config, node("n1", cpu="1"), low("here", queue="root.p.b", priority=2), ask)
    assert rules(made)["here"] == "HigherPriority"


# Maxima


def test_where_only_a_maximum_is_in_the_way_the_youngest_below_it_goes_wherever_it_runs() -> None:
    config = queues(tree("p", tree("a", cpu=2), tree("b"), most={"vcore": "2"}), tree("c"))
    running = low("old", queue="root.p.b") + low("young", queue="root.p.b", where="n2", app="d")
    ask = in_queue("ask", "root.p.a", minutes=5, spec={"nodeSelector": {"disk": "fast"}})
    nodes = [node("n1", cpu="4", labels={"disk": "fast"}), node("n2", cpu="4")]
    running[-1]["metadata"]["creationTimestamp"] = "2026-01-01T11:30:00Z"
    made = decide(config, nodes, running, low("other", queue="root.c", app="c"), ask)
    assert (made.domain, victims(made)) == ("n1", ["young"])
    assert rules(made)["other"] == "OutsideFence"


def test_who_leaves_below_a_maximum_is_waited_for_wherever_it_runs() -> None:
    config = queues(tree("p", tree("a", cpu=2), tree("b"), most={"vcore": "2"}))
    running = low("stays", queue="root.p.b") + low(
        "leaves", queue="root.p.b", where="n2", app="d", deleted="2026-01-01T11:59:00Z"
    )
    ask = in_queue("ask", "root.p.a", minutes=5, spec={"nodeSelector": {"disk": "fast"}})
    made = decide(config, [node("n1", cpu="4", labels={"disk": "fast"}), node("n2", cpu="4")], running, ask)
    assert (made.outcome, made.waiting_for) == ("Wait", ["Pod/default/leaves"])


def test_who_is_leaving_already_counts_and_only_the_rest_is_asked() -> None:
    running = [*low("leaves", deleted="2026-01-01T11:59:00Z"), *low("x", "y")]
    made = decide(TWO, node("n1", cpu="3"), running, in_queue("ask", "root.a", cpu="2", minutes=5))
    assert (made.outcome, len(made.victims), made.waiting_for) == ("Preempt", 1, ["Pod/default/leaves"])


def test_a_pod_of_a_daemon_set_counts_on_who_is_leaving_already() -> None:
    running = [*low("leaves", deleted="2026-01-01T11:59:00Z"), *low("x", "y")]
    made = decide(TWO, node("n1", cpu="3"), running, in_queue("ask", "root.a", cpu="2", daemon_on="n1"))
    assert (made.outcome, len(made.victims), made.waiting_for) == ("Preempt", 1, ["Pod/default/leaves"])


# Law 1, and the choice of a node


def test_who_opted_out_is_spared_while_two_others_will_do() -> None:
    keep = low("keep", where="n1", cpu="2", annotations=OPTED_OUT)
    others = low("x", "y", where="n2", app="c")
    made = decide(TWO, [node("n1", cpu="2"), node("n2", cpu="2")], keep, others, in_queue("ask", "root.a", cpu="2"))
    assert (made.domain, made.criterion) == ("n2", "FewestReluctant")
    assert made.candidates["n1"]["victims"] == ["Pod/default/keep"]


def test_of_nodes_that_cost_the_same_the_one_with_the_nearer_queues_is_chosen() -> None:
    config = queues(tree("p", tree("a", cpu=2), tree("b")), tree("c"))
    far = low("far", queue="root.c", app="c", where="n1")
    near = low("near", queue="root.p.b", where="n2")
    made = decide(config, [node("n1", cpu="1"), node("n2", cpu="1")], far, near, in_queue("ask", "root.p.a"))
    assert (victims(made), made.criterion) == (["near"], "NearestQueues")


def test_the_plan_says_when_somebody_goes_who_asked_to_be_spared() -> None:
    made = decide(TWO, node("n1", cpu="1"), low("keep", annotations=OPTED_OUT), ASK)
    assert "no alternative (law 1)" in made.victims[0]["message"]


# A pod that must run on one node


def test_a_pod_of_a_daemon_set_waits_while_enough_leaves_its_node() -> None:
    ask = in_queue("ask", "root.a", daemon_on="n1")
    made = decide(TWO, node("n1", cpu="1"), low("gone", deleted="2026-01-01T11:59:00Z"), ask)
    assert (made.outcome, made.waiting_for) == ("Wait", ["Pod/default/gone"])


def test_a_pod_of_a_daemon_set_takes_nobody_who_holds_nothing_of_what_is_short() -> None:
    small = in_queue("small", "root.b", app="b", node="n1", cpu="0", memory="1Gi", priority=-5, minutes=1)
    ask = in_queue("ask", "root.a", daemon_on="n1", memory="1Gi")
    made = decide(TWO, node("n1", cpu="1", memory="8Gi"), small, low("here"), ask)
    assert victims(made) == ["here"]
    assert made.victims[0]["reason"] == "NodeRequired"


def test_a_pod_of_a_daemon_set_that_never_preempts_takes_nobody() -> None:
    ask = in_queue("ask", "root.a", daemon_on="n1", policy="Never")
    assert decide(TWO, node("n1", cpu="1"), low("here"), ask).outcome == "Unschedulable"


def test_on_other_nodes_nobody_is_asked_for_a_pod_that_must_run_on_one() -> None:
    made = decide(
        TWO,
        [node("n1", cpu="1"), node("n2", cpu="1")],
        low("here"),
        low("there", where="n2", app="c"),
        in_queue("ask", "root.a", daemon_on="n1"),
    )
    assert (victims(made), rules(made)) == (["here"], {"there": "OtherNode"})


# Why


def test_every_law_that_spares_somebody_is_quoted() -> None:
    config = queues(
        tree(
            "t",
            tree("a", cpu=4),
            tree("b"),
            tree("full", cpu=9),
            tree("off", preemption_policy="disabled"),
            preemption_policy="fence",
        ),
        tree("out"),
    )
    running = [
        *low("victim", "older", queue="root.t.b")[::-1],
        *low("vip", queue="root.t.b", app="v", priority=7),
        *low("full", queue="root.t.full", app="full"),
        *low("off", queue="root.t.off", app="off"),
        *low("out", queue="root.out", app="out"),
        *low("same", queue="root.t.b", app="mine"),
        *low("own", queue="root.t.a", app="other"),
        *low("daemon", queue="root.t.b", app="ds", daemon_on="n1"),
    ]
    made = decide(config, node("n1", cpu="9"), running, in_queue("ask", "root.t.a", app="mine", minutes=5))
    assert victims(made) == ["older"]
    assert rules(made) == {
        "victim": "Reprieved",
        "vip": "HigherPriority",
        "full": "WithinGuarantee",
        "off": "PreemptionDisabled",
        "out": "OutsideFence",
        "same": "SameApplication",
        "own": "OwnQueue",
        "daemon": "RequiredNode",
    }


def test_every_law_has_its_sentence() -> None:
    policies = policies_over([queues(tree("a"), tree("b")), node("n1"), in_queue("ask", "root.a")])
    policy = policies["queue"].policy
    rules = policy.rules(policy.view(policies.world.pods["default", "ask"], at()))
    laws = [rule.kind for rule in rules if rule.kind != "MirrorPod"]  # that is no law of queues
    for kind in (*laws, "OtherNode", "FreesTooMuch"):
        sentence = texts.describe(QueueLaw(kind, "root.b", "root.a", 7, 5))
        assert "{" not in sentence
        assert sentence


def test_a_refusal_quotes_its_law_and_says_that_nobody_is_asked() -> None:
    made = decide(queues(tree("a"), tree("b")), node("n1", cpu="1"), low("here"), ASK)
    assert made.message.endswith("(law 4).")
    assert rules(made) == {"here": "NobodyAsked"}


def test_nobody_in_reach_says_how_many_each_law_protects() -> None:
    made = decide(TWO, node("n1", cpu="2"), low("x", "y", priority=5), ASK)
    assert made.message.endswith("none of its pods may be preempted (2 are of higher priority).")
