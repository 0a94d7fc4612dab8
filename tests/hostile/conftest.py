"""One control plane for all who try to get in; what they try leaves it as it was."""

from collections.abc import Iterator

import pytest

from tests.cli.running import HOLLOW, Running, running


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("hostile"), *HOLLOW) as found:
        yield found
