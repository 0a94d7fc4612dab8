"""What a change would do: one small world for each kind of change."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import configure
from reprieve.manifests.problems import InvalidInput
from reprieve.planning.change import change_from
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import read
from reprieve.planning.questions import moment_of
from reprieve.planning.what_if import what_if
from tests.builders import quota
from tests.builders.pods import Dict, budget, manifest, metadata, node, pod, priority_class
from tests.builders.queues import NOW, in_queue, queues, tree
from tests.generators.federations import binding, cluster, deployment, propagation_policy

TOLERATION = "preemption-toleration.scheduling.x-k8s.io/"
STAYS = {f"{TOLERATION}minimum-preemptable-priority": "500", f"{TOLERATION}toleration-seconds": "-1"}
BINDINGS = {"PriorityBasedScheduling": True, "PriorityBasedPreemptiveScheduling": True}


def after(
    state: list[Dict],
    *change: Dict,
    delete: tuple[str, ...] = (),
    settings: tuple[Dict, ...] = (),
    config: Dict | None = None,
    gates: dict[str, bool] | None = None,
) -> Comparison:
    wanted = change_from(change, settings, delete)
    return what_if(read(state), wanted, configure(config, gates), moment_of(NOW))


def exposed(found: list[Any]) -> dict[str, tuple[list[str], str]]:
    """By unit: who may preempt it in one world, and the rule that protects it in the other."""
    return {item.unit: (item.by, item.rule) for item in found}


def starting(found: list[Any]) -> list[str]:
    return [item.unit for item in found]


# Priority classes

CLASSES = [priority_class("batch", 10), priority_class("prod", 100)]
FULL = [
    node("n1", cpu="2"),
    pod("a", cpu="1", node="n1", priority=10, priority_class="batch"),
    pod("b", cpu="1", node="n1", priority=100, priority_class="prod"),
]
CRITICAL = ["PriorityClass/system-cluster-critical", "PriorityClass/system-node-critical"]


def test_a_toleration_makes_its_pods_safe_from_those_it_tolerates_and_ends_their_preemption() -> None:
    made = after(
        [*CLASSES, *FULL, pod("p", cpu="1", priority=100, priority_class="prod")],
        priority_class("batch", 10, annotations=STAYS),
    )
    assert exposed(made.newly_safe) == {"Pod/default/a": (["PriorityClass/prod"], "Toleration")}
    assert made.newly_safe[0].message == "its class batch tolerates preemptors below 500, and the preemptor has 100"
    assert [(item.unit, item.victims) for item in made.no_longer_preempts] == [("Pod/default/p", ["Pod/default/a"])]
    assert [*made.newly_preemptible, *made.now_preempts, *made.now_starts] == []
    assert made.changed == {"PriorityClass//batch": "replaced"}


def test_without_its_toleration_a_pod_is_preemptible_again() -> None:
    made = after([priority_class("batch", 10, annotations=STAYS), CLASSES[1], *FULL], CLASSES[0])
    assert exposed(made.newly_preemptible) == {"Pod/default/a": (["PriorityClass/prod"], "Toleration")}


def test_a_new_value_counts_for_new_pods_alone() -> None:
    state = [*CLASSES, *FULL, pod("p", cpu="1", priority_class="batch")]
    made = after(state, priority_class("batch", 1000))
    assert exposed(made.newly_preemptible) == {
        "Pod/default/a": (["PriorityClass/batch"], "Priority"),
        "Pod/default/b": (["PriorityClass/batch"], "Priority"),
    }
    assert made.now_preempts == []  # the pod that waits came when the class had its old value
    assert made.notes == [
        "PriorityClass/batch: the new value, 1000 instead of 10, counts only for units that are created from now on; "
        "2 units that exist keep what they have"
    ]


def test_a_new_class_may_preempt_whom_nobody_could() -> None:
    made = after([*CLASSES, *FULL], priority_class("vip", 1000))
    assert exposed(made.newly_preemptible) == dict.fromkeys(
        ("Pod/default/a", "Pod/default/b"), (["PriorityClass/vip"], "NoSuchPreemptor")
    )


def test_without_a_class_the_nodes_of_its_pods_are_left_out() -> None:
    made = after([*CLASSES, priority_class("vip", 1000), *FULL], delete=("priorityclass/batch",))
    assert exposed(made.newly_safe) == {
        "Pod/default/a": (["PriorityClass/prod", *CRITICAL, "PriorityClass/vip"], "UnknownPriorityClass"),
        "Pod/default/b": ([*CRITICAL, "PriorityClass/vip"], "NodeLeftOut"),
    }
    assert made.changed == {"PriorityClass//batch": "deleted"}


def test_the_global_default_is_a_preemptor_too() -> None:
    state = [*CLASSES, *FULL[:2]]
    made = after(state, priority_class("usual", 50, default=True))
    assert exposed(made.newly_preemptible)["Pod/default/a"] == (["no PriorityClass"], "Priority")


# Budgets

WEB = [
    node("n1", cpu="2"),
    *(
        pod(
            name,
            cpu="1",
            node="n1",
            priority=10,
            labels={"app": "web"},
            status={"conditions": [{"type": "Ready", "status": "True"}]},
        )
        for name in ("a", "b")
    ),
]


def web(**spec: Any) -> Dict:
    selector = {"selector": {"matchLabels": {"app": "web"}}}
    return manifest("policy/v1", "PodDisruptionBudget", metadata("web", "default"), spec={**selector, **spec})


def test_a_budget_that_is_respected_makes_safe() -> None:
    made = after([*CLASSES, *WEB], budget("web", {"app": "web"}, allowed=0), config={"pdb": "Respect"})
    assert {unit: rule for unit, (_, rule) in exposed(made.newly_safe).items()} == {
        "Pod/default/a": "DisruptionBudget",
        "Pod/default/b": "DisruptionBudget",
    }


def test_a_budget_that_is_only_preferred_makes_preemption_go_against_it() -> None:
    allowing = [*CLASSES, *WEB, budget("web", {"app": "web"}, allowed=1)]
    made = after(allowing, budget("web", {"app": "web"}, allowed=0))
    assert made.newly_against_budget == ["Pod/default/a", "Pod/default/b"]
    assert made.newly_safe == []
    back = after([*CLASSES, *WEB, budget("web", {"app": "web"}, allowed=0)], delete=("pdb/web",))
    assert back.no_longer_against_budget == ["Pod/default/a", "Pod/default/b"]


@pytest.mark.parametrize(
    ("spec", "broken"),
    [({"minAvailable": 2}, 2), ({"minAvailable": "50%"}, 0), ({"maxUnavailable": 1}, 0), ({"maxUnavailable": 0}, 2)],
)
def test_a_budget_with_another_spec_is_counted_anew(spec: Dict, broken: int) -> None:
    counted = {**web(minAvailable=1), "status": {"disruptionsAllowed": 1}}
    made = after([*CLASSES, *WEB, counted], web(**spec))
    assert len(made.newly_against_budget) == broken
    same = after([*CLASSES, *WEB, counted], web(minAvailable=1))
    assert not same.difference


# Quota

COHORT = [
    quota.flavor(),
    *quota.queue("a", {"default": {"cpu": 4}}, cohort="all", reclaim="Any"),
    *quota.queue("b", {"default": {"cpu": 4}}, cohort="all"),
    quota.workload("mine", "a", on="default", cpu=3),
    quota.workload("theirs", "b", on="default", cpu=4),
]


def test_less_quota_makes_a_borrower_who_may_be_preempted() -> None:
    made = after(
        [*COHORT, quota.workload("next", "a", cpu=1)], quota.queue("b", {"default": {"cpu": 2}}, cohort="all")[0]
    )
    assert {item.unit: item.rule for item in made.newly_preemptible} == {
        "Workload/default/theirs": "WithinNominalQuota"
    }
    assert made.newly_preemptible[0].by == ["no PriorityClass in a"]
    assert [(item.unit, item.place, item.over, item.resource) for item in made.no_longer_fits] == [
        ("Workload/default/theirs", "ClusterQueue//b (default)", "1", "cpu")
    ]
    assert starting(made.no_longer_starts) == starting(made.now_preempts) == ["Workload/default/next"]


def test_more_quota_lets_a_workload_start() -> None:
    waiting = quota.workload("next", "b", cpu=2)
    made = after([*COHORT, waiting], quota.queue("b", {"default": {"cpu": 6}}, cohort="all")[0])
    assert starting(made.now_starts) == ["Workload/default/next"]
    assert [*made.no_longer_fits, *made.newly_preemptible] == []


def test_a_queue_that_leaves_its_cohort_is_out_of_reach() -> None:
    state = [
        quota.flavor(),
        *quota.queue("a", {"default": {"cpu": 4}}, cohort="all", reclaim="Any"),
        *quota.queue("b", {"default": {"cpu": 2}}, cohort="all"),
        quota.workload("theirs", "b", on="default", cpu=3),
    ]
    made = after(state, quota.queue("b", {"default": {"cpu": 2}})[0])
    assert exposed(made.newly_safe) == {"Workload/default/theirs": (["no PriorityClass in a"], "OtherCohort")}
    assert [item.over for item in made.no_longer_fits] == ["1"]
    assert starting(after(state, delete=("clusterqueue/b",)).no_longer_fits) == ["Workload/default/theirs"]


def test_a_policy_within_the_queue_and_a_class_of_workloads() -> None:
    low = {"apiVersion": quota.KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "top"}, "value": 9}
    within = quota.queue("a", {"default": {"cpu": 4}}, cohort="all", reclaim="Any", within="LowerPriority")[0]
    made = after([*COHORT, low], within)
    assert exposed(made.newly_preemptible) == {
        "Workload/default/mine": (["WorkloadPriorityClass/top in a"], "PreemptionPolicy")
    }


# Queues

TREE = [
    node("n1", cpu="4"),
    *(in_queue(f"test-{number}", "root.test", node="n1") for number in range(3)),
    in_queue("prod-0", "root.prod", node="n1"),
]


def test_a_guarantee_makes_safe_and_lets_preempt() -> None:
    state = [*TREE, queues(tree("prod", cpu=2), tree("test")), in_queue("ask", "root.prod")]
    made = after(state, queues(tree("prod", cpu=2), tree("test", cpu=3)))
    assert {rule for _, rule in exposed(made.newly_safe).values()} == {"WithinGuarantee"}
    assert len(made.no_longer_preempts) == 1
    back = after([*TREE, queues(tree("prod"), tree("test")), in_queue("ask", "root.prod")], state[-2])
    assert {rule for _, rule in exposed(back.newly_preemptible).values()} == {"AboveGuarantee"}
    assert starting(back.now_preempts) == ["Pod/default/ask"]


def test_rules_are_quoted_as_they_were_before_anybody_started() -> None:
    """Those who wait take all that their queue is guaranteed: after that, nobody in it could ask any more."""
    waiting = [in_queue(name, "root.prod") for name in ("ask", "later")]
    state = [*TREE, node("n2", cpu="1"), *waiting, queues(tree("prod", cpu=2), tree("test"))]
    made = after(state, queues(tree("prod", cpu=2), tree("test", cpu=3)))
    assert {item.message for item in made.newly_safe} == {"root.test is not over its guarantee of cpu (law 5)"}


def test_a_maximum_below_what_is_used() -> None:
    state = [*TREE, queues(tree("prod"), tree("test"))]
    made = after(state, queues(tree("prod"), tree("test", most={"vcore": "1"})))
    assert [(item.place, item.over, item.resource) for item in made.no_longer_fits] == 2 * [
        ("Queue//root.test", "2", "cpu")
    ]


def test_a_place_that_another_takes_in_the_same_cycle_is_no_start() -> None:
    """The pod in the queue has its turn first; the one outside could preempt it, and so takes the place at once."""
    state = [queues(tree("urgent", priority_offset=1000)), node("n1", cpu="1"), in_queue("inside", "root.urgent")]
    made = after(state, pod("outside", cpu="1", priority=100, spec={"schedulerName": "reprieve"}))
    assert starting(made.now_starts) == ["Pod/default/outside"]
    assert starting(made.no_longer_starts) == ["Pod/default/inside"]


def test_without_queues_nobody_in_a_queue_asks() -> None:
    state = [*TREE, queues(tree("prod", cpu=2), tree("test"))]
    made = after(state, delete=("configmap/yunikorn/yunikorn-configs",))
    assert made.changed == {"ConfigMap/yunikorn/yunikorn-configs": "deleted"}
    assert {unit: rule for unit, (_, rule) in exposed(made.newly_safe).items()} == {
        f"Pod/default/test-{number}": "NoSuchPreemptor" for number in range(3)
    }
    assert {item.policy for item in made.newly_safe} == {"queue"}


# Bindings

MEMBER = [
    CLASSES[0],
    CLASSES[1],
    cluster("m1", cpu="2", used="2"),
    binding("low", priority=10, on={"m1": 2}, replicas=2, cpu="1"),
]


def test_without_the_gate_bindings_are_safe() -> None:
    gate = {"featureGates": {"PriorityBasedPreemptiveScheduling": False}}
    state = [*MEMBER, binding("high", priority=100, replicas=1, cpu="1")]
    made = after(state, settings=(gate,), gates=BINDINGS)
    assert {unit: rule for unit, (_, rule) in exposed(made.newly_safe).items()} == {
        "ResourceBinding/default/low": "NobodyAsked"
    }
    assert starting(made.no_longer_preempts) == ["ResourceBinding/default/high"]
    assert made.changed == {"settings": "replaced"}


def test_a_propagation_policy_that_names_another_class_reaches_its_bindings() -> None:
    """A binding carries its priority; the detector writes another one when the policy asks for another."""

    def asking(name: str) -> Dict:
        return propagation_policy("web", source="KubePriorityClass", class_name=name)

    bound = binding("web-deployment", priority=10, on={"m1": 3}, replicas=3, cpu="2", memory="1Gi")
    bound["spec"]["resource"] = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    carried = {"reprieve.scheduling/schedule-priority": "KubePriorityClass/batch"}
    bound["metadata"] = {"name": "web-deployment", "namespace": "shop", "annotations": carried}
    state = [*CLASSES, cluster("m1", cpu="6", used="6"), deployment("web"), bound, asking("batch")]
    made = after(state, asking("prod"), gates=BINDINGS)
    assert exposed(made.newly_safe) == {"ResourceBinding/shop/web-deployment": (["PriorityClass/prod"], "Priority")}
    assert not after(state, asking("batch"), gates=BINDINGS).difference


# Places


def test_a_smaller_node() -> None:
    made = after([*CLASSES, *FULL], node("n1", cpu="1"))
    assert [(item.unit, item.place, item.over, item.resource) for item in made.no_longer_fits] == [
        ("Pod/default/a", "Node/n1", "1", "cpu")
    ]
    assert starting(after([*CLASSES, *FULL], delete=("node/n1",)).no_longer_fits) == ["Pod/default/a", "Pod/default/b"]


def test_what_a_server_has_written_stays() -> None:
    spoken = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    assert not after([*CLASSES, *FULL], spoken).difference


def test_what_comes_with_the_change_is_decided_for() -> None:
    state = [*CLASSES, *FULL]
    made = after(state, pod("p", cpu="1", priority_class="prod"))
    assert [(item.unit, item.victims) for item in made.now_preempts] == [("Pod/default/p", ["Pod/default/a"])]
    assert starting(after([*state, node("n2")], pod("p", cpu="1")).now_starts) == ["Pod/default/p"]
    too_large = after(state, pod("p", cpu="9"))
    assert starting(too_large.now_unschedulable) == ["Pod/default/p"]
    assert starting(after([*state, pod("p", cpu="9")], delete=("pod/p",)).no_longer_unschedulable) == ["Pod/default/p"]
    assert not after([*state, pod("p", cpu="9")], pod("p", cpu="8")).difference


def test_what_admission_would_say_of_the_change_is_a_warning() -> None:
    (warning,) = after([*CLASSES, *FULL], priority_class("batch", 2_000_000_000)).warnings
    assert str(warning).startswith("request: document 1: PriorityClass/batch: $.value: ")


def test_a_toleration_for_a_time_lets_wait() -> None:
    for_a_day = {**STAYS, f"{TOLERATION}toleration-seconds": "86400"}
    scheduled = {
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T11:00:00Z"}]
    }
    state = [
        *CLASSES,
        node("n1", cpu="1"),
        pod("a", cpu="1", node="n1", priority=10, priority_class="batch", status=scheduled),
        pod("p", cpu="1", priority=100),
    ]
    made = after(state, priority_class("batch", 10, annotations=for_a_day))
    assert (starting(made.now_waits), starting(made.no_longer_preempts)) == (["Pod/default/p"], ["Pod/default/p"])


# What cannot be tried


def wrong(*change: Dict, **options: Any) -> list[str]:
    with pytest.raises(InvalidInput) as raised:
        after([*CLASSES, *FULL], *change, **options)
    return [str(problem) for problem in raised.value.problems]


def test_mistakes_name_document_and_field() -> None:
    assert wrong({"apiVersion": "v1", "kind": "Pod"}, settings=({"pdb": "Respct"},)) == [
        'request: document 2: $.pdb: found "Respct"; allowed: BestEffort, Respect; did you mean "Respect"?',
        "request: document 1: Pod: $.spec: missing; it must be an object",
        "request: document 1: Pod: $.metadata.name: missing; every object needs a name, or a generateName",
    ]
    assert wrong(delete=("priorityclass/bath",)) == [
        'delete: there is no PriorityClass//bath among what was read; did you mean "PriorityClass//batch"?'
    ]
    assert wrong(delete=("planet/x",)) == ['delete: found "planet", which is not a kind that is read']
