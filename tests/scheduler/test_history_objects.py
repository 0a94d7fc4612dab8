"""A name is not an object: stories, decisions and attempts are those of who had the name at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprieve.manifests.kinds import PODS
from reprieve.scheduler.history import History, Step, objects
from reprieve.stores.embedded.store import EmbeddedStore
from tests.planes.running import Plane, live
from tests.scheduler.histories import Watch, planned


def test_whoever_has_a_name_later_has_decisions_and_a_story_of_its_own(history: History) -> None:
    history.met("Pod/default/a", "1")
    history.record(planned("a"))
    history.note("Pod/default/a", "tried", "no room")
    history.left("Pod/default/a", "1", "gone")
    history.met("Pod/default/a", "2")
    assert history.story("Pod/default/a") == []
    assert history.explain("Pod/default/a")["decision"] is None
    history.record(planned("a"))
    told, before = history.explain("Pod/default/a"), history.explain("Pod/default/a", "1")
    assert (told["decision"]["times"], before["decision"]["times"]) == (1, 1), "the same words, but not the same one"
    assert [line["step"] for line in before["story"]] == ["tried", "gone"]
    assert [(each["uid"], each["state"]) for each in told["earlier"]] == [("1", "deleted")]


def test_what_is_told_late_of_one_that_is_gone_is_not_told_of_the_next(history: History) -> None:
    for uid in ("1", "2"):
        history.met("Pod/default/a", uid)
    history.note("Pod/default/a", "evicted", "for b", uid="1")
    assert [history.story("Pod/default/a", uid=uid) != [] for uid in ("1", "2")] == [True, False]


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        (["queued", "tried"], "pending"),
        (["queued", "nominated"], "pending"),
        (["queued", "bound"], "bound"),
        (["queued", "bound", "evicted"], "preempted"),
        (["queued", "bound", "evicted", "gone"], "preempted"),
        (["queued", "bound", "failed", "gone"], "failed"),
        (["queued", "bound", "gone"], "deleted"),
        (["queued", "admitted", "evicted", "queued"], "pending"),
        (["queued", "admitted", "evicted", "queued", "admitted"], "admitted"),
    ],
)
def test_how_an_attempt_stands(history: History, steps: list[Step], want: str) -> None:
    history.met("Pod/default/a", "1")
    for step in steps:
        history.note("Pod/default/a", step, "why")
    (attempt,) = history.explain("Pod/default/a")["attempts"]
    assert attempt["state"] == want


def test_attempts_come_in_the_order_of_time_at_whatever_distance(history: History, watch: Watch) -> None:
    history.met("Deployment/default/d", "d")
    history.met("ReplicaSet/default/r", "r", ["d"])
    for name in ("z", "a", "m"):
        watch.passes(1)
        history.met(f"Pod/default/{name}", name, ["r"])
        history.note(f"Pod/default/{name}", "queued", "waits")
    assert [each["unit"] for each in history.attempts("Deployment/default/d")] == [
        "Pod/default/z",
        "Pod/default/a",
        "Pod/default/m",
    ]


def test_objects_that_are_gone_are_forgotten_the_oldest_first(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_MOST_GONE", 100)
    history = History(":memory:", watch)
    history.met("Job/default/old", "old")
    for number in range(9000):
        history.met(f"Pod/default/p{number}", str(number), ["old"])
        history.left(f"Pod/default/p{number}", str(number), "gone")
    known = len(history.attempts("Job/default/old"))
    still = history.called("old")
    history.close()
    assert known < 5000
    assert still == ["Job/default/old"], "it is still there, however old it is"


def test_a_part_of_a_workload_is_known_by_the_workload_that_has_the_name(history: History) -> None:
    part = "Workload/default/train/workers/0"
    for uid in ("1", "2"):
        history.met("Workload/default/train", uid)
        history.note(part, "tried", f"no room for {uid}")
        assert [line["cause"] for line in history.story(part)] == [f"no room for {uid}"]


# From the loop


def test_a_restart_is_nothing_that_happened_to_anybody(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.pod("runs", cpu="2")
        await plane.passes(10)
        await plane.pod("waits", cpu="2")
        await plane.passes(10)
        before = {name: plane.plane.history.story(f"Pod/default/{name}") for name in ("runs", "waits")}
        await plane.restart()
        await plane.passes(10)
        for name, lines in before.items():
            assert plane.plane.history.story(f"Pod/default/{name}") == lines
        assert len(plane.plane.history.decisions("Pod/default/waits")) == 1

    live(story, directory=tmp_path)


def test_what_went_while_nobody_looked_is_missed(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.pod("a")
        await plane.passes(10)
        await plane.plane.stop()
        store = EmbeddedStore.open(tmp_path / "store.db", plane.clock)
        await store.delete(PODS, "a", "default", grace=0)
        store.close()
        await plane.restart()
        await plane.passes(10)
        last = plane.plane.history.story("Pod/default/a")[-1]
        assert (last["step"], last["cause"]) == ("gone", "Pod/default/a went while the control plane was stopped")

    live(story, directory=tmp_path)
