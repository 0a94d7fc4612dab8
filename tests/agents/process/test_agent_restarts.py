"""What becomes of work when its agent is killed, stopped or fails, and another one comes."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reprieve.agents.process.agent import AgentRunsAlready, ProcessAgent
from reprieve.agents.process.containers import Directory
from reprieve.agents.process.remains import marked
from reprieve.agents.process.shim import process_table
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import system_clock
from reprieve.stores.caches import Cache
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Unavailable
from reprieve.stores.records import Record
from tests.agents.process.scenes import (
    MACHINE,
    PATIENCE,
    Scene,
    condition,
    container_in,
    play,
    pod_of,
    shell,
    terminated,
    until,
)
from tests.paths import ROOT

UNTIL_TOLD = "echo before; while ! [ -e go ]; do sleep 0.02; done; echo after; exit 9"
STUBBORN = "trap '' TERM; echo begun; while :; do sleep 0.05; done"
POLITE = "trap 'exit 0' TERM; echo begun; while :; do sleep 0.05; done"


def never(directory: Path, name: str, script: str, **spec: Any) -> dict[str, Any]:
    return pod_of(name, shell(script, workingDir=str(directory)), **{"restartPolicy": "Never", **spec})


@contextmanager
def another_agent(directory: Path, *pods: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """An agent in a process of its own, with these pods; it is killed without warning when the block ends."""
    command = [sys.executable, "-m", "tests.agents.process.agent_program", str(directory)]
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    with agent:
        try:
            assert agent.stdin is not None
            assert agent.stdout is not None
            agent.stdin.write(msgspec.json.encode(pods))
            agent.stdin.close()
            assert agent.stdout.readline() == b"begin\n"
            yield agent
        finally:
            agent.kill()


def started_by_a_killed_agent(directory: Path, pod: dict[str, Any], *, written: str) -> str:
    """The uid of a pod that is known to run, and has written this, when its agent is killed."""
    with another_agent(directory, pod) as agent:
        assert agent.stdout is not None
        uid = agent.stdout.readline().decode().strip()
        log = directory / "agent" / "pods" / uid / "main" / "0" / "output.log"
        _wait_for(lambda: log.exists() and written in log.read_text())
        assert agent.stdout.readline() == b"told\n"
    return uid


def command_of(directory: Path, uid: str) -> int:
    """The process of a container's command, as it is on record."""
    record = Directory.of(directory / "agent" / "pods", uid, "main").record()
    assert record is not None
    return record.command.pid


