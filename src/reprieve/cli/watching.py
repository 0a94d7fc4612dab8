"""Waiting for something, with a line on a terminal that says for what; and following all that changes."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import typer

from reprieve.cli.output import Form, TableText, as_text, print_name, print_object
from reprieve.client.errors import Refused
from reprieve.manifests.resource import Resource
from reprieve.model.backoff import Backoff

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
Change = tuple[str, Data]
LIST = "LIST"
Tell = Callable[[str], None]
_PAUSE = 0.5
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
                typer.echo(line)
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
