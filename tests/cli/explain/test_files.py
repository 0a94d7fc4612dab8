"""`reprieve explain`: why it is pending, why it was preempted, why not somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.pods import node, pod, to_yaml
from tests.cli.command import reprieve
from tests.paths import EXAMPLES

NOW = ("--now", "2026-01-01T12:00:00Z")
SHOP = ("-f", "01-pod-preemption")
MARK = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "made way for q"}
STATES = [
    node("n1", cpu="2"),
    pod("held", cpu="1", spec={"schedulingGates": [{"name": "quota"}]}),
    pod("done", cpu="1", node="n1", status={"phase": "Succeeded"}),
    pod("late", deleted="2026-01-01T12:00:00Z"),
    pod("target", cpu="1", node="n1", deleted="2026-01-01T12:00:00Z", status={"conditions": [MARK]}),
    pod("calm", cpu="1", node="n1", priority=9),
    pod("lost", cpu="1", node="ghost"),
    pod("q", cpu="1", priority=5, nominated="n1"),
    pod("other", priority=4),
]


def explain(*options: str, objects: list[dict[str, Any]] | None = None) -> list[str]:
    """What it prints; about these objects, or about an example that the options name."""
    files = ("-f", "-") if objects is not None else ()
    done = reprieve("explain", *files, *options, cwd=EXAMPLES, stdin=to_yaml(*(objects or [])))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# Why is it pending?


def test_a_pending_pod_is_explained_like_a_plan() -> None:
    asked = ("--for", "pod/shop/checkout-1")
    assert explain(*SHOP, *asked) == reprieve("plan", *SHOP, *asked, cwd=EXAMPLES).stdout.splitlines()


def test_a_pod_that_waits_for_a_toleration_is_told_until_when() -> None:
    example = ("-f", "03-preemption-toleration-time", "--now", "2026-03-02T09:10:00Z")
    lines = explain(*example, "--for", "pod/models/demo")
    assert lines[0] == (
        "Pod/models/demo waits: the pods that could be preempted tolerate it, "
        "the first of them until 2026-03-02T09:12:00Z."
    )
    assert lines[3].endswith(
        "Toleration  its class low-10min tolerates preemptors below 10000, and the preemptor has 9000; "
        "until 2026-03-02T09:12:00Z"
    )


# Why was it preempted, or what else is it doing?

RESIDENTS: list[tuple[str, list[str]]] = [
    ("held", ["Pod/default/held is held by scheduling gates (quota): it is not scheduled yet."]),
    ("done", ["Pod/default/done has finished: it holds nothing any more."]),
    ("late", ["Pod/default/late is being deleted before it got a node."]),
    (
        "target",
        [
            "Pod/default/target is leaving n1.",
            "Pod/default/target is marked for disruption (PreemptionByScheduler): made way for q",
            "Pod/default/target would not be preempted by Pod/default/q: it is leaving already, and is waited for.",
        ],
    ),
    (
        "calm",
        [
            "Pod/default/calm runs on n1.",
            "Pod/default/calm would not be preempted by Pod/default/q: priority 9 is above 5, the preemptor's.",
        ],
    ),
    (
        "lost",
        [
            "Pod/default/lost runs on ghost.",
            "Pod/default/lost would not be preempted by Pod/default/q: it runs on ghost, which does not exist.",
        ],
    ),
]


@pytest.mark.parametrize(("name", "want"), RESIDENTS, ids=[name for name, _ in RESIDENTS])
def test_any_pod_is_explained(name: str, want: list[str]) -> None:
    assert explain(*NOW, "--for", f"pod/default/{name}", objects=STATES) == want


def test_a_victim_is_told_for_whom_and_why_there() -> None:
    assert explain(*SHOP, "--for", "pod/shop/thumbnails-1") == [
        "Pod/shop/thumbnails-1 runs on worker-a.",
        "Pod/shop/thumbnails-1 would be preempted by Pod/shop/checkout-1: priority 100 is below 1000, the preemptor's.",
        "worker-a was chosen: its victims have the lowest total priority.",
    ]


def test_who_is_safe_is_told_by_what() -> None:
    lines = explain("-f", "02-preemption-toleration-class", "--for", "pod/lab/render-1")
    assert lines[1].startswith("Pod/lab/render-1 would be preempted by Pod/lab/crash-review")
    assert explain(*NOW, "--for", "pod/default/a", objects=[node("n1"), pod("a", node="n1"), pod("p")]) == [
        "Pod/default/a runs on n1.",
        "Nobody who is pending has to preempt anybody.",
    ]


def test_many_preemptors_are_told_together() -> None:
    nodes = [node(f"n{number}", cpu="1") for number in range(9)]
    low = [pod(f"low-{number}", cpu="1", node=f"n{number}", priority=number) for number in range(9)]
    pending = [pod(f"p{number}", cpu="1", priority=99) for number in range(8)]
    assert explain(*NOW, "--for", "pod/default/low-8", objects=[*nodes, *low, *pending]) == [
        "Pod/default/low-8 runs on n8.",
        "Pod/default/low-8 would not be preempted by Pod/default/p0, Pod/default/p1, Pod/default/p2 and 5 more: "
        "for Pod/default/p0, n0 was chosen instead: its most important victim has the lowest priority "
        "(on n8 it would have been Pod/default/low-8).",
    ]


# Why not somebody else?


def why_not(name: str) -> str:
    first, answer = explain(*SHOP, "--for", "pod/shop/checkout-1", "--why-not", f"pod/shop/{name}")
    assert first == "Pod/shop/thumbnails-1 makes way for Pod/shop/checkout-1 on worker-a."
    return answer


def test_why_not_somebody_on_another_node() -> None:
    assert why_not("carts-1") == (
        "Pod/shop/carts-1 stays: worker-a was chosen instead: its victims have the lowest total priority "
        "(on worker-c it would have been Pod/shop/catalog-2)."
    )


def test_why_not_somebody_on_the_same_node() -> None:
    assert why_not("catalog-1") == "Pod/shop/catalog-1 stays: the preemptor fits beside it."


def test_why_not_the_victim_itself() -> None:
    assert why_not("thumbnails-1") == (
        "Pod/shop/thumbnails-1 is a victim: priority 100 is below 1000, the preemptor's."
    )


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("held", "Pod/default/held is held by scheduling gates (quota): it is not scheduled yet."),
        ("done", "Pod/default/done has finished: it holds nothing any more."),
        ("other", "Pod/default/other is pending: it runs on no node, so it cannot be preempted."),
        ("target", "Pod/default/target stays: it is leaving already, and is waited for."),
        ("lost", "Pod/default/lost stays: it runs on ghost, which does not exist."),
    ],
)
def test_why_not_somebody_who_holds_nothing(name: str, want: str) -> None:
    options = (*NOW, "--for", "pod/default/q", "--why-not", f"pod/default/{name}")
    assert explain(*options, objects=STATES)[1] == want


def test_why_not_when_nobody_has_to() -> None:
    world = [node("n1"), pod("a", node="n1"), pod("p")]
    assert explain(*NOW, "--for", "pod/default/p", "--why-not", "pod/default/a", objects=world) == [
        "Pod/default/p fits on n1; nobody is preempted.",
        "Pod/default/a stays: nobody is preempted for Pod/default/p.",
    ]


# Questions without an answer


@pytest.mark.parametrize(
    ("options", "want"),
    [
        (("--for", "pod/default/x"), "--for: there is no Pod/default/x among what was read"),
        (
            ("--for", "pod/default/q", "--why-not", "pod/default/cal"),
            '--why-not: there is no Pod/default/cal among what was read; did you mean "Pod/default/calm"?',
        ),
        (("--for", "pod/default/q", "--why-not", "calm"), '--why-not: found "calm", which names no unit'),
        (
            ("--for", "pod/default/q", "--why-not", "pod/default/q"),
            "--why-not: Pod/default/q is the one in question; it cannot make way for itself",
        ),
        (
            ("--for", "pod/default/calm", "--why-not", "pod/default/lost"),
            "--for: Pod/default/calm runs on n1; there is nothing to decide",
        ),
        (("--for", "pod/default/q", "--now", "noon"), '--now: found "noon"'),
        (("--for", "node//n1"), "no policy decides for a Node"),
    ],
)
def test_a_bad_question_exits_with_2(options: tuple[str, ...], want: str) -> None:
    done = reprieve("explain", "-f", "-", *options, stdin=to_yaml(*STATES))
    assert (done.returncode, done.stdout) == (2, "")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"error: {want}")


def test_a_pod_in_a_queue_is_explained_by_the_queues_laws() -> None:
    done = reprieve("explain", "-f", "06-queue-guarantees", "--for", "pod/retail/orders-2", cwd=EXAMPLES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Pod/retail/trends-executor-2 makes way for Pod/retail/orders-2 on hall-1.\n")
