"""Every sentence a person reads, word for word."""

from __future__ import annotations

import pytest

from reprieve import texts
from reprieve.engine import reasons
from reprieve.engine.claims import GangShort, MemberTooLarge, NotReachable, Protected
from reprieve.engine.reasons import (
    AboveMinimum,
    CheaperElsewhere,
    Leaving,
    LowerPriority,
    NobodyAsked,
    NoHelp,
    NotEnough,
    NotLower,
    PolicyReason,
    Reason,
    Reprieved,
    SparedByBudget,
    Tolerates,
    UnknownClass,
    UnreadableToleration,
)
from reprieve.model.names import UnitName
from reprieve.texts import controllers

NOON = 1_767_268_800_000_000
P, A, B, C, D, E = (f"Pod/default/{name}" for name in "pabcde")

REASONS: list[tuple[Reason, str]] = [
    (LowerPriority(5, 10), "priority 5 is below 10, the preemptor's"),
    (NotLower(10, 10), "priority 10 is equal to 10, the preemptor's"),
    (NotLower(11, 10), "priority 11 is above 10, the preemptor's"),
    (Tolerates("low", 100, 9, None), "its class low tolerates preemptors below 100, and the preemptor has 9"),
    (
        Tolerates("low", 100, 9, NOON),
        "its class low tolerates preemptors below 100, and the preemptor has 9; until 2026-01-01T12:00:00Z",
    ),
    (
        Tolerates("low", 100, 9, 2**63 * 1_000_000),
        "its class low tolerates preemptors below 100, and the preemptor has 9; until the end of time",
    ),
    (UnknownClass("gone"), "its priority class gone does not exist, so what it tolerates is unknown"),
    (
        UnreadableToleration("odd"),
        "its priority class odd says what it tolerates in something other than numbers",
    ),
    (Reprieved(), "the preemptor fits beside it"),
    (Leaving(), "it is leaving already, and is waited for"),
    (NoHelp("n1", NotReachable(why="Cordoned")), "preempting it would not help: n1 is cordoned"),
    (NobodyAsked("Never"), "the preemptor's preemption policy is Never"),
    (NobodyAsked("Leaving"), "others that are leaving already are enough"),
    (NobodyAsked("Budget"), "it would take a PDB violation, and budgets are respected"),
    (NobodyAsked("NotYet"), "the preemptor may not preempt yet"),
    (NobodyAsked(), "the preemptor may not preempt"),
    (NotEnough(), "it may be preempted, but all who may be preempted are not enough"),
    (PolicyReason("SeatPriority", "its seat is dearer"), "its seat is dearer"),
    (SparedByBudget(), "that would be a PDB violation, and others can go"),
    (AboveMinimum(500, 100), "priority 500 is above 100, and preempting up to that priority is enough"),
    (CheaperElsewhere("n2", "FewestVictims"), "n2 was chosen instead: it has the fewest victims"),
]


@pytest.mark.parametrize(("reason", "want"), REASONS, ids=lambda value: getattr(value, "rule", None))
def test_a_reason_in_words(reason: Reason, want: str) -> None:
    assert texts.reasons.describe(reason) == want


def test_no_reason_is_without_words() -> None:
    assert set(reasons.Reason.__subclasses__()) == set(texts.reasons._SENTENCES)


