"""`reprieve plan`, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import yaml

from tests.builders.pods import budget, node, pod, to_yaml
from tests.cli.command import reprieve
from tests.paths import EXAMPLES

Dict = dict[str, Any]
NOW = ("--now", "2026-01-01T12:00:00Z")
WORLD = [node("n1", cpu="2"), pod("low", cpu="2", node="n1", priority=1), pod("p", cpu="1", priority=10)]


def plan(*objects: Dict, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return reprieve("plan", "-f", "-", *NOW, *options, stdin=to_yaml(*objects))


def text(*objects: Dict, options: tuple[str, ...] = ()) -> str:
    done = plan(*objects, options=options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# Text


def test_a_preemption_is_explained_from_all_sides() -> None:
    done = reprieve("plan", "-f", "01-pod-preemption", "--for", "pod/shop/checkout-1", cwd=EXAMPLES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Pod/shop/thumbnails-1 makes way for Pod/shop/checkout-1 on worker-a.\n"
        "\n"
        "  victim                 because\n"
        "  Pod/shop/thumbnails-1  LowerPriority  priority 100 is below 1000, the preemptor's\n"
        "\n"
        "  alternative  victims  PDB violations\n"
        "  worker-c     1        0               Pod/shop/catalog-2\n"
        "  worker-b     2        0               Pod/shop/report-1 and Pod/shop/report-2\n"
        "worker-a was chosen: its victims have the lowest total priority.\n"
        "\n"
        "  stays               on        by\n"
        "  Pod/shop/catalog-1  worker-a  Reprieved  the preemptor fits beside it\n"
        "\n"
        "  not feasible\n"
        "  gpu-a         tainted, and the pod does not tolerate it\n"
    )


def test_what_fits_needs_one_sentence() -> None:
    assert text(node("n1"), pod("low", cpu="1", node="n1"), pod("p", cpu="1", priority=5)) == (
        "Pod/default/p fits on n1; nobody is preempted.\n\n1 unit placed\n"
    )


def test_what_cannot_be_placed_is_told_why() -> None:
    cordoned = node("n2", unschedulable=True)
    assert text(node("n1", cpu="1"), cordoned, pod("a", cpu="1", node="n1", priority=9), pod("p", cpu="1")) == (
        "Pod/default/p is unschedulable: of 2 nodes, 1 has insufficient cpu: 0 of the 1 needed are free, "
        "and none of its pods may be preempted (1 is of higher priority); 1 is cordoned.\n"
        "\n"
        "  stays          on  by\n"
        "  Pod/default/a  n1  Priority  priority 9 is above 0, the preemptor's\n"
        "\n"
        "  not feasible\n"
        "  n1            insufficient cpu: 0 of the 1 needed are free, "
        "and none of its pods may be preempted (1 is of higher priority)\n"
        "  n2            cordoned\n"
        "\n"
        "1 stays pending\n"
    )


def test_a_broken_budget_is_seen_in_the_table() -> None:
    guarded = [pod(name, cpu="1", node="n1", labels={"app": "a"}) for name in ("a", "b")]
    assert text(node("n1", cpu="2"), *guarded, budget("a", {"app": "a"}, allowed=1), pod("p", cpu="2", priority=5)) == (
        "Pod/default/a and Pod/default/b make way for Pod/default/p on n1. "
        "For 1 of them that is a PDB violation.\n"
        "\n"
        "  victim         because\n"
        "  Pod/default/a  LowerPriority  priority 0 is below 5, the preemptor's\n"
        "  Pod/default/b  LowerPriority  priority 0 is below 5, the preemptor's; a PDB violation\n"
        "\n"
        "n1 was chosen: it is the only candidate.\n"
        "\n"
        "2 to preempt; 1 starts once they have left\n"
    )


def test_nothing_pending_is_an_answer_too() -> None:
    want = "Nothing is pending: there is nothing to decide.\n"
    assert text(node("n1")) == want
    assert reprieve("plan", "-f", "-", stdin="").stdout == want


# Long lists


def test_hundreds_of_victims_are_grouped() -> None:
    victims = [pod(f"v{number:03}", cpu="1", node="n1", priority=number % 2) for number in range(300)]
    roomy = node("n1", cpu="300", requests={"pods": "500"})
    assert text(roomy, *victims, pod("p", cpu="250", priority=9)) == (
        "Pod/default/v101, Pod/default/v103, Pod/default/v105 and 247 more make way for Pod/default/p on n1.\n"
        "\n"
        "  250 victims                                                        because\n"
        "  Pod/default/v101, Pod/default/v103, Pod/default/v105 and 97 more   LowerPriority  "
        "priority 1 is below 9, the preemptor's\n"
        "  Pod/default/v000, Pod/default/v002, Pod/default/v004 and 147 more  LowerPriority  "
        "priority 0 is below 9, the preemptor's\n"
        "\n"
        "n1 was chosen: it is the only candidate.\n"
        "\n"
        "  50 stay                                                           by\n"
        "  Pod/default/v001, Pod/default/v003, Pod/default/v005 and 47 more  Reprieved  the preemptor fits beside it\n"
        "\n"
        "250 to preempt; 1 starts once they have left\n"
    )


def test_victims_of_many_priorities_are_grouped_by_rule() -> None:
    victims = [pod(f"v{number:02}", cpu="1", node="n1", priority=number) for number in range(40)]
    lines = text(node("n1", cpu="40"), *victims, pod("p", cpu="40", priority=99)).splitlines()
    assert lines[2:5] == [
        "  40 victims                                                     because",
        "  Pod/default/v39, Pod/default/v38, Pod/default/v37 and 37 more  LowerPriority  "
        "such as: priority 39 is below 99, the preemptor's",
        "",
    ]


def crowd(nodes: int, pods: int) -> list[Dict]:
    """Full nodes; the priorities of their pods differ."""
    return [
        *(node(f"node-{place:03}", cpu=str(pods)) for place in range(nodes)),
        *(
            pod(f"work-{place:03}-{rank}", cpu="1", node=f"node-{place:03}", priority=place * rank % 7)
            for place in range(nodes)
            for rank in range(pods)
        ),
    ]


def test_a_world_of_two_thousand_pods_stays_readable() -> None:
    tainted = [node(f"gpu-{number}", taints=[{"key": "gpu", "effect": "NoSchedule"}]) for number in range(50)]
    lines = text(*crowd(200, 10), *tainted, pod("p", cpu="4", priority=9)).splitlines()
    assert "  and 189 more" in lines
    assert "  gpu-0, gpu-1, gpu-2 and 47 more  tainted, and the pod does not tolerate it" in lines
    assert len(lines) <= 40


def test_a_long_cycle_is_a_table() -> None:
    pending = [pod(f"p{number:02}", cpu="4", priority=99 - number) for number in range(50)]
    lines = text(*crowd(60, 5), *pending).splitlines()
    assert lines[:2] == [
        "  in this order    outcome  where     victims",
        "  Pod/default/p00  Preempt  node-000  "
        "Pod/default/work-000-1, Pod/default/work-000-2, Pod/default/work-000-3 and Pod/default/work-000-4",
    ]
    assert lines[-4:] == [
        "  and 20 more",
        "`--for` decides for one of them alone and shows everything.",
        "",
        "200 to preempt; 50 start once they have left",
    ]
    assert len(lines) <= 40


# For programs


def test_json_and_yaml_are_the_contract() -> None:
    answer = json.loads(text(*WORLD, options=("--for", "pod/default/p", "-o", "json")))
    assert yaml.safe_load(text(*WORLD, options=("--for", "pod/default/p", "-o", "yaml"))) == answer
    assert {"now", "decisions", "admitted", "left", "order", "priorities", "warnings"} <= set(answer)
    assert (answer["admitted"], answer["left"], answer["order"], answer["warnings"]) == ([], [], [], [])
    assert answer["priorities"] == {"Pod/default/p": {"priority": 10, "preemptionPolicy": "PreemptLowerPriority"}}
    assert answer["now"] == NOW[1]
    assert answer["decisions"] == [
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
    ]


def test_a_cycle_says_what_was_placed_and_what_waits() -> None:
    answer = json.loads(text(*WORLD, pod("late", priority=0), options=("-o", "json")))
    assert answer["order"] == ["Pod/default/p", "Pod/default/late"]
    assert (answer["admitted"], answer["left"]) == (["Pod/default/late"], ["Pod/default/p"])
    assert answer["priorities"]["Pod/default/late"] == {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
