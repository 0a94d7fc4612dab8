"""With `pdb: Respect` victims leave as far as budgets allow it, and what is refused is not half done."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.stores.errors import TooManyRequests
from tests.planes.running import Plane, condition, live

RESPECT = Settings(validate=True, pdb="Respect")


async def _low_pods(plane: Plane, *names: str) -> None:
    """They fill the only node."""
    await plane.node("n1", cpu=str(len(names)))
    await plane.priority("low", 1)
    await plane.priority("high", 100)
    for name in names:
        await plane.pod(name, priority="low", leaves=3)
    await plane.passes(5)


def _refuse(monkeypatch: pytest.MonkeyPatch, plane: Plane, pod: str, times: int) -> None:
    """A budget that nobody has heard of yet keeps a pod, so many times."""
    evict, left = plane.store.evict, [times]

    async def refusing(name: str, namespace: str, **more: Any) -> Any:
        if name == pod and left[0]:
            left[0] -= 1
            raise TooManyRequests("not now")
        return await evict(name, namespace, **more)

    monkeypatch.setattr(plane.store, "evict", refusing)


def test_victims_are_evicted_and_marked_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await _low_pods(plane, "low-1", "low-2")
        monkeypatch.setattr(plane.store, "delete", None)  # nobody is deleted behind a budget's back
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(1)
        for name in ("low-1", "low-2"):
            target = condition(await plane.record(name), "DisruptionTarget")
            assert target["reason"] == "PreemptionByScheduler"
            assert "Preempted by Pod/default/high" in target["message"]
        monkeypatch.undo()
        await plane.passes(5)
        assert await plane.where("high") == "n1"

    live(story, RESPECT)


def test_where_all_are_refused_the_promise_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await _low_pods(plane, "low-1")
        _refuse(monkeypatch, plane, "low-1", 1)
        await plane.pod("high", cpu="1", priority="high")
        await plane.passes(0.5)
        waiting = await plane.record("high")
        assert "nominatedNodeName" not in waiting.data["status"]
        assert "not now" in condition(waiting, "PodScheduled")["message"]
        assert "deletionTimestamp" not in (await plane.record("low-1")).metadata
        await plane.passes(20)
        assert await plane.where("high") == "n1"

    live(story, RESPECT)


def test_where_one_is_refused_who_was_told_leaves_and_the_rest_is_decided_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await _low_pods(plane, "low-1", "low-2")
        _refuse(monkeypatch, plane, "low-2", 4)
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(0.5)
        assert "deletionTimestamp" in (await plane.record("low-1")).metadata
        assert "deletionTimestamp" not in (await plane.record("low-2")).metadata
        assert await plane.where("high") == ""
        await plane.passes(60)
        assert await plane.where("high") == "n1"
        assert await plane.find("low-2") is None
        assert len(await plane.events("Preempted")) == 2, "nobody is told twice"

    live(story, RESPECT)
