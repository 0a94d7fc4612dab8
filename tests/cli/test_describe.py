"""`reprieve describe`: everything about one object on one page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running, until

CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("describe"), *HOLLOW) as plane:
        low = [pod(f"low-{number}", cpu="4", labels={"app": "low"}) for number in (1, 2)]
        plane.ok("apply", "-f", "-", stdin=to_yaml(CLASS, *low))
        until(lambda: all(each["spec"].get("nodeName") for each in plane.pods().values()))
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("vip", cpu="4", priority_class="high")))
        until(lambda: plane.pods()["vip"]["spec"].get("nodeName"))
        yield plane


def test_a_pod_is_described_from_its_fields_to_its_story(plane: Running) -> None:
    text = plane.ok("describe", "pod", "vip").stdout
    node = plane.pods()["vip"]["spec"]["nodeName"]
    fields = dict(re.findall(r"^(\w[\w ]*): +(.*)$", text, re.MULTILINE))
    assert (fields["Name"], fields["Namespace"], fields["Node"]) == ("vip", "default", node)
    assert (fields["Priority"], fields["Labels"]) == ("10", "<none>")
    assert "Spec:\n  " in text
    assert "last-applied" not in text
    assert re.search(r"Conditions:\n  TYPE +STATUS +REASON +SINCE +MESSAGE\n(  .*\n)*  PodScheduled +True", text)
    assert re.search(r"Events:\n  LAST SEEN.*\n(  .*\n)*  .*Preempting +pod/vip +Pod/default/low-\d makes way", text)
    story = text[text.index("Story:") :].splitlines()
    assert [line.split()[2] for line in story[2:]] == ["queued", "nominated", "bound"]


def test_several_are_described_one_after_the_other(plane: Running) -> None:
    by_name = plane.ok("describe", "node/hollow-1", "node/hollow-2").stdout
    assert re.findall(r"^Name: +(.*)$", by_name, re.MULTILINE) == ["hollow-1", "hollow-2"]
    assert re.findall(r"^Name: +(.*)$", plane.ok("describe", "pods", "-l", "app=low").stdout, re.MULTILINE)
    assert plane.ok("describe", "pods", "-l", "app=none").stderr == "No resources found in default namespace.\n"


def test_what_has_no_spec_is_described_too(plane: Running) -> None:
    text = plane.ok("describe", "pc", "high").stdout
    assert "Value:              10" in text
    assert "Events:             <none>" in text


def test_one_that_is_not_there_is_1(plane: Running) -> None:
    done = plane.run("describe", "pod", "nobody")
    assert (done.code, done.stdout, done.stderr) == (1, "", 'error: pods "nobody" not found\n')
