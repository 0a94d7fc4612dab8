"""What tests of the API share: a server for each, and clients that are closed."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server.planes import PATIENCE, Running, running


@pytest.fixture
def server() -> Iterator[Running]:
    with running() as found:
        yield found


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as client:
        yield client
