"""What a control plane remembers of old decisions: true when they were made, and told long afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.builders.pods import pod, to_yaml
from tests.cli.explain.test_live import CLASSES, FIRST, explained
from tests.cli.running import HOLLOW, Running, running, until

SECOND = {"nodeSelector": {"kubernetes.io/hostname": "hollow-2"}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The vip preempted a victim on the first node, instead of somebody more important on the second."""
    with running(tmp_path_factory.mktemp("history"), *HOLLOW) as plane:
        first = [pod("victim", cpu="2", spec=FIRST), pod("spared", cpu="2", priority_class="high", spec=FIRST)]
        second = pod("elsewhere", cpu="4", priority_class="high", spec=SECOND)
        plane.ok("apply", "-f", "-", stdin=to_yaml(*CLASSES, *first, second))
        until(lambda: all(each["spec"].get("nodeName") for each in plane.pods().values()))
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("vip", cpu="2", priority_class="higher")))
        until(lambda: plane.pods()["vip"]["spec"].get("nodeName"))
        yield plane


@pytest.mark.parametrize("who", ["pod/vip", "vip", "pod/victim", "victim"])
def test_the_alternatives_of_a_decision_are_told_to_its_preemptor_and_to_its_victim(plane: Running, who: str) -> None:
    lines = explained(plane, who)
    place = next(number for number, line in enumerate(lines) if line.startswith("  alternative"))
    assert lines[place + 1].split() == ["hollow-2", "1", "0", "Pod/default/elsewhere"]
    assert lines[place + 2].startswith("hollow-1 was chosen: ")


@pytest.mark.parametrize("who", ["vip", "victim"])
@pytest.mark.parametrize(
    ("other", "want"),
    [
        ("spared", r"Pod/default/spared stayed: the preemptor fits beside it\."),
        (
            "elsewhere",
            r"Pod/default/elsewhere stayed: hollow-1 was chosen instead: .*"
            r"\(on hollow-2 it would have been Pod/default/elsewhere\)\.",
        ),
    ],
)
def test_why_not_speaks_of_the_preemption_and_not_of_the_bind_after_it(
    plane: Running, who: str, other: str, want: str
) -> None:
    decided, answer = explained(plane, who, "--why-not", other)
    assert decided == "Decided at <time>: Pod/default/victim makes way for Pod/default/vip on hollow-1."
    assert re.fullmatch(want, answer), answer


def test_why_not_the_victim_itself(plane: Running) -> None:
    want = "Pod/default/victim was a victim: priority 0 is below 20, the preemptor's."
    assert explained(plane, "vip", "--why-not", "victim")[-1] == want


def test_why_not_the_preemptor_itself(plane: Running) -> None:
    want = "Pod/default/vip is the one that this was decided for."
    assert explained(plane, "victim", "--why-not", "vip")[-1] == want


def test_who_came_later_was_not_there(plane: Running) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("late", cpu="99")))
    until(lambda: plane.run("explain", "late").code == 0)
    assert explained(plane, "vip", "--why-not", "late")[-1] == (
        "Pod/default/late was not there yet: it came at <time>, after this decision."
    )
    plane.ok("delete", "pod", "late")


def test_who_was_not_there_is_not_said_to_have_stayed(plane: Running) -> None:
    """Where nobody had to go, either."""
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("before", cpu="99")))
    until(lambda: plane.run("explain", "before").code == 0)
    plane.ok("delete", "pod", "before")
    until(lambda: "(deleted)" in plane.ok("explain", "before").stdout or "gone" in plane.ok("explain", "before").stdout)
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("fits", cpu="0")))
    until(lambda: plane.run("explain", "fits").code == 0)
    plane.ok("submit", "--name", "after", "--cpu", "99", "--", "true")
    until(lambda: plane.run("explain", "job/after").code == 0)

    def answer(other: str) -> str:
        return explained(plane, "pod/fits", "--why-not", other)[-1]

    assert answer("pod/vip") == "Pod/default/vip stayed: nobody is preempted for Pod/default/fits."
    assert answer("pod/before") == (
        "Pod/default/before was not there any more: deleted at <time>, before this decision."
    )
    assert answer("job/after") == "Job/default/after was not there yet: it came at <time>, after this decision."
    assert answer("pod/ghost") == "Nothing is known about Pod/default/ghost: the history has no such unit."
    plane.ok("delete", "job/after", "pod/fits")


