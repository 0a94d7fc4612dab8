"""Files that nobody but their owner reads or changes, whatever the umask and the directory say."""

import os
import re
import stat
from pathlib import Path

from reprieve.manifests.problems import ReprieveError
from reprieve.texts import access as texts

_ALL = stat.S_IRWXG | stat.S_IRWXO
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class NotPrivate(ReprieveError):
    """Somebody else could read or change what has to be secret."""


def private_directory(directory: Path) -> None:
    """Make it for its owner alone. One that was there stays as it is, unless others could replace what is in it."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = directory.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
        raise NotPrivate(texts.others_write(directory))


def keep_private(*files: Path) -> None:
    """Take from everybody else what earlier versions, or another umask, let them read."""
    for file in files:
        try:
            if not file.is_symlink() and file.stat().st_mode & _ALL:
                file.chmod(0o600)
        except OSError:
            continue  # there is none, or it is somebody else's to change


def write_private(file: Path, content: bytes) -> None:
    """A reader finds all of it, or what was there before. What a process that was killed left behind of it goes."""
    _remove_leftovers(file)
    fresh = file.with_name(f".{file.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), "wb") as opened:
        os.fchmod(opened.fileno(), 0o600)
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(file)


def _remove_leftovers(file: Path) -> None:
    """What was being written when a process was killed: there may be a secret in it, and nobody comes back for it."""
    pattern = re.compile(rf"\.{re.escape(file.name)}\.([1-9][0-9]{{0,6}})\.new")
    for found in file.parent.iterdir():
        written = pattern.fullmatch(found.name)
        if written and not _lives(int(written[1])) and _is_own_file(found):
            found.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is somebody else's
    return True


def _is_own_file(file: Path) -> bool:
    try:
        found = file.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def read_private(file: Path) -> bytes | None:
    """What is in it; None: there is no such file. One that is somebody else's is not trusted."""
    try:
        descriptor = os.open(file, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise NotPrivate(texts.not_private(file))
        if found.st_mode & _ALL and found.st_uid == os.geteuid():
            os.fchmod(opened.fileno(), 0o600)
        return opened.read()
