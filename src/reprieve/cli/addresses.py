"""The address that `reprieve up` leaves in a file as long as it runs, so that other commands find it and its token."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from reprieve.access.private_files import write_private

_FILE, _ALL = "server.json", "servers"
_PATIENCE = 0.5
_LISTENS = "0A"


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
    return _read(directory / _FILE)


def _read(file: Path) -> Address | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def leave_address(address: Address, directory: Path) -> bool:
    """Write it down, unless another one that still answers is written there; whether it was written."""
    other = read_address(directory)
    if other is not None and other.pid != address.pid and str(directory) != address.data and answers(other):
        return False
    _write(directory / _FILE, address)
    return True


def _write(file: Path, address: Address) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(file, msgspec.json.format(msgspec.json.encode(address)) + b"\n")


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


# All of this user, also those that other commands do not find by themselves


def list_address(address: Address) -> None:
    """So that whoever names it with `--server` need not name its token as well."""
    _write(_listed(address), address)


def unlist_address(address: Address) -> None:
    if _read(_listed(address)) == address:
        _listed(address).unlink(missing_ok=True)


def _listed(address: Address) -> Path:
    return default_directory() / _ALL / f"{_port(address.url)}.json"


def known_address(url: str) -> Address | None:
    """The control plane of this user that listens there; None: it is none, as far as is known."""
    return next((each for each in _known(url) if each is not None and _same_place(each.url, url)), None)


def _known(url: str) -> Iterator[Address | None]:
    yield read_address(default_directory())
    yield _read(default_directory() / _ALL / f"{_port(url)}.json")


def _same_place(one: str, other: str) -> bool:
    hosts = {_loopback_or(urlsplit(url).hostname or "") for url in (one, other)}
    return len(hosts) == 1 and _port(one) == _port(other)


def _loopback_or(host: str) -> str:
    return "127.0.0.1" if host in ("localhost", "::1") else host


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def is_somebody_elses(url: str) -> bool:
    """Whether a program of another user listens there, in the place of one that has ended. Linux tells whose it is."""
    if sys.platform != "linux":
        return False
    users = {user for user, port in _listeners() if port == _port(url)}
    return bool(users) and not users & {os.getuid(), 0}


def _listeners() -> Iterator[tuple[int, int]]:
    """User and port of all that listens on this machine."""
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[3] == _LISTENS:
                yield int(words[7]), int(words[1].rpartition(":")[2], 16)
