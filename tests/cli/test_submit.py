"""`reprieve submit`: a command becomes a Job that runs when its turn has come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import HOLLOW, Running, running, until

QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    gangs = ("--feature-gates", "GenericWorkload=true")
    with running(tmp_path_factory.mktemp("submit"), *HOLLOW, *gangs) as plane:
        yield plane


@pytest.fixture(autouse=True)
def _clean(plane: Running) -> Iterator[None]:
    yield
    plane.ok("delete", "jobs", "--all")
    until(lambda: not plane.pods())


def job(plane: Running, *arguments: str, cwd: Path | None = None, **more: str) -> dict[str, Any]:
    """Submit, and read back what was made."""
    name = plane.ok("submit", "-o", "name", *arguments, cwd=cwd, **more).lines[0]
    found: dict[str, Any] = plane.get(name)
    return found


def container(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["template"]["spec"]["containers"][0]
    return found


def phases(plane: Running, name: str) -> list[str]:
    return sorted(each["status"]["phase"] for each in plane.pods("-l", f"app={name}").values())


def test_it_runs_the_command_where_it_was_called(plane: Running, tmp_path: Path) -> None:
    made = job(plane, "--name", "train", "--", "python", "train.py", "--lr", "3", cwd=tmp_path)
    assert made["metadata"]["name"] == "train"
    assert container(made)["command"] == ["python", "train.py", "--lr", "3"]
    assert container(made)["workingDir"] == str(tmp_path)
    assert container(made)["resources"] == {"requests": {"cpu": "1"}}
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert (made["spec"]["parallelism"], made["spec"]["completions"], made["spec"]["backoffLimit"]) == (1, 1, 0)


def test_everything_that_can_be_asked_for(plane: Running, tmp_path: Path) -> None:
    asked = ("--cpu", "500m", "--memory", "1Gi", "--gpu", "2", "--replicas", "3", "--queue", "lab", "--retries", "4")
    more = ("--env", "A=1", "--env", "B=x=y", "--env", "TERM", "--workdir", str(tmp_path), "--restart", "OnFailure")
    made = job(plane, *asked, *more, "--", "run")
    assert container(made)["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert container(made)["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "x=y"},
        {"name": "TERM", "value": "dumb"},
    ]
    assert container(made)["workingDir"] == str(tmp_path)
    assert made["metadata"]["labels"] == {QUEUE: "lab"}
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert (made["spec"]["completions"], made["spec"]["backoffLimit"]) == (3, 4)


@pytest.mark.parametrize(
    ("command", "want"),
    [(["./bin/Solve_It.sh"], "solve-it-"), (["python3", "src/train.py"], "train-"), (["python", "-m", "x"], "python-")],
)
def test_a_name_is_made_from_the_command(plane: Running, command: list[str], want: str) -> None:
    assert job(plane, "--", *command)["metadata"]["name"].startswith(want)


def test_the_dashes_may_be_left_out(plane: Running) -> None:
    assert container(job(plane, "ls", "-l", "--all"))["command"] == ["ls", "-l", "--all"]


def test_a_priority_is_a_number_or_the_name_of_a_class(plane: Running) -> None:
    for number in (1, 2):
        made = job(plane, "--name", f"n{number}", "--priority", "50", "--", "true")
        assert made["spec"]["template"]["spec"]["priorityClassName"] == "priority-50"
    assert plane.get("pc", "priority-50")["value"] == 50
    made = job(plane, "--name", "n3", "--priority", "-7", "--", "true")
    assert plane.get("pc", made["spec"]["template"]["spec"]["priorityClassName"])["value"] == -7
    made = job(plane, "--name", "named", "--priority", "priority-50", "--", "true")
    assert until(lambda: [each["spec"]["priority"] for each in plane.pods("-l", "app=named").values()]) == [50]
    done = plane.run("submit", "--priority", "priority-51", "--", "true")
    assert (done.code, done.stderr) == (
        1,
        "error: there is no PriorityClass 'priority-51'; did you mean 'priority-50'?\n",
    )


def test_a_gang_is_refused_where_pods_start_one_by_one(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plain:
        done = plain.run("submit", "--name", "large", "--gang", "--replicas", "3", "--", "true")
        assert (done.code, done.stderr) == (
            2,
            "error: --gang: this control plane starts pods one by one, because the feature gate GenericWorkload is off"
            "; `reprieve up --feature-gates GenericWorkload=true` turns it on\n",
        )
        assert plain.get("jobs")["items"] == []


def test_a_gang_starts_whole_or_not_at_all(plane: Running) -> None:
    plane.ok("submit", "--name", "too-large", "--gang", "--replicas", "3", "--cpu", "3", "--", "true")
    done = plane.ok("submit", "--name", "fits", "--gang", "--replicas", "2", "--cpu", "3", "--", "true")
    assert done.lines == ["job.batch/fits created", "podgroup.scheduling.k8s.io/fits created"]
    group = plane.get("podgroup", "fits")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert group["metadata"]["ownerReferences"][0]["name"] == "fits"
    until(lambda: [bool(each["spec"].get("nodeName")) for each in plane.pods("-l", "app=fits").values()] == [True] * 2)
    large = plane.pods("-l", "app=too-large").values()
    assert [each["spec"].get("nodeName") for each in large] == [None] * 3
    plane.ok("delete", "job", "fits")
    until(lambda: plane.run("get", "podgroup", "fits").code == 1)


def test_an_important_one_makes_room_and_the_other_comes_back(plane: Running) -> None:
    plane.ok("submit", "--name", "low", "--cpu", "4", "--replicas", "2", "--", "true")
    until(lambda: phases(plane, "low") == ["Running"] * 2)
    plane.ok("submit", "--name", "vip", "--cpu", "4", "--priority", "100", "--", "true")
    until(lambda: phases(plane, "vip") == ["Running"])
    until(lambda: phases(plane, "low") == ["Pending", "Running"])
    plane.ok("delete", "job", "vip")
    until(lambda: phases(plane, "low") == ["Running"] * 2)


def test_the_same_name_twice_is_refused(plane: Running) -> None:
    plane.ok("submit", "--name", "twice", "--", "true")
    done = plane.run("submit", "--name", "twice", "--wait", "--", "true")
    assert (done.code, done.stderr) == (1, 'error: jobs.batch "twice" already exists\n')


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ((), "no command is given: write it behind `--`, such as `reprieve submit -- python train.py`"),
        (("--gang", "--", "x"), "--gang needs --replicas 2 or more: one pod is whole by itself"),
        (("--cpu", "much", "--", "x"), "--cpu: 'much': not a quantity; a number with an optional suffix"),
        (("--env", "NOT_SET_HERE", "--", "x"), "--env: 'NOT_SET_HERE' cannot be used"),
        (("--replicas", "0", "--", "x"), "greater than or equal to 1"),
    ],
)
def test_bad_usage_is_2(plane: Running, arguments: tuple[str, ...], want: str) -> None:
    done = plane.run("submit", *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert want in " ".join(done.stderr.split())


def test_a_name_that_is_none_is_refused_by_the_server(plane: Running) -> None:
    done = plane.run("submit", "--name", "Not A Name", "--", "true")
    assert done.code == 1
    assert done.stderr.startswith("error: ")
    assert plane.get("jobs")["items"] == []
