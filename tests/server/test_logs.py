"""The log of a pod that is gone, of an earlier run, and of the pod that had its name before."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reprieve.agents.process.kept_logs import Run
from reprieve.manifests.kinds import PODS
from tests.builders.pods import pod
from tests.server.planes import Running

LOG = "/api/v1/namespaces/default/pods/a/log"


@pytest.fixture
def known(server: Running) -> Running:
    """`a` was there twice: the first was started again once, the last had two containers. Now it is gone."""

    async def remember() -> None:
        history = server.plane.history
        assert history is not None
        for uid in ("one", "two"):
            history.met("Pod/default/a", uid)
            history.note("Pod/default/a", "bound", "it fits")
            history.left("Pod/default/a", uid, "gone")

    server.do(remember())
    server.plane.kept = {
        "one": [(Run("main", 0, 6), b"first\n"), (Run("main", 1, 7), b"second\n")],
        "two": [(Run("main", 0, 6), b"third\n"), (Run("side", 0, 0, 9, dropped=True), b"")],
    }
    return server


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        ({"container": "main"}, "third\n"),
        ({"uid": "two", "container": "main"}, "third\n"),
        ({"uid": "one"}, "second\n"),
        ({"uid": "one", "run": 0}, "first\n"),
        ({"uid": "one", "previous": "true"}, "first\n"),
    ],
)
@pytest.mark.usefixtures("known")
def test_of_a_pod_that_is_gone(http: httpx.Client, asked: dict[str, Any], want: str) -> None:
    answer = http.get(LOG, params=asked)
    assert (answer.status_code, answer.text) == (200, want)


@pytest.mark.parametrize(
    ("asked", "code", "want"),
    [
        ({}, 400, "a container name must be specified for pod a, choose one of: main, side"),
        ({"container": "../x"}, 400, "container ../x is not valid for pod a; it has main, side"),
        ({"container": "side"}, 404, 'the log of pod "a" was dropped'),
        ({"uid": "three"}, 404, "no pod \"a\" with uid 'three' is known"),
        ({"uid": "one", "run": 7}, 400, 'previous terminated container "main" in pod "a" not found'),
        ({"uid": "one", "run": -1}, 400, "it must be a whole number"),
        ({"uid": "one", "sinceSeconds": 5}, 400, "the times of lines are not kept on this node"),
    ],
)
@pytest.mark.usefixtures("known")
def test_what_is_refused(http: httpx.Client, asked: dict[str, Any], code: int, want: str) -> None:
    answer = http.get(LOG, params=asked)
    assert answer.status_code == code
    assert want in answer.json()["message"]


def test_of_a_pod_whose_name_another_one_had(known: Running, http: httpx.Client) -> None:
    made = known.do(known.plane.store.create(PODS, pod("a", cpu="1")))
    known.plane.written["default", "a", "main"] = [b"now\n"]
    assert http.get(LOG).text == "now\n"
    assert http.get(LOG, params={"uid": "one"}).text == "second\n"
    assert http.get(LOG, params={"uid": made.uid}).text == "now\n"


def test_all_attempts_of_a_name_are_listed(known: Running, http: httpx.Client) -> None:
    found = http.get("/attempts/Pod/default/a").json()["attempts"]
    assert [(each["uid"], each["state"], len(each["runs"])) for each in found] == [
        ("one", "deleted", 2),
        ("two", "deleted", 2),
    ]
    assert found[1]["runs"][1] == {
        "container": "side",
        "run": 0,
        "size": 0,
        "cut": 9,
        "dropped": True,
        "exitCode": None,
        "startedAt": "",
        "finishedAt": "",
    }
    assert http.get("/attempts/Pod/default/nobody").status_code == 404
    assert http.get("/units", params={"name": "a"}).json() == {"units": ["Pod/default/a"]}
    assert http.get("/units").status_code == 400
    assert known.plane.asked == []
