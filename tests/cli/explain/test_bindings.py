"""`reprieve explain` for bindings over member clusters."""

from __future__ import annotations

import pytest

from tests.cli.command import reprieve
from tests.paths import EXAMPLES

GATES = ("--feature-gates", "PriorityBasedScheduling=true,PriorityBasedPreemptiveScheduling=true")
FOLDING = "resourcebinding/research/folding-job"


def explained(unit: str, *more: str) -> str:
    done = reprieve("explain", "-f", str(EXAMPLES / "07-federation"), "--for", unit, *more, *GATES)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("other", "want"),
    [
        ("notebooks-deployment", "stays: the preemptor fits beside it."),
        ("ranking-deployment", "stays: priority 1000 is equal to 1000, the preemptor's."),
        (
            "captions-job",
            "stays: preempting it would not help: frankfurt has insufficient resources: it is short of 4 ",
        ),
        ("forecast-job", "stays: dublin was chosen instead: it has the fewest victims (on oslo it would have been"),
        ("speech-job", "is a victim: priority 100 is below 1000, the preemptor's."),
    ],
)
def test_why_not_names_the_rule_that_spares_a_binding(other: str, want: str) -> None:
    assert want in explained(FOLDING, "--why-not", f"resourcebinding/research/{other}")


def test_a_binding_that_runs_is_told_who_would_have_it_make_way() -> None:
    assert explained("resourcebinding/research/speech-job").splitlines() == [
        "ResourceBinding/research/speech-job is scheduled to dublin.",
        "ResourceBinding/research/speech-job would be preempted by ResourceBinding/research/folding-job: "
        "priority 100 is below 1000, the preemptor's.",
        "dublin was chosen: it has the fewest victims.",
    ]
    assert "would not be preempted by" in explained("resourcebinding/research/notebooks-deployment")


def test_a_binding_that_does_not_exist_is_named() -> None:
    done = reprieve("explain", "-f", str(EXAMPLES / "07-federation"), "--for", "resourcebinding/research/fold-job")
    assert done.returncode == 2
    assert 'did you mean "ResourceBinding/research/folding-job"?' in done.stderr
