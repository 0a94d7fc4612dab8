"""Every scenario on the embedded store; `tests/kube/test_scenarios.py` plays the same files on Kubernetes."""

from __future__ import annotations

import pytest

from tests.scenarios.embedded import play
from tests.scenarios.scenario import Scenario, scenarios


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_it_ends_as_the_file_says(scenario: Scenario) -> None:
    play(scenario)
