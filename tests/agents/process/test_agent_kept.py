"""What a real agent keeps of containers that were started again and of pods that are gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprieve.agents.process import pods, slots
from reprieve.agents.process.kept_logs import LogLimits
from reprieve.model.backoff import Backoff
from reprieve.stores.records import Record
from tests.agents.process.scenes import Scene, play, until

FIVE_TIMES = "echo x >> runs; wc -l < runs; [ $(wc -l < runs) = 5 ]"


async def _read(scene: Scene, pod: Record, run: int = 0) -> bytes | None:
    parts = scene.agent.run_log(pod.uid, "main", run)
    return None if parts is None else b"".join([part async for part in parts])


async def _kept(scene: Scene, pod: Record) -> None:
    """Delete a pod, and wait until its files have gone where logs are kept."""

    async def moved() -> bool:
        return not (scene.files / "pods" / pod.uid).exists()

    await scene.delete(pod, grace=0)
    await until(moved)


def test_all_runs_of_a_container_that_fails_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_BACK_OFF", Backoff(first=0.01, longest=0.01))
    monkeypatch.setattr(pods, "_KEEP_SECONDS", 0.0)

    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", FIVE_TIMES, restartPolicy="OnFailure")
        await scene.phase(pod, "Succeeded")
        runs = scene.agent.runs(pod.uid)
        assert [(run.run, run.exit_code) for run in runs] == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 0)]
        written = [await _read(scene, pod, number) for number in range(5)]
        assert written == [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n"]
        await _kept(scene, pod)
        assert scene.agent.runs(pod.uid) == runs
        assert [await _read(scene, pod, number) for number in range(5)] == written

    play(story, tmp_path)


def test_an_agent_keeps_as_much_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "_KEEP_SECONDS", 0.0)

    async def story(scene: Scene) -> None:
        made = [await scene.shell(f"p{number}", "seq 1 1000", restartPolicy="Never") for number in range(4)]
        for pod in made:
            await scene.phase(pod, "Succeeded")
            await _kept(scene, pod)
        runs = [run for pod in made for run in scene.agent.runs(pod.uid)]
        assert [run.dropped for run in runs].count(True) == 2
        for pod, run in zip(made, runs, strict=True):
            assert run.size <= 1000
            assert run.cut + run.size == 3893
            read = await _read(scene, pod)
            assert read is None if run.dropped else (read or b"").endswith(b"\n999\n1000\n")

    play(story, tmp_path, logs=LogLimits(one=1000, all=2500))
