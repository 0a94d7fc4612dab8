"""`reprieve test`, run as continuous integration runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.pods import budget, node, pod, to_yaml
from tests.cli.command import reprieve
from tests.paths import CONFORMANCE as SHARED
from tests.paths import EXAMPLES

SINGLE_PODS = [
    "best-candidate", "dryrun", "eligibility", "observed", "pdb", "postfilter", "preempt", "random", "terminating",
]  # fmt: skip


def case(name: str, **expect: Any) -> dict[str, Any]:
    objects = [node("n1", cpu="1"), pod("low", cpu="1", node="n1", priority=1), pod("p", cpu="1", priority=9)]
    preemptor = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"case": name, "now": "2026-01-01T12:00:00Z", "objects": objects, "preemptor": preemptor, "expect": expect}


GOOD = case("good", outcome="Preempt", victims=["Pod/default/low"])
BAD = case("bad", outcome="Fits", victims=[])


def test_all_hold(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(GOOD))
    (tmp_path / "b.json").write_text(json.dumps({**GOOD, "case": "other"}))
    done = reprieve("test", "a.yaml", "b.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 passed, 0 failed\n", "")


def test_one_that_fails_says_where_and_how(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(GOOD, BAD))
    done = reprieve("test", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "FAILED bad (a.yaml: document 2)\n"
        "  outcome: want Fits, got Preempt\n"
        "  victims: unexpected Pod/default/low\n"
        "1 passed, 1 failed\n"
    )


def test_settings_lie_under_those_of_each_case(tmp_path: Path) -> None:
    objects = [*GOOD["objects"], budget("low", {"app": "low"}, allowed=0)]
    objects[1] = pod("low", cpu="1", node="n1", priority=1, labels={"app": "low"})
    respected = {**GOOD, "objects": objects, "expect": {"outcome": "Unschedulable"}}
    broken = {**GOOD, "case": "own", "objects": objects, "config": {"pdb": "BestEffort"}}
    (tmp_path / "a.yaml").write_text(to_yaml(respected, broken))
    (tmp_path / "settings.yaml").write_text("pdb: Respect")
    done = reprieve("test", "--config", "settings.yaml", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 passed, 0 failed\n")
    assert reprieve("test", "a.yaml", cwd=tmp_path).returncode == 1


def test_settings_that_are_wrong_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(GOOD, BAD))
    (tmp_path / "settings.yaml").write_text("search: Worst")
    done = reprieve("test", "--config", "settings.yaml", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        'error: settings.yaml: $.search: found "Worst"; allowed: Best, Design\n',
    )


def test_json_is_the_contract(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(GOOD, BAD))
    done = reprieve("test", ".", "-o", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {
        "passed": 1,
        "failed": 1,
        "cases": [
            {"case": "good", "ok": True, "diff": []},
            {
                "case": "bad",
                "ok": False,
                "diff": ["outcome: want Fits, got Preempt", "victims: unexpected Pod/default/low"],
            },
        ],
    }


def test_standard_input_holds_cases_too() -> None:
    done = reprieve("test", "-", stdin=to_yaml(GOOD))
    assert (done.returncode, done.stdout) == (0, "1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (
            "hello: world\n",
            "document 1: $.case: not a case; a case file holds cases, each with case, objects and expect",
        ),
        ("", "holds no cases"),
        ("case: [\n", "document 1: not YAML: while parsing a flow node, did not find expected node content; "),
        (to_yaml(GOOD, GOOD), 'document 2: $.case: "good" is named twice; first in a.yaml: document 1'),
        (to_yaml({**GOOD, "expct": {}}), 'document 1: $.expct: unknown field; did you mean "expect"?'),
    ],
)
def test_what_is_no_case_file_exits_with_2(tmp_path: Path, content: str, want: str) -> None:
    (tmp_path / "a.yaml").write_text(content)
    done = reprieve("test", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: a.yaml: {want}")


@pytest.mark.parametrize(
    ("arguments", "want"),
    [((), "Missing argument 'PATH'"), (("a.yaml", "-o", "yaml"), "'yaml' is not one of 'text', 'json'")],
)
def test_a_wrong_call_exits_with_2(arguments: tuple[str, ...], want: str) -> None:
    done = reprieve("test", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert want in done.stderr


def test_a_file_that_is_not_there_exits_with_2() -> None:
    done = reprieve("test", "gone.yaml")
    assert (done.returncode, done.stderr) == (2, "error: gone.yaml: no such file or directory\n")


def test_the_cases_of_this_project_hold() -> None:
    done = reprieve("test", "cases", cwd=EXAMPLES)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(" passed, 0 failed\n")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the conformance cases are not beside this project")
def test_the_conformance_cases_of_single_pods_hold() -> None:
    files = [f"kubernetes/{name}.yaml" for name in SINGLE_PODS]
    done = reprieve("test", "toleration", *files, cwd=SHARED)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(" passed, 0 failed\n")
