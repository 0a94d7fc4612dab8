"""A shim where there is no /proc: it knows less of what comes from its command, and still ends the command's group."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.agents.process import shim_starter
from reprieve.agents.process.shim import process_table
from tests.agents.process.containers import World, filled, gone, until, world

_PROGRAM = """
import sys

sys.path.append({directory!r})
import process_table

process_table.LINUX = False
process_table.boot = lambda: "this one"
import shim

shim.main(sys.argv[1])
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    program = tmp_path / "shim_elsewhere.py"
    program.write_text(_PROGRAM.format(directory=str(shim_starter._SHIM.parent)))
    monkeypatch.setattr(shim_starter, "_SHIM", program)
    monkeypatch.setattr(process_table, "LINUX", False)
    monkeypatch.setattr(process_table, "boot", lambda: "this one")
    with world(tmp_path) as made:
        yield made


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
@pytest.mark.parametrize("grace", [0, 600])
def test_the_group_of_the_command_ends_with_it(here: World, grace: float) -> None:
    async def scene() -> None:
        container = await here.shell("sleep 600 & echo $! > child; wait")
        await until(filled(here.root / "child"))
        ended = await container.terminate(grace)
        assert ended.exit_code in (137, 143)
        assert gone(here.number_in("child"))

    asyncio.run(scene())


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_what_a_command_leaves_in_its_group_is_ended_before_its_end_is_told(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("sleep 600 & echo $! > child; exit 3")
        assert (await container.wait()).exit_code == 3
        assert gone(here.number_in("child"))

    asyncio.run(scene())
