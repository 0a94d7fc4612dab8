"""What is written on a preemptor while its decision is carried out: read again by whoever comes next."""

from __future__ import annotations

import pytest

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold, hold_of

WHOLE = Hold(
    preemptor="Workload/default/w",
    policy="quota",
    victims=(
        HeldVictim(
            unit="Workload/default/v",
            uid="1",
            domain="m1",
            message="it made way",
            reason="InClusterQueue",
            ends=True,
            since="2026-01-01T00:00:00Z",
            pdb_violation=True,
        ),
    ),
    placement={"Pod/default/a": "n1"},
    members={"Pod/default/a": "2"},
    counts={"main": 3},
    clusters={"m1": 2},
    version=7,
    reserves=True,
    decision=9,
)


def test_what_was_written_is_read() -> None:
    assert hold_of({HOLD_ANNOTATION: WHOLE.text()}) == WHOLE
    assert hold_of({}) is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            '{"preemptor":"Pod/default/high","victims":[{"unit":"Pod/default/low","uid":"1","message":"m"}],"decision":4}',
            Hold(
                preemptor="Pod/default/high",
                victims=(HeldVictim(unit="Pod/default/low", uid="1", message="m"),),
                decision=4,
            ),
            id="of a pod",
        ),
        pytest.param(
            '{"preemptor":"PodGroup/default/g","placement":{"Pod/default/a":"n1"},"members":{"Pod/default/a":"2"}}',
            Hold(preemptor="PodGroup/default/g", placement={"Pod/default/a": "n1"}, members={"Pod/default/a": "2"}),
            id="of a group",
        ),
        pytest.param(
            '{"preemptor":"Workload/default/w","victims":[{"unit":"Workload/default/v","uid":"1","ends":true,'
            '"reason":"InClusterQueue","since":"then"}],"counts":{"main":2}}',
            Hold(
                preemptor="Workload/default/w",
                victims=(
                    HeldVictim(unit="Workload/default/v", uid="1", ends=True, reason="InClusterQueue", since="then"),
                ),
                counts={"main": 2},
            ),
            id="of a quota workload",
        ),
        pytest.param(
            '{"preemptor":"ResourceBinding/default/b","version":5,"clusters":{"m1":2},"victims":['
            '{"unit":"ResourceBinding/default/v","uid":"1","domain":"m1","message":"m"}]}',
            Hold(
                preemptor="ResourceBinding/default/b",
                version=5,
                clusters={"m1": 2},
                victims=(HeldVictim(unit="ResourceBinding/default/v", uid="1", domain="m1", message="m"),),
            ),
            id="of a binding",
        ),
    ],
)
def test_holds_of_the_version_before_are_read(text: str, want: Hold) -> None:
    """When each policy had a form of its own."""
    assert hold_of({HOLD_ANNOTATION: text}) == want


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"\\ud800"',
        "\ud800",
        '{"clusters": {"m1": -1}}',
        '{"clusters": {"m1": 99999999999}}',
        '{"victims": [{"unit": "x", "uid": "1", "domain": "m"}]}',
        '{"victims": [{"unit": "Pod/default/a"}]}',
        '{"members": {"a": "1"}}',
    ],
)
def test_what_cannot_be_read_holds_nothing(text: str) -> None:
    assert hold_of({HOLD_ANNOTATION: text}) is None
