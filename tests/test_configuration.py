"""Reprieve's own settings: defaults, files, gates, and every mistake at once."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import InvalidInput
from reprieve.configuration import Settings, configure
from reprieve.feature_gates import ALL_OF, GATES, parse_gates


def problems(error: pytest.ExceptionInfo[InvalidInput]) -> list[str]:
    return [str(problem) for problem in error.value.problems]


def test_everything_has_a_default() -> None:
    settings = configure(None)
    assert settings == Settings()
    assert (settings.pdb, settings.scoring, settings.validate) == ("BestEffort", "LeastAllocated", False)
    assert {name: settings.gate(name) for name in GATES} == {name: gate.default for name, gate in GATES.items()}


def test_settings_are_read_as_they_are_written() -> None:
    settings = configure({"pdb": "Respect", "scoring": "MostAllocated", "validate": True, "fairSharing": None})
    assert (settings.pdb, settings.scoring, settings.validate) == ("Respect", "MostAllocated", True)


def test_gates_that_are_given_win_over_those_of_the_file() -> None:
    data = {"featureGates": {"GenericWorkload": True, "PriorityBoost": True}}
    settings = configure(data, {"GenericWorkload": False})
    assert (settings.gate("GenericWorkload"), settings.gate("PriorityBoost")) == (False, True)


MISTAKES: list[tuple[dict[str, Any], list[str]]] = [
    ({"pdb": "Maybe"}, ['c.yaml: $.pdb: found "Maybe"; allowed: BestEffort, Respect']),
    ({"scorng": 1}, ['c.yaml: $.scorng: unknown field; did you mean "scoring"?']),
    ({"validate": 3}, ["c.yaml: $.validate: found 3; it must be true or false"]),
    (
        {"pdb": 1, "validate": "yes"},
        [
            "c.yaml: $.pdb: found 1; allowed: BestEffort, Respect",
            'c.yaml: $.validate: found "yes"; it must be true or false',
        ],
    ),
    (
        {"featureGates": {"GenericWorkloa": True}},
        ['c.yaml: $.featureGates.GenericWorkloa: unknown feature gate; did you mean "GenericWorkload"?'],
    ),
    (
        {"featureGates": {"Novelty": True}},
        [f"c.yaml: $.featureGates.Novelty: unknown feature gate; allowed: {', '.join(sorted([*GATES, *ALL_OF]))}"],
    ),
]


@pytest.mark.parametrize(("data", "want"), MISTAKES)
def test_mistakes_are_named_all_at_once(data: dict[str, Any], want: list[str]) -> None:
    with pytest.raises(InvalidInput) as error:
        configure(data, file="c.yaml")
    assert problems(error) == want


def test_gates_on_the_command_line() -> None:
    assert parse_gates("GenericWorkload=true, PriorityBoost=FALSE,") == {
        "GenericWorkload": True,
        "PriorityBoost": False,
    }
    assert parse_gates("") == {}


def test_mistakes_in_gates_on_the_command_line() -> None:
    with pytest.raises(InvalidInput) as error:
        parse_gates("GenericWorkload,PriorityBoost=perhaps,PriorityBost=true")
    assert problems(error) == [
        'command line: --feature-gates: found "GenericWorkload"; allowed: NAME=true or NAME=false',
        'command line: --feature-gates: found "PriorityBoost=perhaps"; allowed: NAME=true or NAME=false',
        'command line: $.featureGates.PriorityBost: unknown feature gate; did you mean "PriorityBoost"?',
    ]
