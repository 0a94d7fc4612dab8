"""`reprieve get queues`: YuniKorn's queues, which are no objects. Kueue's LocalQueues are called queues, too."""

from typing import TYPE_CHECKING, Any

from reprieve.cli import queue_trees
from reprieve.cli.kinds import NamedObjects
from reprieve.cli.output import Form, columns, print_object
from reprieve.cli.terminal import say
from reprieve.client.errors import Refused
from reprieve.manifests.kinds import LOCAL_QUEUES
from reprieve.manifests.yunikorn import ROOT
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]


def asks_for_queues(what: list[str]) -> bool:
    """Whether the words name queues and nothing else: `queues`, `queue root.a`, `queue/root.a queue/root.b`."""
    kinds = {word.partition("/")[0].lower() for word in what if "/" in word} or {what[0].lower()}
    return kinds <= {"queue", "queues"}


def show_queues(client: "Client", targets: list[NamedObjects], namespace: str, form: Form) -> list[NamedObjects]:
    """Print the queues that are asked for; what is left to be shown may be LocalQueues."""
    trees = client.queue_trees()
    if not trees:
        return targets
    names = [name for target in targets for name in target.names]
    mine = [name for name in names if name.lower().partition(".")[0] == ROOT]
    if names and not mine:
        return targets
    _print([_named(trees, name) for name in mine] or trees, form)
    if mine:
        return _without(targets, mine)
    return targets if client.items(LOCAL_QUEUES, namespace) and _shows_more(form) else []


def _named(trees: list[Data], name: str) -> Data:
    known = {queue["queuename"]: queue for _, queue in queue_trees.walk(trees)}
    if name.lower() not in known:
        raise Refused(texts.no_queue_of(name, list(known)))
    return known[name.lower()]


def _without(targets: list[NamedObjects], mine: list[str]) -> list[NamedObjects]:
    left = [target._replace(names=tuple(each for each in target.names if each not in mine)) for target in targets]
    return [target for target in left if target.names]


def _shows_more(form: Form) -> bool:
    """LocalQueues stand below, in a table of their own; as JSON or YAML they would be a second document."""
    if form in (Form.table, Form.wide):
        say("")
    elif form is not Form.name:
        say(texts.LOCAL_QUEUES_TOO, err=True)
        return False
    return True


def _print(found: list[Data], form: Form) -> None:
    if form in (Form.table, Form.wide):
        say("\n".join(columns(queue_trees.IN_SHORT, queue_trees.short_rows(found))))
    elif form is Form.name:
        say("\n".join(f"queue/{queue['queuename']}" for _, queue in queue_trees.walk(found)))
    else:
        print_object(found[0] if len(found) == 1 else found, form)
