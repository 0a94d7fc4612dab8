"""How the other verbs find the control plane of this machine: `reprieve up` leaves its address in a file."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

_FILE = "server.json"
_PATIENCE = 0.5


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
