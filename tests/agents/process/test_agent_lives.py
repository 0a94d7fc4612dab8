"""The lives of pods on this machine: restarts, init containers and sidecars, deadlines, deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.process.containers import Exit
from reprieve.agents.process.remains import marked
from reprieve.agents.process.shim.process_table import living
from reprieve.agents.process.slots import Slot
from reprieve.manifests.kinds import PODS
from reprieve.model.backoff import Backoff
from tests.agents.process.scenes import Scene, condition, container_in, play, pod_of, shell, terminated, until

FAILS_ONCE = "echo run; [ -e again ] && exec sleep 600; : > again; exit 7"
ENDS_WELL_ONCE = "echo run; [ -e again ] && exec sleep 600; : > again; exit 0"
STUBBORN = "trap '' TERM; echo begun; while :; do sleep 0.05; done"
POLITE = "trap 'echo asked; exit 0' TERM; echo begun; while :; do sleep 0.05; done"


# Restarts


@pytest.mark.parametrize(
    ("policy", "script", "code"),
    [("Always", FAILS_ONCE, 7), ("Always", ENDS_WELL_ONCE, 0), ("OnFailure", FAILS_ONCE, 7)],
)
def test_a_container_is_started_again(tmp_path: Path, policy: str, script: str, code: int) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", script, restartPolicy=policy)
        found = await scene.restarts(pod, 1)
        assert found["restartCount"] == 1
        assert found["lastState"]["terminated"]["exitCode"] == code
        assert (await scene.status(pod))["phase"] == "Running"
        await scene.wrote(pod, b"run\n")
        assert await scene.log(pod, previous=True) == b"run\n"

    play(story, tmp_path)


def test_success_is_not_repeated_on_failure(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        status = await scene.ended(await scene.shell("a", "exit 0", restartPolicy="OnFailure"))
        assert status["phase"] == "Succeeded"
        assert container_in(status)["restartCount"] == 0

    play(story, tmp_path)


def test_a_container_that_fails_again_and_again_waits_longer(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "echo run; exit 7")

        async def waits() -> bool:
            return "waiting" in (await scene.container(pod)).get("state", {})

        await until(waits)
        found = await scene.container(pod)
        assert found["state"]["waiting"] == {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s before container main is started again",
        }
        assert found["restartCount"] == 1
        assert found["lastState"]["terminated"]["exitCode"] == 7
        assert (await scene.status(pod))["phase"] == "Running"
        assert condition(await scene.now(pod), "Ready")["status"] == "False"
        assert await scene.log(pod) == await scene.log(pod, previous=True) == b"run\n"
        assert [reason for reason, _ in await scene.told(pod)] == ["Started", "Started", "BackOff"]

    play(story, tmp_path)


def test_the_waits_grow_to_five_minutes_and_a_long_run_makes_good(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "sleep 600")
        await scene.phase(pod, "Running")
        around = scene.agent._around
        assert around is not None
        slot = Slot(around, pod.uid, {"name": "other"}, "main")
        slot.exit = Exit(1, "Error", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
        waits = []
        for _ in range(8):
            waits.append(slot.back_off_seconds)
            slot.back_off = slot._counted()["back_off"]
        assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
        slot.exit = Exit(1, "Error", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z")
        assert slot.back_off_seconds == 0

    play(story, tmp_path)


def test_only_the_last_two_attempts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprieve.agents.process.slots._BACK_OFF", Backoff(0.0, 0.0))

    async def story(scene: Scene) -> None:
        script = "echo x >> count; [ $(wc -l < count) = 5 ] && exec sleep 600; exit 1"
        pod = await scene.shell("a", script)
        await scene.restarts(pod, 4)
        kept = sorted(path.name for path in (scene.files / "pods" / pod.uid / "main").iterdir())
        assert kept == ["3", "4"]

    play(story, tmp_path)


# Init containers


def test_init_containers_run_one_after_the_other_first(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        here = str(tmp_path)
        steps = [shell(f"sleep 0.1; echo {name} >> order", name, workingDir=here) for name in ("one", "two")]
        work = shell("echo work >> order", workingDir=here)
        pod = await scene.run(pod_of("a", work, initContainers=steps, restartPolicy="Never"))
        status = await scene.ended(pod)
        assert status["phase"] == "Succeeded"
        assert (tmp_path / "order").read_text().split() == ["one", "two", "work"]
        assert [entry["name"] for entry in status["initContainerStatuses"]] == ["one", "two"]
        assert all(entry["ready"] for entry in status["initContainerStatuses"])

    play(story, tmp_path)


def test_nothing_else_runs_when_an_init_container_fails_for_good(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        work = shell("echo > ran", workingDir=str(tmp_path))
        pod = await scene.run(pod_of("a", work, initContainers=[shell("exit 5", "step")], restartPolicy="Never"))
        status = await scene.ended(pod)
        assert status["phase"] == "Failed"
        assert terminated(status, "step")["exitCode"] == 5
        assert "waiting" in container_in(status)["state"]
        assert not (tmp_path / "ran").exists()

    play(story, tmp_path)


def test_an_init_container_is_tried_again_unless_it_must_not_be(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        step = shell("[ -e again ] || { : > again; exit 1; }", "step", workingDir=str(tmp_path))
        pod = await scene.run(pod_of("a", shell("exec sleep 600"), initContainers=[step]))
        status = await scene.phase(pod, "Running")
        assert container_in(status, "step")["restartCount"] == 1
        assert terminated(status, "step")["exitCode"] == 0

    play(story, tmp_path)


def test_a_sidecar_runs_beside_the_work_and_ends_after_it(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        here = str(tmp_path)
        sidecar = shell("echo > beside; exec sleep 600", "beside", workingDir=here, restartPolicy="Always")
        work = shell("while ! [ -e beside ]; do sleep 0.02; done; exit 0", workingDir=here)
        pod = await scene.run(pod_of("a", work, initContainers=[sidecar], restartPolicy="Never"))
        status = await scene.ended(pod)
        assert status["phase"] == "Succeeded"
        assert terminated(status, "beside")["exitCode"] == 143
        assert marked(pod.uid) == []

    play(story, tmp_path)


# Ends that others decide


def test_a_pod_that_is_active_for_too_long_is_ended(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "exec sleep 600", activeDeadlineSeconds=1, restartPolicy="OnFailure")
        status = await scene.ended(pod)
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert terminated(status)["exitCode"] == 143
        assert marked(pod.uid) == []

    play(story, tmp_path)


def test_a_process_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", STUBBORN, terminationGracePeriodSeconds=1)
        await scene.wrote(pod, b"begun")
        seen = await _last_words(scene, pod.uid, scene.delete(pod))
        assert terminated(seen)["exitCode"] == 137
        assert marked(pod.uid) == []
        assert ("Killing", "Stopping container main") in await scene.told(pod)

    play(story, tmp_path)


def test_a_process_may_use_its_grace_period_and_has_not_succeeded(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", POLITE, restartPolicy="Never")
        await scene.wrote(pod, b"begun")
        seen = await _last_words(scene, pod.uid, scene.delete(pod))
        assert terminated(seen)["exitCode"] == 0
        assert (seen["phase"], seen["reason"]) == ("Failed", "Terminated"), "who makes way must come back"

    play(story, tmp_path)


def test_a_shorter_grace_period_counts_when_it_is_asked_for_later(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", STUBBORN)
        await scene.wrote(pod, b"begun")
        await scene.delete(pod, grace=600)
        await until(lambda: _asked(scene, pod.uid))
        await scene.delete(pod, grace=1)
        await scene.gone(pod)
        assert marked(pod.uid) == []

    play(story, tmp_path)


async def _asked(scene: Scene, uid: str) -> bool:
    return (scene.files / "pods" / uid / "main" / "0" / "stop.json").exists()


def test_what_is_deleted_by_force_is_ended_all_the_same(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", STUBBORN)
        await scene.wrote(pod, b"begun")
        await scene.delete(pod, grace=0)

        async def ended() -> bool:
            return not marked(pod.uid)

        await until(ended)

    play(story, tmp_path)


def test_a_pod_with_a_finalizer_is_ended_and_stays(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        metadata = {"finalizers": ["example.com/wait"]}
        pod = await scene.shell("a", "exec sleep 600", metadata=metadata)
        await scene.phase(pod, "Running")
        await scene.delete(pod)
        assert (await scene.ended(pod))["phase"] == "Failed"

        async def let_go() -> bool:
            return not (await scene.now(pod)).metadata["deletionGracePeriodSeconds"]

        await until(let_go)
        assert marked(pod.uid) == []
        await scene.store.patch(PODS, "a", "default", {"metadata": {"finalizers": None}})
        await scene.gone(pod)

    play(story, tmp_path)


def test_a_pod_of_the_same_name_is_another_pod(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        first = await scene.shell("a", STUBBORN, terminationGracePeriodSeconds=1)
        await scene.wrote(first, b"begun")
        await scene.delete(first, grace=0)
        second = await scene.shell("a", "echo second; exit 2", restartPolicy="Never")
        status = await scene.ended(second)
        assert terminated(status)["exitCode"] == 2
        assert await scene.log(second) == b"second\n"

    play(story, tmp_path)


def test_what_a_command_leaves_behind_is_ended_before_its_end_is_told(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "setsid sleep 600 & sleep 600 & exit 0", restartPolicy="Never")
        await scene.ended(pod)
        assert marked(pod.uid) == []

    play(story, tmp_path)


def test_many_pods_at_once(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pods = [await scene.shell(f"p{number}", f"exit {number % 2}", restartPolicy="Never") for number in range(20)]
        phases = [(await scene.ended(pod))["phase"] for pod in pods]
        assert phases == ["Succeeded", "Failed"] * 10

    play(story, tmp_path)


async def _last_words(scene: Scene, uid: str, deletion: Awaitable[None]) -> dict[str, Any]:
    """The last status of a pod before it was gone."""
    watch = scene.store.watch(PODS, scene.store.version)
    await deletion
    async with asyncio.timeout(30):
        async for event in watch:
            if event.record.uid == uid and event.type == "DELETED":
                status: dict[str, Any] = event.record.data["status"]
                return status
    raise AssertionError


def test_a_paused_process_ends_too(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "echo begun; kill -STOP $$$$; exit 0")
        await scene.wrote(pod, b"begun")
        await scene.delete(pod)
        await scene.gone(pod)
        assert all(living(pid) is None for pid in marked(pod.uid))

    play(story, tmp_path)
