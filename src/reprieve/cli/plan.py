"""`reprieve plan`: who would have to make way?"""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from reprieve import texts
from reprieve.cli.connecting import connected
from reprieve.cli.manifests import read_plain
from reprieve.cli.options import BadUsage, Config, Gates, Now, OptionalFiles, Server, Token, settings_from
from reprieve.cli.output import Form, print_object
from reprieve.cli.show import show_result
from reprieve.manifests.loading import load
from reprieve.manifests.problems import Problem
from reprieve.planning.planner import decide
from reprieve.planning.questions import asked_of
from reprieve.planning.result import Result
from reprieve.texts import cli as words

_MOST_WARNINGS = 20


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
        "--live", help="Decide over what the control plane has; with -f as if these manifests were there too."
    ),
]


def plan(
    filename: OptionalFiles = None,
    unit: For = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    output: Format = PlanOutput.text,
    live: Live = False,
    server: Server = None,
    token: Token = None,
) -> None:
    """Show who would have to make way, where, and why.

    Reads native manifests and changes nothing. With --live or --server, decides over what a control plane has. Exits
    with 0 when a decision was made, whatever it is, and with 2 when the input cannot be used.
    """
    if live or server:
        if config or feature_gates:
            raise BadUsage(words.SETTINGS_OF_THE_SERVER)
        _plan_live(filename or [], unit, now, output, server, token)
        return
    if not filename:
        raise BadUsage(words.FILES_OR_LIVE)
    settings = settings_from(config, feature_gates)
    result = decide(load(filename), settings=settings, preemptor=unit, now=now)
    print_warnings(result.warnings)
    if output is PlanOutput.text:
        typer.echo(show_result(result))
    else:
        print_object(result.to_dict(), Form(output.value))


def _plan_live(
    filename: list[str], unit: str | None, now: str | None, output: PlanOutput, server: str | None, token: str | None
) -> None:
    manifests = read_plain(filename)
    asked = asked_of(unit).unit if unit else ""
    with connected(server, token) as client:
        answer = client.plan(asked, now or "", manifests)
    for warning in answer["warnings"]:
        typer.echo(f"warning: {warning}", err=True)
    if output is PlanOutput.text:
        typer.echo(show_result(msgspec.convert({**answer, "warnings": []}, Result)))
    else:
        print_object(answer, Form(output.value))


def print_warnings(warnings: list[Problem]) -> None:
    """What is odd about the input, beside the answer and not in its way."""
    for problem in warnings[:_MOST_WARNINGS]:
        typer.echo(f"warning: {problem}", err=True)
    if len(warnings) > _MOST_WARNINGS:
        typer.echo(f"warning: {texts.questions.more_warnings(len(warnings) - _MOST_WARNINGS)}", err=True)
