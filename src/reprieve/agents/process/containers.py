"""What a container is on this machine: a specification, a directory of its own, a record and an exit."""

import hmac
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim import process_table
from reprieve.manifests.problems import ReprieveError

LOG_LIMIT = 16 << 20
"""Bytes in the log of a container before a new file is begun; one older file is kept."""

_KEY = "exit.key"
POD_UID, CONTAINER_NAME = "REPRIEVE_POD_UID", "REPRIEVE_CONTAINER_NAME"
_LARGEST_FILE = 16 << 20
_POD_UID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,126}[A-Za-z0-9])?")
_CONTAINER = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ATTEMPT = re.compile(r"0|[1-9][0-9]{0,8}")


class InvalidContainer(ReprieveError):
    """A container that this machine cannot run as it is described."""


class AlreadyStarted(ReprieveError):
    """The directory belongs to a container that was started before."""


def inherited(own: Mapping[str, str]) -> dict[str, str]:
    """The little that containers get of the agent's environment."""
    return {name: own[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "USER") if name in own}


class NoPlainFile(OSError):
    """Somebody has put something else in the place of a file, or one that is much too large."""


class PodIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """Whose container it is."""

    namespace: str
    name: str
    uid: str
    node: str

    def variables(self, container: str) -> dict[str, str]:
        """How a container, and whatever comes from it, is recognised from outside."""
        return {
            "REPRIEVE_POD_NAME": self.name,
            "REPRIEVE_POD_NAMESPACE": self.namespace,
            POD_UID: self.uid,
            "REPRIEVE_NODE_NAME": self.node,
            CONTAINER_NAME: container,
        }


class ContainerSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Everything needed to run a container; `environment` is complete, nothing is added to it later."""

    pod: PodIdentity
    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = {}
    working_directory: str = "/"
    umask: int = 0o022
    devices: tuple[str, ...] = ()
    user: str = ""
    """The number of the user that it runs as, and of its groups, its own first; empty: as the agent."""
    milli_cpu: int = 0
    memory: int = 0
    """Its limits; 0: none."""
    group: str = ""
    """The control group that it runs in."""
    log_limit: int = LOG_LIMIT
    restarts: int = 0
    """How often it was started before."""
    back_off: int = 0
    """How far its back-off had grown when it was started."""

    @property
    def group_limits_memory(self) -> bool:
        """Whether its control group keeps it within its limit."""
        return bool(self.group) and (Path(self.group) / "memory.max").exists()

    def validate(self) -> None:
        """Raise for what the operating system would refuse in ways that explain nothing."""
        _named("pod uid", _POD_UID, self.pod.uid)
        _named("container name", _CONTAINER, self.name)
        if not self.command or not self.command[0]:
            raise InvalidContainer(f"container {self.name}: it has no command")
        if not self.working_directory.startswith("/"):
            raise InvalidContainer(
                f"container {self.name}: working directory {self.working_directory!r} is not an absolute path"
            )
        if not 0 <= self.umask <= 0o777:
            raise InvalidContainer(f"container {self.name}: umask {self.umask:o} is not between 0 and 777")
        if self.log_limit <= 0:
            raise InvalidContainer(f"container {self.name}: the limit of its log must be positive")
        self._validate_texts()

    def _validate_texts(self) -> None:
        for name in self.environment:
            if not name or "=" in name:
                raise InvalidContainer(f"container {self.name}: {name!r} cannot be the name of a variable")
        texts = (*self.command, *self.environment, *self.environment.values(), self.working_directory)
        for text in texts:
            if "\0" in text or not _encodable(text):
                raise InvalidContainer(f"container {self.name}: {text!r} has characters that no process can be given")


class Exit(msgspec.Struct, frozen=True, rename="camel"):
    """How a container ended, with the fields of a terminated container's status."""

    exit_code: int
    reason: str
    started_at: str
    finished_at: str
    message: str = ""
    signal: int = 0
    mac: str = ""


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One process and no other that may get its number later."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return process_table.started(self.pid) == self.started != ""


class ContainerRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The processes of a container, as its shim wrote them down."""

    boot: str
    shim: ProcessIdentity
    command: ProcessIdentity
    started_at: str

    @property
    def of_this_boot(self) -> bool:
        return self.boot == process_table.boot()


Stored = TypeVar("Stored", ContainerSpec, Exit, ContainerRecord)


class Directory(msgspec.Struct, frozen=True):
    """The directory of one attempt to run a container. Names come from manifests, so they are checked."""

    path: Path

    @classmethod
    def of(cls, root: Path, pod_uid: str, container: str, attempt: int = 0) -> Self:
        uid, name = _named("pod uid", _POD_UID, pod_uid), _named("container name", _CONTAINER, container)
        return cls(root.absolute() / uid / name / _named("attempt", _ATTEMPT, str(attempt)))

    @property
    def attempt(self) -> int:
        return int(self.path.name)

    def create(self) -> None:
        for path in (*reversed(self.path.parents[:2]), self.path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def file(self, name: str) -> Path:
        return self.path / name

    def spec(self) -> ContainerSpec | None:
        return self._read(files.CONTAINER, ContainerSpec)

    def record(self) -> ContainerRecord | None:
        return self._read(files.PROCESS, ContainerRecord)

    def exit(self) -> Exit | None:
        """How it ended, as its shim or an agent said: what anybody else put there says nothing."""
        found = self.claimed_exit()
        if found is None:
            return None
        right = files.signed(msgspec.to_builtins(found), self.key(), self._place)["mac"]
        return msgspec.structs.replace(found, mac="") if hmac.compare_digest(found.mac, right) else None

    def claimed_exit(self) -> Exit | None:
        """The same without a proof: for what is over, and only shown."""
        return self._read(files.EXIT, Exit)

    def write_exit(self, ending: Exit) -> None:
        said = msgspec.to_builtins(ending)
        files.write(str(self.file(files.EXIT)), files.signed(said, self.key(), self._place), durable=True)

    @property
    def _place(self) -> str:
        return "/".join(self.path.parts[-3:])

    def key(self) -> bytes:
        """What the agent and its shims sign with. It is kept beside all containers, for the agents after this one."""
        file = self.path.parents[3] / _KEY
        with suppress(FileExistsError):
            fresh = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fresh, "wb") as opened:
                opened.write(os.urandom(files.KEY_SIZE))
        return file.read_bytes()

    def _read(self, name: str, kind: type[Stored]) -> Stored | None:
        """A file that a crash left damaged says as little as none; nor does what a command has put in its place."""
        try:
            return msgspec.json.decode(read_plain(self.file(name)), type=kind)
        except (FileNotFoundError, NotADirectoryError, NoPlainFile, msgspec.DecodeError):
            return None

    def write(self, name: str, value: object, *, durable: bool = False) -> None:
        files.write(str(self.file(name)), msgspec.to_builtins(value), durable=durable)


def attempts(root: Path, pod_uid: str, container: str) -> list[Directory]:
    """All attempts to run one container, from the first to the last that is kept."""
    return _attempts(Directory.of(root, pod_uid, container).path.parent)


def containers(root: Path, pod_uid: str) -> list[str]:
    """The names of the containers of one pod that have been here."""
    return [path.name for path in _matching(Directory.of(root, pod_uid, "any").path.parents[1], _CONTAINER)]


def directories(root: Path) -> Iterator[Directory]:
    """All containers that have been here, in the order of pod, container and attempt; other files are passed over."""
    for pod in _matching(root, _POD_UID):
        for container in _matching(pod, _CONTAINER):
            yield from _attempts(container)


def pod_uids(root: Path) -> list[str]:
    """The pods of which anything is kept."""
    return [path.name for path in _matching(root, _POD_UID)]


def read_plain(path: Path) -> bytes:
    """What is in a file, if it is one: a pipe would be waited for, and a link lead elsewhere."""
    if path.is_symlink():
        raise NoPlainFile(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_FILE:
        os.close(descriptor)
        raise NoPlainFile(path)
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(_LARGEST_FILE)


def _attempts(container: Path) -> list[Directory]:
    return [Directory(path) for path in sorted(_matching(container, _ATTEMPT), key=lambda path: int(path.name))]


def _matching(parent: Path, pattern: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if pattern.fullmatch(path.name) and path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _named(what: str, pattern: re.Pattern[str], value: str) -> str:
    if not pattern.fullmatch(value):
        raise InvalidContainer(f"{what} {value!r} cannot name a directory")
    return value


def _encodable(text: str) -> bool:
    try:
        return bool(text.encode()) or not text
    except UnicodeEncodeError:
        return False
