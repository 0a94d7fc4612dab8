"""Something that takes time is shown, on a terminal only, and gone when it is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from reprieve.model.backoff import Backoff

Tell = Callable[[str], None]
_PAUSES = Backoff(first=0.05, longest=1.0, factor=1.5)


@contextmanager
def progress(text: str) -> Iterator[Tell]:
    """A spinner with a line beside it; call what is given to change the line."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(text)) as status:
        yield lambda changed: status.update(escape(changed))


def pauses(timeout: float | None = None) -> Iterator[None]:
    """Ask again and again, less and less often; ends after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    for times in count(1):
        yield
        if end is not None and time.monotonic() >= end:
            return
        pause = _PAUSES.wait(times)
        time.sleep(pause if end is None else min(pause, max(0.0, end - time.monotonic())))