def test_a_new_pod_of_an_old_name_has_a_story_of_its_own(plane: Running) -> None:
    before = plane.ok("explain", "victim", "-o", "json").json()
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("victim", cpu="99")))
    until(lambda: "is unschedulable" in plane.run("explain", "pod/victim").stdout)
    lines = explained(plane, "pod/victim")
    story = lines[lines.index("What happened to Pod/default/victim:") + 2 :]
    assert [line.split()[1] for line in story[:2]] == ["queued", "tried"]
    assert not any("was preempted at" in line for line in lines)
    assert lines[-1] == (
        f"Another Pod/default/victim was there before (preempted at <time>); `--uid {before['uid']}` tells its story."
    )
    assert explained(plane, "pod/victim", "--uid", before["uid"])[0].startswith("Pod/default/victim was preempted")
    assert explained(plane, "vip", "--why-not", "victim")[1:] == [
        "Pod/default/victim was a victim: priority 0 is below 20, the preemptor's.",
        "That was an earlier Pod/default/victim: the one of today came at <time>.",
    ]
    plane.ok("delete", "pod", "victim")


def test_a_name_that_several_have_is_asked_back(plane: Running) -> None:
    plane.ok("submit", "--name", "vip", "--cpu", "99", "--", "true")
    until(lambda: plane.run("explain", "job/vip").code == 0)
    done = plane.run("explain", "vip")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == "error: 2 units are called 'vip'; say which: Pod/default/vip, Job/default/vip\n"
    plane.ok("delete", "job/vip")


def test_a_job_is_explained_after_it_was_deleted_and_not_by_pods_of_similar_names(plane: Running) -> None:
    for name in ("work", "work-2"):
        plane.ok("submit", "--name", name, "--cpu", "99", "--", "true")
    until(lambda: all(plane.run("explain", f"job/{name}").code == 0 for name in ("work", "work-2")))
    plane.ok("delete", "job/work", "job/work-2")
    until(lambda: "(deleted)" in plane.ok("explain", "work").stdout)
    text = plane.ok("explain", "job/work").stdout
    assert re.match(r"Job/default/work: 1 attempt: Pod/default/work-\w{5} \(deleted\)\n\nDecided at", text)
    assert "work-2" not in text


def test_of_many_pods_the_last_are_told_and_the_others_named(plane: Running) -> None:
    plane.ok("submit", "--name", "many", "--cpu", "99", "--replicas", "7", "--", "true")
    until(lambda: plane.run("explain", "many").stdout.count("(pending)") == 7)
    lines = explained(plane, "many")
    assert lines[0].startswith("Job/default/many: 7 pods: Pod/default/many-")
    assert re.match(r"Below are the last ones; `reprieve explain` tells of Pod/default/many-\w{5} and Pod/", lines[1])
    assert sum(line.startswith("What happened to Pod/default/many-") for line in lines) == 5
    plane.ok("delete", "job/many")


def test_why_not_between_jobs(plane: Running) -> None:
    plane.ok("submit", "--name", "small", "--cpu", "3", "--", "true")
    plane.ok("delete", "pod", "elsewhere")
    until(lambda: [each["status"]["phase"] for each in plane.pods("-l", "app=small").values()] == ["Running"])
    plane.ok("submit", "--name", "large", "--cpu", "4", "--priority", "higher", "--", "true")
    until(lambda: [each["status"]["phase"] for each in plane.pods("-l", "app=large").values()] == ["Running"])
    lines = plane.ok("explain", "job/large", "--why-not", "job/small").lines
    assert re.fullmatch(r"Pod/default/small-\w{5} was a victim: priority 0 is below 20, the preemptor's.", lines[-1]), (
        lines
    )
    plane.ok("delete", "job/small", "job/large")
    text = plane.ok("explain", "small").stdout
    assert re.match(r"Job/default/small: 2 attempts: Pod/default/small-\w{5} \(preempted\), Pod/", text)
