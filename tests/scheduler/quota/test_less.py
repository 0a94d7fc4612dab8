"""In uneven lives, too, the loop decides as a plan does, and nobody is asked where the design's order asks less.

There it is looked for less again and again, while queues and quotas change, and after heads that took something before.
`tests.planes.nominations` says what is compared.
"""

from __future__ import annotations

import os

import pytest

from tests.generators.quota_lives import uneven_life
from tests.planes.agreement import Judge, judged
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "10"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 10


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _live(seed: int) -> Judge:
    made = uneven_life(seed)

    async def story(plane: Plane) -> Judge:
        return await judged(plane, made)

    judge: Judge = live(story, made.settings, longest=120)
    return judge


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
def test_no_head_asks_more_than_by_the_designs_order(batch: int) -> None:
    compared = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        judge = _live(seed)
        assert judge.faults == [], seed
        compared += judge.nominations.compared
    assert compared > 0
