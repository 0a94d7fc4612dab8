"""The demonstration of `reprieve up --demo`: what each of the five policies does, in words and in a live table."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.live import Live

from reprieve.cli.options import BadUsage
from reprieve.demo.lines import show_command, show_line
from reprieve.demo.player import Player
from reprieve.demo.scenes import SCENES, classes
from reprieve.texts import demo as texts

if TYPE_CHECKING:
    from reprieve.control_plane import ControlPlane

SPEED = "REPRIEVE_DEMO_SPEED"
"""The environment variable that makes the demonstration so many times as fast."""
_FASTEST = 1000.0


async def play(plane: "ControlPlane", console: Console, *, speed: float | None = None, server: str = "") -> bool:
    """Play all scenes and sum up; whether all of them came to their end. `server`: where other commands have to ask."""
    speed = _speed(os.environ.get(SPEED, "")) if speed is None else speed
    with _shown(console) as show:
        player = Player(plane, console, speed, show)
        try:
            await player.prepare(classes(speed))
            lacks = [await player.play(number, scene) for number, scene in enumerate(SCENES, 1)]
        finally:
            player.close()
    _sum_up(console, player, [sentence for sentence in lacks if sentence], server)
    return not any(lacks)


def _speed(text: str) -> float:
    if not text:
        return 1.0
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= _FASTEST:
        raise BadUsage(texts.bad_speed(SPEED, text))
    return speed


@contextmanager
def _shown(console: Console) -> Iterator[Callable[[RenderableType], None]]:
    """On a terminal a table stays at the bottom while sentences pass above it."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda shown: live.update(shown, refresh=True)


def _sum_up(console: Console, player: Player, lacks: list[str], server: str) -> None:
    accounts = [account for scene in SCENES for account in player.accounts.of(scene)]
    lines = ["", texts.SUMMARY, *(f"  {account}" for account in accounts), *(f"  {sentence}" for sentence in lacks)]
    victim = next((unit for account in accounts for unit in account.victims), "")
    lines += ["", texts.TRY_NEXT if console.is_terminal else texts.TRY_ON_A_TERMINAL]
    for line in lines:
        show_line(console, line)
    for command in texts.commands(_program(), victim, server):
        show_command(console, f"  {command}")


def _program() -> str:
    """How this program is called from anywhere: by its name only where a shell would find that."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return shlex.join([sys.executable, "-m", "reprieve"])
    found = shutil.which(called.name)
    return called.name if found and Path(found).samefile(called) else shlex.quote(str(called.absolute()))
