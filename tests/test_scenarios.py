"""Every scenario on the embedded store; `tests/kube/test_scenarios.py` plays the same files on Kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.scenarios.embedded import play
from tests.scenarios.scenario import FOLDER, Facts, Preempted, Scenario, Told, read, scenarios

LIKE_IT = {"Pod/high": Facts(at="scene-a"), "Pod/middle": Facts(at="scene-b")}


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_it_ends_as_the_file_says(scenario: Scenario) -> None:
    play(scenario)


# A scenario can fail


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"outcome": {"Pod/high": Facts(at="scene-a")}}, "Pod/middle is there"),
        ({"outcome": {**LIKE_IT, "Pod/middle": Facts(at="scene-a")}}, "Pod/middle: wanted [{'at': 'scene-a'}], found"),
        ({"outcome": {**LIKE_IT, "Pod/middle": Facts(waits="")}}, "Pod/middle: wanted [{'waits': ''}], found"),
        ({"outcome": {**LIKE_IT, "Pod/mid*": [Facts(), Facts()]}}, "Pod/mid*: wanted [{}, {}], found"),
        ({"outcome": {**LIKE_IT, "Pod/middle": Facts(gone=True)}}, "Pod/middle is still there"),
        ({"preempted": []}, "preempted: wanted [], found [Preempted(unit='Pod/low', by='Pod/high'"),
        ({"preempted": [Preempted("Pod/low", "Pod/high", "Fair")]}, "preempted: wanted"),
        ({"preempted": [Preempted("Pod/low", "Pod/high", "LowerPriority", "scene-b")]}, "preempted: wanted"),
        ({"events": [Told("Pod/middle", "Preempted")]}, "not told: Told(about='Pod/middle'"),
    ],
)
def test_an_end_that_is_not_as_the_file_says_is_told(change: dict[str, Any], told: str) -> None:
    scenario = read(FOLDER / "pod-preemption.yaml")
    with pytest.raises(AssertionError) as failure:
        play(msgspec.structs.replace(scenario, **change))
    assert str(failure.value).startswith("pod-preemption, the end:")
    assert told in str(failure.value)


def test_a_field_that_is_none_is_named(tmp_path: Path) -> None:
    place = tmp_path / "mistaken.yaml"
    place.write_text("{about: x, settings: {victims: Own}, steps: [{aply: []}], outcome: {}, preempted: []}")
    with pytest.raises(ValueError, match=r"mistaken.yaml: .*unknown field `aply` - at `\$.steps\[0\]`"):
        read(place)


def test_whose_pods_make_way_has_to_be_said(tmp_path: Path) -> None:
    place = tmp_path / "silent.yaml"
    place.write_text("{about: x, settings: {}, steps: [], outcome: {}, preempted: []}")
    with pytest.raises(AssertionError, match=r"silent: settings\.victims is missing"):
        play(read(place))


def test_all_policies_are_among_them() -> None:
    units = {each.by.partition("/")[0] for scenario in scenarios() for each in scenario.preempted}
    reasons = {each.reason for scenario in scenarios() for each in scenario.preempted}
    assert units == {"Pod", "PodGroup", "Workload", "ResourceBinding"}
    assert "QueueOverGuarantee" in reasons
