"""`reprieve up --demo`: victims of all five policies make way and come back, and it says so, and nothing else."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reprieve.cli.demo import SPEED, play
from reprieve.cli.options import BadUsage
from reprieve.cli.up.gates import for_demo
from reprieve.configuration import Settings
from reprieve.demo.scenes import LABEL, SCENES, classes
from reprieve.demo.stage import Stage
from reprieve.demo.table import is_furnished, rows
from reprieve.manifests.kinds import NAMESPACES, NODES, PODS
from tests.cli.command import REPRIEVE, environment, reprieve
from tests.cli.running import until
from tests.planes.running import Plane, live

POLICIES = ["pod", "podgroup", "quota", "queue", "federation"]


async def told(plane: Plane, *, terminal: bool = False) -> tuple[bool, list[str]]:
    """Play it at its own speed: whether all came to its end, and what was said."""
    out = StringIO()
    console = Console(file=out, width=200, force_terminal=terminal, highlight=False, markup=False, no_color=True)
    whole = await play(plane.plane, console, speed=1)
    return whole, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).splitlines()


def find(lines: list[str], pattern: str) -> list[str]:
    return [line for line in lines if re.search(pattern, line)]


def told_in_virtual_time(**options: Any) -> tuple[bool, list[str]]:
    found: list[tuple[bool, list[str]]] = []

    async def story(plane: Plane) -> None:
        found.append(await told(plane))

    live(story, for_demo(Settings(validate=True)), **options)
    return found[0]


@pytest.fixture(scope="module")
def demo() -> tuple[bool, list[str]]:
    return told_in_virtual_time()


def test_all_scenes_come_to_their_end(demo: tuple[bool, list[str]]) -> None:
    whole, lines = demo
    assert whole
    assert [line[0] for line in find(lines, r"^\d\. ")] == ["1", "2", "3", "4", "5"]
    assert len(find(lines, "Everybody who made way is back")) == 5
    assert not find(lines, "did not reach|could not be played")


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        (
            "pod",
            r"2 pods of ReplicaSet crawl made way for Job invoices \(priority 100 is below 1000.*\); 2 of 2 pods run",
        ),
        ("pod", r"1 pod of ReplicaSet index made way for Job invoices .*; 2 of 2 pods run again"),
        ("podgroup", r"3 pods of Job tuning made way for Job release .*; 3 of 3 pods run again"),
        ("quota", r"1 workload of Job \w+ made way for Job billing \(demo-research borrows.*; 2 of 2 pods run again"),
        (
            "queue",
            r"2 pods of ReplicaSet trends made way for Job orders \(root.insights is over its guarantee\); 4 of 4",
        ),
        ("federation", r"1 binding of Deployment \w+ made way for Job forecast .*; \d of \d pods run again"),
    ],
)
def test_the_summary_says_who_made_way_for_whom_why_and_who_came_back(
    demo: tuple[bool, list[str]], policy: str, want: str
) -> None:
    assert len(find(demo[1], f"^  {policy}: {want}")) == 1


@pytest.mark.parametrize(
    "steps",
    [
        (
            "Applied: ReplicaSet crawl",
            "crawl-.* makes way for Pod/demo-pods/invoices-.* on meadow-.* The reason: priority 100 is below 1000",
            "Spared: index-.*, because its class demo-low-at-first-safe tolerates preemptors below 10000",
            "invoices-.* waits: the pods that could be preempted tolerate it, the first of them until",
            "crawl-.* leave meadow-1 and meadow-2 and have at most 10 seconds for it",
            "crawl-.* have left meadow-1 and meadow-2 after [23] seconds",
            "Job invoices: 2 of 3 pods run",
            "index-.* makes way for Pod/demo-pods/invoices-",
            "ReplicaSet crawl: 2 of 2 pods run again",
            "Job invoices is complete",
            "ReplicaSet index: 2 of 2 pods run again",
        ),
        (
            "Job tuning: 3 of 3 pods run, on rack-1, rack-2 and rack-3",
            "giant/members is unschedulable, and nobody is preempted for a part of it: .* 3 of the 4 pods",
            r"tuning/members \(3 pods\) makes way for Workload/demo-gangs/release/members",
            "have left rack-1, rack-2 and rack-3",
            "Job release: 2 of 2 pods run",
            "Job release is complete",
            "Job tuning: 3 of 3 pods run again",
        ),
        (
            "Job sweep is admitted by demo-research",
            "makes way for Workload/demo-quota/job-billing-.* in demo-production. .* borrowed",
            "job-billing-.* waits for demo-production: .* still leaving",
            "Job .* has left demo-research after 3 seconds",
            "Job billing is admitted by demo-production",
            "Job billing is complete",
            "is admitted again by demo-research",
        ),
        (
            "ReplicaSet trends: 4 of 4 pods run, on hall-1",
            "orders-.* waits: root.orders lets it preempt from",
            "trends-.* makes way for Pod/demo-queues/orders-.* root.insights is over its guarantee",
            "Job orders: 2 of 2 pods run, on hall-1",
            "ReplicaSet trends: 4 of 4 pods run again",
        ),
        (
            "Deployment thumbnails: 3 of 3 pods run",
            "makes way for ResourceBinding/demo-federation/forecast-job in .*, which is short of 4 cpu",
            "Deployment .* leaves",
            "Deployment .* has left .* after [23] seconds",
            "Job forecast: 2 of 2 pods run",
            "Job forecast is complete",
            "Deployment .* run again",
        ),
    ],
    ids=POLICIES,
)
def test_what_happens_is_told_in_its_order(demo: tuple[bool, list[str]], steps: tuple[str, ...]) -> None:
    left = demo[1]
    for step in steps:
        found = next((number for number, line in enumerate(left) if re.search(step, line)), None)
        assert found is not None, f"{step!r} is not told, or too early: {left}"
        left = left[found:]


def test_it_says_what_to_try_next_about_somebody_who_made_way(demo: tuple[bool, list[str]]) -> None:
    asked = find(demo[1], " explain pod/demo-pods/crawl-")
    assert len(asked) == 1
    assert find(demo[1], f"Pod/demo-pods/{asked[0].rpartition('/')[2]} makes way")


def test_a_second_time_on_the_same_data_takes_away_what_the_first_left() -> None:
    async def story(plane: Plane) -> None:
        for _ in range(2):
            whole, lines = await told(plane)
            assert whole, lines

    live(story)


def test_what_belongs_to_somebody_else_is_not_touched_and_its_scene_not_played() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo-pods"}})
        config = {"metadata": {"name": "yunikorn-configs"}, "data": {"queues.yaml": "partitions: []"}}
        await plane.apply({"apiVersion": "v1", "kind": "ConfigMap", **config})
        whole, lines = await told(plane)
        assert not whole
        assert find(lines, "Pods: .* could not be played: Namespace//demo-pods is there already")
        assert find(lines, "Queues: .* could not be played: ConfigMap/default/yunikorn-configs is there already")
        assert len(find(lines, "Everybody who made way is back")) == 3
        namespace = await plane.store.get(NAMESPACES, "demo-pods")
        assert LABEL not in namespace.metadata.get("labels", {})
        assert "deletionTimestamp" not in namespace.metadata

    live(story)


def test_where_nothing_is_carried_out_no_scene_claims_to_have_come_to_its_end() -> None:
    whole, lines = told_in_virtual_time(shadow=True)
    assert not whole
    assert not find(lines, "is back|made way for|run again")
    lacking = find(
        lines, r"^  The scene .* did not reach its end within \d+ seconds: the work of low priority does not run"
    )
    assert len(lacking) == 5


def test_a_node_that_is_lost_in_between_is_not_glossed_over() -> None:
    """The victims of the first scene have nowhere to come back to."""

    async def story(plane: Plane) -> None:
        lines = await without_a_node(plane)
        assert find(lines, 'The scene "Pods: .*" did not reach its end within .*: not everybody who made way is back')
        assert find(lines, r"^  pod: 1 pod of ReplicaSet index made way .*; (1 of 2 pods run again|not back)\.")
        assert len(find(lines, "Everybody who made way is back")) == 4

    live(story)


async def without_a_node(plane: Plane) -> list[str]:
    """What is told when a node of the first scene is lost while its preemptor runs."""
    out = StringIO()
    task = asyncio.create_task(play(plane.plane, Console(file=out, width=200), speed=1))
    while "has left meadow-1" not in out.getvalue():
        await plane.passes(0.1)
    for record in (await plane.store.list(PODS, "demo-pods")).records:
        if record.data["spec"].get("nodeName") == "meadow-2":
            await plane.store.delete(PODS, record.name, "demo-pods", grace=0)
    await plane.store.patch(NODES, "meadow-2", "", {"spec": {"unschedulable": True}})
    assert not await task
    return out.getvalue().splitlines()


# On a terminal


def test_a_terminal_also_shows_a_table_of_who_runs_leaves_and_waits() -> None:
    async def story(plane: Plane) -> None:
        whole, lines = await told(plane, terminal=True)
        assert whole
        for places in ("node", "cluster queue", "queue", "member cluster"):
            assert find(lines, f"┃.* {places} .*┃.* used .*┃.* runs .*┃.* leaves .*┃.* waits ")
        assert find(lines, r"│ meadow-1 +│ 2 of 2 cpu +│ index-\w+ +│ crawl-\w+ +│")
        assert find(lines, r"│ rack-3 +│ 4 of 4 cpu +│ +│ tuning-\w+ +│")
        assert find(lines, r"│ demo-research +│ 8 of 4 cpu +│ Job \w+ +│ Job \w+ +│")
        assert find(lines, r"│ root.insights +│ 8 of 2 cpu +│ trends-.*│ trends-.*│")
        assert find(lines, r"│ oslo +│ 8 of 8 cpu +│ .*Deployment \w+.*│ Deployment \w+ ×2 +│")
        assert find(lines, "To try in another terminal")

    live(story)


def test_the_table_of_an_empty_stage_is_empty_and_not_furnished() -> None:
    async def story(plane: Plane) -> None:
        stage = Stage(plane.store)
        await stage.follow()
        assert [rows(scene, stage) for scene in SCENES] == [[]] * 5
        assert not any(is_furnished(scene, stage) for scene in SCENES)
        stage.close()

    live(story)


# Manifests and speed


def test_faster_means_that_everything_takes_less_long() -> None:
    slow, fast = classes(1), classes(4)
    toleration = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"
    assert [each["metadata"].get("annotations", {}).get(toleration) for each in slow] == [None, "8", None]
    assert [each["metadata"].get("annotations", {}).get(toleration) for each in fast] == [None, "2", None]
    job = SCENES[0].acts(4)[-1].manifests[0]
    assert job["spec"]["template"]["metadata"]["annotations"]["reprieve.scheduling/run-seconds"] == "1.25"


@pytest.mark.parametrize("speed", ["fast", "0", "-1", "nan", "inf"])
def test_a_speed_that_is_none_is_bad_usage(monkeypatch: pytest.MonkeyPatch, speed: str) -> None:
    monkeypatch.setenv(SPEED, speed)

    async def story(plane: Plane) -> None:
        with pytest.raises(BadUsage, match=f"{SPEED}: '{speed}' is no number above 0"):
            await play(plane.plane, Console(file=StringIO()))

    live(story)


# The real command


def test_without_a_terminal_it_plays_sums_up_and_stops(tmp_path: Path) -> None:
    done = reprieve("up", "--demo", "--port", "0", XDG_DATA_HOME=str(tmp_path), REPRIEVE_DEMO_SPEED="20")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for policy in POLICIES:
        assert find(lines, rf"^  {policy}: .* made way for .* run again\.$")
    assert lines[-1] == "Stopped."
    assert list(tmp_path.rglob("*.db")) == []


def test_a_scene_that_cannot_be_played_ends_it_with_1(tmp_path: Path) -> None:
    taken = tmp_path / "taken.yaml"
    names = [f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {scene.namespace}}}" for scene in SCENES]
    taken.write_text("\n---\n".join(names))
    done = reprieve(
        "up", "--demo", "--port", "0", "-f", str(taken), XDG_DATA_HOME=str(tmp_path), REPRIEVE_DEMO_SPEED="20"
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("could not be played") == 10  # when it happens, and in the summary


def test_on_a_terminal_it_goes_on_until_it_is_told_to_stop(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    variables = {**environment(XDG_DATA_HOME=str(tmp_path)), "TERM": "xterm", SPEED: "20"}
    command = [*REPRIEVE, "up", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables) as up:
        os.close(theirs)
        os.set_blocking(ours, False)
        seen = b""

        def shows(text: str) -> bool:
            nonlocal seen
            with suppress(OSError):  # nothing to read yet, or nobody there any more
                seen += os.read(ours, 65536)
            return text in seen.decode(errors="replace")

        try:
            until(lambda: shows("meadow-1"))
            until(lambda: shows("The demonstration is over; the control plane goes on."))
            assert up.poll() is None
            up.send_signal(signal.SIGINT)
            until(lambda: shows("Stopped."))
            assert up.wait(30) == 0
            assert b"Traceback" not in seen
            assert b"objects are read" not in seen  # what the control plane reads is not what somebody waits for
        finally:
            up.kill()
            os.close(ours)
