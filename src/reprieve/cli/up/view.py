"""What `reprieve up` shows while it runs: each decision in words as it is made and, on a terminal, how full it is."""

import asyncio
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reprieve.cli.figures import NodeUse, node_uses, of_all, shown_resources, waiting_pods
from reprieve.manifests.kinds import NODES, PODS
from reprieve.texts import cli as texts
from reprieve.texts import history
from reprieve.texts.parts import and_more

if TYPE_CHECKING:
    from reprieve.control_plane import ControlPlane

_EVERY = 0.3
_MOST_LINES = 20
_MOST_NODES = 12
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
            line = Text(history.decided(made["at"], made["message"]))
            line.stylize(_COLOURS.get(made["outcome"], ""))
            self._console.print(line, soft_wrap=True)
        if number > len(shown):
            self._console.print(Text(texts.more_decisions(number - len(shown))), soft_wrap=True)

    async def _table(self) -> Table:
        store = self._plane.store
        pods = [record.manifest for record in (await store.list(PODS)).records]
        uses = node_uses([record.manifest for record in (await store.list(NODES)).records], pods)
        running = sum(pod.status.phase == "Running" and not pod.terminating for pod in pods)
        leaving = sum(pod.terminating for pod in pods)
        return _nodes(uses, texts.how_it_stands(running, len(waiting_pods(pods)), leaving))


def _nodes(uses: list[NodeUse], caption: str) -> Table:
    names = shown_resources(uses)
    table = Table(caption=caption, caption_justify="left", pad_edge=False)
    for heading in ("node", *names.values()):
        table.add_column(heading, justify="left" if heading == "node" else "right", no_wrap=True)
    for use in sorted(uses, key=lambda use: -use.share("cpu"))[:_MOST_NODES] if len(uses) > _MOST_NODES else uses:
        table.add_row(Text(use.name), *(_cell(use, name) for name in names))
    if len(uses) > _MOST_NODES:
        table.add_row(Text(and_more(len(uses) - _MOST_NODES)))
    return table


def _cell(use: NodeUse, name: str) -> Text:
    share = use.share(name)
    return Text(of_all(use, name), style="red" if share > 0.95 else "yellow" if share > 0.7 else "")
