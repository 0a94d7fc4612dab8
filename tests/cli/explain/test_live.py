"""`reprieve explain` and `plan` against a control plane: what it decided, and what it would decide."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml

from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running, until

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("high", 10), ("higher", 20))
]
FIRST = {"nodeSelector": {"kubernetes.io/hostname": "hollow-1"}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One pod that was preempted, the one it made way for, and one that was spared."""
    with running(tmp_path_factory.mktemp("explain"), *HOLLOW) as plane:
        residents = [pod("victim", cpu="2", spec=FIRST), pod("spared", cpu="2", priority_class="high", spec=FIRST)]
        plane.ok("apply", "-f", "-", stdin=to_yaml(*CLASSES, *residents))
        until(lambda: all(each["spec"].get("nodeName") for each in plane.pods().values()))
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("vip", cpu="2", priority_class="higher", spec=FIRST)))
        until(lambda: plane.pods()["vip"]["spec"].get("nodeName"))
        yield plane


def explained(plane: Running, *arguments: str) -> list[str]:
    return [TIME.sub("<time>", line) for line in plane.ok("explain", *arguments).lines]


def test_who_was_preempted_is_told_by_whom_and_why_and_who_was_spared(plane: Running) -> None:
    lines = explained(plane, "pod/default/victim")
    assert lines[0] == (
        "Pod/default/victim was preempted at <time> by Pod/default/vip on hollow-1, "
        "because priority 0 is below 20, the preemptor's."
    )
    assert "  stays               on        by" in lines
    assert "  Pod/default/spared  hollow-1  Reprieved  the preemptor fits beside it" in lines
    story = lines[lines.index("What happened to Pod/default/victim:") + 2 :]
    assert [line.split()[1] for line in story] == ["queued", "bound", "evicted", "gone"]


def test_who_preempted_is_told_what_was_decided(plane: Running) -> None:
    lines = explained(plane, "pod/vip")
    assert lines[0] == "Decided at <time>: Pod/default/victim makes way for Pod/default/vip on hollow-1."
    assert "  <time>  bound      Pod/default/vip fits on hollow-1; nobody is preempted." in lines
    assert "  <time>  nominated  Pod/default/victim makes way for Pod/default/vip on hollow-1." in lines


def test_who_waits_is_told_what_is_in_the_way(plane: Running) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("giant", cpu="99")))
    until(lambda: "is unschedulable" in plane.run("explain", "pod/giant").stdout)
    lines = explained(plane, "pod/giant")
    assert re.match(
        r"Decided at <time>(, \d+ times, the last at <time>)?: Pod/default/giant is unschedulable: it needs 99 cpu",
        lines[0],
    )
    assert "  not feasible" in lines
    plane.ok("delete", "pod", "giant")


def test_why_not_somebody_else(plane: Running) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("late", cpu="4", spec=FIRST)))
    until(lambda: "is unschedulable" in plane.run("explain", "pod/late").stdout)
    # It may have been decided for once more by then: then the last line says of which time the reasons are.
    lines = explained(plane, "pod/late", "--why-not", "pod/vip")
    assert "Pod/default/vip stayed: priority 20 is above 0, the preemptor's." in lines
    lines = explained(plane, "pod/late", "--why-not", "pod/x")
    assert "Nothing is known about Pod/default/x: the history has no such unit." in lines
    plane.ok("delete", "pod", "late")


def test_a_job_is_explained_by_its_pods_also_those_that_are_gone(plane: Running) -> None:
    plane.ok("submit", "--name", "work", "--cpu", "4", "--", "true")
    until(lambda: [each["status"]["phase"] for each in plane.pods("-l", "app=work").values()] == ["Running"])
    second = {"nodeSelector": {"kubernetes.io/hostname": "hollow-2"}}
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("boss", cpu="4", priority_class="higher", spec=second)))
    until(lambda: plane.pods()["boss"]["spec"].get("nodeName"))
    until(lambda: "(pending)" in plane.ok("explain", "job/work").stdout)
    text = plane.ok("explain", "job/work").stdout
    pod_name = r"Pod/default/work-\w{5}"
    assert re.match(rf"Job/default/work: 2 attempts: {pod_name} \(preempted\), {pod_name} \(pending\)\n", text)
    assert re.search(r"Pod/default/work-\w{5} was preempted at .* by Pod/default/boss on hollow-2, because", text)
    plane.ok("delete", "job/work", "pod/boss")


