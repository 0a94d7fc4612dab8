"""How objects look in a terminal and in pipes: tables as kubectl prints them, JSON, YAML, names."""

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer
import yaml

from reprieve.cli.terminal import say, width
from reprieve.client.paths import short_name
from reprieve.manifests.kinds import resource_of
from reprieve.manifests.problems import Problem
from reprieve.manifests.reading import told
from reprieve.manifests.resource import Resource
from reprieve.texts import layout
from reprieve.texts.questions import more_warnings

Data = dict[str, Any]
_GAP = 3
_NO_WRAPPING = 10_000
_MOST_WARNINGS = 20


class Form(StrEnum):
    """How objects of a server are printed."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


Shape = Annotated[
    Form, typer.Option("--output", "-o", metavar="table|wide|json|yaml|name", help="How to print what is found.")
]


def columns(header: Sequence[str], rows: Iterable[Sequence[Any]], *, indent: int = 0) -> list[str]:
    """Lines of a table, as wide as needed, with as many columns as there is room for."""
    cells = [[plain(cell) for cell in row] for row in rows]
    room = width()
    chosen = layout.choose(header, cells, room and room - indent, gap=_GAP)
    return [" " * indent + line for row in (header, *cells) for line in layout.lines_of(row, chosen, gap=_GAP)]


def plain(cell: Any) -> str:
    """One line, and nothing that a terminal would obey."""
    text = "" if cell is None else str(cell)
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


class TableText:
    """Server-side tables as text; one after the other they keep their columns, so that a watch stays readable."""

    def __init__(self, *, wide: bool, namespaces: bool, prefix: str = "", indent: int = 0) -> None:
        self._indent = indent
        self._header: list[str] = []
        self._wide = wide
        self._namespaces = namespaces
        self._prefix = prefix
        self._shown: list[int] = []
        self._name = 0
        self._widths: Sequence[int] = ()

    def lines(self, table: Data) -> list[str]:
        """The rows of a table, with its headings where it has any."""
        definitions = table.get("columnDefinitions")
        header = self._headings(definitions) if definitions else []
        self._header = header or self._header
        rows = [[plain(cell) for cell in self._cells(row)] for row in table.get("rows") or ()]
        room = width()
        chosen = layout.choose(self._header, rows, room and room - self._indent, gap=_GAP, least=self._widths)
        self._widths = chosen.widths
        shown = [header, *rows] if header else rows
        return [" " * self._indent + line for row in shown for line in layout.lines_of(row, chosen, gap=_GAP)]

    def _headings(self, definitions: list[Data]) -> list[str]:
        self._shown = [place for place, each in enumerate(definitions) if self._wide or not each.get("priority")]
        self._name = next((place for place, each in enumerate(definitions) if each.get("format") == "name"), -1)
        first = ["NAMESPACE"] if self._namespaces else []
        return first + [str(definitions[place]["name"]).upper() for place in self._shown]

    def _cells(self, row: Data) -> list[Any]:
        cells = [
            f"{self._prefix}{row['cells'][place]}" if place == self._name else row["cells"][place]
            for place in self._shown
        ]
        namespace = row.get("object", {}).get("metadata", {}).get("namespace", "")
        return [namespace, *cells] if self._namespaces else cells


def print_object(data: Any, form: Form) -> None:
    """Plain data as JSON or YAML."""
    told(None)
    typer.echo(as_text(data, form))


def as_text(data: Any, form: Form) -> str:
    if form is Form.yaml:
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_NO_WRAPPING).rstrip()
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


def print_name(data: Data) -> None:
    resource = resource_of(data.get("apiVersion", ""), data.get("kind", ""))
    name = str(data["metadata"]["name"])
    typer.echo(short_name(resource, name) if resource is not None else name)


def as_list(items: Sequence[Data]) -> Data:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


def typed(data: Data, resource: Resource) -> Data:
    """An item of a list, which need not say what it is, saying it."""
    return {"apiVersion": data.get("apiVersion") or resource.api_version, "kind": resource.kind, **data}


def on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def print_warnings(warnings: Sequence[Problem]) -> None:
    """What is odd about the input, beside the answer and not in its way."""
    for problem in warnings[:_MOST_WARNINGS]:
        say(f"warning: {problem}", err=True)
    if len(warnings) > _MOST_WARNINGS:
        say(f"warning: {more_warnings(len(warnings) - _MOST_WARNINGS)}", err=True)
