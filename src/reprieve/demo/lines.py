"""Lines on a console, of the demonstration and of whatever else `reprieve up` tells."""

from rich.console import Console
from rich.text import Text

from reprieve.texts.layout import wrapped

_GOES_ON = " \\"


def show_line(console: Console, line: str, style: str = "") -> None:
    """Print a line: on a terminal in as many as it takes, with no word broken."""
    for part in wrapped(line, console.width if console.is_terminal else None):
        console.print(Text(part, style=style), soft_wrap=True)


def show_command(console: Console, command: str) -> None:
    """Print a command that can be copied as it stands: a shell takes lines that end in a backslash for one."""
    *parts, last = wrapped(command, console.width - len(_GOES_ON) if console.is_terminal else None)
    for part in (*(f"{part}{_GOES_ON}" for part in parts), last):
        console.print(Text(part), soft_wrap=True)
