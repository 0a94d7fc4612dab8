"""A history in memory, and the clock it goes by; schedulers without a last resort."""

from collections.abc import Iterator
from math import inf

import pytest

from reprieve.scheduler import refresh, scheduling_queue
from reprieve.scheduler.history import History
from tests.scheduler.histories import Watch


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def history(watch: Watch) -> Iterator[History]:
    made = History(":memory:", watch, most=500)
    yield made
    made.close()


@pytest.fixture
def no_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is tried again just because time has passed: who sleeps though it could be helped is found out."""
    monkeypatch.setattr(scheduling_queue, "LONGEST_UNSCHEDULABLE", inf)
    monkeypatch.setattr(refresh, "QUIET_SECONDS", inf)
