"""Conditions in plain data: what a change keeps, and what it leaves alone."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from typing import Any

from reprieve.model.clock import START
from reprieve.model.conditions import (
    changed_condition,
    condition_of,
    conditions_of,
    has_condition,
    set_condition,
    true_condition,
    with_conditions,
)

NOW = "2026-01-01T00:00:00Z"
KNOWN: list[dict[str, Any]] = [
    {"type": "A", "status": "False", "lastTransitionTime": "then"},
    {"type": "B", "status": "True"},
]


def test_a_condition_keeps_its_time_as_long_as_its_status_and_its_place_always() -> None:
    status = {"conditions": deepcopy(KNOWN)}
    set_condition(status, "A", "False", "Other", now=START)
    assert status["conditions"][0] == {
        "type": "A",
        "status": "False",
        "lastTransitionTime": "then",
        "reason": "Other",
    }
    set_condition(status, "A", "True", now=START)
    assert status["conditions"][0] == {"type": "A", "status": "True", "lastTransitionTime": NOW}
    set_condition(status, "C", "True", now=START)
    assert [each["type"] for each in status["conditions"]] == ["A", "B", "C"]


def test_the_first_condition_of_a_status() -> None:
    status: dict[str, Any] = {"conditions": None}
    set_condition(status, "A", "True", "Why", "because", now=START, observedGeneration=3)
    said = {"reason": "Why", "message": "because", "observedGeneration": 3}
    assert status == {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": NOW, **said}]}


def test_several_change_at_once_and_optional_ones_only_where_they_are() -> None:
    before = deepcopy(KNOWN)
    changes = {"B": ("False", "", ""), "C": ("True", "", ""), "D": ("True", "", "")}
    after = with_conditions(before, changes, optional=("B", "C"), now=START)
    assert [(each["type"], each["status"]) for each in after] == [("A", "False"), ("B", "False"), ("D", "True")]
    assert before == KNOWN


def test_a_condition_without_a_time_gets_one() -> None:
    assert changed_condition(KNOWN, "B", "True", now=START)["lastTransitionTime"] == NOW


def test_times_are_in_microseconds_where_order_matters() -> None:
    moment = START + timedelta(microseconds=7)
    precise = changed_condition([], "A", "True", now=moment, precise=True)
    assert precise["lastTransitionTime"] == "2026-01-01T00:00:00.000007Z"


def test_what_an_object_says() -> None:
    data = {"status": {"conditions": KNOWN}}
    assert condition_of(data, "A") == KNOWN[0]
    assert condition_of(data, "C") == {}
    assert (has_condition(data, "B"), has_condition(data, "A"), has_condition(data, "A", "False")) == (
        True,
        False,
        True,
    )


def test_the_first_of_several_that_holds() -> None:
    data = {"status": {"conditions": [*KNOWN, {"type": "C", "status": "True"}]}}
    assert true_condition(data, "A", "C", "B") == {"type": "C", "status": "True"}
    assert true_condition(data, "A", "D") == {}


def test_an_object_without_conditions_says_nothing() -> None:
    for data in ({}, {"status": None}, {"status": {"conditions": None}}):
        assert conditions_of(data) == []
        assert not has_condition(data, "A")
