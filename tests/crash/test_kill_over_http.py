"""`reprieve up`, killed at random moments under load of all five policies over HTTP, and judged from outside.

It is the command itself, in a directory of its own, with its token, on a port of this machine; clients write Jobs,
groups and work for queues, and note what was acknowledged. Half of the kills come at a random time, from its first
moment on; the other half right after a watch has told of a random number of changes. After each of them its file is
read by SQLite alone and the laws are checked; at the end the load stops, and everything has to come to rest, as the
server itself says and as its files say after it was stopped.

Most starts are of a process that has the program in memory already: a copy of this one, which calls the same entry
point with the same arguments. Every twentieth is a new interpreter, as the shell would start it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reprieve.cli import main
from reprieve.manifests.kinds import CONFIG_MAPS, EVENTS, JOBS, PODS, QUOTA_WORKLOADS
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.cli.command import REPRIEVE, environment
from tests.crash.clients import Api, Client, Gone, after_events
from tests.crash.judging import preempting, wasted
from tests.crash.laws import Books, unsettled
from tests.crash.outside import StoreFile, audited

KILLS = int(os.environ.get("REPRIEVE_KILLS", "200"))
_NEW_INTERPRETER_EVERY = 20
_CLIENTS = 2
_LONGEST = 0.9
_MOST_CHANGES = 150
_WATCHED = (PODS, PODS, JOBS, QUOTA_WORKLOADS, EVENTS, CONFIG_MAPS)
_REST_SECONDS = 2.0
_PATIENCE = 120.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and kill")


class Lives:
    """A data directory, and the control planes that live in it one after the other."""

    def __init__(self, place: Path) -> None:
        self.data, self._place = place / "data", place
        settings = place / "settings.yaml"
        settings.write_text(json.dumps({"validate": True, "featureGates": GANGS_AND_BINDINGS}))
        options = ("--agent", "hollow", "--nodes", "0", "--config", str(settings))
        self._arguments = ("up", "--data", str(self.data), "--port", "0", *options)
        self._environment = environment(XDG_DATA_HOME=str(place / "home"))
        self.errors = place / "up.err"

    def begin(self, *, new: bool) -> Life:
        (self.data / "server.json").unlink(missing_ok=True)
        return Life(self._spawned() if new else self._copied(), self)

    def _spawned(self) -> int:
        with self.errors.open("ab") as errors:
            command = [*REPRIEVE, *self._arguments]
            started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=self._environment)
        started.returncode = 0  # it is waited for by its id, as a copy is
        return started.pid

    def _copied(self) -> int:
        child = os.fork()
        if child == 0:
            try:
                self._become_the_command()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        return child

    def _become_the_command(self) -> None:
        """As a new process has it: no files, no loggers and no environment of whoever started it."""
        errors = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number, file in enumerate((os.open(os.devnull, os.O_RDWR), os.open(os.devnull, os.O_RDWR), errors)):
            os.dup2(file, number)
        os.closerange(3, 1024)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        logging.getLogger().handlers.clear()
        os.environ.clear()
        os.environ.update(self._environment)
        sys.argv = ["reprieve", *self._arguments]
        main()


class Life:
    """One of them, from its start to its end."""

    def __init__(self, process: int, lives: Lives) -> None:
        self.process, self._lives = process, lives
        self.ended = False

    def address(self) -> str:
        """Where it listens, as soon as it does."""
        file, end = self._lives.data / "server.json", time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if file.exists() and (said := json.loads(file.read_text()))["pid"] == self.process:
                return str(said["url"])
            time.sleep(0.005)
        raise AssertionError(f"it did not start: {self._lives.errors.read_text()[-3000:]}")

    def token(self) -> str:
        return (self._lives.data / "token").read_text().strip()

    @contextmanager
    def under_load(self, seed: int) -> Iterator[None]:
        """Clients write until it is gone; `client` answers how many of their changes were acknowledged."""
        diary = self._lives.data.parent / "diary"
        self.clients = [Client(self.address(), self.token(), diary, seed * _CLIENTS + n) for n in range(_CLIENTS)]
        for client in self.clients:
            client.start()
        yield
        for client in self.clients:
            client.join(_PATIENCE)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        os.kill(self.process, number)
        self.ended = True
        return os.waitpid(self.process, 0)[1]


def _live_and_die(lives: Lives, number: int, chance: random.Random) -> tuple[int, int]:
    """One life under load, until it is killed; how it ended, and how many changes were acknowledged in it."""
    life = lives.begin(new=number % _NEW_INTERPRETER_EVERY == 0)
    if number % 10 == 3:  # before anybody could ask it for anything
        time.sleep(chance.uniform(0.0, 0.15))
        return life.end(), 0
    with life.under_load(number):
        if number % 2:
            changes, kind = chance.randrange(1, _MOST_CHANGES), chance.choice(_WATCHED)
            try:
                after_events(life.address(), life.token(), kind, changes, seconds=2 * _LONGEST)
            except OSError as error:
                raise AssertionError("it was gone before it was killed") from error
        else:
            time.sleep(chance.uniform(0.0, _LONGEST))
        status = life.end()
    assert [client.mistake for client in life.clients if client.mistake] == [], f"life {number}"
    return status, sum(client.api.acknowledged for client in life.clients)


def _rest(lives: Lives) -> list[str]:
    """Without load, until nothing has happened for a while; what is wrong then, as the server says it."""
    life = lives.begin(new=True)
    api = Api(life.address(), life.token())
    deadline, quiet_since, version, wrong = time.monotonic() + _PATIENCE, time.monotonic(), -1, ["nothing was seen"]
    while time.monotonic() < deadline and time.monotonic() - quiet_since < _REST_SECONDS:
        time.sleep(0.2)
        wrong = asyncio.run(unsettled(api))
        now = asyncio.run(api.list(PODS)).version
        if now != version or wrong:
            version, quiet_since = now, time.monotonic()
    api.close()
    assert os.waitstatus_to_exitcode(life.end(signal.SIGTERM)) == 0, lives.errors.read_text()[-3000:]
    return wrong


def _lets_in(lives: Lives, token: str) -> int:
    """What a control plane answers to this token after its next start."""
    life = lives.begin(new=False)
    api = Api(life.address(), token)
    try:
        return api.ask("GET", "/api/v1/pods")[0]
    except Gone:
        return 0
    finally:
        api.close()
        life.end()


def _reprieve(lives: Lives, *arguments: str) -> str:
    command = [*REPRIEVE, *arguments, "--data", str(lives.data)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_killed_under_load_over_http_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    chance, lives = random.Random(int(os.environ.get("REPRIEVE_SEED", "1"))), Lives(tmp_path)  # noqa: S311
    books, acknowledged = Books(tmp_path / "diary"), 0
    known, revoked = (_reprieve(lives, "token", "create", "--role", "view", "--name", name) for name in ("v", "w"))
    _reprieve(lives, "token", "revoke", "w")
    for number in range(KILLS):
        status, more = _live_and_die(lives, number, chance)
        acknowledged += more
        assert os.WIFSIGNALED(status), f"life {number} ended by itself: {lives.errors.read_text()[-3000:]}"
        assert os.WTERMSIG(status) == signal.SIGKILL
        assert asyncio.run(books.broken(StoreFile(lives.data))) == [], f"after kill {number}"
    assert _rest(lives) == []
    stored = StoreFile(lives.data)
    assert asyncio.run(books.broken(stored)) == []
    assert asyncio.run(unsettled(stored)) == []
    assert wasted(lives.data) == []
    assert (audited(lives.data) or acknowledged) >= acknowledged
    assert [_lets_in(lives, token) for token in (known, revoked, "")] == [200, 401, 401]
    assert "Traceback" not in lives.errors.read_text(), lives.errors.read_text()[-5000:]
    print(f"{acknowledged} changes acknowledged, {stored.version} written")
    assert KILLS < 200 or preempting(lives.data) == {"pod", "podgroup", "quota", "queue", "federation"}
