"""`reprieve top`: how full nodes, queues and member clusters are, who holds most, and who waits."""

import textwrap
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Protocol

import typer

from reprieve.cli import figures, queue_trees
from reprieve.cli.clusters import ClusterAsked
from reprieve.cli.connecting import connected
from reprieve.cli.kinds import namespace_for
from reprieve.cli.options import (
    AllNamespaces,
    BadUsage,
    Context,
    Kubeconfig,
    Namespace,
    OptionalFiles,
    Selector,
    Server,
    Token,
)
from reprieve.cli.output import Form, Shape, columns, on_terminal, print_object
from reprieve.cli.terminal import say
from reprieve.manifests.core import Node
from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_QUEUES,
    CLUSTERS,
    CONFIG_MAPS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    READERS,
)
from reprieve.manifests.pods import Pod, pod_requests
from reprieve.manifests.priorities import BUILT_IN
from reprieve.manifests.resource import Resource
from reprieve.texts import cli as texts
from reprieve.texts import clusters
from reprieve.texts.parts import and_more

Block = tuple[str, tuple[str, ...], list[list[str]]]
_LOOKED_AT = (
    *(NODES, PODS, PRIORITY_CLASSES, CLUSTER_QUEUES, QUOTA_WORKLOADS),
    *(CLUSTERS, BINDINGS, CLUSTER_BINDINGS, CONFIG_MAPS),
)
_EVERY = 2.0
_MOST_WAITING = 20
_LONGEST_WHY = 90


