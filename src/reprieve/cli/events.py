"""`reprieve events`: what happened, the latest last."""

from typing import Annotated, Any

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.kinds import namespace_for, unit_in
from reprieve.cli.options import AllNamespaces, Namespace, Server, Token, Watching
from reprieve.cli.output import Form, Shape, TableText, as_list, print_name, print_object, typed
from reprieve.cli.terminal import say
from reprieve.cli.watching import LIST, follow, show_changes
from reprieve.manifests.kinds import EVENTS
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts

Data = dict[str, Any]
For = Annotated[
    str | None, typer.Option("--for", metavar="KIND/NAME", help="Only what happened to this one, such as pod/a.")
]


def events(
    about: For = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    output: Shape = Form.table,
    watch: Watching = False,
    server: Server = None,
    token: Token = None,
) -> None:
    """Show what happened: who was scheduled, who had to make way and for whom, and why."""
    place, fields = _about(about, namespace, everywhere=all_namespaces)
    as_table = output in (Form.table, Form.wide)
    with connected(server, token) as client:
        found = follow(client, EVENTS, place, fields=fields, table=as_table)
        changes = ((kind, in_order(each) if kind == LIST else each) for kind, each in found)
        table = TableText(wide=output is Form.wide, namespaces=not place)
        if watch:
            return show_changes(changes, table, output)
        _, ordered = next(changes)
        if not (ordered.get("rows") or ordered.get("items")):
            typer.echo(texts.NO_EVENTS, err=True)
        elif as_table:
            say("\n".join(table.lines(ordered)))
        elif output is Form.name:
            for item in ordered["items"]:
                print_name(typed(item, EVENTS))
        else:
            print_object(as_list([typed(item, EVENTS) for item in ordered["items"]]), output)


def _about(about: str | None, namespace: str | None, *, everywhere: bool) -> tuple[str, str]:
    """The namespace of the events, and which of them are meant."""
    if about is None:
        return namespace_for(EVENTS, namespace, everywhere=everywhere), ""
    resource, place, name = unit_in(about, namespace)
    return place, events_of(resource, name)


def events_of(resource: Resource, name: str) -> str:
    """How events about an object are selected; those of nodes may be in any namespace."""
    return f"involvedObject.kind={resource.kind},involvedObject.name={name}"


def in_order(listing: Data) -> Data:
    """The same listing, the latest last."""
    if "rows" in listing:
        return {**listing, "rows": sorted(listing["rows"] or [], key=lambda row: seen(row["object"]))}
    return {**listing, "items": sorted(listing["items"], key=seen)}


def seen(event: Data) -> tuple[str, int]:
    moment = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or ""
    return str(moment)[:19], int(event["metadata"].get("resourceVersion") or 0)
