"""Runs the real `reprieve` command, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPRIEVE = (sys.executable, "-m", "reprieve")
# A fixed width and no colours, so that what is printed is the same everywhere.
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
KEPT = ("PATH", "HOME", "SYSTEMROOT", "LANG", "PYTHONPATH", "VIRTUAL_ENV")


def environment(**more: str) -> dict[str, str]:
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **ENVIRONMENT, **more}


def reprieve(
    *arguments: str, cwd: Path | None = None, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run it to the end; `more` adds to its environment."""
    return subprocess.run(
        [*REPRIEVE, *arguments],
        cwd=cwd,
        input=stdin,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
