"""`reprieve get`: what is there."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.kinds import NamedObjects, namespace_for, targets_in
from reprieve.cli.options import AllNamespaces, BadUsage, FieldSelector, Namespace, Selector, Server, Token, Watching
from reprieve.cli.output import Form, Shape, TableText, as_list, print_name, print_object, typed
from reprieve.cli.show_queues import asks_for_queues, show_queues
from reprieve.cli.terminal import say
from reprieve.cli.watching import follow, show_changes
from reprieve.client.errors import Refused
from reprieve.client.paths import short_name
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KIND[/NAME]",
        help="Kinds as people type them: `pods`, `po,jobs`, `pods a b`, `pod/a job/b`; `all`: everything that runs.",
        show_default=False,
    ),
]
Raw = Annotated[
    str,
    typer.Option("--raw", metavar="PATH", help="What the server answers to this path, as it is: /apis/..., /metrics."),
]


class Question:
    """What is asked for, of which kinds, and where."""

    def __init__(self, namespace: str | None, *, everywhere: bool, labels: str, fields: str) -> None:
        self._namespace = namespace
        self.everywhere = everywhere
        self.labels = labels
        self.fields = fields
        self.missing: list[Refused] = []

    def place(self, target: NamedObjects) -> str:
        everywhere = self.everywhere and not target.names
        return namespace_for(target.resource, self._namespace, everywhere=everywhere)

    def tables(self, client: "Client", target: NamedObjects) -> list[Data]:
        place = self.place(target)
        if not target.names:
            return [client.table(target.resource, place, labels=self.labels, fields=self.fields)]
        found = (self._known(client.table, target.resource, place, name) for name in target.names)
        return [table for table in found if table is not None]

    def objects(self, client: "Client", target: NamedObjects) -> list[Data]:
        place, resource = self.place(target), target.resource
        if not target.names:
            items = client.items(resource, place, labels=self.labels, fields=self.fields)
            return [typed(item, resource) for item in items]
        found = (self._known(client.get, resource, name, place) for name in target.names)
        return [each for each in found if each is not None]

    def _known(self, ask: Any, *asked: Any) -> Data | None:
        """What there is of that name; what there is not is remembered, and does not hide the others."""
        try:
            found: Data = ask(*asked)
        except Refused as error:
            if not error.not_found:
                raise
            self.missing.append(error)
            return None
        return found

    def done(self) -> None:
        if self.missing:
            raise Refused("\n".join(str(error) for error in self.missing))


def get(
    what: What = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    field_selector: FieldSelector = "",
    output: Shape = Form.table,
    watch: Watching = False,
    raw: Raw = "",
    server: Server = None,
    token: Token = None,
) -> None:
    """List what a control plane has.

    Tables are those that kubectl prints; `-o wide` shows more columns. With json or yaml, one named object is printed
    as it is, and several as a List. `queues` are those of YuniKorn's configuration, and Kueue's LocalQueues. Exits with
    1 when something named is not there.
    """
    if raw or not what:
        return _print_raw(raw, what, server, token)
    targets = targets_in(what)
    question = Question(namespace, everywhere=all_namespaces, labels=selector, fields=field_selector)
    if any(target.names for target in targets) and (selector or field_selector):
        raise BadUsage(texts.NAME_OR_SELECTOR)
    if watch and (len(targets) != 1 or len(targets[0].names) > 1):
        raise BadUsage(texts.ONE_KIND_TO_WATCH)
    with connected(server, token) as client:
        if not watch and asks_for_queues(what):
            targets = show_queues(client, targets, question.place(targets[0]), output)
        if not targets:
            return None
        if watch:
            _watch(client, question, targets[0], output)
        elif output in (Form.table, Form.wide):
            _print_tables(client, question, targets, wide=output is Form.wide)
        else:
            _print_objects(client, question, targets, output)
    question.done()
    return None


def _print_raw(path: str, what: list[str] | None, server: str | None, token: str | None) -> None:
    if bool(path) == bool(what) or not path.startswith("/"):
        raise BadUsage(texts.KINDS_OR_PATH)
    with connected(server, token) as client:
        typer.echo(client.raw(path), nl=False)


def _print_tables(client: "Client", question: Question, targets: list[NamedObjects], *, wide: bool) -> None:
    blocks: list[str] = []
    for target in targets:
        resource = target.resource
        prefix = short_name(resource, "") if len(targets) > 1 else ""
        namespaces = question.everywhere and resource.namespaced and not target.names
        table = _joined(question.tables(client, target))
        if table["rows"]:
            text = TableText(wide=wide, namespaces=namespaces, prefix=prefix)
            blocks.append("\n".join(text.lines(table)))
    if blocks:
        say("\n\n".join(blocks))
    elif not question.missing:
        places = {question.place(target) for target in targets}
        typer.echo(texts.none_found(places.pop() if len(places) == 1 else ""), err=True)


def _joined(tables: list[Data]) -> Data:
    """Several tables of one kind as one."""
    definitions = tables[0]["columnDefinitions"] if tables else None
    return {"columnDefinitions": definitions, "rows": [row for table in tables for row in table.get("rows") or ()]}


def _print_objects(client: "Client", question: Question, targets: list[NamedObjects], form: Form) -> None:
    found = [each for target in targets for each in question.objects(client, target)]
    if form is Form.name:
        for each in found:
            print_name(each)
        return
    single = sum(len(target.names) for target in targets) == 1
    if not single:
        print_object(as_list(found), form)
    elif found:
        print_object(found[0], form)


def _watch(client: "Client", question: Question, target: NamedObjects, form: Form) -> None:
    fields = f"metadata.name={target.names[0]}" if target.names else question.fields
    as_table = form in (Form.table, Form.wide)
    changes = follow(
        client, target.resource, question.place(target), labels=question.labels, fields=fields, table=as_table
    )
    namespaces = question.everywhere and target.resource.namespaced and not target.names
    show_changes(changes, TableText(wide=form is Form.wide, namespaces=namespaces), form)