def _wait_for(check: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


async def pod_named(scene: Scene, name: str) -> Record:
    pod = await scene.store.get(PODS, name, "default")
    scene.uids.add(pod.uid)
    return pod


# Killed


def test_work_goes_on_and_is_found_again(tmp_path: Path) -> None:
    uid = started_by_a_killed_agent(tmp_path, never(tmp_path, "a", UNTIL_TOLD), written="before")
    before = command_of(tmp_path, uid)
    assert before in marked(uid)

    async def story(scene: Scene) -> None:
        pod = await pod_named(scene, "a")
        await scene.phase(pod, "Running")
        assert command_of(tmp_path, uid) == before
        assert before in marked(uid)
        (tmp_path / "go").touch()
        status = await scene.ended(pod)
        assert terminated(status)["exitCode"] == 9
        assert container_in(status)["restartCount"] == 0
        assert await scene.log(pod) == b"before\nafter\n"

    play(story, tmp_path)


def test_an_end_that_nobody_saw_is_told_later(tmp_path: Path) -> None:
    uid = started_by_a_killed_agent(tmp_path, never(tmp_path, "a", UNTIL_TOLD), written="before")
    (tmp_path / "go").touch()
    _wait_for(lambda: not marked(uid))

    async def story(scene: Scene) -> None:
        assert terminated(await scene.ended(await pod_named(scene, "a")))["exitCode"] == 9

    play(story, tmp_path)


def test_what_was_deleted_meanwhile_is_ended(tmp_path: Path) -> None:
    uid = started_by_a_killed_agent(tmp_path, never(tmp_path, "a", STUBBORN), written="begun")

    async def story(scene: Scene) -> None:
        await scene.delete(await pod_named(scene, "a"), grace=0)
        assert marked(uid)
        await scene.begin()

        async def ended() -> bool:
            return not marked(uid)

        await until(ended)

    play(story, tmp_path, agent=False)


def test_a_deletion_that_was_begun_is_finished(tmp_path: Path) -> None:
    uid = started_by_a_killed_agent(tmp_path, never(tmp_path, "a", POLITE), written="begun")

    async def story(scene: Scene) -> None:
        pod = await pod_named(scene, "a")
        await scene.delete(pod)
        await scene.begin()
        await scene.gone(pod)
        assert marked(uid) == []

    play(story, tmp_path, agent=False)


def test_what_is_bound_elsewhere_is_ended(tmp_path: Path) -> None:
    uid = started_by_a_killed_agent(tmp_path, never(tmp_path, "a", "echo begun; exec sleep 600"), written="begun")

    async def story(scene: Scene) -> None:
        scene.uids.add(uid)
        other = ProcessAgent(
            scene.store, system_clock, scene.files, machine=msgspec.structs.replace(MACHINE, name="renamed")
        )
        task = asyncio.create_task(other.run())

        async def ended() -> bool:
            return not marked(uid)

        await until(ended)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(story, tmp_path, agent=False)


def test_devices_stay_with_those_who_have_them(tmp_path: Path) -> None:
    container = shell("echo $CUDA_VISIBLE_DEVICES; exec sleep 600", resources={"limits": {"nvidia.com/gpu": "1"}})
    started_by_a_killed_agent(tmp_path, pod_of("a", container), written="\n")

    async def story(scene: Scene) -> None:
        first = await pod_named(scene, "a")
        second = await scene.run(pod_of("b", container))
        await scene.wrote(second, b"\n")
        assert {await scene.log(first), await scene.log(second)} == {b"0\n", b"1\n"}

    play(story, tmp_path)


def test_what_nothing_is_left_of_did_not_succeed_and_does_not_run_twice(tmp_path: Path) -> None:
    script = "echo x >> count; echo begun; exec sleep 600"
    started_by_a_killed_agent(tmp_path, never(tmp_path, "a", script), written="begun")

    async def story(scene: Scene) -> None:
        pod = await pod_named(scene, "a")
        for pid in marked(pod.uid):
            os.kill(pid, 9)
        shutil.rmtree(scene.files / "pods")
        await scene.begin()
        status = await scene.ended(pod)
        assert status["phase"] == "Failed"
        assert terminated(status)["reason"] == "ContainerStatusUnknown"
        assert (tmp_path / "count").read_text() == "x\n"

    play(story, tmp_path, agent=False)


def test_work_that_ended_with_the_machine_is_no_failure(tmp_path: Path) -> None:
    started_by_a_killed_agent(tmp_path, never(tmp_path, "a", "echo begun; exec sleep 600"), written="begun")

    async def story(scene: Scene) -> None:
        pod = await pod_named(scene, "a")
        for pid in marked(pod.uid):
            os.kill(pid, 9)
        record = scene.files / "pods" / pod.uid / "main" / "0" / "process.json"
        record.write_text(record.read_text().replace(process_table.boot(), "00000000-0000-0000-0000-000000000000"))
        await scene.begin()
        status = await scene.ended(pod)
        assert terminated(status)["message"] == "the machine was restarted while the command ran"
        assert condition(await scene.now(pod), "DisruptionTarget")["status"] == "True"

    play(story, tmp_path, agent=False)


def test_agents_killed_at_any_moment_run_every_pod_once(tmp_path: Path) -> None:
    chance = random.Random(8)  # noqa: S311
    names = []
    for turn in range(5):
        batch = [f"p{turn}-{number}" for number in range(8)]
        names += batch
        pods = [never(tmp_path, name, f"echo {name} >> ran; sleep 0.2") for name in batch]
        with another_agent(tmp_path, *pods) as agent:
            assert agent.stdout is not None
            if turn != 4:
                time.sleep(chance.uniform(0, 0.3))
            else:
                for _ in batch:
                    agent.stdout.readline()

    async def story(scene: Scene) -> None:
        made = [await pod_named(scene, record.name) for record in (await scene.store.list(PODS)).records]
        bound = [pod for pod in made if pod.data["spec"].get("nodeName")]
        assert len(bound) >= 8
        for pod in bound:
            assert (await scene.ended(pod))["phase"] == "Succeeded"
        ran = (tmp_path / "ran").read_text().split()
        assert sorted(ran) == sorted(pod.name for pod in bound)

    play(story, tmp_path)


# Stopped in good order


@pytest.mark.parametrize(("script", "code"), [("echo begun; exec sleep 600", 143), (POLITE, 143)])
def test_a_clean_stop_leaves_nothing_and_is_no_failure(tmp_path: Path, script: str, code: int) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", script, restartPolicy="Never")
        await scene.wrote(pod, b"begun")
        await scene.stop()
        assert marked(pod.uid) == []
        status = await scene.status(pod)
        assert status["phase"] == "Failed"
        assert (terminated(status)["exitCode"], terminated(status)["reason"]) == (code, "AgentStopped")
        target = condition(await scene.now(pod), "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "TerminationByAgent")

    play(story, tmp_path)


def test_a_stop_that_could_not_be_told_is_told_later(tmp_path: Path) -> None:
    """The store is lost while the agent stops: everything ends all the same, and the next agent knows why."""

    async def story(scene: Scene) -> None:
        scene.store = _Lost(scene.store)  # type: ignore[assignment]
        await scene.begin()
        pod = await scene.shell("a", "exec sleep 600", restartPolicy="Never")
        await scene.phase(pod, "Running")
        scene.store.lost = True  # type: ignore[attr-defined]
        await scene.stop()
        assert marked(pod.uid) == []
        assert (await scene.status(pod))["phase"] == "Running"
        scene.store.lost = False  # type: ignore[attr-defined]
        await scene.begin()
        status = await scene.ended(pod)
        assert terminated(status)["reason"] == "AgentStopped"
        assert condition(await scene.now(pod), "DisruptionTarget")["status"] == "True"

    play(story, tmp_path, agent=False)


class _Lost:
    """A store that can be lost: then nothing is written."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self.lost = False

    def __getattr__(self, name: str) -> Any:
        if self.lost and name in ("create", "patch", "delete"):
            raise Unavailable("the store cannot be reached")
        return getattr(self._store, name)


def test_what_a_clean_stop_ended_runs_again_and_that_counts_as_no_restart(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "echo begun; exec sleep 600", restartPolicy="OnFailure")
        await scene.wrote(pod, b"begun")
        await scene.stop()
        status = await scene.status(pod)
        assert (status["phase"], terminated(status)["reason"]) == ("Running", "AgentStopped")
        await scene.begin()

        async def runs() -> bool:
            return "running" in (await scene.container(pod))["state"]

        await until(runs)
        found = await scene.container(pod)
        assert found["restartCount"] == 0
        assert found["lastState"]["terminated"]["reason"] == "AgentStopped"

    play(story, tmp_path)


def test_an_agent_killed_while_it_stops_is_finished_by_the_next(tmp_path: Path) -> None:
    pod = never(tmp_path, "a", STUBBORN, terminationGracePeriodSeconds=3)
    with another_agent(tmp_path, pod) as agent:
        assert agent.stdout is not None
        uid = agent.stdout.readline().decode().strip()
        files = tmp_path / "agent" / "pods" / uid / "main" / "0"
        _wait_for(lambda: (files / "output.log").exists() and "begun" in (files / "output.log").read_text())
        agent.terminate()
        _wait_for((files / "stop.json").exists)
    assert marked(uid)

    async def story(scene: Scene) -> None:
        found = await pod_named(scene, "a")
        await scene.store.patch(PODS, "a", "default", {"metadata": {"labels": {"seen": "1"}}})
        status = await scene.ended(found)
        assert (terminated(status)["exitCode"], terminated(status)["reason"]) == (137, "AgentStopped")
        assert marked(uid) == []

    play(story, tmp_path)


# Failing


def test_work_goes_on_when_the_agent_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", UNTIL_TOLD, restartPolicy="Never")
        await scene.wrote(pod, b"before")
        before = command_of(tmp_path, pod.uid)

        async def broken(*_: Any) -> None:
            raise RuntimeError("broken")

        with monkeypatch.context() as patch:
            patch.setattr(Cache, "follow", broken)
            patch.setattr(Cache, "quiet", property(lambda _: False))
            scene.agent.enqueue(("node", "here"))
            assert scene._task is not None
            with pytest.raises(RuntimeError, match="broken"):
                await scene._task
        assert before in marked(pod.uid)
        await scene.begin()
        (tmp_path / "go").touch()
        assert terminated(await scene.ended(pod))["exitCode"] == 9

    play(story, tmp_path)


def test_two_agents_do_not_share_a_directory(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        second = ProcessAgent(scene.store, system_clock, scene.files, "second")
        with pytest.raises(AgentRunsAlready, match="another agent uses this directory"):
            await second.run()

    play(story, tmp_path)


def test_an_agent_can_be_named_and_looks_at_its_machine(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        agent = ProcessAgent(scene.store, system_clock, tmp_path / "other", "My_Machine")
        task = asyncio.create_task(agent.run())

        async def there() -> Any:
            nodes = {record.name: record for record in (await scene.store.list(NODES)).records}
            return nodes.get("my-machine")

        node = await until(there)
        assert int(node.data["status"]["capacity"]["memory"].removesuffix("Ki")) > 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert [path.name for path in (tmp_path / "other").iterdir()] == ["agent.lock"]

    play(story, tmp_path)
