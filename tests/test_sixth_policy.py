"""A policy that this package knows nothing of is registered, and from then on seen everywhere (see `tests.seats`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import reprieve
from reprieve.cli import app
from reprieve.manifests.kinds import JOBS
from reprieve.policies.registry import registered
from reprieve.scheduler import registry as lanes
from tests.builders.pods import to_yaml
from tests.paths import ROOT
from tests.planes.running import Plane, live
from tests.seats import HELD, PINNED, SERVER, WANT, SeatsEntry, SeatsLane

Dict = dict[str, Any]


@pytest.fixture(autouse=True)
def seats() -> Iterator[None]:
    lanes.register(SeatsLane, SeatsEntry.name)
    try:
        with registered(SeatsEntry.name, SeatsEntry):
            yield
    finally:
        lanes.unregister(SeatsLane)


def server(name: str, seats: int) -> Dict:
    metadata = {"name": name, "namespace": "default", "labels": {SERVER: "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"seats": str(seats)}}


def job(name: str, priority: int, want: int = 1, held: str = "", **said: str) -> Dict:
    annotations = {WANT: str(want), **({HELD: held} if held else {}), **said}
    pods = {"containers": [{"name": "main", "image": "cad"}], "restartPolicy": "Never", "priority": priority}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"parallelism": 0, "template": {"spec": pods}},
    }


OFFICE = [
    server("cad", 3),
    server("sim", 1),
    job("sketch", 1, held="cad"),
    job("draft", 2, held="cad"),
    job("model", 5, held="cad"),
    job("solver", 1, 1, "sim", **{PINNED: "true"}),
    job("render", 9, want=2),
]
NOW = "2026-01-01T12:00:00Z"


def test_a_plan() -> None:
    decision = reprieve.plan(OFFICE, preemptor="Job/default/render", now=NOW).decision
    assert (decision.policy, decision.outcome, decision.domain) == ("seats", "Preempt", "cad")
    assert [victim["unit"] for victim in decision.victims] == ["Job/default/sketch", "Job/default/draft"]
    assert {item["unit"]: item["rule"] for item in decision.spared} == {
        "Job/default/model": "Reprieved",
        "Job/default/solver": "Pinned",
    }


def test_a_cycle_takes_it_beside_all_others() -> None:
    result = reprieve.plan([*OFFICE, job("late", 3)], now=NOW)
    assert result.order == ["Job/default/render", "Job/default/late"]
    assert result.left == ["Job/default/render", "Job/default/late"]
    assert result.priorities["Job/default/late"] == {"priority": 3, "preemptionPolicy": "PreemptLowerPriority"}


def command(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def test_an_explanation(tmp_path: Path) -> None:
    (tmp_path / "office.yaml").write_text(to_yaml(*OFFICE))
    files = ("-f", str(tmp_path), "--now", NOW)
    code, output = command("explain", *files, "--for", "job/default/render", "--why-not", "job/default/solver")
    assert (code, output.splitlines()[-1]) == (0, "Job/default/solver stays: it is pinned to its seats.")
    code, output = command("explain", *files, "--for", "job/default/sketch")
    assert code == 0
    assert output.startswith(
        "Job/default/sketch sits at cad.\nJob/default/sketch would be preempted by Job/default/render"
    )


def test_a_change(tmp_path: Path) -> None:
    (tmp_path / "office.yaml").write_text(to_yaml(*OFFICE))
    (tmp_path / "change.yaml").write_text(to_yaml(job("draft", 2, 1, "cad", **{PINNED: "true"})))
    files = ("-f", str(tmp_path / "office.yaml"), "--now", NOW)
    code, output = command("plan", *files, "--change", str(tmp_path / "change.yaml"), "-o", "json")
    made = json.loads(output)
    assert code == 0
    assert [(item["unit"], item["by"], item["rule"]) for item in made["newlySafe"]] == [
        ("Job/default/draft", ["Job/default/render"], "Pinned")
    ]
    assert [(item["unit"], item["victims"]) for item in made["nowPreempts"]] == [
        ("Job/default/render", ["Job/default/model"])
    ]
    code, output = command("plan", *files, "--change", str(tmp_path / "office.yaml"))
    assert (code, output.splitlines()[-1].split(":")[0]) == (0, "No difference")


def test_a_case_file(tmp_path: Path) -> None:
    case = {
        "case": "seats/office/render",
        "now": NOW,
        "objects": OFFICE,
        "preemptor": {"kind": "Job", "namespace": "default", "name": "render"},
        "expect": {"outcome": "Preempt", "victims": ["Job/default/sketch", "Job/default/draft"], "domain": "cad"},
    }
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    code, output = command("test", str(tmp_path))
    assert (code, output) == (0, "1 passed, 0 failed\n")


def test_the_loop_the_history_and_the_metrics() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(*OFFICE)
        await plane.passes(30)
        held = {
            record.name: (record.metadata.get("annotations") or {}).get(HELD)
            for record in (await plane.store.list(JOBS)).records
        }
        assert held == {"sketch": None, "draft": None, "model": "cad", "solver": "sim", "render": "cad"}
        told = plane.plane.history.explain("Job/default/sketch")
        assert told["preempted"]["preemptor"] == "Job/default/render"
        assert [line["step"] for line in told["story"]][:2] == ["evicted", "queued"]
        figures = plane.plane.metrics_registry
        assert figures.get_sample_value("scheduler_preemption_attempts_total", {"policy": "seats"}) == 1
        assert figures.get_sample_value("scheduler_preemption_victims_sum", {"policy": "seats"}) == 2

    live(story)


def test_no_module_knows_it() -> None:
    sources = list((ROOT / "src").rglob("*.py"))
    assert sources
    assert not [path for path in sources if "seats" in path.read_text()]
