"""What is said on a terminal: as wide as it is, with no word broken, and in colour where that helps and is wanted."""

import os
import shutil
import sys
from typing import IO

import typer

from reprieve.manifests.reading import told
from reprieve.texts.layout import wrapped

_PREFIXES = {"error: ": "red", "warning: ": "yellow", "FAILED ": "red"}
_NARROWEST = 20


def width_of(stream: IO[str] | None) -> int | None:
    """How many characters fit in a line; None: it is no terminal, and lines are as long as they are."""
    if stream is None or not stream.isatty():
        return None
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def width() -> int | None:
    return width_of(sys.stdout)


def coloured(stream: IO[str] | None) -> bool:
    """Whether colours are wanted: on a terminal that has any, unless `NO_COLOR` says otherwise."""
    shows = stream is not None and stream.isatty()
    return shows and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str, *, err: bool = False) -> None:
    """Print text; lines that a terminal would break go on in the next one, after a whole word."""
    told(None)
    stream = sys.stderr if err else sys.stdout
    room = width_of(stream)
    lines = [part for line in text.split("\n") for part in wrapped(line, room)]
    typer.echo("\n".join(map(_tinted, lines) if coloured(stream) else lines), err=err)


def _tinted(line: str) -> str:
    for prefix, colour in _PREFIXES.items():
        if line.startswith(prefix):
            return typer.style(prefix, fg=colour) + line.removeprefix(prefix)
    return line
