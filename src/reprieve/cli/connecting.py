"""From `--server`, the environment or the address on this machine to a connection."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reprieve.cli.address import default_directory, read_address
from reprieve.cli.usage import BadUsage
from reprieve.client.errors import ServerError
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

SERVER, TOKEN = "REPRIEVE_SERVER", "REPRIEVE_TOKEN"


@contextmanager
def connected(server: str | None, token: str | None) -> "Iterator[Client]":
    """A client of the control plane that is meant."""
    # Imported here: verbs that talk to nobody need not wait for it.
    from reprieve.client.connection import Client

    url, known_token = _where(server)
    with Client(url, token or os.environ.get(TOKEN, "") or known_token) as client:
        yield client


def _where(server: str | None) -> tuple[str, str]:
    """The address that was given, else the one on this machine with its token."""
    given = server or os.environ.get(SERVER, "")
    if given:
        return _checked(given), ""
    address = read_address(default_directory())
    if address is None:
        raise ServerError(texts.NO_SERVER)
    return address.url, _token_in(address.token_file)


def _checked(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or not url.isprintable() or " " in url:
        raise BadUsage(texts.bad_server(text))
    return url


def _token_in(file: str) -> str:
    try:
        return Path(file).read_text().strip() if file else ""
    except OSError:
        return ""
