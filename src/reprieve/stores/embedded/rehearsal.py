"""Writing without consequences: everything is checked and answered as if it were done, and nothing is."""

from reprieve.stores.embedded.writer import Writer
from reprieve.stores.records import WatchEvent


class Rehearsal(Writer):
    """A writer that shares all that another one knows, and stops where that one would commit."""

    def __init__(self, writer: Writer) -> None:
        vars(self).update(vars(writer))

    def commit(self, events: list[WatchEvent]) -> None:
        """Nothing becomes of it."""
