"""A control plane over a store of its own, all in this process.

`reprieve up` opens one on a directory and the clock of this machine; tests and simulations open one in memory and in
virtual time.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane
from reprieve.model.clock import Clock
from reprieve.scheduler.history import History
from reprieve.stores.embedded.store import EmbeddedStore

STORE_FILE = "store.db"
HISTORY_FILE = "history.db"


def open_plane(
    directory: Path | None, clock: Clock, settings: Settings, *, seed: int | None = None, **options: Any
) -> ControlPlane:
    """On a directory, or (None) in memory; `seed` makes names and uids the same each time."""
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as opened:
        durable = settings.store.synchronous == "Full"
        store = EmbeddedStore.open(_file(directory, STORE_FILE), clock, seed=seed, durable=durable)
        opened.callback(store.close)
        history = History(_file(directory, HISTORY_FILE), clock)
        opened.callback(history.close)
        return ControlPlane(store, history, clock, settings, close=opened.pop_all().close, **options)


def _file(directory: Path | None, name: str) -> Path | str:
    return ":memory:" if directory is None else directory / name
