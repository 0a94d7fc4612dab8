"""`reprieve plan`: who would have to make way?"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from reprieve import texts
from reprieve.cli.clusters import ClusterAsked, compare_cluster, plan_cluster
from reprieve.cli.connecting import connected
from reprieve.cli.manifests import read_plain
from reprieve.cli.options import (
    BadUsage,
    Config,
    Context,
    Gates,
    Kubeconfig,
    Now,
    OptionalFiles,
    Server,
    Token,
    settings_from,
)
from reprieve.cli.output import Form, print_object, print_warnings
from reprieve.cli.show import MOST_IN_FULL, show_result
from reprieve.cli.show_changes import show_comparison
from reprieve.cli.terminal import say
from reprieve.manifests.loading import load
from reprieve.planning.change import Change, read_change
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import decide
from reprieve.planning.questions import asked_of, moment_of
from reprieve.planning.result import Result
from reprieve.planning.what_if import what_if
from reprieve.texts import cli as words
from reprieve.texts import clusters


class PlanOutput(StrEnum):
    text = "text"
    json = "json"
    yaml = "yaml"


For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="KIND/NAMESPACE/NAME",
        help="Decide for this one unit. Without it: one cycle over all that is pending.",
    ),
]
Format = Annotated[
    PlanOutput, typer.Option("--output", "-o", metavar="text|json|yaml", help="How to print the answer.")
]


Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Decide over what the control plane has. With -f: what these manifests would change about it; with --for "
        "too, the decision for that unit as if they were there.",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="FILE|DIR|-",
        help="Show what is different with these manifests or settings, in place of those of the same name. Repeatable.",
    ),
]
Deletions = Annotated[
    list[str] | None,
    typer.Option(
        "--delete", metavar="KIND/NAMESPACE/NAME", help="Show what is different without this object. Repeatable."
    ),
]


def plan(
    filename: OptionalFiles = None,
    unit: For = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    output: Format = PlanOutput.text,
    change: Changes = None,
    delete: Deletions = None,
    live: Live = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Show who would have to make way, where, and why.

    Reads native manifests and changes nothing. With --live or --server, decides over what a control plane has. With
    --context or --kubeconfig, over any Kubernetes cluster, which is only looked at: who would make way there for what
    the files come to, such as the pods of a Job; without files, for all that is pending. With
    --change or --delete, shows what is different after a change: who is newly preemptible or newly safe, what no longer
    fits, and which pending units would start or preempt. Exits with 0 when a decision was made, whatever it is, and
    with 2 when the input cannot be used.
    """
    changes = bool(change or delete)
    if changes and unit:
        raise BadUsage(words.CHANGE_OR_UNIT)
    cluster = ClusterAsked(kubeconfig, context, config, feature_gates)
    if cluster:
        if live or server:
            raise BadUsage(clusters.CLUSTER_OR_SERVER)
        if changes:
            wanted = read_change([*(filename or ()), *(change or ())], delete or ())
            return _show_comparison(compare_cluster(cluster, wanted, now), output)
        return _show_result(plan_cluster(cluster, filename or [], unit, now, _in_full(output)), output)
    if live or server:
        if config or feature_gates:
            raise BadUsage(words.SETTINGS_OF_THE_SERVER)
        if changes or (filename and not unit):
            _compare_live(read_change([*(filename or ()), *(change or ())], delete or ()), now, output, server, token)
        else:
            _plan_live(filename or [], unit, now, output, server, token)
        return None
    if not filename:
        raise BadUsage(words.FILES_OR_LIVE)
    settings = settings_from(config, feature_gates)
    if changes:
        wanted = read_change(change or (), delete or ())
        return _show_comparison(what_if(load(filename), wanted, settings, moment_of(now)), output)
    in_full = _in_full(output)
    return _show_result(decide(load(filename), settings=settings, preemptor=unit, now=now, in_full=in_full), output)


def _in_full(output: PlanOutput) -> int | None:
    """Of how many decisions all details are shown; None: of all."""
    return MOST_IN_FULL if output is PlanOutput.text else None


def _plan_live(
    filename: list[str], unit: str | None, now: str | None, output: PlanOutput, server: str | None, token: str | None
) -> None:
    manifests = read_plain(filename)
    asked = asked_of(unit).unit if unit else ""
    with connected(server, token) as client:
        answer = client.plan(asked, now or "", manifests)
    for warning in answer["warnings"]:
        say(f"warning: {warning}", err=True)
    if output is PlanOutput.text:
        _show(msgspec.convert({**answer, "warnings": []}, Result))
    else:
        print_object(answer, Form(output.value))


def _compare_live(change: Change, now: str | None, output: PlanOutput, server: str | None, token: str | None) -> None:
    deleted = [asked.unit for asked in change.deleted]
    with connected(server, token) as client:
        answer = client.compare(now or "", change.manifests, change.settings, deleted)
    if output is PlanOutput.text:
        for warning in answer["warnings"]:
            say(f"warning: {warning}", err=True)
        answer["warnings"] = []
        _say_compared(msgspec.convert(answer, Comparison))
    else:
        print_object(answer, Form(output.value))


def _show_comparison(made: Comparison, output: PlanOutput) -> None:
    if output is PlanOutput.text:
        print_warnings(made.warnings)
        _say_compared(made)
    else:
        print_object(made.to_dict(), Form(output.value))


def _say_compared(made: Comparison) -> None:
    for line in over_errors(made.errors):
        say(line)
    say(show_comparison(made))


def _show_result(result: Result, output: PlanOutput) -> None:
    print_warnings(result.warnings)
    if output is PlanOutput.text:
        _show(result)
    else:
        print_object(result.to_dict(), Form(output.value))


def _show(result: Result) -> None:
    for line in over_errors(result.errors):
        say(line)
    say(show_result(result))


def over_errors(number: int) -> Iterator[str]:
    """The first line of an answer that was found over manifests with errors."""
    if number:
        yield texts.questions.decided_over_errors(number)
