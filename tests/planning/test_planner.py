"""`reprieve.plan`, as a Python program calls it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reprieve import InvalidInput, Unsupported, plan
from tests.builders.pods import budget, item_list, node, pod, priority_class, to_json, to_yaml

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
WORLD = [node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("p", cpu="1", priority=10)]


def victims(result: Any) -> list[str]:
    return [victim["unit"] for decision in result.decisions for victim in decision.victims]


# What it takes


def test_a_path_a_text_and_a_list_give_the_same_answer(tmp_path: Path) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(to_yaml(*WORLD))
    for objects in (file, str(file), tmp_path, to_yaml(*WORLD), to_json(item_list(*WORLD)), WORLD, iter(WORLD)):
        result = plan(objects, preemptor="Pod/default/p", now=NOW)
        assert victims(result) == ["Pod/default/low"]
        assert result.decision.placement == {"Pod/default/p": "n1"}


@pytest.mark.parametrize(
    "preemptor",
    [
        *("Pod/default/p", "pod/default/p", "pods/default/p", "po/default/p", "pod/p"),
        {"kind": "Pod", "namespace": "default", "name": "p"},
        {"kind": "Pod", "name": "p"},
        {"apiVersion": "v1", "kind": "pod", "name": "p"},
    ],
)
def test_a_preemptor_is_named_as_kubectl_would(preemptor: Any) -> None:
    assert plan(WORLD, preemptor=preemptor, now=NOW).decision.preemptor == "Pod/default/p"


@pytest.mark.parametrize(
    "now",
    [
        *(NOW, "2026-01-01T13:00:00+01:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        *(datetime(2026, 1, 1, 12), datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))),  # noqa: DTZ001
    ],
)
def test_the_clock_is_given_in_any_zone(now: Any) -> None:
    assert plan(WORLD, now=now).now == NOW


def test_without_a_clock_it_is_now() -> None:
    before = datetime.now(UTC)
    assert before <= datetime.fromisoformat(plan(WORLD).now) <= datetime.now(UTC)


# What it answers


def test_the_answer_is_what_the_contract_says() -> None:
    answer = plan(WORLD, preemptor="Pod/default/p", now=NOW).to_dict()
    want = {
        "now": NOW,
        "decisions": [
            {
                "preemptor": "Pod/default/p",
                "policy": "pod",
                "outcome": "Preempt",
                "domain": "n1",
                "placement": {"Pod/default/p": "n1"},
                "victims": [
                    {
                        "unit": "Pod/default/low",
                        "reason": "LowerPriority",
                        "pdbViolation": False,
                        "message": "priority 1 is below 10, the preemptor's",
                        "facts": {"priority": 1, "preemptorPriority": 10},
                    }
                ],
                "candidates": {"n1": {"victims": ["Pod/default/low"], "pdbViolations": 0}},
                "spared": [],
                "message": "Pod/default/low makes way for Pod/default/p on n1.",
                "criterion": "OnlyCandidate",
                "waitingFor": [],
                "obstacles": {},
                "claims": [],
            }
        ],
        "admitted": [],
        "left": [],
        "order": [],
        "priorities": {"Pod/default/p": {"priority": 10, "preemptionPolicy": "PreemptLowerPriority"}},
        "warnings": [],
    }
    assert {key: answer[key] for key in want} == want
    assert msgspec.json.decode(msgspec.json.encode(answer)) == answer


def test_one_decision_is_at_hand_and_several_are_not() -> None:
    assert plan(WORLD, now=NOW).decision.outcome == "Preempt"
    with pytest.raises(ValueError, match="there are 0 decisions, not one"):
        _ = plan([node("n1")], now=NOW).decision


def test_an_empty_world_is_no_error() -> None:
    assert plan([], now=NOW).to_dict()["decisions"] == []
    assert plan([pod("p")], now=NOW).decision.message == "Pod/default/p is unschedulable: there are no nodes."


def spared(result: Any) -> dict[str, tuple[str, str]]:
    return {item["unit"]: (item["rule"], item["message"]) for item in result.decision.spared}


def test_who_could_go_but_is_not_asked_is_told_why() -> None:
    never = [*WORLD[:2], pod("p", cpu="1", priority=10, policy="Never")]
    assert spared(plan(never, now=NOW)) == {
        "Pod/default/low": ("NobodyAsked", "the preemptor's preemption policy is Never")
    }
    small = [*WORLD[:2], pod("p", cpu="9", priority=10)]
    assert spared(plan(small, now=NOW)) == {
        "Pod/default/low": (
            "NoHelp",
            "preempting it would not help: n1 is too small: it has 2 of the 9 cpu needed",
        )
    }


def test_who_is_leaving_already_is_waited_for() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving = pod("low", cpu="1", node="n1", deleted=NOW, status={"conditions": [target]})
    world = [node("n1", cpu="2"), leaving, pod("q", cpu="1", node="n1"), pod("p", cpu="1", priority=9, nominated="n1")]
    result = plan(world, preemptor="Pod/default/p", now=NOW)
    assert (result.decision.outcome, result.decision.waiting_for) == ("Wait", ["Pod/default/low"])
    assert spared(result)["Pod/default/low"] == ("Leaving", "it is leaving already, and is waited for")


def test_a_node_with_a_pod_of_an_unknown_class_is_left_alone() -> None:
    world = [*WORLD, pod("stray", node="n1", priority=1, priority_class="gone")]
    result = plan(world, preemptor="Pod/default/p", now=NOW)
    assert result.decision.message == (
        "Pod/default/p is unschedulable: the only node is left alone, because PriorityClass gone of a pod there does "
        "not exist. PriorityClass gone does not exist, but Pod/default/stray names it: nobody knows what it tolerates, "
        "so nobody is preempted on n1."
    )


# One cycle


def test_later_pods_see_the_places_and_victims_of_earlier_ones() -> None:
    nodes = [node("n1", cpu="2"), node("n2", cpu="2")]
    running = [pod("low-1", cpu="2", node="n1", priority=1), pod("low-2", cpu="2", node="n2", priority=2)]
    pending = [pod(f"p{number}", cpu="2", priority=10 + number) for number in range(3)]
    result = plan([*nodes, *running, *pending], now=NOW)
    assert result.order == ["Pod/default/p2", "Pod/default/p1", "Pod/default/p0"]
    assert [decision.outcome for decision in result.decisions] == ["Preempt", "Preempt", "Unschedulable"]
    assert victims(result) == ["Pod/default/low-1", "Pod/default/low-2"]
    assert (result.admitted, result.left) == ([], result.order)


def test_what_fits_takes_its_place_for_the_next() -> None:
    result = plan([node("n1", cpu="2"), pod("a", cpu="1"), pod("b", cpu="1"), pod("c", cpu="1")], now=NOW)
    assert result.admitted == ["Pod/default/a", "Pod/default/b"]
    assert result.left == ["Pod/default/c"]


def test_what_is_not_pending_is_not_decided() -> None:
    held = pod("held", spec={"schedulingGates": [{"name": "x"}]})
    result = plan([node("n1"), held, pod("done", status={"phase": "Failed"}), pod("off", deleted=NOW)], now=NOW)
    assert (result.decisions, result.order) == ([], [])


# Settings

GUARDED = [
    node("n1", cpu="1"),
    pod("low", cpu="1", node="n1", labels={"app": "a"}),
    budget("a", {"app": "a"}, allowed=0),
    pod("p", cpu="1", priority=10),
]


def test_a_budget_is_broken_only_when_it_need_not_be_respected() -> None:
    assert victims(plan(GUARDED, now=NOW)) == ["Pod/default/low"]
    refused = plan(GUARDED, now=NOW, config={"pdb": "Respect"})
    assert (refused.decision.outcome, victims(refused)) == ("Unschedulable", [])
    assert refused.decision.message.endswith(
        "the only node is only to be had with a PDB violation, and budgets are respected."
    )
    assert spared(refused) == {
        "Pod/default/low": ("NobodyAsked", "it would take a PDB violation, and budgets are respected")
    }


@pytest.mark.parametrize(("scoring", "want"), [("LeastAllocated", "empty"), ("MostAllocated", "half-full")])
def test_scoring_chooses_among_nodes_where_it_fits(scoring: str, want: str) -> None:
    nodes = [node(name, cpu="4", memory="4Gi") for name in ("empty", "half-full")]
    world = [*nodes, pod("a", cpu="2", memory="2Gi", node="half-full"), pod("p", cpu="1", memory="1Gi")]
    assert plan(world, now=NOW, config={"scoring": scoring}).decision.domain == want


def test_validation_changes_no_answer() -> None:
    assert plan(GUARDED, now=NOW, config={"validate": True}).to_dict() == plan(GUARDED, now=NOW).to_dict()


# What it refuses

BAD_QUESTIONS: list[tuple[Dict, str]] = [
    ({"preemptor": "Pod/default/q"}, 'there is no Pod/default/q among what was read; did you mean "Pod/default/p"?'),
    ({"preemptor": "Pod/kube/p"}, 'there is no Pod/kube/p among what was read; did you mean "Pod/default/p"?'),
    ({"preemptor": "p"}, 'found "p", which names no unit; it must be KIND/NAMESPACE/NAME, such as Pod/default/a'),
    ({"preemptor": 5}, "found 5, which names no unit"),
    ({"preemptor": {"kind": "Pod"}}, "it needs a kind and a name"),
    ({"preemptor": "Pod/default/low"}, "Pod/default/low runs on n1; there is nothing to decide"),
    ({"now": "yesterday"}, 'now: found "yesterday"; it must be a time such as 2026-01-01T12:00:00Z'),
    ({"now": "9999-12-31T23:00:00-02:00"}, 'now: found "9999-12-31T23:00:00-02:00"; it must be a time'),
    ({"config": {"pdb": "x"}}, 'configuration: $.pdb: found "x"; allowed: BestEffort, Respect'),
    ({"feature_gates": {"Novelty": True}}, "configuration: $.featureGates.Novelty: unknown feature gate"),
]


@pytest.mark.parametrize(("question", "want"), BAD_QUESTIONS)
def test_a_question_without_an_answer(question: Dict, want: str) -> None:
    with pytest.raises(InvalidInput) as error:
        plan(WORLD, **question)
    assert len(error.value.problems) == 1
    assert want in str(error.value)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(InvalidInput, match=r'found "Podd", which is not a kind that is read; did you mean "Pod"\?'):
        plan(WORLD, preemptor="Podd/default/p")


def test_manifests_that_cannot_be_read_are_listed_all_at_once() -> None:
    with pytest.raises(InvalidInput) as error:
        plan([{**node("n1"), "spec": 1}, {**pod("p"), "spec": {"containers": "none"}}], now=NOW)
    assert [problem.object for problem in error.value.problems] == ["Node//n1", "Pod/default/p"]


def test_a_kind_that_no_policy_decides_for_is_refused() -> None:
    with pytest.raises(Unsupported, match="no policy decides for a Node"):
        plan([node("n1")], preemptor="Node//n1", now=NOW)


# What is only odd


def test_what_admission_would_refuse_is_a_warning() -> None:
    lost, crowd = pod("lost", node="ghost"), pod("crowd", cpu="3", node="n1", priority=1)
    world = [*WORLD, lost, crowd, pod("odd", priority_class="gone", node="n1"), priority_class("x", 5, default=True)]
    result = plan(world, preemptor="Pod/default/p", now=NOW)
    assert [str(problem) for problem in result.warnings] == [
        "objects: document 1: Node/n1: $.status.allocatable: its pods use 3 cpu more than it has; "
        "nothing fits there before somebody leaves",
        "objects: document 4: Pod/default/lost: $.spec.nodeName: there is no node ghost; "
        "the pod is not counted anywhere",
        'objects: document 6: Pod/default/odd: $.spec.priorityClassName: there is no PriorityClass "gone"; '
        "while it is missing, no higher pod can preempt on n1",
    ]
    assert result.to_dict()["warnings"] == [str(problem) for problem in result.warnings]
