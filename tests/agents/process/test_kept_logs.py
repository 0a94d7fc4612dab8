"""What containers wrote is kept after them: its end, bounded, the oldest dropped first, whoever is killed meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reprieve.agents.process import kept_logs as module
from reprieve.agents.process.containers import Directory
from reprieve.agents.process.kept_logs import KeptLogs, LogLimits, Run
from reprieve.agents.process.logs import read_log
from reprieve.agents.process.shim import container_files as files

TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z")
ENDED = {"exitCode": 0, "reason": "Completed", "startedAt": TIMES[0], "finishedAt": TIMES[1]}


class Node:
    """The files of a node: pods that are there, and what is kept."""

    def __init__(self, root: Path, one: int = 100, together: int = 1000) -> None:
        self.pods, self.root = root / "pods", root / "kept"
        self.kept = KeptLogs(self.root, LogLimits(one, together))

    def ran(self, uid: str, current: bytes, old: bytes | None = None, *, run: int = 0, at: float = 0) -> Directory:
        """A run that is over, with the files that a container leaves."""
        directory = Directory.of(self.pods, uid, "main", run)
        directory.create()
        for name, content in ((files.LOG, current), (files.OLD_LOG, old)):
            if content is not None:
                directory.file(name).write_bytes(content)
        directory.write(files.EXIT, ENDED)
        directory.file(files.CONTAINER).write_text('{"environment": {"PASSWORD": "secret"}}')
        directory.file("files").mkdir()
        os.utime(directory.file(files.EXIT), (at, at))
        return directory

    def take(self, uid: str, current: bytes, old: bytes | None = None, *, at: float = 0) -> None:
        self.ran(uid, current, old, at=at)
        self.kept.take_pod(self.pods, uid)

    def read(self, uid: str, run: int = 0) -> bytes | None:
        found = self.kept.find(uid, "main", run)
        return None if found is None else b"".join(read_log(found))

    def runs(self, uid: str) -> list[Run]:
        return list(self.kept.runs(uid))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_all_of_it_and_how_it_ended_and_nothing_else(node: Node) -> None:
    node.take("a", b"three\n", b"one\ntwo\n")
    assert node.read("a") == b"one\ntwo\nthree\n"
    assert node.runs("a") == [Run("main", 0, 14, 0, False, 0, *TIMES)]
    assert not (node.pods / "a").exists()
    left = sorted(path.name for path in (node.root / "a" / "main" / "0").iterdir())
    assert left == ["exit.json", "kept.json", "output.log"], "what it was given is nobody's business any more"


@pytest.mark.parametrize(
    ("old", "current", "want", "cut"),
    [
        (None, b"x" * 60 + b"\n" + b"y" * 60 + b"\n", b"y" * 60 + b"\n", 61),
        (b"x" * 60 + b"\n", b"y" * 60 + b"\n" + b"z" * 20 + b"\n", b"y" * 60 + b"\n" + b"z" * 20 + b"\n", 61),
        (b"x" * 300 + b"\n", b"end\n", b"end\n", 301),
        (None, b"line\n" * 50, b"line\n" * 20, 150),
        (None, b"long\n" * 50 + b"x", b"long\n" * 19 + b"x", 155),
        (None, b"x" * 100, b"x" * 100, 0),
        (b"", b"x" * 60 + b"\n" + b"y" * 60 + b"\n", b"y" * 60 + b"\n", 61),
    ],
)
def test_of_a_long_one_the_end_is_kept_in_whole_lines(
    node: Node, old: bytes | None, current: bytes, want: bytes, cut: int
) -> None:
    node.take("a", current, old)
    assert node.read("a") == want
    (run,) = node.runs("a")
    assert (run.size, run.cut) == (len(want), cut)


def test_the_oldest_are_dropped_first_and_it_is_known(tmp_path: Path) -> None:
    node = Node(tmp_path, one=100, together=250)
    for number in range(4):
        node.take(f"pod-{number}", b"%d" % number * 100, at=1000.0 - number if number < 2 else 1000.0 + number)
    # The second ended before the first.
    assert [node.read(f"pod-{number}") is not None for number in range(4)] == [False, False, True, True]
    assert [run.dropped for number in range(4) for run in node.runs(f"pod-{number}")] == [True, True, False, False]
    assert sum(path.stat().st_size for path in node.root.rglob(files.LOG)) <= 250


def test_that_there_were_any_is_forgotten_when_there_are_too_many(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_RUNS", 3)
    for number in range(5):
        node.take(f"pod-{number}", b"x", at=float(number))
    assert sorted(path.name for path in node.root.iterdir()) == ["pod-2", "pod-3", "pod-4"]


def test_runs_before_a_restart_and_after_it_stay_in_order(node: Node) -> None:
    node.kept.take_run(node.ran("a", b"first", run=0), "a", "main")
    node.ran("a", b"second", run=1)
    node.kept.take_pod(node.pods, "a")
    assert [(run.run, node.read("a", run.run)) for run in node.runs("a")] == [(0, b"first"), (1, b"second")]


@pytest.mark.parametrize("killed", ["moved", "copied", "said", "replaced"])
def test_whoever_is_killed_in_between_leaves_something_to_go_on_with(node: Node, killed: str) -> None:
    log = b"x" * 80 + b"\n" + b"y" * 80 + b"\n"
    directory = node.ran("a", log[81:], log[:81])
    kept = Directory.of(node.root, "a", "main", 0)
    kept.path.parent.mkdir(parents=True)
    directory.path.rename(kept.path)
    if killed in ("copied", "said", "replaced"):
        kept.file("kept.log").write_bytes(b"y" * 80 + b"\n" if killed != "copied" else b"half")
    if killed in ("said", "replaced"):
        kept.file("kept.json").write_text('{"size": 81, "cut": 81, "dropped": false}')
    if killed == "replaced":
        kept.file("kept.log").replace(kept.file(files.LOG))
    Node(node.root.parent).kept.tidy()
    assert node.read("a") == b"y" * 80 + b"\n"
    assert sorted(path.name for path in kept.path.iterdir()) == ["exit.json", "kept.json", "output.log"]


def test_only_plain_files_are_kept(node: Node, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    directory = node.ran("a", b"")
    directory.file(files.LOG).unlink()
    directory.file(files.LOG).symlink_to(secret)
    node.kept.take_pod(node.pods, "a")
    assert node.read("a") == b""
    assert secret.read_text() == "hidden"


def test_a_command_cannot_say_what_is_kept_of_it(node: Node) -> None:
    directory = node.ran("a", b"line\n" * 50)
    directory.file("kept.json").write_text('{"size": 0}')
    directory.file("kept.log").mkdir()
    node.kept.take_pod(node.pods, "a")
    assert node.read("a") == b"line\n" * 20
    assert [run.size for run in node.runs("a")] == [100]


def test_another_agent_counts_what_the_one_before_kept(tmp_path: Path) -> None:
    for number in range(4):
        Node(tmp_path, one=100, together=250).take(f"pod-{number}", b"x" * 100, at=float(number))
    node = Node(tmp_path)
    assert [node.read(f"pod-{number}") is not None for number in range(4)] == [False, False, True, True]
    assert [node.kept.next_run(uid, "main") for uid in ("pod-0", "pod-3", "nobody")] == [1, 1, 0]


def test_what_is_not_kept_is_not_found(node: Node) -> None:
    assert (node.runs("nobody"), node.read("nobody")) == ([], None)
