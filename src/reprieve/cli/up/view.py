"""What `reprieve up` shows while it runs: each decision in words as it is made and, on a terminal, how full it is."""

import asyncio
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reprieve.cli.figures import NodeUse, node_uses, of_all, shown_resources, waiting_pods
from reprieve.demo.lines import show_line
from reprieve.manifests.kinds import NODES, PODS
from reprieve.texts import cli as texts
from reprieve.texts import history, layout
from reprieve.texts.parts import and_more

if TYPE_CHECKING:
    from reprieve.control_plane import ControlPlane

_EVERY = 0.3
_MOST_LINES = 20
_MOST_NODES = 12
_BORDERS, _EDGES = 3, 2
_AT_MOST_OF_THE_TIME = 0.05
_COLOURS = {"Preempt": "yellow", "Unschedulable": "red", "Wait": "cyan"}


class LiveView:
    """Shows until it is cancelled: all that is decided after it was made."""

    def __init__(self, plane: "ControlPlane", console: Console) -> None:
        self._plane = plane
        self._console = console
        self._last = self._newest()

    def _newest(self) -> int:
        found = self._plane.history.decisions(limit=1)
        return int(found[0]["id"]) if found else 0

    async def run(self) -> None:
        if self._console.is_terminal:
            await self._live()
            return
        while True:
            self._print_decisions()
            await asyncio.sleep(_EVERY)

    async def _live(self) -> None:
        """A table stays at the bottom; it is drawn less often where working it out takes long."""
        due = 0.0
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while True:
                self._print_decisions()
                began = time.monotonic()
                if began >= due:
                    live.update(await self._table(), refresh=True)
                    took = time.monotonic() - began
                    due = began + max(1.0, took / _AT_MOST_OF_THE_TIME)
                await asyncio.sleep(_EVERY)

    def _print_decisions(self) -> None:
        newest = self._newest()
        number, self._last = max(0, newest - self._last), max(newest, self._last)
        shown = self._plane.history.decisions(limit=min(number, _MOST_LINES)) if number else []
        for made in reversed(shown):
            show_line(self._console, history.decided(made["at"], made["message"]), _COLOURS.get(made["outcome"], ""))
        if number > len(shown):
            show_line(self._console, texts.more_decisions(number - len(shown)))

    async def _table(self) -> Table:
        store = self._plane.store
        pods = [record.manifest for record in (await store.list(PODS)).records]
        uses = node_uses([record.manifest for record in (await store.list(NODES)).records], pods)
        running = sum(pod.status.phase == "Running" and not pod.terminating for pod in pods)
        leaving = sum(pod.terminating for pod in pods)
        caption = texts.how_it_stands(running, len(waiting_pods(pods)), leaving)
        return _nodes(uses, caption, self._console.width)


def _nodes(uses: list[NodeUse], caption: str, width: int) -> Table:
    """As many columns as there is room for."""
    fullest = sorted(uses, key=lambda use: -use.share("cpu"))[:_MOST_NODES] if len(uses) > _MOST_NODES else uses
    resources = shown_resources(uses)
    made = [[Text(use.name), *(_cell(use, name) for name in resources)] for use in fullest]
    headings = ("node", *resources.values())
    chosen = layout.choose(headings, [[str(cell) for cell in row] for row in made], width - _EDGES, gap=_BORDERS)
    table = Table(caption=caption, caption_justify="left", pad_edge=False)
    for place in chosen.shown:
        table.add_column(headings[place], justify="right" if place else "left", no_wrap=True)
    for row in made:
        table.add_row(*(row[place] for place in chosen.shown))
    if len(uses) > _MOST_NODES:
        table.add_row(Text(and_more(len(uses) - _MOST_NODES)))
    return table


def _cell(use: NodeUse, name: str) -> Text:
    share = use.share(name)
    return Text(of_all(use, name), style="red" if share > 0.95 else "yellow" if share > 0.7 else "")
