"""Case files: every expectation can hold and can fail, with a difference that a person can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve import InvalidInput
from reprieve.manifests.problems import Origin
from reprieve.planning.cases import Case, CaseVerdict, Expectation, read_cases, run_case
from tests.builders.pods import budget, node, pod, to_yaml
from tests.paths import ROOT

Dict = dict[str, Any]
OWN = ROOT / "examples" / "cases"

OBJECTS = [
    node("n1", cpu="1"),
    node("n2", cpu="1"),
    pod("low-1", cpu="1", node="n1", priority=1, labels={"app": "a"}),
    pod("low-2", cpu="1", node="n2", priority=2),
    budget("a", {"app": "a"}, allowed=0),
    pod("p", cpu="1", priority=10),
]
CYCLE = [node("n1", cpu="1"), pod("a", cpu="1", priority=2), pod("b", cpu="1", priority=1)]
TARGET = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
LEAVING = [
    node("n1", cpu="1"),
    pod("low", cpu="1", node="n1", deleted="2026-01-01T12:00:00Z", status=TARGET),
    pod("p", cpu="1", priority=10, nominated="n1"),
]
COSTS = {
    "n1": {"victims": ["Pod/default/low-1"], "pdbViolations": 1},
    "n2": {"victims": ["Pod/default/low-2"], "pdbViolations": 0},
}


def verdict(expect: Dict, objects: list[Dict] | None = None, **more: Any) -> CaseVerdict:
    question: Dict = {"preemptor": {"kind": "Pod", "namespace": "default", "name": "p"}} if objects is None else {}
    data = {"case": "c", "now": "2026-01-01T12:00:00Z", "objects": objects or OBJECTS, **question, **more}
    return run_case(Case(Origin("test"), {**data, "expect": expect}))


# What is asked of which world, what holds, what does not, and how that reads.
EXPECTATIONS: list[tuple[str, list[Dict] | None, Any, Any, list[str]]] = [
    ("outcome", None, "Preempt", "Fits", ["outcome: want Fits, got Preempt"]),
    (
        *("victims", None, ["Pod/default/low-2"], ["Pod/default/x"]),
        ["victims: missing Pod/default/x", "victims: unexpected Pod/default/low-2"],
    ),
    ("domain", None, "n2", "n1", ["domain: want n1, got n2"]),
    (
        *("placement", None, {"Pod/default/p": "n2"}, {"Pod/default/p": "n1"}),
        ['placement: want {"Pod/default/p":"n1"}, got {"Pod/default/p":"n2"}'],
    ),
    (
        *("reasons", None, {"Pod/default/low-2": "LowerPriority"}, {"Pod/default/low-2": "Whim"}),
        ['reasons: want {"Pod/default/low-2":"Whim"}, got {"Pod/default/low-2":"LowerPriority"}'],
    ),
    (
        *("candidates", None, COSTS, {"n2": COSTS["n2"]}),
        [
            'candidates: want {"n2":{"victims":["Pod/default/low-2"],"pdbViolations":0}}, got '
            '{"n1":{"victims":["Pod/default/low-1"],"pdbViolations":1},'
            '"n2":{"victims":["Pod/default/low-2"],"pdbViolations":0}}'
        ],
    ),
    (
        *("message", None, "makes way", "stays"),
        ["message: want 'stays' in 'Pod/default/low-2 makes way for Pod/default/p on n2.'"],
    ),
    ("victimCount", None, 1, 2, ["victimCount: want 2, got 1: Pod/default/low-2"]),
    ("admitted", CYCLE, ["Pod/default/a"], [], ["admitted: unexpected Pod/default/a"]),
    ("left", CYCLE, ["Pod/default/b"], ["Pod/default/a", "Pod/default/b"], ["left: missing Pod/default/a"]),
    ("waitingFor", LEAVING, ["Pod/default/low"], [], ["waitingFor: unexpected Pod/default/low"]),
    (
        *("order", CYCLE, ["Pod/default/a", "Pod/default/b"], ["Pod/default/b", "Pod/default/a"]),
        ['order: want ["Pod/default/b","Pod/default/a"], got ["Pod/default/a","Pod/default/b"]'],
    ),
    (
        *("priorities", CYCLE, {"Pod/default/a": {"priority": 2}}, {"Pod/default/a": {"priority": 3}}),
        ['priorities: want {"Pod/default/a":{"priority":3}}, got {"Pod/default/a":{"priority":2}}'],
    ),
    ("flavors", CYCLE, {}, {"W/a/b": {"main": {"cpu": "x"}}}, ['flavors: want {"W/a/b":{"main":{"cpu":"x"}}}, got {}']),
    ("counts", CYCLE, {}, {"W/a/b": {"main": 3}}, ['counts: want {"W/a/b":{"main":3}}, got {}']),
]


@pytest.mark.parametrize(
    ("key", "objects", "right", "wrong", "want"), EXPECTATIONS, ids=[item[0] for item in EXPECTATIONS]
)
def test_an_expectation_can_hold_and_can_fail(
    key: str, objects: list[Dict] | None, right: Any, wrong: Any, want: list[str]
) -> None:
    assert verdict({key: right}, objects) == CaseVerdict("c", True, [])
    assert verdict({key: wrong}, objects) == CaseVerdict("c", False, want)


def test_no_expectation_is_left_out_here() -> None:
    assert {item[0] for item in EXPECTATIONS} == set(Expectation.__struct_encode_fields__)


def test_sets_are_compared_in_any_order() -> None:
    assert verdict({"left": ["Pod/default/b"], "candidates": {**COSTS}}, None).diff == ["left: missing Pod/default/b"]
    two = [node("n1", cpu="1"), pod("a"), pod("b"), pod("c", cpu="2")]
    assert verdict({"admitted": ["Pod/default/b", "Pod/default/a"]}, two).ok


def test_one_outcome_needs_one_decision() -> None:
    want = ["outcome: want Fits, got 2 decisions; name a preemptor to expect one"]
    assert verdict({"outcome": "Fits"}, CYCLE).diff == want


def test_a_question_that_cannot_be_answered_fails_the_case() -> None:
    assert verdict({"outcome": "Fits"}, preemptor={"kind": "Pod", "name": "q"}).diff == [
        'no decision: preemptor: there is no Pod/default/q among what was read; did you mean "Pod/default/p"?'
    ]
    assert verdict({"outcome": "Fits"}, config={"pdb": 1, "validate": 2}).diff == [
        "no decision: configuration: $.pdb: found 1; allowed: BestEffort, Respect",
        "no decision: configuration: $.validate: found 2; it must be true or false",
    ]


def test_what_is_natural_is_asked_without_the_assignment() -> None:
    result = verdict({}, assignment={"cpu": "spot"}, natural={"outcome": "Fits"})
    assert "natural: outcome: want Fits, got Preempt" in result.diff


# Reading

GOOD: Dict = {"case": "a", "objects": [], "expect": {"outcome": "Fits"}}
BAD: list[tuple[Any, str]] = [
    ({"hello": "world"}, "$.case: not a case; a case file holds cases, each with case, objects and expect"),
    ([1], "$.case: not a case; a case file holds cases, each with case, objects and expect"),
    ({"case": "a", "objects": []}, "$.expect: missing; it must be an object"),
    ({"case": "a", "expect": {}}, "$.objects: missing; it must be a list"),
    ({**GOOD, "case": 5}, "$.case: found 5; it must be text; put it in quotes"),
    ({**GOOD, "objects": [5]}, "$.objects[0]: found 5; it must be names and values, such as {name: value}"),
    ({**GOOD, "objcts": 1}, '$.objcts: unknown field; did you mean "objects"?'),
    ({**GOOD, "expect": {"outcom": "Fits"}}, '$.expect.outcom: unknown field; did you mean "outcome"?'),
    (
        {**GOOD, "expect": {"outcome": "Fit"}},
        '$.expect.outcome: found "Fit"; allowed: Fits, Preempt, Unschedulable, Wait; did you mean "Fits"?',
    ),
    ({**GOOD, "expect": {"victims": "a"}}, '$.expect.victims: found "a"; it must be a list'),
    ({**GOOD, "featureGates": {"A": 1}}, "$.featureGates.A: found 1; it must be true or false"),
]


@pytest.mark.parametrize(("data", "want"), BAD)
def test_what_is_no_case_is_an_error(tmp_path: Path, data: Any, want: str) -> None:
    (tmp_path / "c.yaml").write_text(to_yaml(data))
    with pytest.raises(InvalidInput) as error:
        read_cases([str(tmp_path)])
    assert str(error.value) == f"{tmp_path}/c.yaml: document 1: {want}"


def test_all_files_are_read_and_all_errors_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(GOOD, {**GOOD, "expect": 5}))
    (tmp_path / "b.yaml").write_text(to_yaml(GOOD))
    (tmp_path / "manifests.yaml").write_text(to_yaml(*OBJECTS))
    with pytest.raises(InvalidInput) as error:
        read_cases([str(tmp_path), "gone.yaml"])
    assert [str(problem).removeprefix(f"{tmp_path}/") for problem in error.value.problems] == [
        "gone.yaml: no such file or directory",
        "a.yaml: document 2: $.expect: found 5; it must be an object",
        f'a.yaml: document 2: $.case: "a" is named twice; first in {tmp_path}/a.yaml: document 1',
        f'b.yaml: document 1: $.case: "a" is named twice; first in {tmp_path}/a.yaml: document 1',
        "manifests.yaml: document 1: $.case: not a case; a case file holds cases, each with case, objects and expect",
    ]


def test_no_cases_at_all_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    with pytest.raises(InvalidInput, match="holds no cases"):
        read_cases([str(tmp_path)])


# The cases that are there


def failures(paths: list[str]) -> list[CaseVerdict]:
    return [result for case in read_cases(paths) if not (result := run_case(case)).ok]


def test_the_cases_of_this_project_hold() -> None:
    cases = read_cases([str(OWN)])
    assert len(cases) >= 25
    assert all(case.data.get("about") and "source" not in case.data for case in cases)
    assert failures([str(OWN)]) == []
