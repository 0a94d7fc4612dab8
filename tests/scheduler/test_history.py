"""What was decided is kept, bounded, and told long afterwards; also after a restart, and not by an older program."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reprieve.engine.plan import Details, Plan, StalePlan
from reprieve.model.names import UnitName
from reprieve.scheduler.history import History
from reprieve.scheduler.history import stories as module
from tests.planes.running import Plane, live, replica_set
from tests.scheduler.histories import Watch, planned


def test_a_decision_is_kept_with_its_wholeplanned(history: History) -> None:
    number = history.record(planned("high", "Preempt", "low makes way", "low"))
    kept = history.decision(number)
    assert kept is not None
    assert (kept["preemptor"], kept["policy"], kept["outcome"]) == ("Pod/default/high", "pod", "Preempt")
    assert kept["plan"]["victims"][0]["unit"] == "Pod/default/low"
    assert kept["plan"]["victims"][0]["reason"] == "LowerPriority"
    assert kept["plan"]["domain"] == "n1"
    assert history.decision(number + 1) is None


def test_the_same_answer_again_is_counted(history: History, watch: Watch) -> None:
    first = history.record(planned("waits"))
    for _ in range(3):
        watch.passes(60)
        assert history.record(planned("waits")) == first
    (kept,) = history.decisions("Pod/default/waits")
    assert (kept["times"], kept["at"], kept["last"]) == (
        4,
        "2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:03:00.000000Z",
    )
    assert history.record(planned("waits", message="something else")) != first
    assert history.record(planned("waits")) != first, "after another answer it is news again"
    assert history.record(planned("other")) != first


def test_decisions_to_act_are_never_counted_together(history: History) -> None:
    for outcome in ("Fits", "Preempt"):
        assert history.record(planned("a", outcome)) != history.record(planned("a", outcome))


def test_who_was_a_victim_finds_the_decision_too(history: History) -> None:
    history.record(planned("low", "Fits", "fits"))
    history.record(planned("high", "Preempt", "makes way", "low", "also-low"))
    history.record(planned("unrelated"))
    assert [item["preemptor"] for item in history.decisions("Pod/default/low")] == [
        "Pod/default/high",
        "Pod/default/low",
    ]
    assert [item["preemptor"] for item in history.decisions(limit=2)] == ["Pod/default/unrelated", "Pod/default/high"]
    told = history.explain("Pod/default/low")
    assert told["decision"]["outcome"] == "Fits"
    assert told["preempted"]["preemptor"] == "Pod/default/high"
    assert history.explain("Pod/default/unrelated")["preempted"] is None
    nothing = history.explain("Pod/default/nobody")
    assert nothing.pop("unit") == "Pod/default/nobody"
    assert not any(nothing.values())


def test_the_story_is_told_from_the_start_and_not_longer_than_asked(history: History, watch: Watch) -> None:
    for number, step in enumerate(("queued", "tried", "nominated", "bound")):
        history.note("Pod/default/a", step, f"cause {number}", number)  # type: ignore[arg-type]
        watch.passes(1)
    history.note("Pod/default/b", "queued", "another")
    lines = history.story("Pod/default/a")
    assert [line["step"] for line in lines] == ["queued", "tried", "nominated", "bound"]
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    assert [line["cause"] for line in history.story("Pod/default/a", limit=2)] == ["cause 2", "cause 3"]


def test_the_oldest_decisions_are_forgotten_with_their_victims(history: History) -> None:
    history.record(planned("first", "Preempt", "makes way", "victim"))
    for number in range(1100):
        history.record(planned(f"pod-{number}"))
    kept = history.decisions(limit=10_000)
    assert 500 <= len(kept) < 800
    assert kept[0]["preemptor"] == "Pod/default/pod-1099"
    assert history.explain("Pod/default/victim")["preempted"] is None
    assert history.decisions("Pod/default/first") == []


def test_a_counted_decision_that_was_forgotten_meanwhile_is_kept_anew(history: History) -> None:
    first = history.record(planned("waits"))
    for number in range(1100):
        history.record(planned(f"pod-{number}"))
    again = history.record(planned("waits"))
    assert again != first
    kept = history.decision(again)
    assert kept is not None
    assert kept["preemptor"] == "Pod/default/waits"


def test_stories_are_bounded(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LINES", 100)
    history = History(":memory:", watch)
    for number in range(9000):
        history.note(f"Pod/default/{number % 3}", "tried", str(number))
    lines = sum(len(history.story(f"Pod/default/{number}", limit=10_000)) for number in range(3))
    history.close()
    assert lines < 5000


# On disk


def test_everything_is_there_after_it_is_opened_again(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "history.db"
    history = History(path, watch)
    number = history.record(planned("high", "Preempt", "makes way", "low"))
    history.note("Pod/default/low", "evicted", "for high", number)
    history.close()
    again = History(path, watch)
    assert again.explain("Pod/default/low")["preempted"]["id"] == number
    assert again.story("Pod/default/low")[0]["cause"] == "for high"
    assert again.record(planned("next")) > number
    again.close()


def test_a_preemption_is_on_disk_before_anybody_is_told(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "history.db"
    history = History(path, watch)
    history.record(planned("waits"))
    history.record(planned("high", "Preempt", "makes way", "low"))
    other = sqlite3.connect(path)  # as whoever reads it after a crash
    found = {unit for (unit,) in other.execute("SELECT unit FROM decisions")}
    other.close()
    history.close()
    assert "Pod/default/high" in found


def test_a_newer_history_is_refused_and_left_as_it_is(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "history.db"
    History(path, watch).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=99")
    database.commit()
    database.close()
    with pytest.raises(ValueError, match=r"history\.db was written by a newer Reprieve .*version 99"):
        History(path, watch)
    database = sqlite3.connect(path)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    assert version == 99


def test_what_was_kept_before_there_were_uids_is_told_as_before(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "history.db"
    old = sqlite3.connect(path)
    old.executescript(_VERSION_1)
    old.close()
    history = History(path, watch)
    assert history.explain("Pod/default/low")["preempted"]["preemptor"] == "Pod/default/high"
    assert [line["step"] for line in history.story("Pod/default/low")] == ["evicted"]
    history.close()
    History(path, watch).close()


_VERSION_1 = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, first TEXT NOT NULL, last TEXT NOT NULL, times INTEGER NOT NULL,
    unit TEXT NOT NULL, policy TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX decisions_of ON decisions (unit, id);
CREATE TABLE victims (unit TEXT NOT NULL, decision INTEGER NOT NULL, PRIMARY KEY (unit, decision)) WITHOUT ROWID;
CREATE TABLE story (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, unit TEXT NOT NULL, step TEXT NOT NULL,
    cause TEXT NOT NULL, decision INTEGER NOT NULL);
CREATE INDEX story_of ON story (unit, id);
INSERT INTO decisions VALUES (1, 'then', 'then', 1, 'Pod/default/high', 'pod', 'Preempt', 'low makes way', '{}');
INSERT INTO victims VALUES ('Pod/default/low', 1);
INSERT INTO story VALUES (1, 'then', 'Pod/default/low', 'evicted', 'for high', 1);
PRAGMA user_version=1;
"""


