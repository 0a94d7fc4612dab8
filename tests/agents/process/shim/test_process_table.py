"""Processes of this machine as a shim sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reprieve.agents.process.shim import process_table
from reprieve.agents.process.shim.process_table import descendants, living, started


def test_a_process_is_known_by_its_number_and_start() -> None:
    mine = living(os.getpid())
    assert mine is not None
    assert (mine.parent, mine.group) == (os.getppid(), os.getpgid(0))
    assert started(os.getpid()) == mine.started != ""


def test_names_with_spaces_and_parentheses_do_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b 1 2"
    program.symlink_to(shutil.which("sleep") or "")
    with subprocess.Popen([program, "600"]) as process:
        found = living(process.pid)
        process.kill()
    assert found is not None
    assert found.parent == os.getpid()


def test_a_process_that_only_waits_to_be_reaped_has_ended() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert living(process.pid) is None
        assert process.pid not in {each.pid for each in descendants(os.getpid())}


def test_descendants_are_found_at_every_depth() -> None:
    script = "(sleep 600 & echo $!; wait) & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        assert shell.stdout is not None
        below = {int(shell.stdout.readline()) for _ in range(2)}
        try:
            assert {each.pid for each in descendants(shell.pid)} == below
            assert {each.pid for each in descendants(os.getpid())} >= {shell.pid, *below}
        finally:
            os.killpg(shell.pid, 9)


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_ps_tells_when_a_process_began_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_table, "LINUX", False)
    assert started(os.getpid()) == started(os.getpid()) != ""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert started(process.pid) == ""
    assert started(process.pid) == ""
