"""`make kube`: the programs are taken or built, once, and only ever appear whole."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.paths import ROOT
from tools.kube.provide import CONTROL_PLANE, DEFINITIONS, PROGRAMS, VERSION, Definitions

PROVIDE = ROOT / "tools" / "kube" / "provide.py"
# Writes down how it was called, and makes a file where a program would be.
FAKE_GO = """#!/bin/sh
echo "$*" >> "$LOG"
if [ "$1" = env ]; then echo "${FAKE_VERSION:-go1.26.0}"; exit; fi
if [ "$1" = mod ]; then
  [ -z "$NO_NETWORK" ] || { echo '{"Error": "no network"}'; exit 1; }
  while IFS= read -r line; do echo "$line"; done < "$MODULES/${4##*/}.json"
  exit
fi
while [ "$1" != -o ]; do shift; done
sleep "${BUILD_SECONDS:-0}"
echo some/package >&2
[ -z "$BUILD_FAILS" ] || { echo "main.go:1: no such thing" >&2; exit 1; }
echo program > "$2"
"""


class Machine:
    """One with a home of its own, and with Go or without."""

    def __init__(self, directory: Path, *, go: bool = True) -> None:
        self._log = directory / "log"
        self.home = directory / "home"
        tools = directory / "tools"
        tools.mkdir()
        if go:
            (tools / "go").write_text(FAKE_GO)
            (tools / "go").chmod(0o755)
        # The fake needs `sleep`, and nothing here may find the real Go.
        (tools / "sleep").symlink_to("/bin/sleep")
        self.modules = directory / "modules"
        for each in DEFINITIONS:
            self.publish(each)
        self._environment = {
            "PATH": str(tools),
            "HOME": str(self.home),
            "LOG": str(self._log),
            "MODULES": str(self.modules),
        }

    def publish(self, wanted: Definitions, **told: str) -> None:
        """The module that somebody else's definitions come from, as the Go proxy has it."""
        name = f"{wanted.module.rpartition('/')[2]}@{wanted.version}"
        place = self.modules / name
        (place / wanted.folder / "deeper").mkdir(parents=True, exist_ok=True)
        (place / wanted.folder / "deeper" / f"{wanted.name}s.yaml").write_text("kind: CustomResourceDefinition")
        (place / "another.yaml").write_text("kind: Secret")
        answer = {"Dir": str(place), "Sum": wanted.checksum, **told}
        (self.modules / f"{name}.json").write_text(json.dumps(answer) + "\n")

    def command(self, **more: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        environment = {**self._environment, **more}
        return subprocess.Popen([sys.executable, str(PROVIDE)], env=environment, stdout=pipe, stderr=pipe, text=True)

    def provide(self, **more: str) -> subprocess.CompletedProcess[str]:
        process = self.command(**more)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    @property
    def definitions(self) -> list[str]:
        """What there is of others, without the key that the folder is called by."""
        (folder,) = (self.home / ".cache/reprieve/kube").glob("definitions-*")
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))

    @property
    def builds(self) -> list[str]:
        return self._calls("build ")

    @property
    def downloads(self) -> list[str]:
        return self._calls("mod download ")

    def _calls(self, beginning: str) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line for line in lines if line.startswith(beginning)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_builds_once_says_so_and_prints_the_folder(machine: Machine) -> None:
    done = machine.provide()
    assert done.returncode == 0, done.stderr
    assert f"Building Kubernetes {VERSION}" in done.stderr
    assert "about 17 minutes" in done.stderr
    assert "Built in " in done.stderr
    folder = Path(done.stdout.strip())
    assert folder.parent == machine.home / ".cache" / "reprieve" / "kube"
    assert all((folder / name).is_file() for name in PROGRAMS)
    again = machine.provide()
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert len(machine.builds) == 2


def test_what_was_built_can_be_moved(machine: Machine) -> None:
    folder = Path(machine.provide().stdout.strip())
    assert {(folder / name).readlink() for name in CONTROL_PLANE} == {Path("control-plane")}


def test_the_server_says_which_version_it_is_and_sums_are_not_changed(machine: Machine) -> None:
    machine.provide()
    assert all("-mod=readonly" in build and f"gitVersion={VERSION}" in build for build in machine.builds)


def test_another_go_builds_anew(machine: Machine) -> None:
    first, second = machine.provide().stdout, machine.provide(FAKE_VERSION="go1.27.0").stdout
    assert first != second
    assert machine.provide().stdout == first
    assert len(machine.builds) == 4


def test_the_cache_is_where_the_system_keeps_caches(machine: Machine, tmp_path: Path) -> None:
    done = machine.provide(XDG_CACHE_HOME=str(tmp_path / "elsewhere"))
    assert Path(done.stdout.strip()).parent == tmp_path / "elsewhere" / "reprieve" / "kube"


