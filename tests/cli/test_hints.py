"""What the demonstration says to try next works as it is printed: in another terminal, wherever that stands."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import REPRIEVE, environment
from tests.cli.terminals import Terminal

WIDTH = 60
OVER = "The demonstration is over"


def hints(text: str) -> list[str]:
    """The commands below the line that announces them, each as it would be copied."""
    told = text.partition("To try in another terminal:\n")[2].partition(OVER)[0]
    return [line.strip() for line in re.sub(r"\\\n\s*", "", told).splitlines() if line.strip()]


@pytest.mark.parametrize("default", [True, False], ids=["found by itself", "found by its address"])
def test_each_hint_works_as_printed(tmp_path: Path, default: bool) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path / "home")}
    command = [*REPRIEVE, "up", "--demo", "--port", "0"]
    other = Terminal([*REPRIEVE, "up", "--agent", "hollow", "--port", "0"], 100, **home) if not default else None
    try:
        if other is not None:
            other.until(lambda: "listens on" in other.text)
        shown = Terminal(command, WIDTH, REPRIEVE_DEMO_SPEED="20", **home)
        try:
            shown.until(lambda: OVER in shown.text, 120)
            found = hints(shown.text)
            assert [
                next(word for word in ("get", "events", "explain", "top") if f" {word} " in f"{each} ")
                for each in found
            ] == [
                "get",
                "events",
                "explain",
                "top",
            ]
            for hint in found:
                done = subprocess.run(
                    ["/bin/sh", "-c", hint],
                    cwd=tmp_path,
                    env={**environment(**home), "PATH": os.defpath},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert (done.returncode, done.stderr) == (0, ""), (hint, done.stderr)
                assert "demo-pods" in done.stdout or " top" in hint
                assert " top" not in hint or "meadow-1" in done.stdout
        finally:
            shown.close()
    finally:
        if other is not None:
            other.close()
