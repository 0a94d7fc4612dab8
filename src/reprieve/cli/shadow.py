"""`reprieve shadow report`: does the scheduler of a cluster decide as Reprieve would?"""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from reprieve.cli.connecting import SERVER, connected
from reprieve.cli.options import BadUsage, Format, Output, Server, Token
from reprieve.cli.output import Form, columns, print_object
from reprieve.cli.run import DEFAULT_PORT
from reprieve.cli.terminal import say
from reprieve.texts import shadow as texts

Data = dict[str, Any]
_MOST = 1000
HistoryFile = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="The file that `reprieve run --shadow --history FILE` writes."),
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=_MOST, help="Show so many disagreements, the last ones.")
]


def report(
    history: HistoryFile = None,
    limit: Limit = 20,
    output: Format = Output.text,
    server: Server = None,
    token: Token = None,
) -> None:
    """Show how often another scheduler decided as Reprieve in shadow would have, and each time that it did not.

    Asks the `reprieve run --shadow` on this machine, the one that --server names, or reads the file that --history
    names.
    """
    if history is not None and server is not None:
        raise BadUsage(texts.ONE_SOURCE)
    found = _from_file(history, limit) if history is not None else _from_server(server, token, limit)
    if output is Output.json:
        print_object(found, Form.json)
    else:
        say("\n".join(_lines(found)))


def _from_file(path: Path, limit: int) -> Data:
    # Imported here: no other verb needs it.
    from reprieve.scheduler.history.comparisons import report_in

    try:
        return report_in(path, limit)
    except sqlite3.Error as error:
        raise BadUsage(texts.unreadable(str(path), str(error))) from error


def _from_server(server: str | None, token: str | None, limit: int) -> Data:
    running = server or os.environ.get(SERVER) or f"http://127.0.0.1:{DEFAULT_PORT}"
    with connected(running, token) as client:
        return client.agreement(limit)


def _lines(found: Data) -> Iterator[str]:
    counted = found["agreement"]
    if not counted:
        yield texts.NOTHING_SEEN
        return
    for policy in dict.fromkeys(each["policy"] for each in counted):
        yield texts.agreement(policy, {each["result"]: each["count"] for each in counted if each["policy"] == policy})
    yield ""
    rows = [(each["policy"], each["result"], each["count"], texts.meaning(each["result"])) for each in counted]
    yield from columns(texts.COLUMNS, rows)
    for each in found["disagreements"]:
        yield ""
        yield texts.disagreement(each["at"], each["unit"], each["result"])
        yield texts.answer("the other", each["other"]["nodes"], each["other"]["victims"], each["other"]["message"])
        yield texts.answer("Reprieve", each["own"]["nodes"], each["own"]["victims"], each["own"]["message"])
