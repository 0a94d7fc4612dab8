"""The front door: running installs what running needs, tests the rest, each once, with uv or with pip."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

# Programs that do nothing but write down how they were called; the environment that they make runs nothing either.
FAKE_UV = """#!/bin/sh
echo "uv $*" >> "$LOG"
if [ "$1" = venv ]; then mkdir -p .venv/bin && for name in python reprieve pytest; do
  printf '#!/bin/sh\\n' > .venv/bin/$name && chmod +x .venv/bin/$name; done; fi
"""
FAKE_PYTHON = """#!/bin/sh
case "$*" in
  "-m venv "*) mkdir -p .venv/bin && for name in python reprieve pytest; do cp "$0" .venv/bin/$name; done;;
  "-m pip install "*) echo "pip $*" >> "$LOG"; echo "Collecting numpy>=2.0"; exit "${PIP_STATUS:-0}";;
esac
"""
TOOLS = ("sh", "env", "test", "awk", "grep", "touch", "mkdir", "printf", "cp", "chmod", "echo", "rm", "make")


class Clone:
    """A clean directory with the Makefile, and only fakes to call."""

    def __init__(self, directory: Path, installer: str) -> None:
        self._directory = directory
        self._log = directory / "log"
        tools = directory / "tools"
        (directory / "src/reprieve").mkdir(parents=True)
        tools.mkdir()
        for name in ("Makefile", "pyproject.toml", "src/reprieve/__init__.py"):
            shutil.copy(ROOT / name, directory / name)
        for name in TOOLS:
            (tools / name).symlink_to(shutil.which(name) or name)
        fake = tools / ("uv" if installer == "uv" else "python3")
        fake.write_text(FAKE_UV if installer == "uv" else FAKE_PYTHON)
        fake.chmod(0o755)
        self._environment = {"PATH": str(tools), "LOG": str(self._log)}

    def make(self, target: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", target],
            cwd=self._directory,
            env={**self._environment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    def installed(self) -> list[str]:
        """What was asked for since the last time, by the word behind `--editable`."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [line.rpartition(" ")[2] for line in lines if " install " in line]


@pytest.fixture(params=["uv", "pip"])
def clone(tmp_path: Path, request: pytest.FixtureRequest) -> Clone:
    if shutil.which("make") is None or os.name != "posix":
        pytest.skip("there is no make")
    return Clone(tmp_path, request.param)


def test_running_installs_what_running_needs_and_says_so(clone: Clone) -> None:
    done = clone.make("run")
    assert done.returncode == 0, done.stderr
    assert "Installing what running needs" in done.stdout
    assert clone.installed() == ["."]
    assert clone.make("run").returncode == 0
    assert clone.installed() == []


@pytest.mark.parametrize("target", ["test", "lint", "setup"])
def test_tests_and_checks_install_the_rest(clone: Clone, target: str) -> None:
    clone.make("run")
    clone.installed()
    clone.make(target)
    assert clone.installed() == [".[dev]"]
    clone.make(target)
    clone.make("run")
    assert clone.installed() == []


def test_who_tests_first_has_all_that_running_needs(clone: Clone) -> None:
    clone.make("test")
    assert clone.installed() == [".[dev]"]
    clone.make("run")
    assert clone.installed() == []


def test_what_could_not_be_installed_is_tried_again(tmp_path: Path) -> None:
    clone = Clone(tmp_path, "pip")
    assert clone.make("run", PIP_STATUS="1").returncode != 0
    assert clone.installed() == ["."]
    assert "numpy>=2.0" in clone.make("run").stdout
    assert clone.installed() == ["."]
