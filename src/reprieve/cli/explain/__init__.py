"""`reprieve explain`: why is it pending, why was it preempted, why not somebody else?"""

from typing import Annotated

import typer

from reprieve.cli.clusters import ClusterAsked
from reprieve.cli.connecting import connected
from reprieve.cli.explain.files import explain_files
from reprieve.cli.explain.live import explain_live
from reprieve.cli.options import (
    BadUsage,
    Config,
    Context,
    Gates,
    Kubeconfig,
    Namespace,
    Now,
    OptionalFiles,
    Search,
    Server,
    Token,
    settings_from,
)
from reprieve.cli.output import Form, print_object, print_warnings
from reprieve.cli.plan import Format, PlanOutput
from reprieve.cli.terminal import say
from reprieve.texts import cli as texts
from reprieve.texts import clusters

Unit = Annotated[
    str | None,
    typer.Argument(
        metavar="KIND/NAMESPACE/NAME",
        help="The unit to explain, such as pod/default/a. Without files also job/a, or a name that only one unit has.",
    ),
]
For = Annotated[str | None, typer.Option("--for", metavar="KIND/NAMESPACE/NAME", help="The same, as an option.")]
WhyNot = Annotated[
    str | None,
    typer.Option("--why-not", metavar="KIND/NAMESPACE/NAME", help="Say why this one does not make way for the unit."),
]
Uid = Annotated[
    str, typer.Option("--uid", metavar="UID", help="Of several that had this name one after the other, this one.")
]


def explain(
    unit: Unit = None,
    filename: OptionalFiles = None,
    about: For = None,
    why_not: WhyNot = None,
    uid: Uid = "",
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    search: Search = None,
    output: Format = PlanOutput.text,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Explain what happens, or what happened, to a unit.

    With files: for a pending unit, why it is pending and what would help; for a running one, whether it has to make
    way, for whom, and by which rule; or why it is safe. Without files: what a control plane decided about it, when and
    why, and its whole story; also of what is gone. With --context: a unit of any Kubernetes cluster, which is only
    looked at, and what its events tell of preemptions. With --why-not: why another unit is spared. Exits with 2 when
    the input cannot be used.
    """
    asked = unit or about
    if asked is None or (unit and about):
        raise BadUsage(texts.WHICH_UNIT)
    cluster = ClusterAsked(kubeconfig, context, config, feature_gates, search)
    if cluster:
        _refuse_with_cluster(filename, uid, server, output)
        from reprieve.cli.explain.cluster import explain_cluster

        lines, warnings = explain_cluster(cluster, asked, why_not, namespace, now)
        print_warnings(warnings)
        say("\n".join(lines))
        return
    if filename:
        if output is not PlanOutput.text:
            raise BadUsage(texts.NO_STRUCTURE)
        if uid:
            raise BadUsage(texts.NO_UID_IN_FILES)
        lines, warnings = explain_files(filename, asked, why_not, now, settings_from(config, feature_gates, search))
        print_warnings(warnings)
        say("\n".join(lines))
        return
    if now or config or feature_gates or search:
        raise BadUsage(texts.FILES_ONLY)
    with connected(server, token) as client:
        told, text = explain_live(client, asked, why_not, namespace, uid)
    if output is PlanOutput.text:
        say(text)
    else:
        print_object(told, Form(output.value))


def _refuse_with_cluster(filename: list[str] | None, uid: str, server: str | None, output: PlanOutput) -> None:
    said = {
        clusters.CLUSTER_OR_SERVER: server,
        clusters.CLUSTER_OR_FILES: filename,
        clusters.NO_UID: uid,
        texts.NO_STRUCTURE: output is not PlanOutput.text,
    }
    for mistake, made in said.items():
        if made:
            raise BadUsage(mistake)
