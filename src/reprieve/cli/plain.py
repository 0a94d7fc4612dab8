"""Help without noise: a flag takes no value, so none is shown behind it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A verb."""

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
