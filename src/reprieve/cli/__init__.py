"""The command line: one module a verb."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from reprieve import __version__
from reprieve.cli import check, explain, plan, test
from reprieve.cli.plain import PlainCommand, PlainGroup
from reprieve.objects.problems import InvalidInput, ReprieveError
from reprieve.questions import NOW, PREEMPTOR, WHY_NOT

app = typer.Typer(
    name="reprieve",
    cls=PlainGroup,
    help="Reprieve decides who makes way: priority and preemption for Kubernetes, explained.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("plan", cls=PlainCommand)(plan.plan)
app.command("explain", cls=PlainCommand)(explain.explain)
app.command("test", cls=PlainCommand)(test.test)
app.command("check", cls=PlainCommand)(check.check)

# What Python calls the parts of a question, in the words of the command line.
_OPTIONS = {PREEMPTOR: "--for", NOW: "--now", WHY_NOT: "--why-not"}


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
        _run()
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing more to say, and nobody to say it to
        sys.exit(0)
    except OSError as error:
        with suppress(OSError):
            typer.echo(f"error: {error.filename or 'standard output'}: {error.strerror}", err=True)
        if sys.stdout is not None:  # what could not be written is not tried again on the way out
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


def _run() -> None:
    if sys.stdout is None:
        raise OSError(0, "is closed")
    try:
        app(prog_name="reprieve")
    except ReprieveError as error:
        typer.echo("\n".join(f"error: {line}" for line in _lines(error)), err=True)
        sys.exit(2)
    finally:
        sys.stdout.flush()


def _lines(error: ReprieveError) -> list[str]:
    if not isinstance(error, InvalidInput):
        return [str(error)]
    return [str(problem.renamed(_OPTIONS)) for problem in error.problems]
