"""How verbs find the control plane: `--server`, the environment, or the address that `reprieve up` leaves in a file."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from reprieve.cli.options import BadUsage
from reprieve.cli.terminal import say
from reprieve.client.errors import ServerError
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

SERVER, TOKEN = "REPRIEVE_SERVER", "REPRIEVE_TOKEN"
_FILE = "server.json"
_PATIENCE = 0.5


@contextmanager
def connected(server: str | None, token: str | None) -> "Iterator[Client]":
    """A client of the control plane that is meant."""
    # Imported here: verbs that talk to nobody need not wait for it.
    from reprieve.client.connection import Client

    url, known_token = _where(server)
    token = token or os.environ.get(TOKEN, "") or known_token
    with Client(url, token, warn=lambda sentence: say(f"Warning: {sentence}", err=True)) as client:
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


# The address on this machine


class Address(msgspec.Struct, frozen=True, rename="camel"):
    """Where a control plane listens, and who it is."""

    url: str
    pid: int
    data: str
    token_file: str = ""


def default_directory() -> Path:
    """Where data is kept when nobody says where: below the data home of the user."""
    home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(home) if home and Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "reprieve"


def read_address(directory: Path) -> Address | None:
    """The address that was left there; None: there is none, or nobody can read it."""
    try:
        return msgspec.json.decode((directory / _FILE).read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def leave_address(address: Address, directory: Path) -> bool:
    """Write it down, unless another one that still answers is written there; whether it was written."""
    other = read_address(directory)
    if other is not None and other.pid != address.pid and str(directory) != address.data and answers(other):
        return False
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = directory / f"{_FILE}.{os.getpid()}"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(address)) + b"\n")
    fresh.chmod(0o600)
    fresh.replace(directory / _FILE)
    return True


def remove_address(address: Address, directory: Path) -> None:
    """Take it away again; somebody else's stays."""
    if read_address(directory) == address:
        (directory / _FILE).unlink(missing_ok=True)


def answers(address: Address) -> bool:
    """Whether anybody listens there."""
    parts = urlsplit(address.url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=_PATIENCE):
            return True
    except OSError:
        return False
