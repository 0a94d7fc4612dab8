"""No word is broken, however narrow the terminal: tables give up columns instead.

The checker knows what a command prints where there is no terminal, and with it every word and every cell. On a terminal
each word has to be one of those, whole, and a line is wider than the terminal only if it is one word.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reprieve.demo import table as demo_table
from reprieve.demo.scenes import SCENES, Scene
from reprieve.texts.layout import choose, lines_of, wrapped
from tests.builders.pods import to_yaml
from tests.cli.command import REPRIEVE, reprieve
from tests.cli.running import HOLLOW, Running, running
from tests.cli.terminals import on_terminal
from tests.paths import ROOT

WIDTHS = (40, 60, 80, 120)
EXAMPLES = sorted(str(path) for path in (ROOT / "examples").glob("[01]*"))[::2]
BAD = str(ROOT / "docs/samples/mistakes.yaml")
ON_FILES = [
    *(("plan", "-f", example) for example in EXAMPLES),
    ("plan", "-f", EXAMPLES[0], "--for", "pod/shop/checkout-1"),
    ("explain", "-f", EXAMPLES[0], "--for", "pod/shop/checkout-1", "--why-not", "pod/shop/carts-1"),
    ("explain", "-f", EXAMPLES[0], "--for", "pod/shop/carts-1"),
    ("check", "-f", BAD),
    ("plan", "-f", BAD),
    ("test", str(ROOT / "docs/samples/failing-case.yaml")),
]
NOW = "2026-01-01T12:00:00Z"


def check(shown: str, known: set[str], width: int) -> None:
    """Every word is whole, and every line fits that could."""
    for line in shown.splitlines():
        assert set(line.split()) <= known, line
        assert len(line) <= width or len(line.split()) == 1, line


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", ON_FILES, ids=lambda arguments: " ".join(map(str, arguments))[-60:])
def test_no_word_is_broken_over_files(arguments: tuple[str, ...], width: int) -> None:
    if arguments[0] in ("plan", "explain"):
        arguments = (*arguments, "--now", NOW)
    check(on_terminal([*REPRIEVE, *arguments], width).text, words_of(arguments), width)


@cache
def words_of(arguments: tuple[str, ...]) -> set[str]:
    piped = reprieve(*arguments)
    return set(f"{piped.stdout} {piped.stderr}".split())


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("narrow"), *HOLLOW) as found:
        names = [namespace(name) for name in ("genomics", "climate", "archive")]
        found.ok("apply", "-f", "-", stdin=to_yaml(*names))
        found.ok("apply", "-f", str(ROOT / "examples/05-quota-cohort"))
        found.ok("submit", "--name", "a-job-with-quite-a-long-name", "--cpu", "64", "--", "sleep", "1000")
        found.ok("submit", "--name", "b", "--priority", "10", "--cpu", "4", "--replicas", "2", "--", "sleep", "1000")
        found.said("is unschedulable")
        yield found


ON_A_PLANE = [
    ("get", "nodes"),
    ("get", "nodes", "-o", "wide"),
    ("get", "pods", "-A", "-o", "wide"),
    ("get", "jobs,priorityclasses"),
    ("get", "clusterqueues"),
    ("get", "workloads.kueue.x-k8s.io", "-A"),
    ("describe", "job", "a-job-with-quite-a-long-name"),
    ("events", "-A"),
    ("explain", "job/a-job-with-quite-a-long-name"),
    ("top", "queues"),
    ("top", "pods", "-A"),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", ON_A_PLANE, ids=" ".join)
def test_no_word_is_broken_over_a_plane(plane: Running, arguments: tuple[str, ...], width: int) -> None:
    shown = on_terminal([*REPRIEVE, *arguments], width, XDG_DATA_HOME=str(plane.home)).text
    known = set(plane.ok(*arguments).stdout.split())
    ages = {word for word in shown.split() if word.rstrip("smhd").isdigit()}  # time goes on between the two
    check(shown, known | ages, width)


def test_a_table_gives_up_columns_the_least_important_first(plane: Running) -> None:
    def headings(width: int) -> list[str]:
        text = on_terminal([*REPRIEVE, "get", "pods"], width, XDG_DATA_HOME=str(plane.home)).text
        return text.splitlines()[0].split()

    assert headings(120)[:2] == ["NAME", "READY"]
    assert [len(headings(width)) for width in WIDTHS] == sorted(len(headings(width)) for width in WIDTHS)
    assert headings(40)[0] == "NAME"
    assert "RESTARTS" not in headings(40)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.policy)
def test_the_table_of_the_demonstration_breaks_no_word(
    scene: Scene, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        ("root.insights.nightly", "12 of 16 cpu", "trends-abcde, Deployment storefront-eu ×3", "Job renders", ""),
        ("no place yet", "", "", "", "ReplicaSet crawl ×2, Job invoices"),
    ]
    monkeypatch.setattr(demo_table, "rows", lambda *_: rows)
    console = Console(width=width, force_terminal=True, no_color=True, highlight=False)
    with console.capture() as caught:
        console.print(demo_table.table(scene, None, width))  # type: ignore[arg-type]
    known = {word for row in rows for cell in row for word in cell.split()}
    headings = {"node", "cluster", "queue", "member", "used", "runs", "leaves", "waits", *scene.title.split()}
    shown = "".join(letter if letter not in "│┃━┏┓┡┩╇┳└┘─┴" else " " for letter in caught.get())
    check(shown.replace("\x1b[3m", "").replace("\x1b[0m", "").replace("\x1b[1m", ""), known | headings, width)


def test_colours_are_left_out_where_nobody_wants_them() -> None:
    command = [*REPRIEVE, "check", "-f", BAD]
    assert b"\x1b[31m" in on_terminal(command, 80, NO_COLOR="", TERM="xterm").raw
    assert b"\x1b[" not in on_terminal(command, 80, NO_COLOR="1", TERM="xterm").raw
    assert b"\x1b[" not in on_terminal(command, 80, NO_COLOR="", TERM="dumb").raw
    assert "\x1b[" not in reprieve(*command[3:], NO_COLOR="", TERM="xterm").stdout


def test_a_pipe_gets_whole_lines() -> None:
    for line in reprieve("check", "-f", BAD).stdout.splitlines()[:3]:
        assert line.startswith("error: ")


# The rules of the layout by themselves


def test_lines_go_on_below_themselves_after_a_whole_word() -> None:
    assert wrapped("  one two three four", 12) == ["  one two", "    three", "    four"]
    assert wrapped("a-word-that-is-wider b", 10) == ["a-word-that-is-wider", "  b"]
    assert wrapped("as it is", None) == ["as it is"]


def test_sentences_in_the_last_column_stand_beside_their_row_or_below_it() -> None:
    headings, row = ("unit", "rule", ""), ("Pod/default/a", "Priority", "its priority is 10, and so is the preemptor's")
    beside = choose(headings, [row], 44, gap=2)
    assert lines_of(row, beside, gap=2) == [
        "Pod/default/a  its priority is 10, and so is",
        "               the preemptor's",
    ]
    below = choose(headings, [row], 30, gap=2)
    assert lines_of(row, below, gap=2) == ["Pod/default/a", "  its priority is 10, and so", "  is the preemptor's"]


def test_paths_to_files_stay_whole(tmp_path: Path) -> None:
    file = tmp_path / ("long-" * 20 + ".yaml")
    file.write_text("kind: Pod\n")
    shown = on_terminal([*REPRIEVE, "check", "-f", str(file)], 40).text
    assert str(file) in shown
