"""Processes of this machine, by /proc and by `ps`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reprieve.agents.process import process_table
from reprieve.agents.process.process_table import Process, descendants, living


def test_a_process_is_known_by_its_number_and_start() -> None:
    mine = living(os.getpid())
    assert mine is not None
    assert (mine.parent, mine.group, mine.session) == (os.getppid(), os.getpgid(0), os.getsid(0))
    assert process_table.started(os.getpid()) == mine.started != ""


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
        assert process.pid not in process_table.table()


def test_descendants_are_found_at_every_depth() -> None:
    parents = {2: 1, 3: 2, 4: 3, 5: 1, 6: 5}
    processes = {pid: Process(pid, parent, 0, 0, "") for pid, parent in parents.items()}
    assert sorted(process.pid for process in descendants(2, processes)) == [3, 4]
    assert sorted(process.pid for process in descendants(1, processes)) == [2, 3, 4, 5, 6]
    assert descendants(4, processes) == []


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_ps_tells_the_same_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    by_proc = process_table.table()
    monkeypatch.setattr(process_table, "LINUX", False)
    by_ps = process_table.table()
    mine = living(os.getpid())
    assert mine is not None
    assert (mine.parent, mine.group) == (os.getppid(), os.getpgid(0))
    assert mine.started == by_ps[os.getpid()].started != ""
    both = by_proc.keys() & by_ps.keys()
    assert {pid: by_proc[pid].parent for pid in both} == {pid: by_ps[pid].parent for pid in both}
    assert os.getpid() in both
