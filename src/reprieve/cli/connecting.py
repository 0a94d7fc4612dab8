"""How verbs find the control plane: `--server`, the environment, or the address that `reprieve up` leaves in a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reprieve.cli.addresses import Address, default_directory, is_somebody_elses, known_address, read_address
from reprieve.cli.options import BadUsage
from reprieve.cli.terminal import say
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

    url, address = _where(server)
    token = token or os.environ.get(TOKEN, "") or _token_of(address)
    with Client(url, token, warn=lambda sentence: say(f"Warning: {sentence}", err=True)) as client:
        yield client


def _where(server: str | None) -> tuple[str, Address | None]:
    """The address that was given, else the one on this machine; with what is known of it."""
    given = server or os.environ.get(SERVER, "")
    if given:
        url = _checked(given)
        return url, known_address(url)
    address = read_address(default_directory())
    if address is None:
        raise ServerError(texts.NO_SERVER)
    return address.url, address


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


def _token_of(address: Address | None) -> str:
    """Its owner's token. Whoever took its port in the meantime does not get it."""
    if address is None or not address.token_file:
        return ""
    if is_somebody_elses(address.url):
        raise ServerError(texts.somebody_elses(address.url))
    try:
        return Path(address.token_file).read_text().strip()
    except OSError:
        return ""
