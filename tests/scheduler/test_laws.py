"""The plan, the loop and rest agree, in random lives of all policies.

The scheduler's last resort, to try everybody again after five minutes, is off: nobody may need it. With the variable
REPRIEVE_LIVES there are so many lives for each policy; REPRIEVE_FIRST_LIFE is the number of the first.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.generators.planes import POLICIES, life
from tests.planes.agreement import judged
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "20"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 10


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _faults(policy: str, seed: int, directory: Path | None = None) -> tuple[list[str], int]:
    made = life(policy, seed, upsets=seed % 2 == 1)

    async def story(plane: Plane) -> tuple[list[str], int]:
        moments = [Random(seed * 10 + number).uniform(1, 200) for number in range(4 if directory else 0)]  # noqa: S311
        judge = await judged(plane, made, moments)
        return judge.faults, judge.asked

    found: tuple[list[str], int] = live(story, made.settings, directory=directory, longest=120)
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
@pytest.mark.parametrize("policy", POLICIES)
def test_the_loop_decides_as_plan_does_and_nobody_sleeps(policy: str, batch: int) -> None:
    asked = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        faults, compared = _faults(policy, seed)
        assert faults == [], f"{policy} {seed}"
        asked += compared
    assert asked > 0


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(4, LIVES // 20)))
def test_that_holds_with_restarts_too(policy: str, seed: int, tmp_path: Path) -> None:
    """Four times at random moments everything ends and starts anew from disk."""
    assert _faults(policy, seed, tmp_path)[0] == []


def test_an_application_that_gave_up_to_start_as_a_whole_keeps_the_place_of_its_pod() -> None:
    """A life in which one pod preempted 350 times: what it was promised was taken for a start of the whole."""
    assert _faults("queues", 910145)[0] == []
