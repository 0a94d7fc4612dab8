"""Pipes, keyboards and large files: somebody on a terminal is told how it goes, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests import reading
from reprieve.manifests.loading import load
from tests.builders.pods import node, to_yaml
from tests.cli.command import REPRIEVE, environment, reprieve
from tests.cli.terminals import Terminal

NODE = to_yaml(node("n1"))


def fifo(directory: Path) -> Path:
    path = directory / "pipe"
    os.mkfifo(path)
    return path


def in_background(work: Callable[[], Any]) -> None:
    threading.Thread(target=work, daemon=True).start()


def test_without_files_it_says_what_to_give_instead_of_waiting() -> None:
    for verb in ("plan", "check", "apply"):
        with closing(Terminal([*REPRIEVE, verb], 80)) as terminal:
            terminal.until(lambda: False)
            assert terminal.process.wait(10) == 2
            assert "-f" in terminal.text


def test_whoever_is_to_type_is_told_how_to_end() -> None:
    with closing(Terminal([*REPRIEVE, "check", "-f", "-"], 80)) as terminal:
        terminal.until(lambda: "end with Ctrl-D" in terminal.text)
        terminal.type(b"kind: Pod\n\x04")
        terminal.until(lambda: "1 error" in terminal.text)


def test_a_pipe_that_is_silent_says_so_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with closing(Terminal([*REPRIEVE, "plan", "-f", str(fifo(tmp_path))], 80, TERM="xterm")) as terminal:
        terminal.until(lambda: "nothing has come yet" in terminal.text)
        terminal.process.send_signal(2)
        assert terminal.process.wait(10) == 130


def test_a_pipe_is_read_whenever_its_writer_comes(tmp_path: Path) -> None:
    pipe = fifo(tmp_path)

    def write() -> None:
        time.sleep(0.5)
        with pipe.open("w") as file:
            file.write(NODE[: len(NODE) // 2])
            file.flush()
            time.sleep(0.5)
            file.write(NODE[len(NODE) // 2 :])

    in_background(write)
    done = reprieve("check", "-f", str(pipe))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All is well.")


def test_an_empty_pipe_is_an_empty_file(tmp_path: Path) -> None:
    pipe = fifo(tmp_path)
    in_background(lambda: pipe.open("w").close())
    assert reprieve("check", "-f", str(pipe)).returncode == 0


def test_a_problem_in_a_pipe_has_its_line(tmp_path: Path) -> None:
    pipe = fifo(tmp_path)
    in_background(lambda: pipe.write_text("kind: Node\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  taints: 5\n"))
    assert "document 1, line 6: Node/a: $.spec.taints: found 5" in reprieve("check", "-f", str(pipe)).stdout


def test_a_pipe_that_stays_silent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.5)
    (problem,) = load([str(fifo(tmp_path))]).errors
    assert problem.message == "cannot be read: nothing came for 0 seconds"


def test_a_stream_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "LARGEST", 1 << 20)
    pipe = fifo(tmp_path)

    def write() -> None:
        with pipe.open("wb") as file:
            try:
                while True:
                    file.write(b"- a\n" * 10_000)
            except BrokenPipeError:
                return

    in_background(write)
    (problem,) = load([str(pipe)]).errors
    assert "give it in several files" in problem.message


def test_a_large_file_shows_how_far_it_is(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    one = NODE.replace("n1", "node-%d")
    file.write_text("---\n".join(one % number for number in range(60_000)))
    with closing(Terminal([*REPRIEVE, "check", "-f", str(file)], 200, TERM="xterm")) as terminal:
        terminal.until(lambda: "All is well." in terminal.text, 120)
        assert "parsing" in terminal.text
        assert "%" in terminal.text


def test_where_nobody_looks_nothing_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(NODE)
    done = subprocess.run(
        [sys.executable, "-m", "reprieve", "check", "-f", str(file)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
