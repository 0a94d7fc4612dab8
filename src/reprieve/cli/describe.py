"""`reprieve describe`: one object, what holds of it, what happened to it, and its story."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.events import events_of, in_order
from reprieve.cli.explain.live import story_lines
from reprieve.cli.kinds import namespace_for, targets_in
from reprieve.cli.options import BadUsage, Namespace, Selector, Server, Token
from reprieve.cli.output import Form, TableText, as_text, columns
from reprieve.cli.terminal import say
from reprieve.client.errors import Refused
from reprieve.client.paths import LAST_APPLIED
from reprieve.manifests.kinds import EVENTS, written_name
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
Words = Annotated[list[str], typer.Argument(metavar="KIND[/NAME]", help="What to describe: `pod a`, or `pod/a job/b`.")]
_WIDTH = 20
_CONDITION_COLUMNS = ("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE")


def describe(
    words: Words, namespace: Namespace = None, selector: Selector = "", server: Server = None, token: Token = None
) -> None:
    """Show everything about an object: its fields and conditions, its events, and what the scheduler did with it.

    Exits with 1 when there is no such object.
    """
    blocks: list[str] = []
    with connected(server, token) as client:
        for target in targets_in(words):
            place = namespace_for(target.resource, namespace)
            if target.names and selector:
                raise BadUsage(texts.NAME_OR_SELECTOR)
            found = client.items(target.resource, place, labels=selector) if not target.names else []
            names = target.names or [item["metadata"]["name"] for item in found]
            blocks += ("\n".join(_described(client, target.resource, place, name)) for name in names)
    if blocks:
        say("\n\n\n".join(blocks))
    else:
        typer.echo(texts.none_found(namespace or "default"), err=True)


def _described(client: "Client", resource: Resource, namespace: str, name: str) -> Iterator[str]:
    table = client.table(resource, namespace, name, whole=True)
    row = table["rows"][0]
    data: Data = row["object"]
    yield from _header(table["columnDefinitions"], row["cells"], data)
    for part in ("spec", "data", "value", "status"):
        yield from _part(part, data.get(part))
    yield from _conditions(data)
    yield from _events(client, resource, namespace, name)
    yield from _story(client, written_name(resource.kind, namespace, name))


def _header(definitions: list[Data], cells: list[Any], data: Data) -> Iterator[str]:
    """What tables show of it, then what it carries."""
    metadata = data["metadata"]
    shown = {str(each["name"]): cell for each, cell in zip(definitions, cells, strict=True)}
    fields = {"Name": shown.pop("Name", metadata["name"])}
    if metadata.get("namespace"):
        fields["Namespace"] = metadata["namespace"]
    fields |= shown
    fields["Created"] = metadata.get("creationTimestamp", "")
    for owner in metadata.get("ownerReferences") or ():
        fields["Controlled By"] = f"{owner['kind']}/{owner['name']}"
    for name, value in fields.items():
        yield _field(name, value)
    yield from _pairs("Labels", metadata.get("labels") or {})
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    yield from _pairs("Annotations", annotations)


def _field(name: str, value: Any) -> str:
    return f"{name + ':':<{_WIDTH}}{value}".rstrip()


def _pairs(heading: str, pairs: Data) -> Iterator[str]:
    lines = [f"{key}={text}" for key, text in pairs.items()] or ["<none>"]
    for place, line in enumerate(lines):
        yield _field(heading, line) if not place else " " * _WIDTH + line


def _part(heading: str, part: Any) -> Iterator[str]:
    shown = {name: value for name, value in part.items() if name != "conditions"} if isinstance(part, dict) else part
    if not shown:
        return
    yield f"{heading.capitalize()}:"
    yield from (f"  {line}" for line in as_text(shown, Form.yaml).splitlines())


def _conditions(data: Data) -> Iterator[str]:
    status = data.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    if found:
        names = ("type", "status", "reason", "lastTransitionTime", "message")
        yield "Conditions:"
        rows = [[each.get(name, "") for name in names] for each in found]
        yield from columns(_CONDITION_COLUMNS, rows, indent=2)


def _events(client: "Client", resource: Resource, namespace: str, name: str) -> Iterator[str]:
    found = in_order(client.table(EVENTS, namespace, fields=events_of(resource, name), whole=True))
    yield "Events:" if found["rows"] else _field("Events", "<none>")
    if found["rows"]:
        yield from TableText(wide=False, namespaces=False, indent=2).lines(found)


def _story(client: "Client", unit: str) -> Iterator[str]:
    """What the scheduler did; servers that keep no history have nothing to tell."""
    try:
        story = client.story(unit)
    except Refused:
        return
    if story:
        yield "Story:"
        yield from story_lines(story)
