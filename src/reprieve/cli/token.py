"""`reprieve token`: who else gets in to the control plane of a directory, and what for."""

from pathlib import Path
from typing import Annotated

import typer

from reprieve.access.identities import MOST, Identity, Role
from reprieve.access.tokens import TokenFile
from reprieve.cli.addresses import default_directory
from reprieve.cli.options import BadUsage
from reprieve.cli.output import columns
from reprieve.cli.terminal import say
from reprieve.model.clock import system_clock
from reprieve.texts import access as texts

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where `reprieve up` keeps everything; else the user's usual place."),
]
RoleOption = Annotated[
    Role,
    typer.Option(
        "--role",
        metavar="view|submit|admin",
        help="view: read. submit: also write work in its namespaces. admin: everything.",
    ),
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="Only in this namespace. Repeatable; view: else in all."),
]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Whose it is; else the name of the namespace.")]
MaxPriority = Annotated[
    int, typer.Option("--max-priority", metavar="NUMBER", help="The highest priority that it may ask for.")
]


def create(
    role: RoleOption, namespace: Namespaces = None, name: Name = "", max_priority: MaxPriority = MOST, data: Data = None
) -> None:
    """Make a token for somebody and print it. It is not kept, only its digest: nobody can print it again.

    A control plane that runs takes it from the next request.
    """
    namespaces = tuple(dict.fromkeys(namespace or ()))
    if role is Role.submit and not namespaces:
        raise BadUsage(texts.SUBMIT_WHERE)
    if role is Role.admin and namespaces:
        raise BadUsage(texts.ADMIN_EVERYWHERE)
    identity = Identity(name or (namespaces[0] if namespaces else str(role)), role, namespaces, max_priority)
    say(_file(data).add(identity, system_clock()))


def list_tokens(data: Data = None) -> None:
    """Show who has a token, and what for; the owner has another one."""
    rows = [
        (each.name, str(each.role), ",".join(each.namespaces) or "all", _bound(each), each.created)
        for each in _file(data).read()
    ]
    lines = columns(("NAME", "ROLE", "NAMESPACES", "MAX PRIORITY", "CREATED"), rows)
    say("\n".join(lines) if rows else texts.NO_TOKENS)


def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="Whose.")], data: Data = None) -> None:
    """Let nobody in with a token any more, from the next request on."""
    _file(data).remove(name)
    say(texts.revoked(name))


def _bound(identity: Identity) -> str:
    return str(identity.max_priority) if identity.role is Role.submit else "-"


def _file(data: Path | None) -> TokenFile:
    return TokenFile((data or default_directory()).absolute())
