"""The laws of agreement, rest and order in lives in which nobody behaves: all policies on one plane, and hands in all.

The scheduler's last resort, to try everybody again after five minutes, is off. With the variable REPRIEVE_LIVES there
are so many lives; REPRIEVE_FIRST_LIFE is the number of the first.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.generators.hostile import LASTS, hostile_life
from tests.planes.agreement import judged
from tests.planes.rest import everything
from tests.planes.running import Plane, live
from tests.reference.overlooked import overlooked

LIVES = int(os.environ.get("REPRIEVE_LIVES", "20"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 10


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _faults(seed: int, directory: Path | None = None) -> tuple[list[str], int]:
    made = hostile_life(seed)
    moments = [Random(seed * 10 + number).uniform(1, LASTS) for number in range(3 if directory else 0)]  # noqa: S311

    async def story(plane: Plane) -> tuple[list[str], int]:
        judge = await judged(plane, made, moments)
        forgotten = overlooked(await everything(plane)) if made.settings.pdb == "BestEffort" else []
        return [*judge.faults, *forgotten], judge.asked

    found: tuple[list[str], int] = live(story, made.settings, directory=directory, longest=120)
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
def test_the_loop_decides_as_plan_does_and_nobody_sleeps(batch: int) -> None:
    asked = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        faults, compared = _faults(seed)
        assert faults == [], seed
        asked += compared
    assert asked > 0


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(4, LIVES // 10)))
def test_that_holds_with_restarts_too(seed: int, tmp_path: Path) -> None:
    assert _faults(seed, tmp_path)[0] == []
