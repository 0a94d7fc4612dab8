"""The command line: one module a verb."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from reprieve import __version__
from reprieve.cli import (
    apply,
    check,
    delete,
    describe,
    events,
    explain,
    get,
    logs,
    plan,
    run,
    shadow,
    submit,
    test,
    token,
    top,
    up,
)
from reprieve.cli.terminal import say
from reprieve.cli.watching import reading_shown
from reprieve.client.errors import ServerError, Unreachable
from reprieve.manifests.problems import InvalidInput, ReprieveError
from reprieve.planning.questions import DELETE, NOW, PREEMPTOR, WHY_NOT
from reprieve.texts import cli as texts

_INTERRUPTED = 130


class PlainCommand(TyperCommand):
    """A verb. Ctrl-C ends it as shells expect, and says nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_INTERRUPTED) from None

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """All verbs."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: Any) -> Any:
    """Help without noise: a flag takes no value, so none is shown behind it."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


app = typer.Typer(
    name="reprieve",
    cls=PlainGroup,
    help="Reprieve decides who makes way: priority and preemption for Kubernetes, explained.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_RUNNING, _DECIDING = "With a control plane", "Decisions"


def _verbs(panel: str, *verbs: Callable[..., None], **options: Any) -> None:
    for verb in verbs:
        app.command(verb.__name__, cls=PlainCommand, rich_help_panel=panel, **options)(verb)


_verbs(_DECIDING, plan.plan, explain.explain, test.test, check.check)
_verbs(_RUNNING, up.up, run.run)
# What stands behind the first word is the command's own, also where it looks like an option.
_verbs(_RUNNING, submit.submit, context_settings={"allow_interspersed_args": False})
_verbs(_RUNNING, *(get.get, describe.describe, apply.apply, delete.delete), *(logs.logs, events.events, top.top))

_shadow = typer.Typer(
    cls=PlainGroup, no_args_is_help=True, help="Beside another scheduler: who would have decided how."
)
_shadow.command("report", cls=PlainCommand)(shadow.report)
app.add_typer(_shadow, name="shadow", rich_help_panel=_RUNNING)

_token = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Who else gets in, and what for.")
_token.command("create", cls=PlainCommand)(token.create)
_token.command("list", cls=PlainCommand)(token.list_tokens)
_token.command("revoke", cls=PlainCommand)(token.revoke)
app.add_typer(_token, name="token", rich_help_panel=_RUNNING)

# What Python calls the parts of a question, in the words of the command line.
_OPTIONS = {PREEMPTOR: "--for", NOW: "--now", WHY_NOT: "--why-not", DELETE: "--delete"}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reprieve {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Reprieve decides who makes way: priority and preemption for Kubernetes, explained."""


def main() -> None:
    """The entry point: what Reprieve raises reaches a user as lines, never as a traceback."""
    _main("reprieve")


def kubectl_plugin() -> None:
    """The entry point of `kubectl reprieve`: the same verbs."""
    _main("kubectl reprieve")


def _main(name: str) -> None:
    try:
        _run(name)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing more to say, and nobody to say it to
        sys.exit(0)
    except OSError as error:
        with suppress(OSError):
            typer.echo(f"error: {error.filename or 'standard output'}: {error.strerror}", err=True)
        if sys.stdout is not None:  # what could not be written is not tried again on the way out
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


def _run(name: str) -> None:
    if sys.stdout is None:
        raise OSError(0, "is closed")
    try:
        with reading_shown():
            app(prog_name=name)
    except ReprieveError as error:
        say("\n".join(f"error: {line}" for line in _lines(error)), err=True)
        sys.exit(1 if isinstance(error, ServerError) else 2)
    finally:
        sys.stdout.flush()


def _lines(error: ReprieveError) -> list[str]:
    if isinstance(error, Unreachable):
        return [texts.unreachable(str(error))]
    if not isinstance(error, InvalidInput):
        return str(error).splitlines() or [type(error).__name__]
    return [str(problem.renamed(_OPTIONS)) for problem in error.problems]
