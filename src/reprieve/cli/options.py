"""Options that several verbs share, so that they mean and read the same everywhere."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from reprieve.configuration import Settings, configure
from reprieve.feature_gates import parse_gates
from reprieve.manifests.documents import read_file
from reprieve.manifests.problems import InvalidInput, Origin, Problem, ReprieveError
from reprieve.model.resources import QuantityError, amount
from reprieve.texts import cli as texts


class BadUsage(ReprieveError):
    """What was typed names something that there is not, or says two things at once."""


class Output(StrEnum):
    text = "text"
    json = "json"


_FILES = typer.Option(
    "--filename",
    "-f",
    metavar="FILE|DIR|-",
    help="Manifests to read: a file, a directory with all below it, or - for standard input. Repeatable.",
)
Files = Annotated[list[str], _FILES]
OptionalFiles = Annotated[list[str] | None, _FILES]
Format = Annotated[Output, typer.Option("--output", "-o", metavar="text|json", help="How to print the answer.")]
Strict = Annotated[bool, typer.Option("--strict", help="Report fields that the API does not have.")]
Now = Annotated[
    str | None,
    typer.Option("--now", metavar="TIME", help="The clock of the decision, such as 2026-01-01T12:00:00Z; else now."),
]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Reprieve's own settings, in YAML or JSON.")
]
Gates = Annotated[
    str | None,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="Switch features on or off, over what --config says; AllAlpha and AllBeta stand for all of a stage.",
    ),
]


class SearchName(StrEnum):
    Design = "Design"
    Best = "Best"


Search = Annotated[
    SearchName | None,
    typer.Option(
        "--search",
        metavar="Design|Best",
        help="Whether to stop at what the design's search finds, or to look for less; over what --config says.",
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="The control plane to ask; else that of REPRIEVE_SERVER, else the one on this machine.",
    ),
]
Token = Annotated[
    str | None, typer.Option("--token", metavar="TOKEN", help="The token it wants; else that of REPRIEVE_TOKEN.")
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", metavar="FILE", help="Which cluster; else KUBECONFIG, ~/.kube/config, or in-cluster."),
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="The cluster of this context of the kubeconfig.")
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="The namespace; else `default`.")
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]
Selector = Annotated[
    str,
    typer.Option("--selector", "-l", metavar="LABELS", help="Only what has these labels, such as app=web,tier!=db."),
]
FieldSelector = Annotated[
    str,
    typer.Option("--field-selector", metavar="FIELDS", help="Only what has these fields, such as spec.nodeName=n1."),
]
Watching = Annotated[bool, typer.Option("--watch", "-w", help="Then go on and show every change, until Ctrl-C.")]


_SETTINGS = "it must be one document such as {pdb: Respect}"


def settings_from(config: str | None, gates: str | None, search: SearchName | None = None) -> Settings:
    """Settings from a file, with what the command line says on top."""
    given = parse_gates(gates) if gates else None
    data = plain_settings(config)
    if search is not None:
        data["search"] = search.value
    settings = configure(data, given, file=config or "configuration")
    if settings.policies is not None and config is not None:
        check_policies(settings.policies, Origin(config, 0), "$.policies")
    return settings


def plain_settings(config: str | None) -> dict[str, Any]:
    """What a file of settings says, as it is written."""
    if config is None:
        return {}
    documents = [document for document in read_file(config) if document.problem or document.plain() is not None]
    problems = [
        Problem(origin=document.origin, message=document.problem.message)
        for document in documents
        if document.problem is not None
    ]
    if problems:
        raise InvalidInput(problems)
    data = documents[0].plain() if documents else {}
    if len(documents) > 1 or not isinstance(data, dict):
        raise InvalidInput([Problem(origin=Origin(config, 0), message="not one object of settings", allowed=_SETTINGS)])
    return data


def check_policies(names: Iterable[str], origin: Origin, field: str = "") -> None:
    """Raises what is wrong with a choice of policies."""
    from reprieve.policies.registry import chosen  # imported here: whoever chooses none need not know all of them

    chosen(names, origin, field)


def check_quantity(option: str, resource: str, text: str) -> None:
    """Raises what is wrong with an amount, in the words of the command line."""
    try:
        amount(resource, text)
    except QuantityError as error:
        raise BadUsage(texts.no_such_amount(option, text, str(error))) from error
