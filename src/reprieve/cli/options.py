"""Options that several verbs share, so that they mean and read the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Output(StrEnum):
    text = "text"
    json = "json"


Files = Annotated[
    list[str],
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|-",
        help="Manifests to read: a file, a directory with all below it, or - for standard input. Repeatable.",
    ),
]
Format = Annotated[Output, typer.Option("--output", "-o", help="How to print the answer.")]
Strict = Annotated[bool, typer.Option("--strict", help="Report fields that the API does not have.")]
