"""A history in memory, and the clock it goes by."""

from collections.abc import Iterator

import pytest

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
