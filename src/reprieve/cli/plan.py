"""`reprieve plan`: who would have to make way?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer
import yaml

from reprieve import texts
from reprieve.cli.options import Config, Files, Gates, Now, settings_from
from reprieve.cli.show import show_result
from reprieve.objects.loading import load
from reprieve.objects.problems import Problem
from reprieve.planning import decide
from reprieve.result import Result

_MOST_WARNINGS = 20
_NO_WRAPPING = 10_000


class Output(StrEnum):
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
Format = Annotated[Output, typer.Option("--output", "-o", metavar="text|json|yaml", help="How to print the answer.")]


def plan(
    filename: Files,
    unit: For = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    output: Format = Output.text,
) -> None:
    """Show who would have to make way, where, and why.

    Reads native manifests and changes nothing. Exits with 0 when a decision was made, whatever it is, and with 2 when
    the input cannot be used.
    """
    settings = settings_from(config, feature_gates)
    result = decide(load(filename), settings=settings, preemptor=unit, now=now)
    print_warnings(result.warnings)
    typer.echo(_formatted(result, output))


def _formatted(result: Result, output: Output) -> str:
    if output is Output.text:
        return show_result(result)
    answer: dict[str, Any] = result.to_dict()
    if output is Output.yaml:
        return yaml.safe_dump(answer, sort_keys=False, allow_unicode=True, width=_NO_WRAPPING).rstrip()
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def print_warnings(warnings: list[Problem]) -> None:
    """What is odd about the input, beside the answer and not in its way."""
    for problem in warnings[:_MOST_WARNINGS]:
        typer.echo(f"warning: {problem}", err=True)
    if len(warnings) > _MOST_WARNINGS:
        typer.echo(f"warning: {texts.more_warnings(len(warnings) - _MOST_WARNINGS)}", err=True)
