"""`reprieve plan`: who would have to make way?"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer
import yaml

from reprieve.cli.options import Config, Files, Gates, Now, settings_from
from reprieve.cli.show import show_result
from reprieve.objects.loading import load
from reprieve.objects.problems import Problem
from reprieve.planning import decide
from reprieve.result import Result

_MOST_WARNINGS = 20

For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="KIND/NAMESPACE/NAME",
        help="Decide for this one unit. Without it: one cycle over all that is pending.",
    ),
]
Format = Annotated[str, typer.Option("--output", "-o", metavar="text|json|yaml", help="How to print the answer.")]


def plan(
    filename: Files,
    unit: For = None,
    now: Now = None,
    config: Config = None,
    feature_gates: Gates = None,
    output: Format = "text",
) -> None:
    """Show who would have to make way, where, and why.

    Reads native manifests and changes nothing. Exits with 0 when a decision was made, whatever it is, and with 2 when
    the input cannot be used.
    """
    if output not in ("text", "json", "yaml"):
        raise typer.BadParameter(f"{output!r} is not one of text, json, yaml", param_hint="--output")
    settings = settings_from(config, feature_gates)
    result = decide(load(filename), settings=settings, preemptor=unit, now=now)
    print_warnings(result.warnings)
    typer.echo(_formatted(result, output))


def _formatted(result: Result, output: str) -> str:
    if output == "text":
        return show_result(result)
    answer: dict[str, Any] = result.to_dict()
    if output == "yaml":
        return yaml.safe_dump(answer, sort_keys=False, allow_unicode=True).rstrip()
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def print_warnings(warnings: list[Problem]) -> None:
    """What is odd about the input, beside the answer and not in its way."""
    for problem in warnings[:_MOST_WARNINGS]:
        typer.echo(f"warning: {problem}", err=True)
    if len(warnings) > _MOST_WARNINGS:
        typer.echo(f"warning: and {len(warnings) - _MOST_WARNINGS} more; `reprieve check` lists them all", err=True)
