"""The command line: one module a verb."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from reprieve import __version__
from reprieve.cli import check, explain, plan, test
from reprieve.objects.problems import ReprieveError

app = typer.Typer(
    name="reprieve",
    help="Reprieve decides who makes way: priority and preemption for Kubernetes, explained.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("plan")(plan.plan)
app.command("explain")(explain.explain)
app.command("test")(test.test)
app.command("check")(check.check)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reprieve {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Reprieve decides who makes way: priority and preemption for Kubernetes, explained."""


def main() -> None:
    """The entry point: what Reprieve raises reaches a user as lines, never as a traceback."""
    try:
        app(prog_name="reprieve")
    except ReprieveError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing more to say, and nobody to say it to
        sys.exit(0)
