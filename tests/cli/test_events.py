"""`reprieve events`: what happened, the latest last, about everything or about one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running, until


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("events"), *HOLLOW) as plane:
        assert plane.ok("events", "-n", "kube-public").stderr == "No events found.\n"
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("a", cpu="1"), pod("giant", cpu="99")))
        until(lambda: {"Scheduled", "FailedScheduling"} <= {row[2] for row in plane.ok("events").rows})
        yield plane


def test_all_are_in_one_table(plane: Running) -> None:
    rows = plane.ok("events").rows
    assert rows[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert {(row[2], row[3]) for row in rows[1:]} == {("Scheduled", "pod/a"), ("FailedScheduling", "pod/giant")}


@pytest.mark.parametrize("about", ["pod/a", "po/a", "Pod/default/a"])
def test_those_about_one(plane: Running, about: str) -> None:
    rows = plane.ok("events", "--for", about).rows
    assert [row[2:4] for row in rows[1:]] == [["Scheduled", "pod/a"]]
    assert plane.ok("events", "--for", "pod/nobody").stderr == "No events found.\n"


def test_the_latest_comes_last(plane: Running) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("latest", cpu="1")))
    until(lambda: plane.ok("events").rows[-1][2:4] == ["Scheduled", "pod/latest"])


def test_forms(plane: Running) -> None:
    found = plane.ok("events", "--for", "pod/giant", "-o", "json").json()
    assert found["kind"] == "List"
    assert {(item["kind"], item["reason"]) for item in found["items"]} == {("Event", "FailedScheduling")}
    assert plane.ok("events", "--for", "pod/giant", "-o", "name").lines[0].startswith("event/giant")
    assert plane.ok("events", "-A").rows[0][0] == "NAMESPACE"
