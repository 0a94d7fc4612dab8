"""What a user of queues with guarantees sees: delays, laws, configurations that change, maximums that are lowered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS, PODS
from reprieve.policies.queue.limits import ABOVE_SINCE
from reprieve.scheduler.queues.configuration import ACCEPTED
from reprieve.stores.records import Record
from tests.builders.pods import pod_group
from tests.builders.queues import queues, tree
from tests.planes.laws import Eye
from tests.planes.running import Dict, Plane, condition, daemon_set, job, live, pod, replica_set

CONFIGS = "yunikorn-configs"


def _configuration(*below_root: Dict, **parts: Any) -> Dict:
    made = queues(*below_root, **parts)
    return {**made, "metadata": {"name": CONFIGS, "namespace": "default"}}


async def _cluster(plane: Plane, cpu: int, *below_root: Dict, **parts: Any) -> None:
    await plane.node("n1", cpu=str(cpu))
    await plane.priority("low", 1)
    await plane.priority("high", 100)
    await plane.apply(_configuration(*below_root, **parts))


async def _configure(plane: Plane, *below_root: Dict, **parts: Any) -> Record:
    return await plane.change(CONFIG_MAPS, CONFIGS, {"data": _configuration(*below_root, **parts)["data"]})


def _in(queue: str, application: str, **parts: Any) -> Dict:
    return {"labels": {"queue": f"root.{queue}", "applicationId": application}, **parts}


def _set(name: str, queue: str, **parts: Any) -> Dict:
    return replica_set(name, **_in(queue, name, **parts))


async def _running(plane: Plane, name: str) -> int:
    return sum(1 for node in await plane.homes(name) if node)


PROD, TEST = tree("prod", cpu=2, preemption_delay="10s"), tree("test", cpu=2, preemption_delay="10s")


def test_a_queue_under_its_guarantee_gets_it_after_the_delay_without_another_event() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, PROD, TEST)
        await plane.apply(_set("test", "test", replicas=4, leaves=2))
        await plane.passes(30)
        await plane.apply(_set("prod", "prod", replicas=2))
        await plane.passes(1)
        waits = (await plane.starting_with("prod"))[0]
        assert "2026-01-01T00:00:40" in condition(waits, "PodScheduled")["message"]
        version = plane.plane.store.version
        await plane.passes(8.8)
        assert plane.plane.store.version == version, "nothing happens until then"
        await plane.passes(1)
        leaving = [record for record in await plane.starting_with("test") if "deletionTimestamp" in record.metadata]
        assert len(leaving) == 2
        for victim in leaving:
            told = condition(victim, "DisruptionTarget")
            assert told["reason"] == "PreemptionByScheduler"
            assert "root.test" in told["message"]
        await plane.rests()
        assert (await _running(plane, "prod"), await _running(plane, "test")) == (2, 2)

    live(story)


def test_whoever_ran_before_a_restart_is_asked_to_leave_after_it(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, PROD, TEST)
        await plane.apply(_set("test", "test", replicas=4))
        await plane.passes(30)
        await plane.restart()
        await plane.apply(_set("prod", "prod", replicas=2))
        await plane.passes(20)
        assert (await _running(plane, "prod"), await _running(plane, "test")) == (2, 2)

    live(story, directory=tmp_path)


def test_a_queue_never_falls_below_its_guarantee_and_nobody_takes_more_than_their_own() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, PROD, TEST)
        await plane.apply(_set("test", "test", replicas=4))
        await plane.passes(5)
        await plane.apply(_set("prod", "prod", replicas=4))
        await plane.rests()
        assert (await _running(plane, "prod"), await _running(plane, "test")) == (2, 2)
        waiting = [record for record in await plane.starting_with("prod") if "nodeName" not in record.data["spec"]]
        assert all("law 4" in condition(record, "PodScheduled")["message"] for record in waiting)

    live(story)


def test_a_queue_without_a_guarantee_takes_from_nobody() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, tree("prod", preemption_delay="1s"), tree("test", preemption_delay="1s"))
        await plane.apply(_set("test", "test", replicas=2, priority="low"))
        await plane.passes(5)
        await plane.apply(_set("prod", "prod", replicas=2, priority="high"))
        await plane.rests()
        assert (await _running(plane, "prod"), await _running(plane, "test")) == (0, 2)

    live(story)


@pytest.mark.parametrize("restarts", [False, True])
def test_more_important_pods_of_another_queue_are_spared(restarts: bool, tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, PROD, tree("test", preemption_delay="10s"))
        await plane.apply(_set("test", "test", replicas=2, priority="high"))
        await plane.passes(5)
        if restarts:
            await plane.restart()
        await plane.apply(_set("prod", "prod", replicas=2, priority="low"))
        await plane.rests()
        assert (await _running(plane, "prod"), await _running(plane, "test")) == (0, 2)
        assert await plane.events("Preempted") == []

    live(story, directory=tmp_path)


def test_who_opted_out_goes_last() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3, PROD, tree("test"))
        said = {"yunikorn.apache.org/allow-preemption": "false"}
        for number in range(3):
            parts = _in("test", "app", annotations=said if number == 2 else {})
            await plane.pod(f"test-{number}", **parts)
            await plane.passes(2)
        await plane.apply(_set("prod", "prod", replicas=1))
        await plane.passes(30)
        left = {record.name for record in await plane.starting_with("test")}
        assert left == {"test-0", "test-2"}, "the first of an application and who opted out stay"

    live(story)


def test_nobody_reaches_through_a_fence() -> None:
    async def story(plane: Plane) -> None:
        fenced = tree("tenant", tree("inner", cpu=2, preemption_delay="5s"), preemption_policy="fence")
        await _cluster(plane, 2, fenced, tree("other"))
        await plane.apply(_set("other", "other", replicas=2))
        await plane.passes(2)
        await plane.apply(_set("inner", "tenant.inner", replicas=2))
        await plane.rests()
        assert (await _running(plane, "inner"), await _running(plane, "other")) == (0, 2)

    live(story)


def test_a_maximum_is_kept_whatever_room_there_is() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 8, tree("small", most={"vcore": "2"}))
        await plane.apply(_set("small", "small", replicas=4))
        await plane.rests()
        assert await _running(plane, "small") == 2
        await _configure(plane, tree("small", most={"vcore": "3"}))
        await plane.passes(2)
        assert await _running(plane, "small") == 3, "a raised maximum serves who waits"

    live(story)


def test_pods_of_its_own_name_stay_out_of_queues() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, tree("small", most={"vcore": "1"}))
        for number in range(3):
            await plane.pod(f"free-{number}", **_in("small", "free", schedulerName="reprieve"))
        await plane.passes(5)
        assert await _running(plane, "free") == 3

    live(story)


def test_queues_and_priorities_do_not_take_the_same_place_in_turn() -> None:
    """An offset makes the pod in the queue worth more to queues than it is by its priority alone."""

    async def story(plane: Plane) -> None:
        await _cluster(plane, 1, tree("urgent", cpu=1, preemption_delay="1s", priority_offset=1000))
        await plane.apply(_set("outside", "other", priority="high", schedulerName="reprieve"))
        await plane.passes(5)
        await plane.apply(_set("inside", "urgent", priority="low"))
        await plane.rests(within=1200)
        assert (await _running(plane, "outside"), await _running(plane, "inside")) == (1, 0)
        assert await plane.events("Preempted") == []
        found = plane.plane.history.decisions(f"Pod/default/{(await plane.starting_with('inside'))[0].name}")
        spared = plane.plane.history.decision(found[0]["id"])["plan"]["spared"]
        assert [item["rule"] for item in spared] == ["OutsideQueues"]

    live(story)


def test_a_pod_that_must_run_on_one_node_takes_from_it_whatever_queues_say() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, tree("test", cpu=2), tree("system"))
        await plane.node("n2", cpu="2")
        await plane.apply(_set("test", "test", replicas=2, nodeSelector={"kubernetes.io/hostname": "n1"}))
        await plane.passes(5)
        await plane.apply(daemon_set("daemon", **_in("system", "daemon")))
        await plane.passes(0.5)
        assert await plane.homes("daemon") == ["n1", "n2"]
        assert await _running(plane, "test") == 1

    live(story)


# The configuration


@pytest.mark.parametrize("restarts", [False, True])
def test_a_bad_configuration_is_refused_and_the_old_one_stays(restarts: bool, tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, tree("small", most={"vcore": "1"}))
        await plane.passes(2)
        assert len(await plane.events("QueuesAccepted", about=CONFIGS)) == 1
        await plane.change(CONFIG_MAPS, CONFIGS, {"data": {"queues.yaml": "partitions:\n- queues: nonsense\n"}})
        await plane.passes(2)
        refused = await plane.events("QueuesRefused", about=CONFIGS)
        assert len(refused) == 1
        assert "the last good one stays" in refused[0]
        assert "queues" in refused[0]
        if restarts:
            await plane.restart()
        await plane.apply(_set("small", "small", replicas=3))
        await plane.rests()
        assert await _running(plane, "small") == 1, "the old maximum is in force"
        await _configure(plane, tree("small", most={"vcore": "2"}))
        await plane.passes(2)
        assert await _running(plane, "small") == 2
        kept = await plane.store.get(CONFIG_MAPS, CONFIGS, "default")
        assert kept.metadata["annotations"][ACCEPTED] == kept.data["data"]["queues.yaml"]

    live(story, directory=tmp_path)


def test_a_configuration_that_was_never_good_configures_nothing() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("low", 1)
        await plane.priority("high", 100)
        bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIGS}, "data": {"queues.yaml": "{["}}
        await plane.apply(bad)
        await plane.pod("low", cpu="2", priority="low")
        await plane.passes(2)
        await plane.pod("high", cpu="2", priority="high")
        await plane.passes(2)
        assert await plane.events("QueuesRefused", about=CONFIGS)
        assert await plane.where("high") == "n1", "priorities alone decide"

    live(story)


def test_when_the_configuration_goes_priorities_alone_decide() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1, PROD, TEST)
        await plane.pod("low", **_in("test", "low", priority="low"))
        await plane.passes(2)
        await plane.pod("high", **_in("test", "high", priority="high"))
        await plane.passes(60)
        assert await plane.where("high") == "", "nobody takes from the own queue"
        await plane.store.delete(CONFIG_MAPS, CONFIGS, "default")
        await plane.passes(2)
        assert await plane.where("high") == "n1"

    live(story)


def test_guarantees_that_change_serve_who_waits() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, tree("prod", preemption_delay="1s"), tree("test"))
        await plane.apply(_set("test", "test", replicas=2))
        await plane.passes(2)
        await plane.apply(_set("prod", "prod", replicas=1))
        await plane.passes(30)
        assert await _running(plane, "prod") == 0
        await _configure(plane, tree("prod", cpu=1, preemption_delay="1s"), tree("test"))
        await plane.passes(2)
        assert await _running(plane, "prod") == 1

    live(story)


# A maximum that is lowered


def _limited(vcore: int) -> Dict:
    return tree("busy", most={"vcore": str(vcore)}, quota_preemption_delay="60s")


@pytest.mark.parametrize("restarts", [False, True])
def test_a_queue_above_its_lowered_maximum_shrinks_after_its_delay(restarts: bool, tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, _limited(4), quotapreemptionenabled=True)
        await plane.apply(job("busy", replicas=4, pod_labels=_in("busy", "busy")["labels"]))
        await plane.passes(10)
        assert await _running(plane, "busy") == 4
        await _configure(plane, _limited(2), quotapreemptionenabled=True)
        await plane.passes(1)
        noted = await plane.store.get(CONFIG_MAPS, CONFIGS, "default")
        assert "Queue//root.busy" in noted.metadata["annotations"][ABOVE_SINCE]
        await plane.passes(29)
        if restarts:
            await plane.restart()
        await plane.passes(29.5)
        assert await _running(plane, "busy") == 4, "not before its time"
        await plane.passes(1)
        assert await _running(plane, "busy") == 2
        assert len(await plane.events("Preempted")) == 2
        await plane.rests()
        assert await _running(plane, "busy") == 2
        assert len(await plane.events("Preempted")) == 2
        over = await plane.store.get(CONFIG_MAPS, CONFIGS, "default")
        assert ABOVE_SINCE not in over.metadata["annotations"], "nobody is above a maximum any more"

    live(story, directory=tmp_path)


def test_a_maximum_that_is_raised_in_time_spares_everybody() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, _limited(4), quotapreemptionenabled=True)
        await plane.apply(_set("busy", "busy", replicas=4))
        await plane.passes(10)
        await _configure(plane, _limited(2), quotapreemptionenabled=True)
        await plane.passes(40)
        await _configure(plane, _limited(4), quotapreemptionenabled=True)
        await plane.passes(10)
        await _configure(plane, _limited(2), quotapreemptionenabled=True)
        await plane.passes(40)
        assert await _running(plane, "busy") == 4, "its time began anew"
        await plane.passes(25)
        assert await _running(plane, "busy") == 2

    live(story)


def test_nobody_goes_for_a_lowered_maximum_where_that_is_not_switched_on() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4, _limited(4))
        await plane.apply(_set("busy", "busy", replicas=4))
        await plane.passes(10)
        await _configure(plane, _limited(2))
        await plane.passes(600)
        assert await _running(plane, "busy") == 4

    live(story)


def test_what_somebody_else_leaves_in_a_while_does_not_make_room_beside_a_nomination() -> None:
    """A group waits for its own victims only. If all leavers counted for its place, a queue's next pod would take what
    is free, be preempted, be made again and take it once more, until the slow one has gone."""

    async def story(plane: Plane) -> None:
        await _cluster(plane, 3, PROD, TEST)
        await plane.apply(pod("slow", **_in("test", "slow", priority="high", leaves=90)))
        await plane.apply(_set("quick", "test", replicas=1, priority="low"))
        await plane.apply(_set("steady", "test", replicas=1, priority="low", leaves=15))
        await plane.passes(5)
        assert await plane.homes("quick") + await plane.homes("steady") == ["n1", "n1"]
        await plane.store.delete(PODS, "slow", "default")
        await plane.apply(pod_group("gang", gang=1, priorityClassName="high"))
        member = _in("prod", "gang", cpu="2", priority="high", schedulingGroup={"podGroupName": "gang"})
        seen = Eye(plane.plane.store)
        await plane.apply(pod("gang-0", **member))
        await plane.passes(40)
        assert await plane.where("gang-0") == "n1"
        await plane.rests()
        assert seen.evictions == {"quick": 1, "steady": 1}

    live(story)
