"""Provides etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok for tests, and prints their folder.

Taken from the folder that `KUBEBUILDER_ASSETS` names, where it is set; else built with Go from the module beside this
file, once: what was built is kept in a cache folder under a key of everything that it was built from.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
            _fill(folder)
    return folder


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprieve" / "kube"
    assets = _assets()
    return cache / (_key_of_assets(assets) if assets else _key_of_build())


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


def _fill(folder: Path) -> None:
    for left_behind in folder.parent.glob(".building-*"):
        shutil.rmtree(left_behind)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        whole = Path(temporary) / folder.name
        whole.mkdir()
        assets = _assets()
        _take(assets, whole) if assets else _build(whole)
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


def _go(*arguments: str) -> str:
    if shutil.which("go") is None:
        raise CannotProvide(
            "There is no Go to build Kubernetes with. Install it (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a "
            "folder that has etcd and kube-apiserver in it."
        )
    done = subprocess.run(["go", *arguments], cwd=MODULE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotProvide(f"go {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    try:
        print(provide())
    except CannotProvide as reason:
        _say(str(reason))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
