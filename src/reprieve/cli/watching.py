"""Waiting for something, with a line on a terminal that says for what; and following all that changes."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import typer

from reprieve.cli.output import Form, TableText, as_text, print_name, print_object
from reprieve.cli.terminal import say
from reprieve.client.errors import Refused
from reprieve.manifests.reading import STDIN_NAME, Reading, listening
from reprieve.manifests.resource import Resource
from reprieve.model.backoff import Backoff
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
Change = tuple[str, Data]
LIST = "LIST"
Tell = Callable[[str], None]
_PAUSE = 0.5
_QUIET_SECONDS, _CHANGED_EVERY = 1.0, 0.1
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


@contextmanager
def reading_shown() -> Iterator[None]:
    """On a terminal, a line while something large or slow is read; whoever is to type is told how to end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    shown = _ReadingShown()
    with listening(shown.tell):
        try:
            yield
        finally:
            shown.tell(None)


class _ReadingShown:
    def __init__(self) -> None:
        self._next = time.monotonic() + _QUIET_SECONDS
        self._line: AbstractContextManager[Tell] | None = None
        self._change: Tell = lambda _: None
        self._typing = False

    def tell(self, reading: Reading | None) -> None:
        if reading is None:
            self._end()
        elif reading.name == STDIN_NAME and sys.stdin is not None and sys.stdin.isatty():
            self._ask()
        elif time.monotonic() > self._next:
            self._next = time.monotonic() + _CHANGED_EVERY
            self._show(_words(reading))

    # One line, that of whatever goes on at the moment

    def _ask(self) -> None:
        if not self._typing:
            typer.echo(texts.TYPING, err=True)
        self._typing = True

    def _show(self, text: str) -> None:
        if self._line is None:
            self._line = progress(text)
            self._change = self._line.__enter__()
        self._change(text)

    def _end(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.__exit__(None, None, None)


def _words(reading: Reading) -> str:
    if not reading.name:
        return texts.working(reading.done)
    return (texts.parsing if reading.understanding else texts.reading)(reading.name, reading.done, reading.total)


def pauses(timeout: float | None = None) -> Iterator[None]:
    """Ask again and again, less and less often; ends after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    for times in count(1):
        yield
        if end is not None and time.monotonic() >= end:
            return
        pause = _PAUSES.wait(times)
        time.sleep(pause if end is None else min(pause, max(0.0, end - time.monotonic())))


def follow(
    client: "Client", resource: Resource, namespace: str, *, labels: str = "", fields: str = "", table: bool = False
) -> Iterator[Change]:
    """All that is there as one `LIST`, then what happens; a `LIST` again when the version became too old to go on."""
    while True:
        if table:
            listing = client.table(resource, namespace, labels=labels, fields=fields, whole=True)
        else:
            listing = client.list(resource, namespace, labels=labels, fields=fields)
        yield LIST, listing
        since = listing["metadata"]["resourceVersion"]
        try:
            yield from _events(client, resource, namespace, since, labels=labels, fields=fields, table=table)
        except Refused as error:
            if not error.expired:
                raise


def _events(client: "Client", resource: Resource, namespace: str, since: str, **options: Any) -> Iterator[Change]:
    """Events without an end: a watch that the server ends is opened again where it was left."""
    while True:
        for kind, found in client.watch(resource, namespace, since=since, **options):
            since = found["metadata"].get("resourceVersion") or since
            if kind != "BOOKMARK":
                yield kind, found
        time.sleep(_PAUSE)


def show_changes(changes: Iterable[Change], table: TableText, form: Form) -> None:
    """Print each change as it comes, in the form that is wanted."""
    for kind, found in changes:
        if form in (Form.table, Form.wide):
            for line in table.lines(found):
                say(line)
            continue
        for each in found.get("items", []) if kind == LIST else [found]:
            _show(each, form)


def _show(each: Data, form: Form) -> None:
    if form is Form.name:
        print_name(each)
    elif form is Form.yaml:
        typer.echo(f"---\n{as_text(each, form)}")
    else:
        print_object(each, form)
