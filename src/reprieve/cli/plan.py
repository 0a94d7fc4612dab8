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
    Search,
    Server,
    Token,
    settings_from,
)
from reprieve.cli.output import Form, print_object, print_warnings
from reprieve.cli.show import MOST_IN_FULL, show_result
from reprieve.cli.show_changes import show_comparison
from reprieve.cli.terminal import say
from reprieve.configuration import Settings
from reprieve.manifests.loading import load
from reprieve.planning.change import ProposedChange, read_change
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import Planner, decide, usable
from reprieve.planning.questions import asked_of, moment_of
from reprieve.planning.result import Result
from reprieve.planning.what_if import what_if
from reprieve.texts import cli as words
from reprieve.texts import clusters
from reprieve.texts import optimum as optimum_texts


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


class Objective(StrEnum):
    design = "design"
    victims = "victims"
    lost_work = "lost-work"
    resources = "resources"


Optimal = Annotated[
    bool,
    typer.Option(
        "--optimal",
        help="With --for: prove how little is enough, and show how far the plan is from it. Needs reprieve[optimal].",
    ),
]
By = Annotated[
    Objective | None,
    typer.Option(
        "--objective",
        metavar="design|victims|lost-work|resources",
        help="For --optimal: what is made as small as can be; design by default.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", min=0.1, help="For --optimal: how long a proof may take; 60 by default."
    ),
]
_TIME_LIMIT = 60.0


def plan(  # noqa: C901 - one branch for each place it can be asked about
    filename: OptionalFiles = None,
    unit: For = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    search: Search = None,
    optimal: Optimal = False,
    objective: By = None,
    time_limit: TimeLimit = None,
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
    if optimal:
        _check_optimal(unit, filename, elsewhere=bool(live or server or kubeconfig or context or changes))
        settings = settings_from(config, feature_gates, search)
        by = (objective or Objective.design).value
        return _show_proof(filename or [], settings, unit or "", now, by, time_limit or _TIME_LIMIT, output)
    if objective is not None or time_limit is not None:
        raise BadUsage(optimum_texts.FOR_A_PROOF)
    cluster = ClusterAsked(kubeconfig, context, config, feature_gates, search)
    if cluster:
        if live or server:
            raise BadUsage(clusters.CLUSTER_OR_SERVER)
        if changes:
            wanted = read_change([*(filename or ()), *(change or ())], delete or ())
            return _show_comparison(compare_cluster(cluster, wanted, now), output)
        return _show_result(plan_cluster(cluster, filename or [], unit, now, _in_full(output)), output)
    if live or server:
        if config or feature_gates or search:
            raise BadUsage(words.SETTINGS_OF_THE_SERVER)
        if changes or (filename and not unit):
            _compare_live(read_change([*(filename or ()), *(change or ())], delete or ()), now, output, server, token)
        else:
            _plan_live(filename or [], unit, now, output, server, token)
        return None
    if not filename:
        raise BadUsage(words.FILES_OR_LIVE)
    settings = settings_from(config, feature_gates, search)
    if changes:
        wanted = read_change(change or (), delete or ())
        return _show_comparison(what_if(load(filename), wanted, settings, moment_of(now)), output)
    in_full = _in_full(output)
    return _show_result(decide(load(filename), settings=settings, preemptor=unit, now=now, in_full=in_full), output)


def _check_optimal(unit: str | None, filename: list[str] | None, *, elsewhere: bool) -> None:
    if elsewhere:
        raise BadUsage(optimum_texts.FILES_ONLY)
    if not unit or not filename:
        raise BadUsage(optimum_texts.FOR_ONE)


def _show_proof(
    filename: list[str],
    settings: Settings,
    unit: str,
    now: str | None,
    objective: str,
    seconds: float,
    output: PlanOutput,
) -> None:
    from reprieve.planning.optimum import prove  # imported here: nobody else needs a solver

    planner = Planner(usable(load(filename)), settings, moment_of(now))
    result, proof = prove(planner, unit, objective, seconds)
    if output is PlanOutput.text:
        _show_result(result, output)
        say("\n" + (optimum_texts.NO_MODEL if proof is None else proof.message))
    else:
        print_warnings(result.warnings)
        answer = {**result.to_dict(), "optimum": None if proof is None else msgspec.to_builtins(proof)}
        print_object(answer, Form(output.value))


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


def _compare_live(
    change: ProposedChange, now: str | None, output: PlanOutput, server: str | None, token: str | None
) -> None:
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