DECISIONS = [
    (texts.pods.fits(P, "n1"), "Pod/default/p fits on n1; nobody is preempted."),
    (texts.pods.preempts(P, "n1", [A], 0), "Pod/default/a makes way for Pod/default/p on n1."),
    (texts.pods.preempts(P, "n1", [A, B], 0), "Pod/default/a and Pod/default/b make way for Pod/default/p on n1."),
    (
        texts.pods.preempts(P, "n1", [A], 1),
        "Pod/default/a makes way for Pod/default/p on n1. That is a PDB violation.",
    ),
    (
        texts.pods.preempts(P, "n1", [A, B], 1),
        "Pod/default/a and Pod/default/b make way for Pod/default/p on n1. For 1 of them that is a PDB violation.",
    ),
    (
        texts.pods.preempts(P, "n1", [A, B, C, D, E], 2),
        "Pod/default/a, Pod/default/b, Pod/default/c and 2 more make way for Pod/default/p on n1. "
        "For 2 of them that is a PDB violation.",
    ),
    (texts.pods.waits_for_victims(P, "n1", [A]), "Pod/default/p waits for n1: Pod/default/a is still leaving."),
    (
        texts.pods.waits_for_victims(P, "n1", [A, B]),
        "Pod/default/p waits for n1: Pod/default/a and Pod/default/b are still leaving.",
    ),
    (
        texts.pods.waits_for_toleration(P, NOON),
        "Pod/default/p waits: the pods that could be preempted tolerate it, the first of them until "
        "2026-01-01T12:00:00Z.",
    ),
    (
        texts.pods.waits_for_toleration(P, None),
        "Pod/default/p waits: the pods that could be preempted tolerate it for a time that has not begun yet.",
    ),
    (texts.reasons.chosen("n1", "LatestStart"), "n1 was chosen: its most important victims started last."),
    (texts.reasons.chosen("n1", "Novelty"), "n1 was chosen: Novelty."),
    (
        texts.tables.cycle_summary(1, 2, 3, 1),
        "1 unit placed; 3 to preempt; 1 starts once they have left; 1 stays pending",
    ),
    (texts.tables.cycle_summary(0, 1, 1, 1), "1 to preempt; 1 starts once it has left"),
    (texts.tables.cycle_summary(2, 1, 0, 0), "2 units placed; 1 stays pending"),
    (texts.tables.cycle_summary(0, 0, 0, 0), "nothing to do"),
    (texts.tables.NOTHING_PENDING, "Nothing is pending: there is nothing to decide."),
]
EXPLANATIONS = [
    (texts.explanations.not_chosen(A, "why"), "Pod/default/a stays: why."),
    (texts.explanations.makes_way(A, "why"), "Pod/default/a is a victim: why."),
    (texts.explanations.nobody_has_to(P), "nobody is preempted for Pod/default/p"),
    (texts.explanations.cost_elsewhere("why", "n2", [B]), "why (on n2 it would have been Pod/default/b)"),
    (texts.explanations.has_to_make_way(A, P, "why"), "Pod/default/a would be preempted by Pod/default/p: why."),
    (texts.explanations.stays_for(A, [P], ["why"]), "Pod/default/a would not be preempted by Pod/default/p: why."),
    (
        texts.explanations.stays_for(A, [P, B], ["why", "how"]),
        "Pod/default/a would not be preempted by Pod/default/p and Pod/default/b: for Pod/default/p, why.",
    ),
    (texts.pods.not_asked("n9", exists=False), "it runs on n9, which does not exist"),
    (texts.pods.not_asked("n1", exists=True), "it runs on n1, where nobody was looked at"),
    (texts.explanations.NOBODY_ASKS, "Nobody who is pending has to preempt anybody."),
    (texts.pods.marked(A, "Why", "words"), "Pod/default/a is marked for disruption (Why): words"),
    (texts.pods.marked(A, "Why", ""), "Pod/default/a is marked for disruption (Why)."),
    (texts.questions.names_the_preemptor(A), "Pod/default/a is the one in question; it cannot make way for itself"),
    (texts.questions.nothing_to_decide("It runs."), "It runs; there is nothing to decide"),
    (texts.questions.no_such_unit(A), "there is no Pod/default/a among what was read"),
    (": ".join(texts.questions.no_such_node("n9")), "there is no node n9: the pod is not counted anywhere"),
    (
        ": ".join(texts.questions.overfull({"cpu": "1", "memory": "2Gi"})),
        "its pods use 1 cpu, 2Gi memory more than it has: nothing fits there before somebody leaves",
    ),
    (texts.questions.more_warnings(3), "and 3 more; `reprieve check` lists what is wrong with each manifest"),
    (": ".join(texts.questions.case_named_twice("a", "x.yaml")), '"a" is named twice: first in x.yaml'),
    (texts.questions.not_one_decision(2), "2 decisions; name a preemptor to expect one"),
]