def test_a_build_that_fails_shows_why_and_leaves_nothing(machine: Machine) -> None:
    done = machine.provide(BUILD_FAILS="1")
    assert done.returncode == 1
    assert "no such thing" in done.stderr
    assert done.stdout == ""
    assert [path.name for path in (machine.home / ".cache/reprieve/kube").iterdir()] == ["lock"]
    assert machine.provide().returncode == 0


def test_what_a_killed_build_left_is_removed(machine: Machine) -> None:
    killed = machine.command(BUILD_SECONDS="1")
    cache = machine.home / ".cache/reprieve/kube"
    while not list(cache.glob(".building-*/*")):
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    assert machine.provide().returncode == 0
    assert not list(cache.glob(".building-*"))


def test_two_at_once_build_once(machine: Machine) -> None:
    both = [machine.command(BUILD_SECONDS="0.3") for _ in range(2)]
    printed = {process.communicate()[0] for process in both}
    assert len(printed) == 1
    assert len(machine.builds) == 2


def test_without_go_it_says_what_would_do(tmp_path: Path) -> None:
    done = Machine(tmp_path, go=False).provide()
    assert done.returncode == 1
    assert "There is no Go" in done.stderr
    assert "KUBEBUILDER_ASSETS" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_there_is_taken_and_what_is_not_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, go=False)
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-scheduler", "kubectl"):
        (assets / name).write_text(name)
    done = machine.provide(KUBEBUILDER_ASSETS=str(assets))
    assert done.returncode == 0, done.stderr
    assert "Tests that need kube-controller-manager or kwok will not run" in done.stderr
    folder = Path(done.stdout.strip())
    assert sorted(path.name for path in folder.iterdir()) == ["etcd", "kube-apiserver", "kube-scheduler"]
    assert (folder / "etcd").read_text() == "etcd"
    again = machine.provide(KUBEBUILDER_ASSETS=str(assets))
    assert again.stdout == done.stdout
    assert "Taking" not in again.stderr


def test_without_go_what_was_brought_along_is_taken_and_only_the_definitions_are_missing(tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text(name)
    done = Machine(tmp_path, go=False).provide(KUBEBUILDER_ASSETS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Tests that need kueue or karmada will not run: There is no Go" in done.stderr


def test_assets_with_go_get_the_definitions_as_well(machine: Machine, tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text(name)
    assert machine.provide(KUBEBUILDER_ASSETS=str(tmp_path)).returncode == 0
    assert machine.definitions == ["karmada/karmadas.yaml", "kueue/kueues.yaml"]
    assert machine.builds == []
    assert machine.provide(KUBEBUILDER_ASSETS=str(tmp_path)).stderr == ""


def test_of_others_only_the_definitions_are_kept_and_they_are_fetched_once(machine: Machine) -> None:
    machine.provide()
    machine.provide(FAKE_VERSION="go1.27.0")
    assert machine.definitions == ["karmada/karmadas.yaml", "kueue/kueues.yaml"]
    assert [line.rpartition(" ")[2] for line in machine.downloads] == [
        "sigs.k8s.io/kueue@v0.19.0",
        "github.com/karmada-io/karmada@v1.16.0",
    ]


def test_definitions_that_are_not_what_they_were_are_refused(machine: Machine) -> None:
    machine.publish(DEFINITIONS[1], Sum="h1:another=")
    done = machine.provide()
    assert (done.returncode, done.stdout) == (1, "")
    assert "karmada v1.16.0 is not what it was: h1:another=" in done.stderr
    assert not list((machine.home / ".cache/reprieve/kube").glob("definitions-*"))
    machine.publish(DEFINITIONS[1])
    assert machine.provide().returncode == 0
    assert len(machine.builds) == 2, "the programs were there"


def test_without_a_network_it_says_so(machine: Machine) -> None:
    done = machine.provide(NO_NETWORK="1")
    assert done.returncode == 1
    assert "no network" in done.stderr
    assert "Traceback" not in done.stderr


def test_assets_that_change_are_taken_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path, go=False)
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text(name)
    first = machine.provide(KUBEBUILDER_ASSETS=str(tmp_path)).stdout
    (tmp_path / "etcd").write_text("another one")
    assert machine.provide(KUBEBUILDER_ASSETS=str(tmp_path)).stdout != first


def test_assets_without_a_server_are_refused(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("")
    done = machine.provide(KUBEBUILDER_ASSETS=str(tmp_path))
    assert done.returncode == 1
    assert f"KUBEBUILDER_ASSETS names {tmp_path}, and there is no kube-apiserver in it." in done.stderr
    assert machine.builds == []
