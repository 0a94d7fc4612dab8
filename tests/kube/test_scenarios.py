"""Every scenario on a real API server; `tests/test_scenarios.py` plays the same files on the embedded store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kube import programs
from tests.kube.cluster import Cluster
from tests.kube.others import kinds_of_others
from tests.kube.scenario_stage import Theatre, all_rights
from tests.scenarios.scenario import Scenario, scenarios


@pytest.fixture(scope="module")
def theatre(kube: Cluster) -> Iterator[Theatre]:
    programs.folder("kube-controller-manager", "kwok")
    with kube.client() as admin, all_rights(admin), kinds_of_others(admin):
        kube.start_controller_manager()
        kube.start_kwok()
        with Theatre(kube, admin).opened() as opened:
            yield opened


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_it_ends_as_the_file_says(theatre: Theatre, scenario: Scenario) -> None:
    theatre.play(scenario)
