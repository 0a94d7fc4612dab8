"""What goes wrong around the loop: writes that fail, clocks that are set, objects that cannot be read, long lives."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import Settings
from reprieve.embedded_plane import open_plane
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import BINDINGS, CLUSTERS, CONFIG_MAPS, DEPLOYMENTS, EVENTS, NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import START, Clock, run_virtually
from reprieve.model.names import unit_name
from reprieve.policies.registry import Policies
from reprieve.scheduler.history import History
from reprieve.scheduler.kept_changes import KeptChanges
from reprieve.scheduler.mirror import Mirror, Seen
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.scheduling_queue import LONGEST_UNSCHEDULABLE, SchedulingQueue
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import StoreError
from reprieve.stores.records import Record
from reprieve.world import World
from tests.builders.federation import POLICIES, deployment, hollow_cluster, policy
from tests.builders.pods import pod_group
from tests.builders.queues import queues, tree
from tests.planes.running import Plane, job, live, pod
from tests.stores.made_records import record_from

IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}}
DAY = 24 * 3600.0


# A change that fails


async def wait_with_a_binding(plane: Plane) -> None:
    """A deployment for which the only cluster is too small."""
    await plane.priority("low", 1)
    named = {"apiVersion": POLICIES.api_version, "kind": POLICIES.kind}
    await plane.store.create(POLICIES, policy("low") | named)
    await plane.store.create(DEPLOYMENTS, deployment("d", cpu="2") | {"apiVersion": "apps/v1", "kind": "Deployment"})
    await plane.store.create(CLUSTERS, hollow_cluster("small", {"cpu": "1"}))
    await plane.passes(20)


async def clusters_of(plane: Plane) -> list[str]:
    return [item["name"] for item in (await plane.binding("d")).data["spec"].get("clusters") or ()]


def fails_once(act: Callable[..., Any], concerns: Callable[..., bool], error: Exception) -> tuple[Any, list[Any]]:
    """The same, but the first call that concerns this fails; and the calls that concerned it."""
    calls: list[Any] = []

    def acts(*given: Any, **named: Any) -> Any:
        if concerns(*given):
            calls.append(given)
            if len(calls) == 1:
                raise error
        return act(*given, **named)

    return acts, calls


def test_a_write_that_fails_while_changes_are_taken_loses_none_of_the_others(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "yunikorn"}})
        await wait_with_a_binding(plane)
        await plane.plane.stop()
        plane.plane = plane._again()  # type: ignore[misc]
        plane.store = plane.plane.store
        await plane.apply(queues(tree("prod", cpu=1)))  # while the control plane is down
        timeout = StoreError("the server timed out")
        failing, calls = fails_once(plane.store.patch, lambda resource, *_: resource == CONFIG_MAPS, timeout)
        plane.store.patch = failing  # type: ignore[method-assign]
        await plane.plane.start()
        await plane.passes(30)
        assert calls, "nothing was written to the ConfigMap"
        await plane.store.create(CLUSTERS, hollow_cluster("large", {"cpu": "4"}))
        await plane.passes(5)
        assert await clusters_of(plane) == ["large"]

    live(story, directory=tmp_path)


def test_a_change_that_could_not_be_taken_is_taken_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await plane.store.create(CLUSTERS, hollow_cluster("large", {"cpu": "4"}))
        await plane.passes(5)
        lane = plane.plane.scheduler.lane_of("ResourceBinding")
        failing, calls = fails_once(lane.react, lambda seen: seen.resource == BINDINGS, RuntimeError("out of luck"))
        monkeypatch.setattr(lane, "react", failing)
        await wait_with_a_binding(plane)
        assert len(calls) > 1
        assert await clusters_of(plane) == ["large"]

    live(story)


def test_a_story_that_cannot_be_written_keeps_no_pod_from_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        full = sqlite3.OperationalError("the disk is full")
        failing, calls = fails_once(plane.plane.history.note, lambda _, step, *__: step == "queued", full)
        monkeypatch.setattr(plane.plane.history, "note", failing)
        for name in ("a", "b", "c"):
            await plane.pod(name)
        await plane.passes(5)
        assert calls
        assert [await plane.where(name) for name in ("a", "b", "c")] == ["n1", "n1", "n1"]

    live(story)


def test_others_have_their_turns_while_what_has_happened_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> Counter[int]:
        turns = 0
        written: Counter[int] = Counter()
        create = plane.store.create

        async def counted(resource: Resource, data: Mapping[str, Any]) -> Record:
            if resource is EVENTS:
                written[turns] += 1
            return await create(resource, data)

        monkeypatch.setattr(plane.store, "create", counted)
        await plane.node("n1", cpu="100")
        for number in range(64):
            await plane.pod(f"p{number}")
        while written.total() < 64:
            turns += 1
            await asyncio.sleep(0)
        return written

    assert max(live(story).values()) <= 8


def versions(count: int) -> list[Record]:
    """One ConfigMap, at so many versions."""
    metadata = {"name": "a", "namespace": "default", "uid": "1"}
    made = ({**metadata, "resourceVersion": str(number + 1)} for number in range(count))
    return [record_from(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": each}) for each in made]


def fail(kept: KeptChanges, seen: Seen) -> None:
    try:
        raise RuntimeError("out of luck")
    except RuntimeError:
        kept.failed(seen)


def test_kept_changes_of_one_object_are_taken_as_one() -> None:
    first, second, third = versions(3)
    kept = KeptChanges(lambda: 0.0)
    fail(kept, Seen(CONFIG_MAPS, first, second))
    assert kept.with_earlier(Seen(CONFIG_MAPS, second, third)) == Seen(CONFIG_MAPS, first, third)
    kept.taken(Seen(CONFIG_MAPS, first, third))
    assert kept.with_earlier(Seen(CONFIG_MAPS, second, third)) == Seen(CONFIG_MAPS, second, third)


def test_an_object_that_came_and_went_while_it_was_kept_is_still_told_to_be_gone() -> None:
    (only,) = versions(1)
    kept = KeptChanges(lambda: 0.0)
    fail(kept, Seen(CONFIG_MAPS, None, only))
    assert kept.with_earlier(Seen(CONFIG_MAPS, only, None)) == Seen(CONFIG_MAPS, only, None)


def test_a_change_that_always_fails_is_tried_less_and_less_and_given_up_at_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    (only,) = versions(1)
    kept = KeptChanges(lambda: now[0])
    fail(kept, Seen(CONFIG_MAPS, None, only))
    waits = []
    while kept.due_in() < DAY:
        assert kept.due() == []
        waits.append(kept.due_in())
        now[0] += kept.due_in()
        (seen,) = kept.due()
        fail(kept, seen)
    assert waits[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert 900 < now[0] < 1800
    assert "ConfigMap/default/a could not be taken, and is given up" in caplog.text


# Clocks


def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    async def story(clock: Clock) -> None:
        offset = [timedelta()]
        plane = open_plane(None, lambda: clock() + offset[0], Settings(), seed=1)
        scene = Plane(plane, clock)
        await plane.start()
        try:
            await scene.node("n1", cpu="1")
            await scene.pod("a", cpu="1")
            await scene.passes(2)
            await scene.pod("b", cpu="1")
            await scene.passes(20)
            await scene.node("tiny", cpu="500m")  # wakes those who wait
            await scene.passes(0.02)
            offset[0] = timedelta(hours=-1)
            await scene.store.delete(PODS, "a", "default", grace=0)
            await scene.passes(15)
            assert await scene.where("b") == "n1"
        finally:
            await plane.stop()

    run_virtually(story)


def test_a_moment_that_is_known_beforehand_is_by_the_wall_clock_and_the_wait_for_it_is_not() -> None:
    elapsed, wall = [5.0], [1_000_000.0]
    queue = SchedulingQueue(lambda: elapsed[0], lambda: wall[0])
    for unit, until in (("Pod/default/a", wall[0] + 30), ("Pod/default/b", inf)):
        queue.push(unit)
        assert queue.pop() == unit
        queue.unschedulable(unit, until)
    wall[0] -= 3600
    assert queue.ready_in() == 30
    elapsed[0] += 30
    assert queue.pop() == "Pod/default/a"
    assert queue.ready_in() == LONGEST_UNSCHEDULABLE - 30


# Nominations


def test_a_pod_that_is_being_deleted_keeps_no_place_free() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        for name, value in (("low", 1), ("mid", 50), ("top", 100)):
            await plane.priority(name, value)
        await plane.pod("victim", cpu="2", priority="low", leaves=20, terminationGracePeriodSeconds=30)
        await plane.passes(3)
        held = pod("preemptor", cpu="2", priority="top")
        held["metadata"]["finalizers"] = ["example.com/kept"]
        await plane.store.create(PODS, held)
        await plane.passes(2)
        assert (await plane.record("preemptor")).data["status"]["nominatedNodeName"] == "n1"
        await plane.pod("waiting", cpu="2", priority="mid")
        await plane.passes(1)
        await plane.store.delete(PODS, "preemptor", "default")
        await plane.passes(30)
        assert await plane.where("victim") == "gone"
        assert "deletionTimestamp" in (await plane.record("preemptor")).metadata
        assert await plane.where("waiting") == "n1"

    live(story)


def test_nothing_is_kept_of_nodes_to_which_nobody_is_nominated_any_more() -> None:
    world = World()
    pending = PendingUnits(Policies(world, Settings()), ["default-scheduler"], lambda: START)
    for number in range(100):
        nominated = record_from(PODS, pod("a") | {"status": {"nominatedNodeName": f"n{number}"}})
        world.put(nominated.manifest)
        pending.update(("default", "a"))
        assert [facts.nominated for facts in pending.nominated_to(f"n{number}")] == [f"n{number}"]
    assert len(pending._nominated) == 1


# Gangs of which a part is done


def test_a_gang_of_which_one_pod_has_succeeded_returns_after_a_preemption() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("low", 1)
        await plane.priority("top", 100)
        await plane.apply(pod_group("g", gang=2, whole=True, priorityClassName="low"))
        await plane.apply(job("j", replicas=2, cpu="1", priority="low", **IN_GROUP))
        await plane.passes(3)
        assert await plane.homes("j-") == ["n1", "n1"]
        done, *_ = await plane.starting_with("j-")
        await plane.store.patch(PODS, done.name, "default", {"status": {"phase": "Succeeded"}}, subresource="status")
        await plane.pod("boss", cpu="2", priority="top", run=10)
        await plane.passes(5)
        assert await plane.homes("j-") == [""]
        await plane.passes(30)
        assert await plane.homes("j-") == ["n1"]

    live(story)


def test_what_succeeded_for_another_controller_does_not_make_a_gang_complete() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.apply(pod_group("g", gang=2))
        await plane.apply(job("first", replicas=2, cpu="1", run=5, **IN_GROUP))
        await plane.passes(20)
        phases = {record.data["status"]["phase"] for record in await plane.starting_with("first-")}
        assert phases == {"Succeeded"}
        await plane.pod("other", cpu="1")
        await plane.apply(job("second", replicas=2, cpu="1", **IN_GROUP))
        await plane.passes(20)
        assert await plane.homes("second-") == ["", ""]

    live(story)


# Objects that cannot be read


def test_an_unreadable_version_is_passed_over_and_what_comes_after_it_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(clock: Clock) -> None:
        store, world = EmbeddedStore.open(":memory:", clock, seed=1), World()
        mirror = Mirror(store, world)
        await mirror.follow()
        await store.create(NODES, hollow_node("n1", cpu="2"))
        record = await store.create(PODS, pod("a", cpu="1"))
        await mirror.follow()

        mirror.absorb(version_of(record, 1, _ruin))
        assert world.pods["default", "a"].node == ""
        mirror.absorb(version_of(record, 2, lambda data: data["spec"].update(nodeName="n1")))
        assert world.pods["default", "a"].node == "n1"
        (seen,) = await mirror.follow()
        assert seen.old is not None
        assert (seen.old.version, seen.record.version) == (record.version, record.version + 2)

        mirror.absorb(version_of(record, 3, _ruin))
        assert world.pods["default", "a"].node == "n1"
        mirror.absorb(version_of(record, 3, _ruin), gone=True)
        assert world.pods == {}
        (gone,) = await mirror.follow()
        assert (gone.new, gone.record.version) == (None, record.version + 2)
        mirror.close()
        store.close()

    run_virtually(story)
    assert "Pod/default/a cannot be read" in caplog.text


def test_one_that_was_never_readable_comes_and_goes_unseen() -> None:
    async def story(clock: Clock) -> None:
        store, world = EmbeddedStore.open(":memory:", clock, seed=1), World()
        mirror = Mirror(store, world)
        await mirror.follow()
        broken = version_of(record_from(PODS, pod("a") | {"status": {}}), 1, _ruin)
        mirror.absorb(broken)
        mirror.absorb(broken, gone=True)
        assert await mirror.follow() == []
        assert world.pods == {}
        mirror.close()
        store.close()

    run_virtually(story)


def version_of(record: Record, later: int, change: Callable[[Any], None]) -> Record:
    data = msgspec.json.decode(record.raw)
    change(data)
    data["metadata"]["resourceVersion"] = str(record.version + later)
    return record_from(record.resource, data)


def _ruin(data: Any) -> None:
    data["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "nonsense"


# Long lives


def test_a_decision_that_was_forgotten_meanwhile_is_kept_anew() -> None:
    history = History(":memory:", lambda: START, most=256)
    waits = Plan(unit_name("Pod", "default", "waits"), "pod", "Unschedulable", "no room")
    number = history.record(waits)
    assert history.record(waits) == number
    for count in range(600):
        history.record(Plan(unit_name("Pod", "default", str(count % 50)), "pod", "Fits", "fits"))
    assert history.decision(number) is None
    again = history.record(waits)
    found = history.decision(again)
    assert found is not None
    assert (found["message"], found["times"]) == ("no room", 1)
    assert history.explain("Pod/default/waits")["decision"] == found
    history.close()


def test_the_journal_of_a_small_world_stays_short_and_those_who_follow_it_can_read_on() -> None:
    world = World()
    manifest = record_from(PODS, pod("a")).manifest
    seldom = world.version
    for _ in range(20_000):
        often = world.version
        world.put(manifest)
        assert len(world.changes_since(often) or ()) == 1
    assert world.changes_since(seldom) is None
    assert len(world._journal) <= 1_000


def test_a_table_that_was_behind_for_too_long_looks_at_everything() -> None:
    world = World()
    policies = Policies(world, Settings())
    world.put(record_from(NODES, hollow_node("n1", cpu="2")).manifest)
    for number in range(5_000):
        world.put(record_from(PODS, pod("a", nodeName="n1", labels={"n": str(number)})).manifest)
    policies.nodes.table.sync()
    (share,) = policies.nodes.table.residents[policies.nodes.table.index["n1"]]
    assert share.pods[0].labels == {("n", "4999")}
