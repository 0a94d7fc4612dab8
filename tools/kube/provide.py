"""Provides etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok for tests, and prints their folder.

Taken from the folder that `KUBEBUILDER_ASSETS` names, where it is set; else built with Go from the module beside this
file, once: what was built is kept in a cache folder under a key of everything that it was built from.

Beside that folder, in one of its own, are the definitions of kinds that Kueue and Karmada bring to a cluster. They come
from their Go modules; nothing of them is built, so that another version of theirs builds no program anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

MODULE = Path(__file__).parent
VERSION = "v1.37.1"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
PROGRAMS = (*CONTROL_PLANE, "kwok")
# Without these there is no server; the others are for tests that want them.
NEEDED = ("etcd", "kube-apiserver")

_MAJOR, _MINOR, _ = VERSION.removeprefix("v").split(".")
# Clients refuse a server that does not say which version it is.
_STAMPS = {"gitVersion": VERSION, "gitMajor": _MAJOR, "gitMinor": _MINOR, "gitTreeState": "clean"}
_LINKER = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={text}" for name, text in _STAMPS.items())])
FLAGS = ("-mod=readonly", "-trimpath", f"-ldflags={_LINKER}")
# What is built, and the name that it gets.
BUILDS = ((".", "control-plane"), ("sigs.k8s.io/kwok/cmd/kwok", "kwok"))
_TELL_EVERY = 200


class Definitions(NamedTuple):
    """A folder of a Go module, at a version with this checksum, in which a project keeps its definitions of kinds."""

    name: str
    module: str
    version: str
    checksum: str
    folder: str


DEFINITIONS = (
    Definitions(
        "kueue",
        "sigs.k8s.io/kueue",
        "v0.19.0",
        "h1:5yCu85qsJhvUVVxE0Csw546DDBcRwUXpBEOmEFlws34=",
        "config/components/crd/bases",
    ),
    Definitions(
        "karmada",
        "github.com/karmada-io/karmada",
        "v1.16.0",
        "h1:RD58HD7xp0+FKDWkJRygBsN/ht3k7gbBZa0xBzWSio4=",
        "charts/karmada/_crds/bases",
    ),
)


class CannotProvide(Exception):
    """There is no way to the programs; the message says what would be one."""


def provided() -> Path | None:
    """The folder with the programs, if they are there already."""
    try:
        folder = _folder()
    except CannotProvide:
        return None
    return folder if _complete(folder) else None


def provide() -> Path:
    """The folder with the programs, which are fetched or built if need be."""
    folder = _folder()
    if _complete(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.parent):
        if not _complete(folder):
            assets = _assets()
            _fill(folder, (lambda whole: _take(assets, whole)) if assets else _build)
    return folder


def provided_definitions() -> Path | None:
    """The folder with the definitions of others, one folder for each of them, if they are there already."""
    folder = _definitions_folder()
    return folder if folder.is_dir() else None


def provide_definitions() -> Path:
    """The folder with the definitions of others, which are fetched if need be."""
    folder = _definitions_folder()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.parent):
        if not folder.is_dir():
            _fill(folder, _fetch_definitions)
    return folder


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprieve" / "kube"


def _folder() -> Path:
    assets = _assets()
    return _cache() / (_key_of_assets(assets) if assets else _key_of_build())


def _definitions_folder() -> Path:
    return _cache() / f"definitions-{_key(repr(DEFINITIONS).encode())}"


def _assets() -> Path | None:
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return None
    missing = [name for name in NEEDED if not (Path(named) / name).is_file()]
    if missing:
        raise CannotProvide(f"KUBEBUILDER_ASSETS names {named}, and there is no {' and no '.join(missing)} in it.")
    return Path(named).resolve()


def _key_of_assets(assets: Path) -> str:
    facts = [str(assets)]
    for name in _programs_in(assets):
        status = (assets / name).stat()
        facts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return _key(*(fact.encode() for fact in facts))


def _key_of_build() -> str:
    sources = [(MODULE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go")]
    return _key(*sources, " ".join(FLAGS).encode(), _go("env", "GOVERSION", "GOOS", "GOARCH").encode())


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def _programs_in(folder: Path) -> list[str]:
    return [name for name in PROGRAMS if (folder / name).is_file()]


def _complete(folder: Path) -> bool:
    """Folders appear whole; but what a link in them leads to may have been removed since."""
    return folder.is_dir() and set(NEEDED) <= set(_programs_in(folder))


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Whoever comes second waits, and finds what the first one built."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fill(folder: Path, make: Callable[[Path], None]) -> None:
    """What is made in a folder appears whole, or not at all."""
    for left_behind in folder.parent.glob(".building-*"):
        shutil.rmtree(left_behind)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        whole = Path(temporary) / folder.name
        whole.mkdir()
        make(whole)
        shutil.rmtree(folder, ignore_errors=True)
        whole.rename(folder)


def _take(assets: Path, folder: Path) -> None:
    found = _programs_in(assets)
    _say(f"Taking {', '.join(found)} from {assets}.")
    missing = [name for name in PROGRAMS if name not in found]
    if missing:
        _say(f"Tests that need {' or '.join(missing)} will not run: there is none.")
    for name in found:
        (folder / name).symlink_to(assets / name)


def _build(folder: Path) -> None:
    _say(f"Building Kubernetes {VERSION}, etcd and kwok with Go, once: about 17 minutes of one core, 4 GB of disk.")
    begun = time.monotonic()
    for package, name in BUILDS:
        _say(f"  {name}")
        _compile(package, folder / name)
    for name in CONTROL_PLANE:
        (folder / name).symlink_to("control-plane")
    _say(f"Built in {time.monotonic() - begun:.0f} seconds.")


def _compile(package: str, target: Path) -> None:
    """Go names each package that it compiles; how many there were so far is what somebody who waits wants to know."""
    command = ["go", "build", "-v", *FLAGS, "-o", str(target), package]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    lines: list[str] = []
    with subprocess.Popen(command, cwd=MODULE, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            lines.append(line)
            if len(lines) % _TELL_EVERY == 0:
                _say(f"    {len(lines)} packages")
    if process.returncode:
        raise CannotProvide(f"go build {package} failed:\n{''.join(lines[-20:])}")


def _fetch_definitions(folder: Path) -> None:
    for wanted in DEFINITIONS:
        _say(f"Fetching the definitions of {wanted.name} {wanted.version}.")
        target = folder / wanted.name
        target.mkdir()
        for file in sorted((_download(wanted) / wanted.folder).rglob("*.yaml")):
            # Read and written: in the module cache nobody may write, and that is not to be copied.
            (target / file.name).write_bytes(file.read_bytes())
        if not any(target.iterdir()):
            raise CannotProvide(f"{wanted.module} {wanted.version} has no definitions in {wanted.folder}.")


def _download(wanted: Definitions) -> Path:
    """Where the module is; Go compares it with the checksum database, and this with what is written here."""
    with tempfile.TemporaryDirectory() as outside:  # in a module Go would want it to be one of the requirements
        told = _go("mod", "download", "-json", f"{wanted.module}@{wanted.version}", directory=Path(outside))
    found = json.loads(told)
    if found.get("Sum") != wanted.checksum:
        raise CannotProvide(f"{wanted.module} {wanted.version} is not what it was: {found.get('Sum')}.")
    return Path(found["Dir"])


def _go(*arguments: str, directory: Path = MODULE) -> str:
    if shutil.which("go") is None:
        raise CannotProvide(
            "There is no Go to build Kubernetes with. Install it (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a "
            "folder that has etcd and kube-apiserver in it."
        )
    done = subprocess.run(["go", *arguments], cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotProvide(f"go {' '.join(arguments)} failed:\n{done.stderr or done.stdout}")
    return done.stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _provide_definitions_too() -> None:
    """Whoever brings programs along may have no Go, or no network: then only what needs the definitions is left out."""
    try:
        provide_definitions()
    except CannotProvide as reason:
        if _assets() is None:
            raise
        _say(f"Tests that need {' or '.join(each.name for each in DEFINITIONS)} will not run: {reason}")


def main() -> int:
    try:
        folder = provide()
        _provide_definitions_too()
        print(folder)
    except CannotProvide as reason:
        _say(str(reason))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
