"""Files with secrets: what a killed process left of them goes when they are written next, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprieve.access.private_files import write_private


def ended_process() -> int:
    """The id of one that there was."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def _names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


def _killed_while_writing(file: Path) -> str:
    """Somebody is killed when all is written but the name; what is left."""
    program = (
        "import os, pathlib, signal, sys\n"
        "from reprieve.access import private_files\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "private_files.write_private(pathlib.Path(sys.argv[1]), b'old secret')\n"
    )
    before = _names(file.parent)
    assert subprocess.run([sys.executable, "-c", program, str(file)], check=False).returncode < 0
    (left,) = _names(file.parent) - before
    return left


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    write_private(file, b"first")
    left = _killed_while_writing(file)
    assert (left.startswith(".kubeconfig."), left.endswith(".new"), file.read_bytes()) == (True, True, b"first")
    write_private(file, b"second")
    assert (_names(tmp_path), file.read_bytes()) == ({"kubeconfig"}, b"second")


@pytest.mark.parametrize(
    "name",
    [
        "kubeconfig.{gone}.new",
        ".kubeconfig.{gone}.new.bak",
        ".kubeconfig.{gone}.old",
        ".kubeconfig.x{gone}.new",
        ".kubeconfig.0.new",
        ".kubeconfig.99999999999.new",
        ".other.{gone}.new",
        ".kubeconfig.{lives}.new",
    ],
)
def test_other_files_stay(tmp_path: Path, name: str) -> None:
    """Among them what a process that lives is writing."""
    other = tmp_path / name.format(gone=ended_process(), lives=os.getppid())
    other.write_text("mine")
    write_private(tmp_path / "kubeconfig", b"content")
    assert other.read_text() == "mine"


def test_what_is_no_file_stays(tmp_path: Path) -> None:
    gone = ended_process()
    target = tmp_path / "target"
    target.write_text("mine")
    link, directory = tmp_path / f".a.{gone}.new", tmp_path / f".b.{gone}.new"
    link.symlink_to(target)
    directory.mkdir()
    for name in ("a", "b"):
        write_private(tmp_path / name, b"content")
    assert (link.is_symlink(), directory.is_dir(), target.read_text()) == (True, True, "mine")


def test_a_file_of_somebody_else_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / f".kubeconfig.{ended_process()}.new"
    other.write_text("theirs")
    monkeypatch.setattr(os, "geteuid", lambda: other.stat().st_uid + 1)
    write_private(tmp_path / "kubeconfig", b"content")
    assert other.read_text() == "theirs"
