"""Who gets in to what `reprieve up` runs: its token, and the kubeconfig that carries it."""

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from reprieve.access.private_files import keep_private, write_private
from reprieve.access.tokens import OWN_TOKEN, TokenFile, Tokens, is_token, own_token
from reprieve.agents.process.shim.command import keep_to_itself
from reprieve.cli.addresses import default_directory
from reprieve.cli.connecting import TOKEN
from reprieve.cli.options import BadUsage
from reprieve.embedded_plane import HISTORY_FILE, STORE_FILE
from reprieve.texts import cli as texts

KUBECONFIG = "kubeconfig"
_DATABASES = tuple(f"{name}{more}" for name in (STORE_FILE, HISTORY_FILE) for more in ("", "-wal", "-shm"))

TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="The owner's token is in this file; else it is REPRIEVE_TOKEN's, else one that is made in the data.",
    ),
]
NoToken = Annotated[
    bool,
    typer.Option(
        "--insecure-no-token", help="Serve every user and every program of this machine, as if they were the owner."
    ),
]


class Entrance(msgspec.Struct, frozen=True):
    """The owner's token, the file that it is in, and where those of others are; no token: everybody gets in."""

    token: str
    file: str = ""
    named: Path | None = None

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.token, TokenFile(self.named) if self.named is not None else None)


def entrance(file: Path | None, directory: Path | None, *, insecure: bool) -> Entrance:
    """Who is asked for a token, and for which. Where nothing is kept, it is the token of this user."""
    if insecure:
        if file is not None:
            raise BadUsage(texts.NOT_BOTH)
        return Entrance("")
    given = os.environ.pop(TOKEN, "")  # nothing that is started from here has any use for it
    if file is not None:
        return Entrance(_read(file), str(file.absolute()), directory)
    if given:
        return Entrance(given, named=directory)
    place = directory or default_directory()
    try:
        return Entrance(own_token(place), str(place / OWN_TOKEN), directory)
    except OSError as error:
        raise BadUsage(texts.unusable(str(place), error)) from error


def close_to_others(directory: Path | None) -> None:
    """From now on all files that are made are the owner's alone, and those of earlier versions, too."""
    os.umask(0o077)
    keep_to_itself()
    if directory is not None:
        keep_private(*(directory / name for name in _DATABASES))


def _read(file: Path) -> str:
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(texts.unusable(str(file), error)) from error
    if not is_token(token):
        raise BadUsage(texts.no_such("--token-file", str(file), "it must hold one word of printable ASCII characters"))
    return token


def write_kubeconfig(directory: Path, url: str, token: str) -> Path:
    """What leads kubectl and client libraries there. Over plain HTTP kubectl sends no token but in the address."""
    cluster = {"server": f"{url}/bearer/{token}" if token else url}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "reprieve", "cluster": cluster}],
        "users": [{"name": "reprieve", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "reprieve", "context": {"cluster": "reprieve", "user": "reprieve"}}],
        "current-context": "reprieve",
    }
    write_private(directory / KUBECONFIG, msgspec.yaml.encode(config))
    return directory / KUBECONFIG
