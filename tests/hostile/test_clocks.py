"""A clock that is set back by an hour delays nobody: not who leaves with a grace period, nor who is about to end."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reprieve.model.clock import START, SteadyClock
from tests.cli import running
from tests.cli.running import until
from tests.hostile.attacking import attacked, thorough

_PODS = "/api/v1/namespaces/default/pods"
_SET_BACK = """
import sys, time
from pathlib import Path
from reprieve.cli import main
from reprieve.model import clock
offset = Path(sys.argv.pop(1))
real = time.time
clock.system_clock._wall = lambda: real() + float(offset.read_text())
main()
"""


def a_pod(name: str, **annotations: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "i"}], "terminationGracePeriodSeconds": 30}
    said = {f"reprieve.scheduling/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"metadata": {"name": name, "annotations": said}, "spec": spec}


@thorough
def test_nobody_waits_for_the_clock_to_catch_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offset = tmp_path / "offset"
    offset.write_text("0")
    program = (sys.executable, "-c", _SET_BACK, str(offset))
    monkeypatch.setattr(running, "REPRIEVE", program)
    with attacked(tmp_path) as victim:
        for name, said in (("leaving", {"termination_seconds": "2"}), ("ending", {"run_seconds": "3"})):
            assert victim.ask("POST", _PODS, a_pod(name, **said))[0] == 201

        def phase(name: str) -> str:
            return str(victim.get(f"{_PODS}/{name}")["status"]["phase"])

        until(lambda: phase("leaving") == "Running" and phase("ending") == "Running")
        assert victim.ask("DELETE", f"{_PODS}/leaving")[0] == 200
        offset.write_text("-3600")
        began = time.monotonic()
        until(lambda: victim.ask("GET", f"{_PODS}/leaving")[0] == 404)
        until(lambda: phase("ending") == "Succeeded")
        assert time.monotonic() - began < 30


class _Times:
    def __init__(self) -> None:
        self.wall = START.timestamp()
        self.monotonic = 100.0

    def pass_(self, seconds: float, *, set_by: float = 0.0) -> None:
        self.wall += seconds + set_by
        self.monotonic += seconds


def test_the_clock_never_goes_back_and_meets_the_machines_again() -> None:
    times = _Times()
    clock = SteadyClock(lambda: times.wall, lambda: times.monotonic)
    before = clock()
    times.pass_(10, set_by=-3600)
    assert timedelta(seconds=9) <= clock() - before <= timedelta(seconds=10)
    shown = clock()
    for _ in range(700):
        times.pass_(60)
        now = clock()
        assert timedelta(seconds=53) < now - shown < timedelta(seconds=61)
        shown = now
    assert shown.timestamp() == pytest.approx(times.wall, abs=0.1)


def test_the_clock_follows_forward_at_once_and_goes_on_from_what_was_written() -> None:
    times = _Times()
    clock = SteadyClock(lambda: times.wall, lambda: times.monotonic)
    times.pass_(1, set_by=7200)
    assert clock().timestamp() == times.wall
    later = clock() + timedelta(hours=1)
    clock.not_before(later)
    assert clock() >= later
    clock.not_before(later + timedelta(days=400))
    assert clock() < later + timedelta(minutes=1)