def test_for_other_programs(plane: Running) -> None:
    told = plane.ok("explain", "pod/victim", "-o", "json").json()
    assert (told["unit"], told["preempted"]["preemptor"]) == ("Pod/default/victim", "Pod/default/vip")
    assert yaml.safe_load(plane.ok("explain", "pod/victim", "-o", "yaml").stdout)["unit"] == "Pod/default/victim"


@pytest.mark.parametrize(
    ("arguments", "code", "want"),
    [
        (("pod/nobody",), 1, "nothing is known about Pod/default/nobody"),
        ((), 2, "say which unit: KIND/NAMESPACE/NAME, such as pod/default/a"),
        (("pod/",), 2, "it must be KIND/NAMESPACE/NAME"),
        (("nobody",), 1, "nothing is known about 'nobody': no unit of that name was ever seen"),
        (("vip", "-n", "other"), 1, "nothing is known about 'vip' in namespace other"),
        (("vip", "--why-not", "pod/vip"), 2, "Pod/default/vip is the one in question"),
        (("pod/a", "-f", "-", "--uid", "1"), 2, "--uid is for what a server remembers"),
        (("planet/a",), 2, "'planet' is not a kind that is stored"),
        (("pod/a", "--now", "2026-01-01T00:00:00Z"), 2, "are for files: what a server decided is history"),
        (("pod/a", "-f", "-", "-o", "json"), 2, "-o json and yaml are for what a server answers"),
        (("job/nobody",), 1, "nothing is known about Job/default/nobody"),
    ],
)
def test_what_cannot_be_explained(plane: Running, arguments: tuple[str, ...], code: int, want: str) -> None:
    done = plane.run("explain", *arguments)
    assert (done.code, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert want in done.stderr


# What would be decided


def test_a_plan_over_what_is_there_and_what_might_be(plane: Running) -> None:
    assert plane.ok("plan", "--live").lines[0] == "Nothing is pending: there is nothing to decide."
    asked = to_yaml(pod("what-if", cpu="4", priority_class="high"))
    done = plane.ok("plan", "--live", "-f", "-", "--for", "pod/default/what-if", stdin=asked)
    assert done.lines[0] == "Pod/default/what-if fits on hollow-2; nobody is preempted."
    assert plane.run("get", "pod", "what-if").code == 1


def test_a_plan_of_a_server_for_other_programs(plane: Running) -> None:
    asked = to_yaml(pod("what-if", cpu="4", priority_class="higher", spec=FIRST))
    url = plane.wait_for_address()
    done = plane.ok("plan", "--server", url, "-f", "-", "--for", "pod/what-if", "-o", "json", stdin=asked)
    (made,) = done.json()["decisions"]
    assert (made["preemptor"], made["outcome"]) == ("Pod/default/what-if", "Unschedulable")
    assert set(done.json()) >= {"now", "decisions", "admitted", "left", "order", "priorities"}


@pytest.mark.parametrize(
    ("arguments", "code", "want"),
    [
        ((), 2, "nothing to decide over: give files with -f, or --live for what the control plane has"),
        (("--live", "--feature-gates", "GenericWorkload=true"), 2, "a server decides by its own settings"),
        (("--live", "--for", "pod/nobody"), 1, "there is no Pod/default/nobody"),
        (("--live", "-f", "missing.yaml"), 2, "missing.yaml: no such file or directory"),
    ],
)
def test_what_cannot_be_planned(plane: Running, arguments: tuple[str, ...], code: int, want: str) -> None:
    done = plane.run("plan", *arguments)
    assert (done.code, done.stdout) == (code, "")
    assert want in done.stderr


def test_a_server_in_the_environment_does_not_change_what_files_say(plane: Running) -> None:
    done = plane.ok("plan", "-f", "-", stdin=to_yaml(pod("p", cpu="1")), REPRIEVE_SERVER=plane.wait_for_address())
    assert "hollow" not in done.stdout
