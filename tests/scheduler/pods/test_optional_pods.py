"""Pods above minCount: whether all come at once or one by one, on files or live, the same room is made for them."""

from __future__ import annotations

import pytest

import reprieve
from reprieve.manifests.kinds import BUDGETS, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import budget, pod_group
from tests.planes.running import Plane, live

LOW = {"a": "low", "b": "low", "c": "middle", "d": "low"}
"""Who runs: one pod on each node; `d` is covered by a budget that allows nothing."""


async def _cluster(plane: Plane) -> None:
    for name, value in {"low": 1, "middle": 10, "high": 100}.items():
        await plane.priority(name, value)
    await plane.apply(budget("keep", {"app": "d"}, allowed=0) | {"spec": {"minAvailable": 1, "selector": _COVERED}})
    for number, (name, priority) in enumerate(LOW.items(), 1):
        node = f"n{number}"
        await plane.node(node, cpu="1")
        chosen = {"kubernetes.io/hostname": node}
        await plane.pod(name, cpu="1", priority=priority, labels={"app": name}, nodeSelector=chosen)
    await plane.passes(10)
    assert [await plane.where(name) for name in LOW] == ["n1", "n2", "n3", "n4"]


_COVERED = {"matchLabels": {"app": "d"}}


async def _member(plane: Plane, number: int) -> None:
    await plane.pod(f"job-{number}", cpu="1", priority="high", schedulingGroup={"podGroupName": "job"})


@pytest.mark.parametrize("wait", [0, 60], ids=["at once", "one by one"])
@pytest.mark.parametrize("members", [1, 2, 4])
def test_live(wait: int, members: int) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane)
        await plane.apply(pod_group("job", gang=1, priorityClassName="high"))
        for number in range(members):
            await _member(plane, number)
            if wait:
                await plane.passes(wait)
        await plane.rests()
        there = [name for name in LOW if await plane.where(name) != "gone"]
        assert there == (["b", "c", "d"] if members == 1 else ["c", "d"])
        assert len([node for node in await plane.homes("job") if node]) == min(members, 2)

    live(story)


def test_on_files_as_live() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane)
        await plane.apply(pod_group("job", gang=1, priorityClassName="high"))
        kinds = (NODES, PODS, PRIORITY_CLASSES, POD_GROUPS)
        objects = [record.data for kind in kinds for record in (await plane.store.list(kind)).records]
        objects += [record.data for record in (await plane.store.list(BUDGETS)).records]
        for number in range(4):
            await _member(plane, number)
        members = [record.data for record in await plane.starting_with("job")]
        answer = reprieve.plan(
            [*objects, *members], preemptor="PodGroup/default/job", now=plane.clock(), feature_gates=GANGS_AND_BINDINGS
        )
        victims = {victim["unit"] for victim in answer.decision.victims}
        assert victims == {"Pod/default/a", "Pod/default/b"}

    live(story)


def test_nobody_makes_way_for_more_where_nobody_did_for_those_that_are_needed() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("free", cpu="1")
        await _cluster(plane)
        await plane.apply(pod_group("job", gang=1, priorityClassName="high"))
        for number in range(2):
            await _member(plane, number)
        await plane.rests()
        assert sorted(await plane.homes("job")) == ["", "free"]
        assert [await plane.where(name) for name in LOW] == ["n1", "n2", "n3", "n4"]

    live(story)
