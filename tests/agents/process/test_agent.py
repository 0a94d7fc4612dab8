"""Pods as real processes of this machine: their commands, ends, logs and variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.process.machine import NOT_READY_TAINT
from reprieve.manifests.kinds import CONFIG_MAPS, NODES, PODS
from reprieve.stores.errors import BadRequest, NotFound
from tests.agents.process.scenes import NODE, Scene, condition, container_in, play, pod_of, shell, terminated, until

# As in Kubernetes, two dollar signs in a command become one.
UNTIL_TOLD = "echo begun; while ! [ -e go ]; do sleep 0.02; done"


@pytest.mark.parametrize(
    ("script", "phase", "code", "reason", "signal"),
    [
        ("exit 0", "Succeeded", 0, "Completed", None),
        ("exit 3", "Failed", 3, "Error", None),
        ("kill -9 $$$$", "Failed", 137, "Error", 9),
        ("kill -TERM $$$$", "Failed", 143, "Error", 15),
    ],
)
def test_a_command_runs_and_its_end_is_told(
    tmp_path: Path, script: str, phase: str, code: int, reason: str, signal: int | None
) -> None:
    async def story(scene: Scene) -> None:
        status = await scene.ended(await scene.shell("a", script, restartPolicy="Never"))
        assert status["phase"] == phase
        ended = terminated(status)
        assert (ended["exitCode"], ended["reason"], ended.get("signal")) == (code, reason, signal)
        assert ended["startedAt"] <= ended["finishedAt"]
        assert container_in(status)["restartCount"] == 0
        assert status["startTime"]

    play(story, tmp_path)


def test_a_pod_that_runs_is_ready_and_one_that_ended_is_not(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", UNTIL_TOLD, restartPolicy="Never")
        status = await scene.phase(pod, "Running")
        running = await scene.now(pod)
        assert {kind: condition(running, kind)["status"] for kind in ("PodScheduled", "Initialized", "Ready")} == {
            "PodScheduled": "True",
            "Initialized": "True",
            "Ready": "True",
        }
        assert container_in(status)["ready"] is True
        assert container_in(status)["state"]["running"]["startedAt"]
        (tmp_path / "go").touch()
        await scene.ended(pod)
        assert condition(await scene.now(pod), "Ready")["status"] == "False"
        assert ("Started", "Started container main") in await scene.told(pod)

    play(story, tmp_path)


def test_all_containers_run_together_and_one_failure_fails_the_pod(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        here = str(tmp_path)
        first = shell(": > one; while ! [ -e two ]; do sleep 0.02; done", "first", workingDir=here)
        second = shell(": > two; while ! [ -e one ]; do sleep 0.02; done; exit 4", "second", workingDir=here)
        status = await scene.ended(await scene.run(pod_of("a", first, second, restartPolicy="Never")))
        assert status["phase"] == "Failed"
        assert (terminated(status, "first")["exitCode"], terminated(status, "second")["exitCode"]) == (0, 4)

    play(story, tmp_path)


# Logs


def test_logs_are_kept_until_the_pod_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprieve.agents.process.pods._KEEP_SECONDS", 0.0)

    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "echo one; echo two >&2; echo three", restartPolicy="Never")
        await scene.ended(pod)
        assert await scene.log(pod) == b"one\ntwo\nthree\n"
        assert await scene.log(pod, "main", tail=1) == b"three\n"
        assert await scene.log(pod, limit_bytes=5) == b"one\nt"
        files = scene.files / "pods" / pod.uid
        assert files.exists()
        await scene.delete(pod)

        async def removed() -> bool:
            return not files.exists()

        await until(removed)

    play(story, tmp_path)


def test_a_log_is_followed_until_the_container_ends(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", f"{UNTIL_TOLD}; echo ended", restartPolicy="Never")
        await scene.wrote(pod, b"begun")
        pieces = scene.agent.logs(await scene.now(pod), "main", follow=True)
        assert pieces is not None
        seen = b""
        async for piece in pieces:
            seen += piece
            (tmp_path / "go").touch()
        assert seen == b"begun\nended\n"

    play(story, tmp_path)


@pytest.mark.parametrize(
    ("container", "options", "message"),
    [
        ("other", {}, "container other is not valid for pod a; it has main"),
        ("../main", {}, "container ../main is not valid for pod a; it has main"),
        ("", {"since_seconds": 5}, "the times of lines are not kept on this node"),
        ("", {"timestamps": True}, "the times of lines are not kept on this node"),
        ("", {"previous": True}, 'previous terminated container "main" in pod "a" not found'),
        ("", {"tail": -1}, "tailLines must not be negative"),
    ],
)
def test_a_log_that_cannot_be_had_is_refused(
    tmp_path: Path, container: str, options: dict[str, Any], message: str
) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "echo hello", restartPolicy="Never")
        await scene.ended(pod)
        with pytest.raises(BadRequest) as refused:
            await scene.log(pod, container, **options)
        assert refused.value.message.startswith(message)

    play(story, tmp_path)


def test_of_several_containers_one_must_be_named(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.run(pod_of("a", shell("echo 1", "one"), shell("echo 2", "two"), restartPolicy="Never"))
        await scene.ended(pod)
        with pytest.raises(BadRequest, match="choose one of: one, two"):
            await scene.log(pod)
        assert await scene.log(pod, "two") == b"2\n"

    play(story, tmp_path)


def test_logs_of_other_nodes_are_not_answered(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.store.create(NODES, {"metadata": {"name": "there"}})
        data = pod_of("a", shell("echo 1"), nodeName="there")
        assert scene.agent.logs(await scene.store.create(PODS, data), "main") is None

    play(story, tmp_path)


# What a container finds


def test_variables_and_arguments(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.store.create(CONFIG_MAPS, _config("settings", {"colour": "blue", "price": "$(NAME)"}))
        variables = [
            {"name": "GREETING", "value": "hello $(NAME) $$(NAME) $(NOTHING)"},
            _field("NAME", "metadata.name"),
            {"name": "LATER", "value": "$(NAME)-$(TEAM)"},
            _field("TEAM", "metadata.labels['team']"),
            _field("NOTE", "metadata.annotations['note']"),
            _field("NODE", "spec.nodeName"),
            _field("SPACE", "metadata.namespace"),
            _field("UID_", "metadata.uid"),
            _amount("CPU", "requests.cpu"),
            _amount("MILLI", "requests.cpu", divisor="1m"),
            _amount("MEMORY", "limits.memory", divisor="1Mi"),
            _amount("ALL", "limits.cpu"),
            _key("COLOUR", "settings", "colour"),
            _key("PRICE", "settings", "price"),
            _key("MISSING", "settings", "size", optional=True),
        ]
        container = shell('env; echo "args=$*"', env=variables, envFrom=[_all_of("settings", "SET_")])
        container["args"] = ["zero", "$(NAME)", "$$(NAME)"]
        container["resources"] = {"requests": {"cpu": "1500m"}, "limits": {"memory": "64Mi"}}
        metadata = {"labels": {"team": "blue"}, "annotations": {"note": "n"}}
        pod = await scene.run(pod_of("a", container, restartPolicy="Never", metadata=metadata))
        assert (await scene.ended(pod))["phase"] == "Succeeded"
        found = dict(line.split("=", 1) for line in (await scene.log(pod)).decode().splitlines())
        assert "MISSING" not in found
        assert found["REPRIEVE_POD_NAME"] == "a"
        expected = {
            "GREETING": "hello $(NAME) $(NAME) $(NOTHING)",
            "NAME": "a",
            "LATER": "a-$(TEAM)",
            "TEAM": "blue",
            "NOTE": "n",
            "NODE": NODE,
            "SPACE": "default",
            "UID_": pod.uid,
            "CPU": "2",
            "MILLI": "1500",
            "MEMORY": "64",
            "ALL": "4",
            "COLOUR": "blue",
            "PRICE": "$(NAME)",
            "SET_colour": "blue",
            "args": "a $(NAME)",
        }
        assert {name: found.get(name) for name in expected} == expected

    play(story, tmp_path)


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _amount(name: str, resource: str, **more: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"resourceFieldRef": {"resource": resource, **more}}}


def _key(name: str, config_map: str, key: str, **more: bool) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": key, **more}}}


def _all_of(config_map: str, prefix: str) -> dict[str, Any]:
    return {"prefix": prefix, "configMapRef": {"name": config_map}}


def _config(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def test_a_container_waits_for_its_config_map(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        container = shell("echo $COLOUR", env=[_key("COLOUR", "settings", "colour")])
        pod = await scene.run(pod_of("a", container, restartPolicy="Never"))

        async def waits() -> bool:
            waiting = (await scene.container(pod)).get("state", {}).get("waiting", {})
            return bool(waiting.get("reason") == "CreateContainerConfigError")

        await until(waits)
        status = await scene.status(pod)
        assert status["phase"] == "Pending"
        assert container_in(status)["state"]["waiting"]["message"] == "ConfigMap settings does not exist"
        await scene.store.create(CONFIG_MAPS, _config("settings", {"colour": "blue"}))
        await scene.ended(pod)
        assert await scene.log(pod) == b"blue\n"
        assert ("Failed", "ConfigMap settings does not exist") in await scene.told(pod)

    play(story, tmp_path)


def test_a_placeholder_runs_and_does_nothing(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        made = pod_of("a", {"name": "placeholder", "image": "registry.k8s.io/pause:3.10"}, restartPolicy="Never")
        made["metadata"]["annotations"] = {"yunikorn.apache.org/placeholder": "true"}
        pod = await scene.run(made)
        await scene.phase(pod, "Running")

    play(story, tmp_path)


@pytest.mark.parametrize(
    ("container", "reason", "message"),
    [
        (
            {"name": "main", "image": "busybox"},
            "CreateContainerError",
            "it has no command; containers run as processes",
        ),
        (
            shell("true", env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
            "CreateContainerConfigError",
            "variable A: this node cannot take values from there",
        ),
        (shell("true", env=[_field("A", "status.podIP")]), "CreateContainerConfigError", "field 'status.podIP' cannot"),
        (shell("true", env=[_amount("A", "cpu")]), "CreateContainerConfigError", "field 'cpu' cannot be referred to"),
        (
            shell("true", env=[_amount("A", "limits.cpu", divisor="-1")]),
            "CreateContainerConfigError",
            "divisor '-1' is not a quantity above zero",
        ),
        (
            shell("true", env=[_amount("A", "limits.cpu", containerName="x")]),
            "CreateContainerConfigError",
            "there is no container 'x'",
        ),
        (shell("true", envFrom=[{"secretRef": {"name": "s"}}]), "CreateContainerConfigError", "variable *: this node"),
        (
            shell("true", envFrom="settings"),
            "CreateContainerConfigError",
            "it cannot be run as it is written: Expected",
        ),
        (
            shell("true", workingDir="home"),
            "CreateContainerConfigError",
            "container main: working directory 'home' is not an absolute path",
        ),
        (shell("true", workingDir="/no/such"), "StartError", "working directory /no/such: No such file or directory"),
        ({"name": "main", "command": ["/no/such"]}, "StartError", "command not found: /no/such"),
    ],
)
def test_a_container_that_cannot_run_fails_with_a_reason(
    tmp_path: Path, container: dict[str, Any], reason: str, message: str
) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.run(pod_of("a", container, restartPolicy="Never"))
        status = await scene.ended(pod)
        assert status["phase"] == "Failed"
        ended = terminated(status)
        assert ended["exitCode"] in (127, 128)
        assert ended["reason"] == reason
        assert ended["message"].startswith(message)
        assert ("Failed", ended["message"]) in await scene.told(pod)

    play(story, tmp_path)


def test_a_container_begins_in_its_working_directory_or_in_an_empty_one(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        given = await scene.run(pod_of("a", shell("pwd", workingDir=str(tmp_path)), restartPolicy="Never"))
        own = await scene.run(pod_of("b", shell("ls -A; pwd; echo > file"), restartPolicy="Never"))
        await scene.ended(given)
        assert (await scene.ended(own))["phase"] == "Succeeded"
        assert await scene.log(given) == f"{tmp_path}\n".encode()
        (line,) = (await scene.log(own)).decode().splitlines()
        assert Path(line).is_relative_to(scene.files / "pods" / own.uid)

    play(story, tmp_path)


def test_devices_are_given_to_one_container_at_a_time(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        script = "echo $CUDA_VISIBLE_DEVICES; while ! [ -e go ]; do sleep 0.02; done"
        container = shell(script, workingDir=str(tmp_path), resources={"limits": {"nvidia.com/gpu": "1"}})
        pods = [await scene.run(pod_of(name, container, restartPolicy="Never")) for name in ("a", "b")]
        for pod in pods:
            await scene.wrote(pod, b"\n")
        assert {await scene.log(pod) for pod in pods} == {b"0\n", b"1\n"}
        third = await scene.run(pod_of("c", container, restartPolicy="Never"))

        async def waits() -> bool:
            return "InsufficientDevices" in str((await scene.container(third)).get("state"))

        await until(waits)
        (tmp_path / "go").touch()
        await scene.ended(third)
        assert await scene.log(third) in (b"0\n", b"1\n")

    play(story, tmp_path)


# The node


def test_the_node_has_what_the_machine_has_and_says_when_its_agent_stops(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.store.patch(
            NODES, NODE, "", {"metadata": {"labels": {"mine": "1"}}, "spec": {"unschedulable": True}}
        )
        node = await scene.store.get(NODES, NODE)
        assert (
            node.metadata["labels"] | {"reprieve.scheduling/agent": "process", "mine": "1"} == node.metadata["labels"]
        )
        assert node.data["status"]["allocatable"] == {
            "cpu": "4",
            "memory": f"{8 << 20}Ki",
            "pods": "110",
            "nvidia.com/gpu": "2",
        }
        await scene.stop()
        node = await scene.store.get(NODES, NODE)
        assert condition(node, "Ready")["status"] == "False"
        assert condition(node, "Ready")["reason"] == "AgentStopped"
        assert node.data["spec"] == {"unschedulable": True, "taints": [NOT_READY_TAINT]}
        await scene.begin()
        node = await scene.store.get(NODES, NODE)
        assert node.data["spec"] == {"unschedulable": True}
        assert node.metadata["labels"]["mine"] == "1"

    play(story, tmp_path)


def test_a_node_that_was_deleted_registers_again(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.store.delete(NODES, NODE)

        async def back() -> bool:
            try:
                return bool(await scene.store.get(NODES, NODE))
            except NotFound:
                return False

        await until(back)

    play(story, tmp_path)