G = "PodGroup/default/g"
EQUAL = Protected("EqualPriority", 2)
GROUPS = [
    (
        texts.groups.group_fits(G, 3, 4),
        "PodGroup/default/g fits: 3 of its 4 waiting pods can be placed; nobody is preempted.",
    ),
    (
        texts.groups.group_preempts(G, 2, 2, [A], 1),
        "Pod/default/a makes way for PodGroup/default/g: 2 of its 2 waiting pods get a place.",
    ),
    (
        texts.groups.group_preempts(G, 1, 1, ["PodGroup/default/h", A], 5),
        "PodGroup/default/h and Pod/default/a (5 pods) make way for PodGroup/default/g: "
        "1 of its 1 waiting pod gets a place.",
    ),
    (
        texts.groups.group_unschedulable(G, GangShort(placed=1, required=3)),
        "PodGroup/default/g is unschedulable, and nobody is preempted for a part of it: "
        "even without all pods that may be preempted, 1 of the 3 pods it needs would fit.",
    ),
    (
        texts.groups.group_unschedulable(
            G, GangShort(placed=1, required=3, resource="cpu", free=2000, needed=6000, protected=(EQUAL,))
        ),
        "PodGroup/default/g is unschedulable, and nobody is preempted for a part of it: "
        "even without all pods that may be preempted, 1 of the 3 pods it needs would fit, "
        "and 2 of the 6 cpu needed would be free (of the others, 2 are of equal priority).",
    ),
    (
        texts.groups.group_unschedulable(
            G, MemberTooLarge(pod=UnitName(A), node="n1", resource="cpu", needed=6000, has=2000)
        ),
        "PodGroup/default/g is unschedulable, and nobody is preempted for a part of it: "
        "Pod/default/a needs 6 cpu; the largest node, n1, has 2: it can never fit here.",
    ),
    (
        texts.groups.never_preempts(G, GangShort(placed=1, required=3, asked=False)),
        "PodGroup/default/g is unschedulable: 1 of the 3 pods it needs fit; "
        "and it preempts nobody, because its preemption policy is Never.",
    ),
    (
        texts.groups.too_few_groups("CompositePodGroup/default/t", 1, 2),
        "CompositePodGroup/default/t is not complete: 1 group of the 2 it needs has enough pods.",
    ),
    (texts.groups.too_few_pods(G, 1, 3), "PodGroup/default/g is not complete: 1 pod of the 3 it needs exists."),
    (
        texts.groups.mixed_group(G, "priority", ["1", "2"]),
        "PodGroup/default/g is refused: its pods must have the same priority, and they have 1 and 2.",
    ),
    (
        texts.groups.preemption_priority_too_low("Workload/default/w", 1, 2),
        "Workload/default/w is refused: its preemption priority 1 is below its priority 2, "
        "so that units like it could preempt each other for ever.",
    ),
    (
        " ".join(texts.groups.priority_divergence([("a", 1), ("b", 0)], 2)),
        "not the priority of all its pods: a has 1 and b has 0 2 is what counts for them",
    ),
]


W = "Workload/default/w"
QUOTA = [
    (
        texts.quota.quota_fits(W, "team", "cpu on a", [(("b1", f"r{number}"), 2) for number in range(12)]),
        "Workload/default/w fits in team: cpu on a; its pods go to b1/r0 (2), b1/r1 (2), b1/r2 (2) and 9 more; "
        "nobody is preempted.",
    ),
    (
        texts.quota.quota_fits(W, "team", "cpu on a", [(("n1",), 2), (("n2",), 1)]),
        "Workload/default/w fits in team: cpu on a; its pods go to n1 (2) and n2 (1); nobody is preempted.",
    ),
]
MANY = [f"n{number}" for number in range(20)]
CONTROLLERS = [
    (
        controllers.nodes_failed(MANY),
        "Its pods were sent to n0, n1, n2 and 17 more, which have failed: it starts anew.",
    ),
    (
        controllers.kept_in_use("ResourceFlavor", "a", MANY),
        "The ResourceFlavor a is kept until it is no longer in use: by n0, n1, n2 and 17 more.",
    ),
]


@pytest.mark.parametrize(("said", "want"), [*DECISIONS, *EXPLANATIONS, *GROUPS, *QUOTA, *CONTROLLERS])
def test_a_sentence(said: str, want: str) -> None:
    assert said == want


@pytest.mark.parametrize(
    ("state", "want"),
    [
        ({"node": "n1"}, "Pod/default/a runs on n1."),
        ({"node": "n1", "leaving": True}, "Pod/default/a is leaving n1."),
        ({"leaving": True}, "Pod/default/a is being deleted before it got a node."),
        ({"finished": True}, "Pod/default/a has finished: it holds nothing any more."),
        (
            {"gates": ["x", "y"]},
            "Pod/default/a is held by scheduling gates (x and y): it is not scheduled yet.",
        ),
        ({}, "Pod/default/a is pending: it runs on no node, so it cannot be preempted."),
    ],
)
def test_what_a_pod_is_doing(state: dict[str, object], want: str) -> None:
    whole = {"node": "", "finished": False, "leaving": False, "gates": [], **state}
    assert texts.pods.whereabouts(A, **whole) == want  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "want"),
    [
        *(("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")),
        *(("abcd", "a, b, c and d"), ("abcdef", "a, b, c and 3 more")),
    ],
)
def test_few_names_are_listed_and_many_are_counted(names: str, want: str) -> None:
    assert texts.parts.listed(list(names)) == want