# What is told of large worlds, and of plans that are too old to ask


def test_a_plan_that_cannot_be_asked_any_more_is_kept_without_its_reasons(history: History) -> None:
    def stale(_: bool) -> Details:
        raise StalePlan("too late")

    plan = Plan(UnitName("Pod/default/a"), "pod", "Unschedulable", "no room", explain=stale)
    kept = history.decision(history.record(plan))
    assert kept is not None
    assert (kept["message"], kept["plan"]["spared"]) == ("no room", [])
    assert kept["plan"]["kept"] == "message"


def test_how_much_was_kept_stands_in_what_was_kept(history: History) -> None:
    kept = [history.decision(history.record(planned(f"p{pods}"), units=pods)) for pods in (2000, 2001)]
    assert [(each or {})["plan"]["kept"] for each in kept] == ["whole", "brief"]
    assert (kept[1] or {})["plan"]["units"] == 2001


def test_while_others_wait_for_a_decision_less_is_kept_of_smaller_worlds(history: History) -> None:
    def kept(pods: int, waiting: int) -> dict[str, Any]:
        found = history.decision(history.record(planned(f"p{pods}-{waiting}"), units=pods, waiting=waiting))
        plan: dict[str, Any] = (found or {})["plan"]
        return plan

    whole = {(pods, waiting): kept(pods, waiting)["kept"] for pods in (200, 2000) for waiting in (0, 50, 51, 501)}
    assert [where for where, how in whole.items() if how == "brief"] == [(200, 501), (2000, 51), (2000, 501)]
    assert kept(201, 500)["waiting"] == 500


# From the loop


def test_a_victim_and_its_preemptor_can_be_explained_after_a_restart(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("low", 1)
        await plane.priority("middle", 10)
        await plane.priority("high", 100)
        await plane.pod("low", priority="low", leaves=5)
        await plane.pod("spared", priority="middle")
        await plane.passes(10)
        await plane.pod("high", priority="high")
        await plane.passes(10)
        await plane.restart()
        told = plane.plane.history.explain("Pod/default/low")
        assert [line["step"] for line in told["story"]] == ["queued", "bound", "evicted", "gone"]
        assert told["preempted"]["preemptor"] == "Pod/default/high"
        spared = told["preempted"]["plan"]["spared"]
        assert [(item["unit"], item["rule"]) for item in spared] == [("Pod/default/spared", "Reprieved")]
        winner = plane.plane.history.explain("Pod/default/high")
        assert [line["step"] for line in winner["story"]][:2] == ["queued", "nominated"]
        assert winner["story"][-1]["step"] == "bound"
        assert all(line["cause"] for line in (*told["story"], *winner["story"]))

    live(story, directory=tmp_path)


def test_who_waits_for_long_does_not_fill_the_history() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.priority("middle", 10)
        await plane.apply(replica_set("set", replicas=3, priority="middle"))
        await plane.passes(6 * 3600)
        assert len(plane.plane.history.decisions(limit=1000)) == 3
        waiting = [record for record in await plane.starting_with("set") if "nodeName" not in record.data["spec"]]
        for record in waiting:
            assert len(plane.plane.history.story(record.unit)) < 5, "the same thing is told once"

    live(story)
