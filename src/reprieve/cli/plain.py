"""Help without noise: a flag takes no value, so none is shown behind it."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

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
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
