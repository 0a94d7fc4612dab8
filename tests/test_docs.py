"""What the documentation shows is what happens: every command in it is run, and every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reprieve.manifests.kinds import READERS
from tests.paths import ROOT

RUN = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/**/README.md"))]
PAGES = [*RUN, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PROMPT = "$ "
STATUS = "echo $?"

_CONSOLE = re.compile(r"^```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)|^\[[^]]+\]: (?P<reference>\S+)", re.MULTILINE)


class Step(NamedTuple):
    """A command, and the lines shown below it."""

    command: str
    output: list[str]


def steps(block: str) -> list[Step]:
    found: list[Step] = []
    for line in block.splitlines():
        if line.startswith(PROMPT):
            found.append(Step(line.removeprefix(PROMPT), []))
        else:
            found[-1].output.append(line.rstrip())
    return found


def blocks() -> Iterator[object]:
    for page in RUN:
        text = page.read_text()
        for match in _CONSOLE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield pytest.param(match["body"], id=f"{page.relative_to(ROOT)}:{line}")


def run(command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("block", list(blocks()))
def test_console_block_shows_what_happens(block: str) -> None:
    """A command that fails has its status shown by the command after it; all others exit with 0."""
    shown = steps(block)
    for step, following in zip(shown, [*shown[1:], None], strict=True):
        if step.command == STATUS:
            continue
        result = run(step.command)
        wanted = following.output if following and following.command == STATUS else ["0"]
        if step.output:
            assert [line.rstrip() for line in result.stdout.splitlines()] == step.output
        assert [str(result.returncode)] == wanted, result.stdout


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path) -> None:
    for match in _PYTHON.finditer(page.read_text()):
        program = subprocess.run([sys.executable, "-c", match["body"]], cwd=ROOT, capture_output=True, check=False)
        assert program.returncode == 0, program.stderr.decode()


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_console_block_is_overlooked(page: Path) -> None:
    text = page.read_text()
    assert text.count("```console") == len(_CONSOLE.findall(text))
    for match in _CONSOLE.finditer(text):
        assert match["body"].startswith(PROMPT)
        commands = [step.command for step in steps(match["body"])]
        assert not any(command.startswith("make ") for command in commands), "belongs in a block marked sh"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for match in _LINK.finditer(page.read_text()):
        target = match["target"] or match["reference"]
        if target.startswith("https://"):
            continue
        name, _, heading = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        if heading:
            assert heading in headings(linked.read_text()), target


def headings(text: str) -> list[str]:
    """The anchors of a page, as they are made on the web."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles]


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for match in _SHELL.finditer(page.read_text()):
            assert set(re.findall(r"^make (\w+)", match["body"], re.MULTILINE)) <= targets, page


def test_every_kind_and_version_is_documented() -> None:
    text = (ROOT / "docs" / "manifests.md").read_text()
    rows = re.findall(r"^\| [\w]+ \| (?P<kinds>[^|]+) \| (?P<versions>[^|]+) \|$", text, re.MULTILINE)
    documented = {
        (version, kind) for kinds, versions in rows for kind in kinds.split(", ") for version in versions.split(", ")
    }
    for version, kind in READERS:
        assert (f"`{version}`", kind) in documented
