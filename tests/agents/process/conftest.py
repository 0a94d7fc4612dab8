from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.process.containers import World, world


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    """A pod on this machine. Whatever a test does, nothing of it may run afterwards."""
    with world(tmp_path) as made:
        yield made
        assert made.processes() == []