class ObjectSource(Protocol):
    """Who has the objects: a control plane, or a cluster that was looked at."""

    def items(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[dict[str, Any]]: ...


Trees = Callable[[], list[dict[str, Any]]]
"""YuniKorn's queues, wherever the objects are."""


class Subject(StrEnum):
    nodes = "nodes"
    pods = "pods"
    queues = "queues"
    clusters = "clusters"


What = Annotated[
    Subject | None,
    typer.Argument(metavar="nodes|pods|queues|clusters", help="Only these; else everything at a glance."),
]
_EVERYWHERE = (None, Subject.clusters)
"""What is looked at in all namespaces, unless one is named."""
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")]


def top(
    what: What = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    output: Shape = Form.table,
    watch: Watch = False,
    filename: OptionalFiles = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Show how full nodes, queues and member clusters are, and who waits.

    Everything is counted as requested, as the scheduler does. Pods are those of the namespace, or with -A of all. With
    --context, of any Kubernetes cluster, which is only looked at; with -f, the queues that manifests configure.
    """
    if output in (Form.name, Form.yaml) or (watch and output is Form.json):
        raise BadUsage(texts.TABLE_OR_JSON)
    everywhere = all_namespaces or (namespace is None and what in _EVERYWHERE)
    cluster = ClusterAsked(kubeconfig, context)
    if filename:
        if what is not Subject.queues or cluster or server or watch:
            raise BadUsage(texts.QUEUES_OF_FILES)
        trees = queue_trees.trees_of_files(filename)
        return _show(lambda: iter([_tree(trees)]), output, watch=False)
    if cluster:
        if server:
            raise BadUsage(clusters.CLUSTER_OR_SERVER)

        def looked() -> Iterator[Block]:
            found = cluster.look(_LOOKED_AT)
            place = namespace_for(PODS, namespace or found.namespace, everywhere=everywhere)
            return _blocks(found, what, place, selector, lambda: queue_trees.trees_of_cluster(found))

        return _show(looked, output, watch=watch)
    with connected(server, token) as client:
        place = namespace_for(PODS, namespace, everywhere=everywhere)
        return _show(lambda: _blocks(client, what, place, selector, client.queue_trees), output, watch=watch)


def _show(blocks: Callable[[], Iterator[Block]], output: Form, *, watch: bool) -> None:
    if watch:
        _again_and_again(lambda: _text(blocks()))
    elif output is Form.json:
        print_object(_data(blocks()), output)
    else:
        say(_text(blocks()))


def _blocks(client: ObjectSource, what: Subject | None, namespace: str, labels: str, trees: Trees) -> Iterator[Block]:
    if what in (None, Subject.nodes):
        yield _nodes(client, labels if what else "")
        missing = _missing_classes(client)
        if missing[2]:
            yield missing
    if what is Subject.pods:
        yield _pods(client, namespace, labels)
    if what in (None, Subject.queues):
        tree, queues = _tree(trees()), _queues(client)
        if tree[2]:
            yield tree
        if queues[2] or (what is Subject.queues and not tree[2]):
            yield queues
    if what in (None, Subject.clusters):
        clusters = _clusters(client)
        if clusters[2] or what is Subject.clusters:
            yield clusters
    if what in (None, Subject.clusters):
        waiting = _waiting_bindings(client, namespace)
        yield _told(waiting if what else [*_waiting(client, namespace), *waiting])


def _nodes(client: ObjectSource, labels: str) -> Block:
    nodes: list[Node] = [_typed("Node", item) for item in client.items(NODES, labels=labels)]
    uses = figures.node_uses(nodes, [_typed("Pod", item) for item in client.items(PODS)])
    names = figures.shown_resources(uses)
    headings = ("NODE", "STATUS", *(heading.upper() for heading in names.values()))
    rows = [
        [use.name, "Ready" if use.ready else "NotReady", *(figures.of_all(use, name) for name in names)] for use in uses
    ]
    return "nodes", headings, rows


def _missing_classes(client: ObjectSource) -> Block:
    known = {*BUILT_IN, *(item["metadata"]["name"] for item in client.items(PRIORITY_CLASSES))}
    rows = figures.missing_classes((_typed("Pod", item) for item in client.items(PODS)), known)
    return "missingClasses", ("MISSING PRIORITYCLASS", "NAMED BY", "HIGHER PODS CANNOT PREEMPT ON"), rows


def _pods(client: ObjectSource, namespace: str, labels: str) -> Block:
    pods: list[Pod] = [_typed("Pod", item) for item in client.items(PODS, namespace, labels=labels)]
    held = [(pod_requests(pod.spec), pod) for pod in pods if pod.spec.node_name and not pod.finished]
    held.sort(key=lambda each: (-each[0].of("cpu"), -each[0].of("memory"), each[1].namespace, each[1].name))
    rows = [
        [pod.namespace, pod.name, pod.spec.node_name, str(pod.spec.priority or 0)]
        + [figures.so_much(name, requests.of(name)) for name in ("cpu", "memory", figures.GPU)]
        for requests, pod in held
    ]
    return "pods", ("NAMESPACE", "POD", "NODE", "PRIORITY", "CPU", "MEMORY", "GPU"), rows


def _tree(trees: list[dict[str, Any]]) -> Block:
    """Those of YuniKorn, from root down."""
    return "queueTree", queue_trees.HEADINGS, queue_trees.rows(trees)


def _queues(client: ObjectSource) -> Block:
    """Those of Kueue."""
    rows = [row for queue in client.items(CLUSTER_QUEUES) for row in figures.queue_rows(queue)]
    return "queues", ("QUEUE", "FLAVOR", "RESOURCE", "USED", "BORROWED", "ADMITTED", "PENDING"), rows


def _clusters(client: ObjectSource) -> Block:
    from reprieve.cli.cluster_figures import bindings_in, cluster_uses  # with the policies, which other verbs can spare

    uses = cluster_uses(_typed("Cluster", item, CLUSTERS.api_version) for item in client.items(CLUSTERS))
    names = {name: heading for name, heading in figures.shown_resources(uses).items() if name != "pods"}
    bindings = [*client.items(BINDINGS), *client.items(CLUSTER_BINDINGS)]
    headings = ("CLUSTER", "STATUS", *(heading.upper() for heading in names.values()), "BINDINGS", "LEAVING")
    rows = [
        [use.name, use.status, *(figures.of_all(use, name) for name in names), *bindings_in(use.name, bindings)]
        for use in uses
    ]
    return "clusters", headings, rows


def _waiting_bindings(client: ObjectSource, namespace: str) -> list[figures.WaitingUnit]:
    """Bindings that wait; those of the whole control plane where all namespaces are looked at."""
    from reprieve.cli.cluster_figures import waiting_bindings

    found = [(BINDINGS, item) for item in client.items(BINDINGS, namespace)]
    found += [(CLUSTER_BINDINGS, item) for item in client.items(CLUSTER_BINDINGS)] if not namespace else []
    return waiting_bindings(_typed(resource.kind, item, resource.api_version) for resource, item in found)


def _waiting(client: ObjectSource, namespace: str) -> list[figures.WaitingUnit]:
    pods = figures.waiting_pods(_typed("Pod", item) for item in client.items(PODS, namespace))
    return [*figures.waiting_workloads(client.items(QUOTA_WORKLOADS, namespace)), *pods]


def _told(found: list[figures.WaitingUnit]) -> Block:
    rows = [[each.namespace, each.unit, str(each.priority), _since(each), _short(each.why)] for each in found]
    if len(rows) > _MOST_WAITING:
        rows = [*rows[:_MOST_WAITING], ["", and_more(len(rows) - _MOST_WAITING), "", "", ""]]
    return "waiting", ("NAMESPACE", "WAITING", "PRIORITY", "SINCE", "WHY"), rows


def _since(each: figures.WaitingUnit) -> str:
    try:
        seconds = int((datetime.now(UTC) - datetime.fromisoformat(each.since)).total_seconds())
    except (ValueError, TypeError):
        return ""
    minutes, seconds = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m" if hours else f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _short(why: str) -> str:
    """As many whole words as a table has room for."""
    return textwrap.shorten(why, _LONGEST_WHY, placeholder=" …")


def _typed(kind: str, item: dict[str, Any], version: str = "v1") -> Any:
    return READERS[version, kind].convert({"apiVersion": version, "kind": kind, **item})


def _text(blocks: Iterator[Block]) -> str:
    shown = (columns(headings, rows) if rows else [texts.none_of(name)] for name, headings, rows in blocks)
    return "\n\n".join("\n".join(lines) for lines in shown)


def _data(blocks: Iterator[Block]) -> dict[str, list[dict[str, str]]]:
    """For other programs: the same cells, by the headings in small letters."""
    return {
        name: [dict(zip([each.lower() for each in headings], row, strict=True)) for row in rows]
        for name, headings, rows in blocks
    }


def _again_and_again(text: Any) -> None:
    if not on_terminal():
        while True:
            typer.echo(text() + "\n")
            time.sleep(_EVERY)
    from rich.live import Live
    from rich.text import Text

    with Live(Text(text()), auto_refresh=False, screen=False) as live:
        while True:
            time.sleep(_EVERY)
            live.update(Text(text()), refresh=True)
